"""What it costs a row to be in each cell between the split points of trees, and the legal value that costs least.

Between two split points trees do not tell values apart, so that of each cell only the legal value nearest to the row
matters. Its difference from the row decides all terms of the effort: the square that L2 adds up, and the rest, which
adds up as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from counterpoise.methods.trees.exact.legal_values import legal_ends
from counterpoise.models.trees.leaves import Leaves
from counterpoise.objective.energy import Energy
from counterpoise.objective.regularizers import ChangeCount, Sparsity, WeightedL1
from counterpoise.problem import Problem
from counterpoise.space.known_distances import NormMixture
from counterpoise.types import Array, Index, Mask


@dataclass(frozen=True, eq=False)
class CellCosts:
    """For n rows and all cells: those of the split columns first, as `Leaves` numbers them, then one a further column.

    A cell that holds no legal value of a row is not ``open`` to it.
    """

    column: Index  # (cells,) of the table
    value: Array  # (n, cells) the legal value of least cost
    open: Mask  # (n, cells)
    square: Array  # (n, cells) what it adds under the root of L2
    rest: Array  # (n, cells) what it adds to the effort besides
    changed: Mask  # (n, cells) whether it differs from the row
    root: float  # the weight of L2 in the effort
    start: Index  # (n, f) the cheapest open cell of each split column
    start_terms: Array  # (n, 3) square, rest and changes of the point that is there in every column
    feasible: Mask  # (n,) whether every column has an open cell
    missing: Mask  # (n, f) whether the row misses a number there

    @classmethod
    def of(cls, problem: Problem, leaves: Leaves) -> CellCosts:
        """The costs of all cells to the rows of a problem whose effort `is_separable`."""
        span = _Span.of(leaves, problem.x0.shape[1])
        value, delta = _nearest_legal(problem, span)
        allowed = np.isfinite(delta)
        square, rest = _effort_terms(problem, span.column, np.where(allowed, delta, 0.0))
        x0 = problem.x0[:, span.column]
        changed = allowed & (value != x0) & ~(np.isnan(value) & np.isnan(x0))
        # of values that cost nothing, the row's own one first
        price = np.where(allowed, square + rest, np.inf) + np.where(changed, np.finfo(np.float64).tiny, 0.0)
        start, split, rows = (
            _cheapest(price, leaves.first_cells),
            len(leaves.place_of_cell),
            np.arange(len(x0))[:, None],
        )
        terms = [
            term[rows, start].sum(axis=1) + term[:, split:].sum(axis=1)
            for term in (square, rest, changed.astype(np.float64))
        ]
        feasible = problem.region.feasible & allowed[rows, start].all(axis=1) & allowed[:, split:].all(axis=1)
        missing, root = np.isnan(problem.x0[:, leaves.columns]), problem.energy.distance.length_weight
        return cls(
            span.column,
            value,
            allowed,
            square,
            rest,
            changed,
            root,
            start,
            np.stack(terms, axis=1),
            feasible,
            missing,
        )

    def effort(self, square: Array, rest: Array) -> Array:
        """The effort of points whose cells add up to these terms."""
        return rest + self.root * np.sqrt(square) if self.root else rest


class _Span(NamedTuple):
    """The cells of all columns: from where to where each reaches, both ends included."""

    column: Index  # (cells,)
    low: Array  # (cells,)
    high: Array  # (cells,)
    gone: Mask  # (cells,) the cells of missing values, which reach nowhere
    whole: Mask  # (cells,) cells of columns that no tree splits

    @classmethod
    def of(cls, leaves: Leaves, d: int) -> _Span:
        other_columns = np.setdiff1d(np.arange(d), leaves.columns)
        column = np.concatenate([leaves.columns[leaves.place_of_cell], other_columns])
        low = np.concatenate([np.nextafter(leaves.lower_ends, np.inf), np.full(len(other_columns), -np.inf)])
        high = np.concatenate([leaves.upper_ends, np.full(len(other_columns), np.inf)])
        return cls(column, low, high, np.isnan(high), np.arange(len(column)) >= len(leaves.place_of_cell))


def _nearest_legal(problem: Problem, span: _Span) -> tuple[Array, Array]:
    """The legal value of least difference in each cell, and that difference: infinite where there is none."""
    region, column, x0 = problem.region, span.column, problem.x0[:, span.column]
    low, high = np.fmax(region.lower[:, column], span.low), np.fmin(region.upper[:, column], span.high)
    holds_row = (x0 >= low) & (x0 <= high) & ~span.gone
    kept = holds_row & (region.fixed[:, column] | (region.row_in_box[:, column] == x0))
    up, down = legal_ends(region.lattice, column, np.fmax(low, x0), np.fmin(high, x0), low, high)
    may_move = ~region.fixed[:, column] & ~span.gone
    found, least = np.where(kept, x0, np.nan), np.where(kept, 0.0, np.inf)
    for value in (up, down):
        inside = may_move & (value >= low) & (value <= high) & np.isfinite(value)
        delta = np.where(inside, _differences(problem, column, np.where(inside, value, x0)), np.inf)
        found, least = np.where(delta < least, value, found), np.minimum(least, delta)
    stays_missing = np.isnan(x0) & (span.gone | span.whole)
    return np.where(stays_missing, np.nan, found), np.where(stays_missing, 0.0, least)


def _cheapest(price: Array, first: Index) -> Index:
    """The cell of least price of each column, ``(n, f)``; the first of equals."""
    least = np.minimum.reduceat(price[:, : first[-1]], first[:-1], axis=1)
    hit = price[:, : first[-1]] == np.repeat(least, np.diff(first), axis=1)
    place = np.where(hit, np.arange(first[-1]), first[-1])
    return np.minimum.reduceat(place, first[:-1], axis=1)


def is_separable(energy: Energy) -> bool:
    """Whether the effort is a sum over columns, apart from the root of L2, and grows with each difference."""
    parts = energy.regularizers if energy.lam else ()
    return (
        isinstance(energy.distance, NormMixture)
        and energy.lam >= 0
        and all(isinstance(part, (WeightedL1, ChangeCount, Sparsity)) for part in parts)
    )


def _effort_terms(problem: Problem, column: Index, delta: Array) -> tuple[Array, Array]:
    """What scaled differences ``(n, cells)`` of these columns add under the root of L2, and besides."""
    energy, distance = problem.energy, problem.energy.distance
    assert isinstance(distance, NormMixture), "`is_separable` said so"
    weights, changed = dict(distance.mixture), delta != 0
    rest = energy.change_prices[column] * changed + weights.get("l1", 0.0) * delta
    if "gower" in weights or "mad" in weights:
        rest = rest + delta * distance.cell_shares(problem.x0)[:, column]
    for part in energy.regularizers if energy.lam else ():
        if isinstance(part, WeightedL1):
            rest = rest + energy.lam * part.weights[column] * delta
    return (delta**2 if distance.length_weight else np.zeros_like(delta)), rest


def _differences(problem: Problem, column: Index, value: Array) -> Array:
    """Scaled differences ``(n, cells)`` of values of these columns from the rows."""
    distance = problem.energy.distance
    x0 = problem.x0[:, column]
    delta = np.abs(value - x0) / distance.unit[column]
    if distance.has_nominal_columns:
        delta = np.where(distance.nominal[column], value != x0, delta)
    missing = np.isnan(x0)
    if missing.any():
        delta = np.where(missing, ~np.isnan(value), delta)
    if distance.prices is not None:
        delta = delta * np.where(value > x0, distance.prices[1][column], distance.prices[0][column])
    return np.asarray(delta, dtype=np.float64)
