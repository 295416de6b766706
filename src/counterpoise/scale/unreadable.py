"""Lines of the input that are no rows: they keep their place in a frame, marked, and come back rejected with a reason.

A frame with such lines has one column more, which says why; the other cells of such a line are those of its neighbour,
so that no column changes its type, and nobody looks at them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

WHY = "cp_unreadable"  # the column that says why a line is no row; missing in rows


def insert_unreadable(rows: pd.DataFrame, reasons: Mapping[int, str]) -> pd.DataFrame:
    """The rows, with lines that are none between them; ``reasons`` has the place of each among all lines, and why.

    >>> insert_unreadable(pd.DataFrame({"load": [5, 6]}), {1: "no number"})
       load cp_unreadable
    0     5           NaN
    1     5     no number
    2     6           NaN
    """
    if not reasons:
        return rows
    count = len(rows) + len(reasons)
    is_row = ~np.isin(np.arange(count), list(reasons))
    neighbours = np.maximum(np.cumsum(is_row) - 1, 0)
    out = rows.iloc[neighbours] if len(rows) else rows.reindex(range(count))
    why = pd.Series([reasons.get(place, np.nan) for place in range(count)], dtype="str")
    return out.reset_index(drop=True).assign(**{WHY: why})


def split_unreadable(frame: pd.DataFrame) -> tuple[pd.DataFrame, dict[int, str]]:
    """A frame without its marks; and the places of lines that are no rows, with the reasons."""
    if WHY not in frame.columns:
        return frame, {}
    why = frame[WHY]
    return frame.drop(columns=WHY), {place: str(why.iloc[place]) for place in np.flatnonzero(why.notna()).tolist()}


def empty_cells(frame: pd.DataFrame, reasons: Mapping[int, str]) -> pd.DataFrame:
    """A frame in which the lines that are no rows have no values; whole numbers stay such."""
    nullable = {"i": "Int64", "u": "UInt64", "b": "boolean"}
    kinds = {name: getattr(dtype, "kind", "") for name, dtype in frame.dtypes.items()}
    whole = frame.astype({name: nullable[kind] for name, kind in kinds.items() if kind in nullable})
    is_none = np.isin(np.arange(len(frame)), list(reasons))
    return whole.mask(np.repeat(is_none[:, None], whole.shape[1], axis=1))
