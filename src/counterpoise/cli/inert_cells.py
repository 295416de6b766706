"""Texts that a spreadsheet would take for a formula, written so that it shows them."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any

import pandas as pd

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def inert(cell: Any) -> Any:
    """A text that begins as a formula does, with a ' before it; a number, also one that is written as text, as it is.

    >>> inert("=HYPERLINK(A1)"), inert("-2.5"), inert("tcp")
    ("'=HYPERLINK(A1)", '-2.5', 'tcp')
    """
    if not isinstance(cell, str) or not cell.startswith(FORMULA_STARTS) or is_number_text(cell):
        return cell
    return f"'{cell}"


def is_number_text(text: str) -> bool:
    """Whether a text is a number as a spreadsheet reads it."""
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and "_" not in text and text == text.strip()


def make_inert(table: pd.DataFrame, names: Collection[Hashable]) -> pd.DataFrame:
    """The table with the texts of some columns, and their names, as `inert` has them."""
    out = table.copy(deep=False)
    for place, (name, dtype) in enumerate(table.dtypes.items()):
        if name in names and not pd.api.types.is_numeric_dtype(dtype):
            out.isetitem(place, [inert(cell) for cell in table.iloc[:, place].tolist()])
    return out.set_axis([inert(name) if name in names else name for name in table.columns], axis=1)
