"""What is explained, as the fuzzer sees it: the object given to the library, and the user's own way to ask it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fuzz.tables import Rng, Table


@dataclass(frozen=True)
class Subject:
    """A model: what it is called, what the library gets, what it says of a frame, its labels, its probabilities.

    may_raise: the model raises now and then; is_steady: it says the same of the same row each time;
    reads_arrays: it was fitted on arrays, so that the user gives it columns in the reference's order.
    """

    name: str
    model: Any
    predict: Callable[[pd.DataFrame], Any]
    labels: tuple[Any, ...] | None
    probabilities: Callable[[pd.DataFrame], Any] | None = None
    may_raise: bool = False
    is_steady: bool = True
    reads_arrays: bool = False


def learnable_score(rng: Rng, table: Table) -> Callable[[pd.DataFrame], Any]:
    """A number a row, a sum over its cells in units of the reference, by column name; missing cells count too."""
    weights = dict(zip(table.kinds, rng.normal(size=len(table.kinds)).tolist(), strict=True))
    gone = dict(zip(table.kinds, rng.normal(size=len(table.kinds)).tolist(), strict=True))
    units = {name: _units(table.reference[name]) for name in table.names_where(lambda kind: kind.is_number)}

    def score(frame: pd.DataFrame) -> Any:
        total = np.zeros(len(frame))
        for name, weight in weights.items():
            cells = frame[name].tolist()
            for place, cell in enumerate(cells):
                if cell is None or cell is pd.NA or cell != cell:
                    total[place] += gone[name]
                elif name in units:
                    middle, spread = units[name]
                    total[place] += weight * np.tanh(float(cell - middle) / spread)
                else:
                    total[place] += weight * (sum(str(cell).encode()) % 7 - 3) / 3
        return total

    return score


def _units(column: pd.Series[Any]) -> tuple[Any, float]:
    seen = sorted(column.dropna().tolist())
    if not seen:
        return 0, 1.0
    middle = seen[len(seen) // 2]
    spread = max(abs(float(value - middle)) for value in seen)
    return middle, spread or 1.0
