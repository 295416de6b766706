"""Candidate values: for each feature, the few values worth trying around where a chain stands.

A model that is constant on boxes only changes at its split points. Of each cell between two split points the value
nearest to the row is the best one, so that the search space is a finite lattice. For any other model the candidates
are steps that grow geometrically, and the row's own value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterpoise.models.trees.leaves import count_edges_below
from counterpoise.problem import Problem
from counterpoise.types import Array, Index


@dataclass(frozen=True, eq=False)
class Cells:
    """Split points as a table, with the nearest value on either side of each that the column can hold."""

    columns: Index  # (f,) numeric columns with split points
    edges: Array  # (f, t) split points, padded with inf
    split_counts: Index  # (f,)
    values_below: Array  # (f, t) largest value at or below the split point
    values_above: Array  # (f, t) smallest value above it

    @classmethod
    def of(cls, problem: Problem) -> Cells | None:
        """The cells of a model with known split points, or None."""
        thresholds = problem.model.thresholds
        if thresholds is None:
            return None
        numeric = problem.numeric
        columns = np.array([j for j, t in enumerate(thresholds) if len(t) and numeric[j]], dtype=np.intp)
        width = max((len(thresholds[j]) for j in columns), default=0)
        edges = np.full((len(columns), width), np.inf)
        for place, j in enumerate(columns):
            edges[place, : len(thresholds[j])] = thresholds[j]
        lattice = problem.region.lattice
        step, parts = np.zeros(len(numeric)), np.ones(len(numeric))
        step[lattice.columns], parts[lattice.columns] = lattice.step, lattice.divisor
        left, right = find_lattice_neighbours(edges, step[columns, None], parts[columns, None])
        for column, dtype in lattice.narrow_floats:
            mine = np.flatnonzero(columns == column)
            left[mine] = round_down_to_dtype(left[mine], dtype)
            right[mine] = -round_down_to_dtype(-right[mine], dtype)
        return cls(columns, edges, np.array([len(thresholds[j]) for j in columns], dtype=np.intp), left, right)

    def locate_points(self, x: Array) -> Index:
        """Cell numbers ``(..., f)`` of encoded points ``(..., d)``."""
        return self.locate_values(x[..., self.columns])

    def nearest_values(self, cell: Index, home: Index, x0: Array) -> Array:
        """The value of each cell ``(n, ..., f)`` that is nearest to the row: ``home`` and ``x0`` are ``(n, f)``."""
        extra = (None,) * (cell.ndim - 2)
        home, start = home[(slice(None), *extra)], x0[(slice(None), *extra)]
        feature = np.arange(len(self.columns))
        below = self.values_below[feature, np.minimum(cell, self.edges.shape[1] - 1)]
        above = self.values_above[feature, np.maximum(cell - 1, 0)]
        return np.where(cell < home, below, np.where(cell > home, above, start))

    def locate_values(self, values: Array) -> Index:
        """Cell numbers of values ``(..., f)`` given for the cells' own columns; a missing one is in the last."""
        return np.minimum(count_edges_below(self.edges, values), self.split_counts)

    def change_one_feature(self, problem: Problem) -> Array:
        """The rows' nearest feasible points with one feature in each of its cells, all of them, ``(n, t, d)``."""
        home, widest = problem.region.nearest_feasible, self.edges.shape[1] + 1
        start, (n, f) = home[:, self.columns], (len(home), len(self.columns))
        cell, feature = np.nonzero(np.arange(widest)[:, None] <= self.split_counts)
        every = np.broadcast_to(np.arange(widest)[:, None], (n, widest, f))
        points = np.repeat(home[:, None, :], len(cell), axis=1)
        value = self.nearest_values(every, self.locate_values(start), start)[:, cell, feature]
        points[:, np.arange(len(cell)), self.columns[feature]] = value
        return points

    def snap(self, problem: Problem, home: Index, x: Array) -> Array:
        """Points ``x`` ``(n, k, d)``, each cell's value moved to the one nearest to the row: the decision stays."""
        y = x.copy()
        y[..., self.columns] = self.nearest_values(self.locate_points(x), home, problem.x0[:, self.columns])
        idle = problem.numeric.copy()
        idle[self.columns] = False
        y[..., idle] = problem.x0[:, None, idle]
        return y


def find_lattice_neighbours(edges: Array, step: Array, parts: Array) -> tuple[Array, Array]:
    """The largest value at or below each edge and the smallest above it, on lattices of ``step / parts``; 0: none.

    >>> edges, step, parts = np.array([-0.2, 0.29, 0.5]), np.array([1.0, 1.0, 0.0]), np.array([100.0, 100.0, 1.0])
    >>> find_lattice_neighbours(edges, step, parts)[0]
    array([-0.2 ,  0.29,  0.5 ])
    """
    on = step > 0
    step = np.where(on, step, 1.0)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.rint(edges * parts / step)  # an edge may be a value itself, but for the last bit of the product
        value = near * step / parts
        left = np.where(value <= edges, value, (near - 1) * step / parts)
        right = np.where(value > edges, value, (near + 1) * step / parts)
    return np.where(on, left, edges), np.where(on, right, np.nextafter(edges, np.inf))


def round_down_to_dtype(values: Array, dtype: np.dtype[np.floating]) -> Array:
    """The largest value of a narrow dtype that is at most each of ``values``."""
    with np.errstate(over="ignore"):
        near = values.astype(dtype)
    return np.where(near.astype(np.float64) > values, np.nextafter(near, dtype.type(-np.inf)), near).astype(np.float64)
