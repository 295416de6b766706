"""What a draft says of the lattice: steps, where they are counted from, and the listed values that boxes hold."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from counterpoise.errors import ConstraintError
from counterpoise.space.constraints.draft import Draft
from counterpoise.types import Array, Index


def has_lattice(draft: Draft) -> bool:
    """Whether any column of a draft has a lattice at all."""
    schema = draft.schema
    by_schema = schema.category_columns or schema.narrow_floats or schema.has_grid
    return bool(by_schema or draft.step_from_row or draft.listed_columns or draft.step.any())


def column_steps(draft: Draft) -> Array:
    """The step of each column, ``(d,)``: the user's, and at least 1 for whole numbers; 0 for none."""
    integer, numeric = draft.schema.integer, draft.schema.numeric
    step = np.where(integer, np.maximum(draft.step, 1.0), np.where(numeric, draft.step, 0.0))
    for number, size in draft.step_from_row.items():
        step[number] = size if step[number] == 0 else _whole_multiple(draft, number, size)
    return step


def _whole_multiple(draft: Draft, number: int, size: float) -> int:
    """The least multiple of a step that is a whole number; without one, an error that names the constraints."""
    fraction = Fraction(size).limit_denominator(1000)
    if abs(float(fraction) - size) > 1e-12 * size:
        raise ConstraintError(
            "a Step of whole numbers must have multiples that are whole",
            f"{' and '.join(draft.constraint_texts[number])}: no multiple of {size!r} up to a thousand of them is",
            "give a whole step, or drop one of them",
        )
    return fraction.numerator


def count_from_rows(draft: Draft, places: Index, origin: Array) -> Array:
    """Where steps are counted from, ``(n, g)``: the row's own value, for the columns whose steps are relative to it.

    Whole numbers, in steps from a row that is none: there are none, and the box of such a row is made empty.
    """
    for number in draft.step_from_row:
        if places[number] >= 0:
            row_values = np.nan_to_num(draft.x0[:, number])
            origin[:, places[number]] = row_values
            off = (draft.step[number] > 0) & (row_values != np.rint(row_values))
            draft.lower[off, number], draft.upper[off, number] = np.inf, -np.inf
    return origin


def listed_span(draft: Draft, number: int, values: Array) -> Index:
    """The places ``(n, 2)`` of the first and last listed value that the box of each row holds."""
    low = np.searchsorted(values, draft.lower[:, number], "left")
    high = np.searchsorted(values, draft.upper[:, number], "right") - 1
    return np.stack([low, high], axis=1)
