"""Leaves of all trees, and the sums of leaves after every change of a single column.

If a single cell excludes a row from a leaf, the tree goes to that leaf when the cell's column changes. So these leaves,
found in a table or by a walk down the trees, show how every such change alters the sums, without a call of the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from counterpoise.models.links import ToOutputs, two_outputs_zero_first, two_outputs_zero_second
from counterpoise.models.trees.leaf_bits import LeafTable
from counterpoise.models.trees.leaf_boxes import LeafBoxes
from counterpoise.models.trees.leaf_ranges import CellWindow, LeafRanges
from counterpoise.models.trees.leaf_walk import LeafWalk
from counterpoise.models.trees.nodes import TreeNodes
from counterpoise.models.trees.settings import DEFAULT_LEAF_SETTINGS, LeafSettings
from counterpoise.types import Array, Index, Mask, has_no_missing


class SingleChangeSums(NamedTuple):
    """The sums of p points, and the sums that each change of a single cell adds; cells are numbered through."""

    own_leaves: Index  # (p, trees) the leaf of each tree that a point is in
    sums: Array  # (p, s)
    point: Index  # (m,) pieces of neighbouring cells of one column that all add the same: whose they are,
    first_cell: Index  # (m,) the first of their cells,
    last_cell: Index  # (m,) the last one,
    added_sums: Array  # (m, s) and what is added in each


@dataclass(frozen=True, eq=False)
class Leaves:
    """The leaves of an ensemble, and the cells between its split points: numbered through, column after column.

    A column of numbers has a cell on either side of each split point, then one for missing values; a category has one
    for each level, then one for missing values. ``to_outputs`` turns sums of leaves into the model's outputs.
    """

    columns: Index  # (f,) columns that are split
    edges: tuple[Array | None, ...]  # (f,) their split points; None for a category
    first_cells: Index  # (f + 1,) the first cell of each, and one past the last
    finder: LeafTable | LeafWalk
    leaf_ranges: LeafRanges | None  # to each leaf, where they are not too many
    value: Array  # (leaves, w) what a leaf adds to the sums,
    first_sum: Index  # (trees,) from this one on
    base: Array  # (s,)
    to_outputs: ToOutputs
    settings: LeafSettings = DEFAULT_LEAF_SETTINGS

    @classmethod
    def of(cls, trees: TreeNodes, settings: LeafSettings = DEFAULT_LEAF_SETTINGS) -> Leaves | None:
        """The leaves of an ensemble; None where nothing is split, or a column as a number here and a category there."""
        columns = np.unique(trees.feature[trees.feature >= 0])
        coded = trees.category >= 0
        of_sets = zip(trees.feature[coded].tolist(), trees.category[coded].tolist(), strict=True)
        levels = {column: len(trees.category_sets[number]) for column, number in of_sets}
        if not len(columns) or any(len(trees.thresholds[column]) for column in levels):
            return None
        edges = tuple(None if column in levels else trees.thresholds[column] for column in columns.tolist())
        counts = [levels[j] if edge is None else len(edge) + 2 for j, edge in zip(columns.tolist(), edges, strict=True)]
        first = np.concatenate([[0], np.cumsum(counts)])
        node = np.flatnonzero(trees.feature < 0)
        size = len(node) * len(columns)
        has_few = len(trees.roots) <= settings.few_trees
        paths: LeafRanges | None = None
        finder: LeafTable | LeafWalk | None = None
        if size <= (settings.max_ranges_of_few_trees if has_few else settings.max_table_ranges):
            paths = LeafRanges.of(trees, columns, edges, first)
            node = paths.node
            finder = LeafTable.of(paths, first, settings) if size <= settings.max_table_ranges else None
        finder = finder or LeafWalk.of(trees, columns, edges, first, node, settings)
        value, base = _weigh_leaves(trees, node)
        return cls(columns, edges, first, finder, paths, value, trees.first_sum, base, trees.to_outputs, settings)

    @cached_property
    def lattice_cells_cache(self) -> dict[bytes, Any]:
        """What a lattice leaves of the cells, by its key: a search keeps it here."""
        return {}

    @property
    def has_one_margin(self) -> bool:
        """Whether the sum is the margin between two classes."""
        return self.to_outputs in (two_outputs_zero_first, two_outputs_zero_second)

    @cached_property
    def place_of_cell(self) -> Index:
        """The place of each cell's column among those that are split, ``(cells,)``."""
        return np.repeat(np.arange(len(self.columns)), np.diff(self.first_cells))

    @property
    def has_few_trees(self) -> bool:
        """Whether there are so few trees that a search jumps into their leaves."""
        return self.tree_count <= self.settings.few_trees

    @property
    def tree_count(self) -> int:
        """The number of trees."""
        return len(self.first_sum)

    @cached_property
    def leaf_boxes(self) -> LeafBoxes | None:
        """The box of each leaf; None where there are too many leaves."""
        return None if self.leaf_ranges is None else LeafBoxes.of(self.leaf_ranges, self.first_cells)

    @cached_property
    def distinct_leaves(self) -> tuple[Index, Index]:
        """Distinct (tree, value) pairs, each by one of its leaves ``(k,)``, and each leaf's index among them."""
        every = np.column_stack([self._tree_of_leaf, self.value])
        _, leaf, kind = np.unique(every, axis=0, return_index=True, return_inverse=True)
        return leaf, kind.reshape(-1)

    @cached_property
    def categorical_places(self) -> Index:
        """The places of categories among the columns."""
        return np.array([place for place, edge in enumerate(self.edges) if edge is None], dtype=np.intp)

    @cached_property
    def upper_ends(self) -> Array:
        """The upper end of each cell ``(cells,)``, which belongs to it; a level is its own; NaN for missing values."""
        return np.concatenate([_cell_ends(edge, size)[1] for edge, size in self._edges_and_sizes()])

    @cached_property
    def lower_ends(self) -> Array:
        """The lower end of each cell ``(cells,)``, which does not belong to it."""
        return np.concatenate([_cell_ends(edge, size)[0] for edge, size in self._edges_and_sizes()])

    @cached_property
    def _splits_first_columns(self) -> bool:
        """Whether the columns that are split are the first ones, in order."""
        return np.array_equal(self.columns, np.arange(len(self.columns)))

    def find_cells(self, x: Array) -> Index:
        """The cells ``(p, f)`` that encoded rows ``(p, d)`` are in."""
        values = x if self._splits_first_columns and x.shape[1] == len(self.columns) else x.take(self.columns, axis=1)
        if (
            values.size * self._padded_edges.shape[1] <= self.settings.max_comparisons
        ):  # the first split point that is not below
            cell = (self._padded_edges >= values[..., None]).argmax(axis=-1)
        else:
            cell = count_edges_below(self._padded_edges, values, self.settings.max_comparisons)
        if len(self.categorical_places):
            levels = values[:, self.categorical_places]
            cell[:, self.categorical_places] = np.where(np.isnan(levels), 0, levels)
        cell += self.first_cells[:-1]
        return cell if has_no_missing(values) else np.where(np.isnan(values), self.first_cells[1:] - 1, cell)

    def sums_at(self, cells: Index) -> Array:
        """The sums ``(p, s)`` of rows in these cells ``(p, f)``."""
        return self._sum_leaf_values(self.finder.find_leaves(cells))

    def outputs_with_leaf_swapped(self, seen: SingleChangeSums) -> Array:
        """The outputs ``(p, kinds, c)`` of points if one tree alone gave them another leaf, for every kind of leaf."""
        leaf, p = self.distinct_leaves[0], len(seen.own_leaves)
        tree = self._tree_of_leaf[leaf]
        change = self.value[leaf] - self.value[seen.own_leaves].take(tree, axis=1)  # (p, kinds, w)
        sums = np.repeat(seen.sums[:, None, :], len(leaf), axis=1)
        at = self.first_sum[tree][:, None] + np.arange(change.shape[2])
        sums[:, np.arange(len(leaf))[:, None], at] += change
        return self.to_outputs(sums.reshape(-1, len(self.base))).reshape(p, len(leaf), -1)

    def survey_single_changes(self, cells: Index, home: Index, window: CellWindow | None = None) -> SingleChangeSums:
        """The sums of points in these cells ``(p, f)``, and the sums with any one of their cells changed.

        The points belong to n rows, the same number to each. Only cells in the row's window ``(n, f)`` are tried. The
        row's own cells ``home`` ``(n, f)``, which are inside it, are pieces of their own. A number is never made
        missing: the missing cell stands for what the row has now.
        """
        n, q = len(home), len(cells) // max(len(home), 1)
        if window is None:
            every = self.first_cells[:-1], self.first_cells[1:]
            window = CellWindow(*(np.tile(ends.astype(np.int32), (n, 1)) for ends in every))
        most = min(self.finder.max_points_together, self.settings.max_cells_together // len(self.place_of_cell))
        size = max(1, most // max(q, 1))  # rows looked at together
        if size >= n:
            return self._survey_part(cells, home, window)
        parts, starts = [], range(0, n, size)
        for rows in (slice(start, start + size) for start in starts):
            parts.append(self._survey_part(cells[rows.start * q : rows.stop * q], home[rows], window.take_rows(rows)))
        point_leaves, sums, point, cell, last, added = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        point += np.repeat(np.array(starts) * q, [len(part.point) for part in parts])
        return SingleChangeSums(point_leaves, sums, point, cell, last, added)

    def _survey_part(self, cells: Index, home: Index, window: CellWindow) -> SingleChangeSums:
        point_leaves, near = self.finder.find_leaves_and_neighbours(cells, window)
        (p, f), width = cells.shape, int(self.first_cells[-1]) + 1
        line = np.arange(0, p * width, width)
        begin = line.take(near.point)
        begin, end = begin + near.begin, begin + near.end
        # pieces begin where what a leaf brings begins or ends, where windows do, and on either side of home
        edges = np.concatenate([window.first, window.end, home, home + 1], axis=1)
        at = line[:, None] + edges.repeat(p // max(len(home), 1), axis=0)
        marks = np.zeros(p * width, dtype=bool)
        marks[at] = marks[begin] = marks[end] = True
        found = marks.nonzero()[0]
        number = np.empty(p * width, dtype=np.intp)
        number[found] = np.arange(len(found))
        begin, end = number.take(begin), number.take(end)
        before = point_leaves.take(near.point * point_leaves.shape[1] + near.tree)
        added = np.zeros((len(self.base), len(found)))
        for first, mine in self._trees_by_first_sum:
            some = slice(None) if len(self._trees_by_first_sum) == 1 else np.flatnonzero(mine.take(near.tree))
            for k, worth in enumerate(self._values_by_sum, first):
                rise = worth.take(near.leaf[some]) - worth.take(before[some])
                steps = np.bincount(begin[some], rise, len(found))
                steps -= np.bincount(end[some], rise, len(found))
                added[k] += steps.cumsum()  # sums are exact: none depends on the points before
        # what lies between two windows is no piece
        marks[at[:, f : 2 * f]] = False
        marks[at[:, :f]] = True
        kept = marks.take(found).nonzero()[0]
        cell, last = found.take(kept), found.take(kept + 1)
        point = cell // width
        cell -= point * width
        last -= point * width + 1
        sums = self._sum_leaf_values(point_leaves)
        return SingleChangeSums(point_leaves, sums, point, cell, last, added.take(kept, axis=1).T)

    def _sum_leaf_values(self, point_leaves: Index) -> Array:
        """What leaves ``(p, trees)`` sum up to, ``(p, s)``."""
        out = self.base[None].repeat(len(point_leaves), axis=0)
        for first, mine in self._trees_by_first_sum:
            some = point_leaves if len(self._trees_by_first_sum) == 1 else point_leaves[:, mine]
            for k, worth in enumerate(self._values_by_sum, first):
                out[:, k] += worth.take(some).sum(axis=1)
        return out

    @cached_property
    def _trees_by_first_sum(self) -> tuple[tuple[int, Mask], ...]:
        """The first sum that trees add to, and which trees ``(trees,)`` do."""
        return tuple((first, self.first_sum == first) for first in np.unique(self.first_sum).tolist())

    @cached_property
    def _values_by_sum(self) -> Array:
        return np.ascontiguousarray(self.value.T)

    @cached_property
    def _tree_of_leaf(self) -> Index:
        assert self.leaf_ranges is not None, "asked for where there are few trees"
        return self.leaf_ranges.tree

    def _edges_and_sizes(self) -> list[tuple[Array | None, int]]:
        return list(zip(self.edges, np.diff(self.first_cells).tolist(), strict=True))

    @cached_property
    def _padded_edges(self) -> Array:
        """Split points ``(f, t)``, padded with infinity, one at least."""
        width = max((len(edge) for edge in self.edges if edge is not None), default=0)
        out = np.full((len(self.edges), width + 1), np.inf)
        for place, edge in enumerate(self.edges):
            if edge is not None:
                out[place, : len(edge)] = edge
        return out


def _weigh_leaves(trees: TreeNodes, node: Index) -> tuple[Array, Array]:
    """What each leaf adds to the sums ``(leaves, w)``, and what they begin with ``(s,)``, on a grid of exact sums."""
    if trees.averages_leaves:
        return _round_to_exact_grid(trees.value[node] / len(trees.roots), np.zeros(len(trees.base)), len(trees.roots))
    return _round_to_exact_grid(trees.scale * trees.value[node], trees.base, len(trees.roots))


def _round_to_exact_grid(value: Array, base: Array, trees: int) -> tuple[Array, Array]:
    """Values of leaves and what they are added to, rounded to a grid so that sums of them are exact in any order.

    The grid goes by the largest sum that the largest leaves could make, so that values more than 12 digits below these
    are lost to surveys. No answer relies on that: the model itself is asked before one counts.
    """
    total = trees * np.abs(value).max(initial=0.0) + np.abs(base).max(initial=0.0)
    least = float(np.finfo(np.float64).tiny)
    grid = 2.0 ** (np.ceil(np.log2(max(total, least))) - 49)  # 53 binary digits are exact: four are left for sums
    return np.rint(value / grid) * grid, np.rint(base / grid) * grid


def count_edges_below(
    edges: Array, values: Array, max_comparisons: int = DEFAULT_LEAF_SETTINGS.max_comparisons
) -> Index:
    """How many split points ``(f, t)``, sorted and padded with infinity, lie below each of ``values`` ``(..., f)``.

    >>> count_edges_below(np.array([[1.0, 2.0], [5.0, np.inf]]), np.array([[2.0, 6.0]]))
    array([[1, 1]])
    """
    if values.size * edges.shape[1] <= max_comparisons:  # few: comparing all is quicker than a search by column
        return np.asarray(np.count_nonzero(~(edges >= values[..., None]), axis=-1))
    out = np.empty(values.shape, dtype=np.intp)
    for place, line in enumerate(edges):
        out[..., place] = line.searchsorted(values[..., place], side="left")
    return out


def _cell_ends(edge: Array | None, size: int) -> tuple[Array, Array]:
    """The lower and the upper end of each cell of one column."""
    if edge is None:
        level = np.append(np.arange(size - 1.0), np.nan)
        return np.nextafter(level, -np.inf), level
    return np.concatenate([[-np.inf], edge, [np.nan]]), np.concatenate([edge, [np.inf, np.nan]])
