"""Margins of points that were asked about before: chains come back to the same points again and again."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from counterpoise.problem import Problem
from counterpoise.types import Array, Index, Mask


@dataclass(eq=False)
class KnownPoints:
    """Which points reach their target, by row and places; of rows whose places are all single values.

    Places with an interval among them do not say which value was drawn: such points are asked about each time, and so
    are all points under a budget of model rows, which has a memory of its own.
    """

    max_points: int
    reached: dict[tuple[int, bytes], bool] = field(default_factory=dict)

    def are_reached(self, problem: Problem, is_listed: Mask, rows: Index, x: Array, place: Index) -> Mask:
        """Whether points ``x`` ``(p, d)`` in places ``(p, d)`` of rows ``(p,)`` reach their target, ``(p,)``.

        ``is_listed`` ``(n,)`` marks the rows whose places are single values.
        """
        if not len(rows) or problem.tally.row_budget is not None or not is_listed[rows].any():
            return problem.are_reached(rows, x)
        if len(self.reached) > self.max_points:
            self.reached.clear()
        codes = np.ascontiguousarray(place, dtype=np.int32).view(f"V{4 * place.shape[1]}").ravel().tolist()
        keys = list(zip(problem.row_numbers[rows].tolist(), codes, strict=True))
        known = [self.reached.get(key) for key in keys]
        out = np.array([bool(each) for each in known])
        asked = np.array([each is None for each in known]) | ~is_listed[rows]
        unknown = asked.nonzero()[0]
        if len(unknown):
            out[unknown] = problem.are_reached(rows[unknown], x[unknown])
            listed = unknown[is_listed[rows[unknown]]]
            self.reached.update(zip([keys[point] for point in listed.tolist()], out[listed].tolist(), strict=True))
        return out
