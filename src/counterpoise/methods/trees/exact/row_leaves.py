"""What matters to one row: the leaves it can be led into for less than its incumbent costs, and their local cells.

Most leaves are too far from a row to matter. The others tell few cells apart: neighbouring cells that none of them
tells apart are one local cell, which stands for the cheapest of them. Local cells are numbered through, column after
column, those of columns of numbers first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoise.methods.trees.exact.cell_costs import CellCosts
from counterpoise.methods.trees.exact.conditions import Conditions
from counterpoise.methods.trees.exact.local_columns import LocalNumbers, LocalSets, lowest_bit
from counterpoise.methods.trees.exact.open_cells import LeafWalls, OpenCells
from counterpoise.methods.trees.exact.voters import Voters, Votes, Words
from counterpoise.models.trees.leaves import Leaves
from counterpoise.types import Array, Index

Cells = NDArray[Any]  # signed, local cells


class Terms(NamedTuple):
    """What cells add to the effort of a point, each ``(cells,)``, and what columns without local cells add."""

    square: Array  # under the root of L2
    rest: Array  # besides
    changed: Array  # 1 where the row is changed
    others: Array  # (3,)

    def of(self, cells: Cells) -> tuple[Array, Array, Array]:
        """The sums of points ``(p, columns)`` in local cells, each ``(p,)``."""
        square, rest, changed = (term.take(cells).sum(axis=1) for term in (self.square, self.rest, self.changed))
        return np.maximum(square + self.others[0], 0.0), rest + self.others[1], changed + self.others[2]


class LocalColumns(NamedTuple):
    """The boxes of leaves in local cells, and what these cells are."""

    numbers: LocalNumbers
    sets: LocalSets
    terms: Terms
    cell: Index  # (cells,) the cell, among all, that a local one stands for
    column: Index  # (columns,) places of the local columns among those that are split
    start: Index  # (columns,) the cheapest local cell of each

    @classmethod
    def of(cls, model: LeafWalls, opened: OpenCells, leaves: Index, terms: Array, total: Array) -> LocalColumns:
        """The local columns of some leaves ``(a,)``; ``terms`` ``(3, cells)`` are what all cells add to the effort."""
        leaf, wall = opened.list_restricted_columns(model, leaves)
        place = model.walls.place[wall]
        is_set = np.zeros(len(opened.start), dtype=bool)
        is_set[list(opened.sets)] = True
        of_sets = is_set[place]
        number, level, prices = np.flatnonzero(~of_sets), np.flatnonzero(of_sets), terms[:, opened.cell]
        numbers = LocalNumbers.of(opened, len(leaves), leaf[number], wall[number], place[number])
        groups = len(numbers.stands)
        sets = LocalSets.of(opened, len(leaves), leaf[level], wall[level], place[level], prices, groups)
        cell = opened.cell[np.concatenate([numbers.stands, sets.stands])]
        column = np.concatenate([numbers.column, sets.column])
        start = np.concatenate([numbers.start, np.array(sets.first, dtype=np.intp)])
        other_terms = total - prices[:, opened.start[column]].sum(axis=1)
        sums = Terms(terms[0, cell], terms[1, cell], terms[2, cell], other_terms)
        return cls(numbers, sets, sums, cell, column, start)

    def nearest(self) -> Index:
        """The cheapest local cells inside each leaf, ``(leaves, columns)``."""
        near = [np.clip(self.numbers.start, self.numbers.low, self.numbers.high)]
        for word, first in zip(self.sets.word, self.sets.first, strict=True):
            near.append((first + lowest_bit(self.sets.open[:, word]))[:, None])
        return np.concatenate(near, axis=1)


@dataclass(frozen=True, eq=False)
class RowLeaves:
    """The leaves, voters and local columns of one row."""

    votes: Votes
    voters: Voters
    local: LocalColumns
    above: Words  # (groups, words) leaves that lie above a group of numbers in its column,
    below: Words  # (groups, words) and below it
    shut: Words  # (cells, words) leaves that a local cell is outside of
    near: Index  # (leaves, columns) the cheapest local cells inside each leaf
    rise_column: Index  # (w, leaves) local columns in which a leaf asks for more than the cheapest cell,
    rise_cell: Index  # (w, leaves) and the cell that it asks for; padded with cheapest ones
    rise_count: Index  # (leaves,) in how many columns each leaf does so

    @classmethod
    def of(cls, votes: Votes, local: LocalColumns) -> RowLeaves:
        """From leaves and their local columns."""
        voters = Voters.of(votes)
        above, below = local.numbers.beside(voters)
        shut = np.concatenate([above | below, local.sets.shut(voters)])
        near = local.nearest()
        leaf, column = (near != local.start).nonzero()
        size = np.bincount(leaf, minlength=len(near))
        rank = np.arange(len(leaf)) - (np.cumsum(size) - size)[leaf]
        columns = np.zeros((int(size.max(initial=0)), len(near)), dtype=np.intp)
        cells = np.full(columns.shape, local.start[0] if len(local.start) else 0)
        columns[rank, leaf], cells[rank, leaf] = column, near[leaf, column]
        return cls(votes, voters, local, above, below, shut, near, columns, cells, size)

    def inside(self, cells: Cells) -> Words:
        """The leaves that points ``(p, columns)`` in local cells are in, ``(p, words)``."""
        outside: Words = np.bitwise_or.reduce(self.shut.take(cells, axis=0), axis=1)
        return np.asarray(self.voters.full & ~outside)


def reduce_to_row(
    leaves: Leaves,
    model: LeafWalls,
    costs: CellCosts,
    row: int,
    asked: Conditions,
    slack: Array,
    limit: float,
    most_changes: float,
) -> RowLeaves | None:
    """What matters to a row; None where no point that costs less than ``limit`` meets the conditions."""
    terms = np.stack([costs.square[row], costs.rest[row], costs.changed[row]])
    opened = OpenCells.of(leaves, model, costs, row, terms, limit)
    if opened is None:
        return None
    walls, cells, total = model.walls, opened.cell, costs.start_terms[row]
    rise = terms[:, cells[np.minimum(opened.near, len(cells) - 1)]] - terms[:, cells[opened.start]][:, walls.place]
    rise[:, opened.shut] = np.inf
    added = walls.ranges_of_leaf @ rise.T  # (leaves, 3)
    near = costs.effort(np.maximum(total[0] + added[:, 0], 0.0), total[1] + added[:, 1]) < limit
    alive = np.flatnonzero(near & (total[2] + added[:, 2] <= most_changes))
    votes = Votes.of(leaves, model, alive, asked, slack)
    return None if votes is None else RowLeaves.of(votes, LocalColumns.of(model, opened, votes.leaf, terms, total))
