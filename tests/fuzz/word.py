"""What a constraint is to the fuzzer, and what its makers share."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fuzz.tables import SIZES, Rng, Table

Cells = dict[Hashable, Any]
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Word:
    """A constraint as the library takes it, and whether an answer obeys it: (row's cells, answer's cells) -> bool."""

    given: Any  # None: it is judged alone, since something else asks for it
    is_obeyed: Callable[[Cells, Cells], bool]
    overrides_range: tuple[Hashable, ...] = ()  # columns whose observed range it takes the place of

    def __repr__(self) -> str:
        return repr(self.given)


def is_missing(cell: Any) -> bool:
    """Whether a cell is empty, in whatever way."""
    return cell is None or cell is pd.NA or cell is pd.NaT or (isinstance(cell, float) and cell != cell)


def is_same(before: Any, after: Any) -> bool:
    """Whether a cell kept its value; -0.0 and 0.0 are one value."""
    if is_missing(before) or is_missing(after):
        return is_missing(before) and is_missing(after)
    return bool(before == after)


def place_of(cell: Any) -> Any:
    """Where a value stands in its order."""
    return list(SIZES.categories).index(cell) if isinstance(cell, str) else cell


def pick(rng: Rng, names: list[Hashable], count: int = 1) -> list[Hashable]:
    return [names[place] for place in rng.choice(len(names), size=min(count, len(names)), replace=False)]


def seen_values(table: Table, name: Hashable) -> list[Any]:
    return [cell for cell in table.reference[name].tolist() if not is_missing(cell)]


def ordered_names(table: Table) -> list[Hashable]:
    return [name for name in table.names_where(lambda kind: kind.is_ordered) if seen_values(table, name)]


def number_names(table: Table) -> list[Hashable]:
    return [name for name in table.names_where(lambda kind: kind.is_number) if seen_values(table, name)]


def seen_floats(table: Table, name: Hashable) -> list[float]:
    return [float(value) for value in seen_values(table, name)]


def spacing(table: Table, name: Hashable, *cells: Any) -> float:
    """The distance between neighbouring numbers of the column's dtype at these values."""
    dtype = {"float32": np.float32, "float16": np.float16}.get(str(table.kind(name).dtype).lower(), np.float64)
    return max(float(np.spacing(dtype(abs(float(cell))))) for cell in cells)


def as_float(cell: Any) -> float:
    return 9.0 if is_missing(cell) else float(cell)
