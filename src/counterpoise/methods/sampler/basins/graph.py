"""The graph of neighbours: which points of a row are one step apart.

Two points are neighbours if one free column differs: by one place, or because it is set in one and unchanged in the
other; or if two columns of one equation differ by one place each, in opposite directions. Categories have no order: any
two are neighbours. This one graph says what a minimum, a quench, a way and a barrier is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from counterpoise.methods.sampler.places import Places
from counterpoise.objective.regularizers import Sparsity, WeightedL1
from counterpoise.problem import Problem
from counterpoise.types import Array, Index

Keys = NDArray[np.uint64]


class NeighbourGraph:
    """The points of one row as vectors of places ``(p, d)``, with their efforts: infinite where a point is not valid.

    What has been asked of the model is remembered. An interval is represented by its end farther from the row.
    """

    def __init__(self, problem: Problem, places: Places, row: int) -> None:
        self.problem, self.places = problem.take([row]), places.take(np.array([row]))
        d = problem.x0.shape[1]
        self.key_parts: Keys = np.asarray(np.random.default_rng(d).integers(1, 2**63, d, dtype=np.uint64))
        self.open_columns = np.flatnonzero(self.places.is_open[0])
        self.count, self.below = self.places.count[0], self.places.below[0]
        self.has_own_value = np.isfinite(self.places.log_weight[0, :, 0])
        self.known: dict[int, float] = {}  # effort by key
        self.points: list[Index] = []  # those that are valid
        self.keys_of_points: list[int] = []
        self.transfers = self.places.transfers
        energy = self.problem.energy
        plain = all(isinstance(part, (WeightedL1, Sparsity)) for part in energy.regularizers)
        self.setting_never_helps = not energy.lam or plain

    def keys(self, place: Index) -> Keys:
        """One number for each point ``(p, d)``: equal for equal points, and unequal, as good as always, for others."""
        with np.errstate(over="ignore"):
            return np.asarray((place.astype(np.uint64) * self.key_parts).sum(axis=-1, dtype=np.uint64))

    def values(self, place: Index) -> Array:
        """The points ``(p, d)`` in the values of their columns."""
        return np.asarray(self.places.settle(self.places.far_values(place[None]))[0])

    def costs(self, place: Index) -> Array:
        """The effort ``(p,)`` of points, valid or not."""
        return np.asarray(self.problem.energy.effort(self.values(place)[None], self.problem.x0)[0])

    def efforts(self, place: Index) -> Array:
        """The effort ``(p,)`` of points ``(p, d)``; infinite where a point is not valid: at most one model call."""
        keys = self.keys(place)
        _, first = np.unique(keys, return_index=True)
        fresh = first[[int(key) not in self.known for key in keys[first]]]
        if len(fresh):
            x = self.values(place[fresh])
            inside = self.problem.region.contains(x[None])[0]
            has_place = np.isfinite(np.take_along_axis(self.places.log_weight[0].T, place[fresh], axis=0)).all(axis=1)
            asked = np.flatnonzero(inside & has_place)
            effort = np.full(len(fresh), np.inf)
            reached = self.problem.are_reached(np.zeros(len(asked), dtype=np.intp), x[asked])
            cost = np.asarray(self.problem.energy.effort(x[asked][None], self.problem.x0)[0])
            effort[asked] = np.where(reached, cost, np.inf)
            for key, point, value in zip(keys[fresh].tolist(), place[fresh], effort.tolist(), strict=True):
                self.known[key] = value
                if value < np.inf:
                    self.points.append(point.copy())
                    self.keys_of_points.append(key)
        return np.array([self.known[int(key)] for key in keys])

    def neighbours(self, place: Index, *, all_settings: bool = False) -> tuple[Index, Index]:
        """Owners ``(q,)`` and places ``(q, d)`` of the neighbours of points ``(p, d)``.

        Without ``all_settings`` those are left out that set an unchanged column, which never lowers an effort that
        grows with every change; the neighbours there have this point as theirs.
        """
        owners, found = [], []

        def add(points: Index, *columns: tuple[int, Index | int]) -> None:
            other = place[points]
            for column, then in columns:
                other[:, column] = then
            owners.append(points)
            found.append(other)

        everyone = np.arange(len(place))
        for column in self.open_columns.tolist():
            now = place[:, column]
            add(np.flatnonzero(now > 0), (column, 0))
            if self.places.is_nominal[column]:
                for then in range(1, self.count[column] + 1):
                    add(np.flatnonzero((now > 0) & (now != then)), (column, then))
            else:
                for by in (-1, 1):
                    may = self._can_shift(column, now, by)
                    add(may, (column, now[may] + by))
            if all_settings:
                for then in range(1, self.count[column] + 1):
                    add(np.flatnonzero(now == 0), (column, then))
        for one, other in self.transfers:
            for by in (-1, 1):
                row = np.zeros(len(place), dtype=np.intp)
                ups, downs = (
                    self.places.shift_position(
                        row, np.full_like(row, column), place[:, column], np.full_like(row, step)
                    )
                    for column, step in ((one, by), (other, -by))
                )
                may = everyone[(ups >= 0) & (downs >= 0)]
                add(may, (one, ups[may]), (other, downs[may]))
        if not owners:
            return np.empty(0, dtype=np.intp), place[:0]
        return np.concatenate(owners), np.concatenate(found)

    def _can_shift(self, column: int, now: Index, by: int) -> Index:
        """Points whose changed column has a next place in a direction; the row's own value lies between two."""
        then = now + by
        crosses = (np.minimum(now, then) == self.below[column]) & self.has_own_value[column]
        return np.flatnonzero((now > 0) & (then >= 1) & (then <= self.count[column]) & ~crosses)

    def size(self) -> float:
        """How many points there are, valid or not."""
        return float(np.prod(self.count[self.open_columns] + 1.0))

    def all_points(self) -> Index:
        """Every point, ``(p, d)``."""
        axes = [np.arange(self.count[column] + 1) for column in self.open_columns]
        grid = (
            np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1) if axes else np.zeros((1, 0))
        )
        place = np.zeros((len(grid), len(self.count)), dtype=np.intp)
        place[:, self.open_columns] = grid
        return place
