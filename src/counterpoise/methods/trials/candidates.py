"""Candidates: the values of single features that a sweep tries around its points."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoise.methods.categories import switchable_columns, values_like_reference
from counterpoise.methods.cell_values import Cells
from counterpoise.methods.settings.search_settings import DEFAULTS, SearchSettings
from counterpoise.problem import Problem
from counterpoise.types import Array, Index, Mask


class Candidates(NamedTuple):
    """Single changes to try: column ``(t,)`` and value ``(n, q, t)`` of each, and those of each feature ``(f, w)``.

    Features have different numbers of values: places beyond a feature's own repeat its last one.
    """

    column: Index
    value: Array
    places_by_feature: Index


def list_candidates(
    problem: Problem, cells: Cells | None, x: Array, reach: Array, width: int, settings: SearchSettings = DEFAULTS
) -> Candidates:
    """The changes worth trying around the points ``x`` ``(n, q, d)``."""
    parts: list[tuple[Index, Array]] = []  # columns (f,) and values (n, q, f, w)
    if cells is None:
        parts.append(_ladder_values(problem, x, reach, width, settings=settings))
    elif len(cells.columns):
        parts.append((cells.columns, _split_point_values(problem, cells, x, reach, width)))
    for column, values in switchable_columns(problem):
        tried_values = values[
            np.linspace(0, len(values) - 1, min(len(values), settings.trials.max_levels_per_sweep)).astype(np.intp)
        ]
        row_value = np.broadcast_to(problem.x0[:, None, None, None, column], (*x.shape[:2], 1, 1))
        tried = np.broadcast_to(tried_values, (*x.shape[:2], 1, len(tried_values)))
        parts.append((np.array([column]), np.concatenate([tried, row_value], axis=-1)))
    widest = max((values.shape[-1] for _, values in parts), default=0)
    columns, flat, grouped, start = [np.empty(0, dtype=np.intp)], [np.empty((*x.shape[:2], 0))], [], 0
    for numbers, values in parts:
        f, w = values.shape[2:]
        columns.append(np.repeat(numbers, w))
        flat.append(values.reshape(*x.shape[:2], f * w))
        grouped.append(start + np.arange(f)[:, None] * w + np.minimum(np.arange(widest), w - 1))
        start += f * w
    places = np.concatenate(grouped) if grouped else np.empty((0, 1), dtype=np.intp)
    return Candidates(np.concatenate(columns), np.concatenate(flat, axis=2), places)


def _split_point_values(problem: Problem, cells: Cells, x: Array, reach: Array, width: int) -> Array:
    """Values at split points, near ones densely and far ones sparsely, on both sides; the row's own value last."""
    start, span = problem.x0[:, cells.columns], reach[:, None] * problem.scales[cells.columns]
    home = cells.locate_values(start)
    first = cells.locate_values(np.fmax(problem.region.lower[:, cells.columns], start - span))[:, None, :]
    last = cells.locate_values(np.fmin(problem.region.upper[:, cells.columns], start + span))[:, None, :]
    point_cell = cells.locate_points(x)
    down, up = np.maximum(point_cell - first, 0)[..., None], np.maximum(last - point_cell, 0)[..., None]
    power = np.linspace(0, 1, width)
    below = point_cell[..., None] - np.rint(np.maximum(down, 1) ** power) * (down > 0)
    above = point_cell[..., None] + np.rint(np.maximum(up, 1) ** power) * (up > 0)
    row_cell = np.broadcast_to(home[:, None, :, None], (*point_cell.shape, 1))
    cell = np.concatenate([below, above, row_cell], axis=-1).astype(np.intp)
    return np.moveaxis(cells.nearest_values(np.moveaxis(cell, -1, 2), home, start), 2, -1)


def _ladder_values(
    problem: Problem, x: Array, reach: Array, width: int, settings: SearchSettings = DEFAULTS
) -> tuple[Index, Array]:
    """Steps that grow geometrically on both sides, and shares of the way back to the row; what missing cells may be."""
    columns = np.flatnonzero(problem.numeric)
    current = x[..., columns][..., None]
    start = problem.x0[:, None, columns, None]
    start = np.where(np.isnan(start), current, start)
    step = (reach[:, None, None] * problem.scales[columns])[..., None] * np.geomspace(1e-3, 1.0, width)
    back = start + (current - start) * np.linspace(0, 1, width, endpoint=False)[::-1]
    values = np.concatenate([current - step[:, None, 0], current + step[:, None, 0], back], axis=-1)
    gone = np.isnan(problem.x0[:, columns])
    some = np.flatnonzero(gone.any(axis=0))
    if len(some):
        given = values_like_reference(problem, columns[some], 3 * width - 1, settings=settings)
        given = np.concatenate([given, np.full_like(given[..., :1], np.nan)], axis=2)[:, None]  # or as the row has it
        values[:, :, some] = np.where(gone[:, None, some, None], given, values[:, :, some])
    return columns, values


def place_values(problem: Problem, x: Array, column: Index, value: Array) -> Array:
    """Values ``(n, q, g, w)`` of columns ``(n, g)`` as the region places them around ``x`` ``(n, q, d)``, in order.

    Steps of less than a whole number end where larger ones do: placed before they are tried, each is tried once.
    """
    n, q, _, w = value.shape
    every = np.repeat(x[:, :, None, :], w, axis=2)  # one value of every column at a time: cells are placed one by one
    spot = np.broadcast_to(column[:, None, None, :], (n, q, w, column.shape[1]))
    np.put_along_axis(every, spot, value.swapaxes(2, 3), axis=3)
    placed = problem.region.reflect_onto_lattice(every.reshape(n, q * w, -1)).reshape(every.shape)
    movable = np.take_along_axis(problem.region.free, column, axis=1)[:, None, None, :]
    settled = np.where(
        movable, np.take_along_axis(placed, spot, axis=3), np.take_along_axis(x[:, :, None, :], spot, axis=3)
    )
    return np.sort(settled.swapaxes(2, 3), axis=-1)


def find_distinct_changes(value: Array, current: Array, w: int) -> tuple[Index, Mask]:
    """Places ``(n, q, t)`` of values that differ from where the point is and from the one before in their group.

    Points have different numbers of them: beyond its own, a point's list is padded with places that are not real.
    """
    idle = (value == current) | (np.isnan(value) & np.isnan(current))
    grouped = value.reshape(*value.shape[:2], -1, w)
    idle.reshape(grouped.shape)[..., 1:] |= grouped[..., 1:] == grouped[..., :-1]
    count = int((~idle).sum(axis=-1).max(initial=1))
    spots = np.argsort(idle, axis=-1, kind="stable")[..., : max(count, 1)]
    return spots, ~np.take_along_axis(idle, spots, axis=2)
