"""What a proof of a linear model says of its rows, and how later rounds sharpen it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoise.types import Array, Index, Mask


class LinearProof(NamedTuple):
    """What is known of the least effort of n rows; no answer costs less than ``bound``, NaN where nothing is known."""

    bound: Array  # (n,)
    is_infeasible: Mask  # (n,)
    x: Array  # (n, d) an answer that costs less than the incumbent; the row where there is none
    effort: Array  # (n,) of it; infinite where there is none
    boxes: Index  # (n,) opened

    def with_better_of(self, rows: Index, found: LinearProof) -> LinearProof:
        """With what was found of some rows ``(r,)`` after that."""
        out = LinearProof._make(part.copy() for part in self)
        out.bound[rows] = np.fmax(out.bound[rows], found.bound)
        out.is_infeasible[rows] |= found.is_infeasible
        nearer = found.effort < out.effort[rows]
        out.x[rows[nearer]], out.effort[rows[nearer]] = found.x[nearer], found.effort[nearer]
        out.boxes[rows] += found.boxes
        return out
