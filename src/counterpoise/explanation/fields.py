"""Numbers of each row and its answer, as arrays: what the model says, and the terms of the energy.

Tables are made from them only when they are asked for, because that takes longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoise.errors import InputError
from counterpoise.types import Array, Index

REJECTED = "rejected"  # the status of a row that could not be answered at all
STATUSES_WITH_ANSWER = ("optimal", "bounded", "valid")
ONE_RUN_HINT = "give the parts of one and the same run"


def check_columns(name: str, table: pd.DataFrame | None, needed: Sequence[str]) -> None:
    """An InputError for a table that is None or lacks a column."""
    lacking = [column for column in needed if table is None or column not in table.columns]
    if lacking:
        raise InputError(
            f"{name} must have the columns {', '.join(needed)}", f"{', '.join(lacking)} not given", ONE_RUN_HINT
        )


@dataclass(frozen=True, eq=False)
class RowArrays:
    """Arrays with an entry for each of n rows, which are the columns of a table."""

    table_name: ClassVar[str]

    def __post_init__(self) -> None:
        for name, part in vars(self).items():
            if len(part) != len(self):
                must = f"{name} must have an entry for each of the {len(self)} rows"
                raise InputError(must, f"it has {len(part)}", ONE_RUN_HINT)

    @classmethod
    def of(cls, table: pd.DataFrame) -> Self:
        """The arrays in the columns of a table."""
        names = [item.name for item in fields(cls)]
        check_columns(cls.table_name, table, names)
        return cls(*(table[name].to_numpy() for name in names))

    def __len__(self) -> int:
        return len(next(iter(vars(self).values())))

    def __getitem__(self, rows: Index) -> Self:
        """The arrays of some of the rows."""
        return type(self)(*(part[rows] for part in vars(self).values()))

    def to_frame(self, index: pd.Index) -> pd.DataFrame:
        """The arrays as the columns of a table."""
        return pd.DataFrame(vars(self), index=index)


@dataclass(frozen=True, eq=False)
class ModelScores(RowArrays):
    """What a model says of n rows and of their answers.

    >>> said = ModelScores(np.array(["alert"], dtype=object), np.array(["benign"], dtype=object), *np.zeros((4, 1)))
    >>> said.to_frame(pd.Index(["host 7"]))["after"].tolist()
    ['benign']
    """

    table_name = "scores"

    before: NDArray[np.object_]  # (n,) what it predicts
    after: NDArray[np.object_]
    probability_before: Array  # (n,) of the target; NaN where the model has none
    probability_after: Array
    margin_before: Array  # (n,) of the score
    margin_after: Array


@dataclass(frozen=True, eq=False)
class AnswerEnergies(RowArrays):
    """The terms of the energy, Eq. (3), at the best answers of n rows, their sum, and its weights."""

    table_name = "energy"

    distance: Array  # (n,)
    regularizer: Array
    decision: Array
    total: Array
    lam: Array
    mu: Array


@dataclass(frozen=True, eq=False)
class AnswerMeasures(RowArrays):
    """Measures of the answers to n rows, a alternatives each; NaN without an answer or a measurement.

    >>> AnswerMeasures.unknown(2, 3).kept.shape
    (2, 3)
    """

    table_name = "measures"

    effort: Array  # (n, a) distance and regulariser together: what the search makes least
    bound: Array  # (n, a) no valid answer in its place, with features that no better one makes idle, costs less
    probability: Array  # (n, a) of the target; NaN where the model has none
    kept: Array  # (n, a) share of noisy copies that keep the target
    kept_low: Array  # (n, a) its confidence interval
    kept_high: Array
    noise: NDArray[np.object_]  # (n,) the noise of these copies, in words
    agree: Array  # (n, a) share of further models that give the target
    agree_of: Array  # (n, a) how many these are

    @classmethod
    def unknown(cls, n: int, a: int) -> AnswerMeasures:
        """Nothing known of n rows with a answers each."""
        nothing = np.full((n, a), np.nan)
        return cls(*(nothing,) * 6, np.full(n, "", dtype=object), nothing, nothing)

    def with_firm_answers(self, firm: pd.DataFrame) -> AnswerMeasures:
        """A copy whose best answers have the shares of the firm table, counted on more noisy copies."""
        best = (firm[name].to_numpy(dtype=np.float64) for name in ("kept", "kept_low", "kept_high"))
        other_shares = self.kept[:, 1:], self.kept_low[:, 1:], self.kept_high[:, 1:]
        kept, low, high = (np.column_stack(pair) for pair in zip(best, other_shares, strict=True))
        return replace(self, kept=kept, kept_low=low, kept_high=high, noise=firm["noise"].to_numpy(dtype=object))


def gap_to_bound(effort: Array, bound: Array, tolerance: float = 1e-6) -> Array:
    """``effort / bound - 1``: by what share answers may cost more than the least there is.

    0 where both agree within the relative ``tolerance``: the answer is proven to be the least. Infinite where the bound
    is 0, NaN where there is no bound or no answer (an infinite effort).

    >>> gap_to_bound(np.array([0.5, 0.5, 0.5, np.inf]), np.array([0.4, 0.5, 0.0, 0.3])).round(6).tolist()
    [0.25, 0.0, inf, nan]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = np.where(effort <= bound * (1 + tolerance), 0.0, effort / bound - 1)
    return np.where(np.isnan(bound) | ~np.isfinite(effort), np.nan, gap)


SCORE_COLUMNS, ENERGY_COLUMNS = (tuple(item.name for item in fields(kind)) for kind in (ModelScores, AnswerEnergies))
