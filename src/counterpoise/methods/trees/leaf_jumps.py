"""Jumps: points moved into whole leaves, those leaves first that promise most if their tree alone follows.

A leaf is a box, and the nearest point of a box is had column by column, so that every leaf of every tree can be looked
at. For a single tree the promise is exact: the first jump of a row is its nearest answer, as long as no relation moves
other cells along and no step counts from the row's own value. Trees of too many leaves are not jumped into.
"""

from __future__ import annotations

import numpy as np

from counterpoise.methods.settings.search_settings import DEFAULTS, SearchSettings
from counterpoise.methods.trees.cell_menu import CellValues
from counterpoise.methods.trials.prices import split_effort_change
from counterpoise.methods.trials.sweep import to_additive_scale
from counterpoise.models.trees.leaf_boxes import LeafBoxes
from counterpoise.models.trees.leaves import Leaves, SingleChangeSums
from counterpoise.problem import Problem
from counterpoise.types import Array, Index


def jump_into_leaves(
    problem: Problem,
    leaves: Leaves,
    menu: CellValues,
    x: Array,
    cells: Index,
    seen: SingleChangeSums,
    price: Array,
    settings: SearchSettings = DEFAULTS,
) -> Array:
    """Points ``(n * q, jumps, d)``: ``x`` ``(n, q, d)`` in ``cells`` ``(n * q, f)``, moved into one leaf each.

    ``seen`` is what the leaves say of them, ``price`` ``(n,)`` what a unit of margin is taken to cost. Where fewer
    leaves can be entered, unmoved copies of the point fill the remaining places.
    """
    n, q, d = x.shape
    row, walls, offer = np.repeat(np.arange(n), q), leaves.leaf_boxes, menu.all_values
    assert walls is not None, "leaves of a few trees are known by their walls"
    entries = walls.nearest_entries(cells, row, offer.is_allowed, offer.distance)
    there = np.where(walls.ranges_around(cells), cells.take(walls.place, axis=1), entries)
    outputs = leaves.outputs_with_leaf_swapped(seen)
    margin = to_additive_scale(problem, problem.goal.margin(outputs.reshape(n, -1, outputs.shape[2]))).reshape(
        n * q, -1
    )
    effort = _efforts_in_leaves(problem, leaves.columns, walls, offer.distance, x, cells, there)
    np.put_along_axis(effort, seen.own_leaves, np.inf, axis=1)
    merit = effort + (price[row][:, None] * np.maximum(-margin, 0.0)).take(leaves.distinct_leaves[1], axis=1)
    enough = np.where((margin > 0).take(leaves.distinct_leaves[1], axis=1), effort, np.inf)
    leaf = np.concatenate(
        [
            _find_smallest(enough, settings.trees.sufficient_jumps_per_point),
            _find_smallest(merit, settings.trees.leaf_jumps_per_point - settings.trees.sufficient_jumps_per_point),
        ],
        axis=1,
    )
    point, place = np.nonzero(np.isfinite(np.take_along_axis(effort, leaf, axis=1)))
    out = np.repeat(x.reshape(n * q, 1, d), leaf.shape[1], axis=1)
    begin, width = (
        walls.ranges_of_leaf.indptr[leaf[point, place]],
        np.diff(walls.ranges_of_leaf.indptr)[leaf[point, place]],
    )
    entry = np.repeat(begin - np.cumsum(width) + width, width) + np.arange(width.sum())
    wall, point, place = walls.ranges_of_leaf.indices[entry], np.repeat(point, width), np.repeat(place, width)
    cell = there[point, wall]
    moved = np.flatnonzero(cell != cells[point, walls.place[wall]])
    point, place, cell = point[moved], place[moved], cell[moved]
    out[point, place, menu.column[cell]] = offer.value[row[point], cell]
    return out


def _efforts_in_leaves(
    problem: Problem, columns: Index, walls: LeafBoxes, far: Array, x: Array, cells: Index, there: Index
) -> Array:
    """How the effort of points would rise in every leaf, ``(p, leaves)``: infinite where they may not be.

    ``there`` ``(p, w)`` are the cells that each wall asks for, ``far`` ``(n, c)`` how far each is from the rows.
    """
    n, q, d = x.shape
    row = np.repeat(np.arange(n), q)
    before = problem.energy.distance.differences(x, problem.x0).reshape(n * q, d)
    column = columns[walls.place]
    old = before[:, column]
    moved = far.take(there + row[:, None] * far.shape[1])
    new = np.where((there == cells.take(walls.place, axis=1)) | (there < 0), old, moved)
    rest, rise = split_effort_change(problem, column, old, new)
    rest[there < 0] = np.inf
    total = (walls.ranges_of_leaf @ rest.T).T
    weight = problem.energy.distance.length_weight
    if weight:
        square = np.einsum("pd,pd->p", before, before)[:, None] + (walls.ranges_of_leaf @ rise.T).T
        total = total + weight * np.sqrt(np.maximum(square, 0.0))
    return np.ascontiguousarray(total)


def _find_smallest(array: Array, count: int) -> Index:
    """The places of the ``count`` least numbers of each line, or of all."""
    count = min(count, array.shape[1])
    return np.argpartition(array, count - 1, axis=1)[:, :count]
