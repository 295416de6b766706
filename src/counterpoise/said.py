"""What a model says of rows and of their answers: arrays, and the table of them where somebody asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoise.errors import InputError
from counterpoise.types import Array, Index

ONE_RUN = "give the parts of one and the same run"


def check_columns(name: str, table: pd.DataFrame | None, needed: Sequence[str]) -> None:
    """An InputError for a table that lacks a column, or is none at all."""
    lacking = [column for column in needed if table is None or column not in table.columns]
    if lacking:
        raise InputError(
            f"{name} must have the columns {', '.join(needed)}", f"{', '.join(lacking)} not given", ONE_RUN
        )


@dataclass(frozen=True, eq=False)
class Said:
    """What a model says of n rows and of their answers.

    >>> said = Said(np.array(["alert"], dtype=object), np.array(["benign"], dtype=object), *np.zeros((4, 1)))
    >>> said.table(pd.Index(["host 7"]))["after"].tolist()
    ['benign']
    """

    before: NDArray[np.object_]  # (n,) what it predicts
    after: NDArray[np.object_]
    probability_before: Array  # (n,) of the target; NaN where the model has none
    probability_after: Array
    margin_before: Array  # (n,) of the score
    margin_after: Array

    def __post_init__(self) -> None:
        for name, part in vars(self).items():
            if len(part) != len(self):
                must = f"{name} must have an entry for each of the {len(self)} rows"
                raise InputError(must, f"it has {len(part)}", ONE_RUN)

    @classmethod
    def of(cls, table: pd.DataFrame) -> Said:
        """What a table of `SCORES` says."""
        check_columns("scores", table, SCORES)
        return cls(*(table[name].to_numpy() for name in SCORES))

    def __len__(self) -> int:
        return len(self.before)

    def __getitem__(self, rows: Index) -> Said:
        """What it says of some of the rows."""
        return Said(*(part[rows] for part in vars(self).values()))

    def table(self, index: pd.Index) -> pd.DataFrame:
        """The same as a table: a column for each of `SCORES`."""
        return pd.DataFrame(vars(self), index=index)


SCORES = tuple(item.name for item in fields(Said))
