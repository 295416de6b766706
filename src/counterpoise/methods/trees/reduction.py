"""Reduction: from all leaves of a model to those that matter to one row below the effort of its incumbent."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoise.methods.trees.cell_costs import CellCosts
from counterpoise.methods.trees.conditions import Conditions
from counterpoise.methods.trees.leaf_walls import LeafWalls
from counterpoise.methods.trees.row_leaves import DEAD, RowLeaves, Sets
from counterpoise.models.leaves import Leaves
from counterpoise.types import Array, Index, Mask

ELIMINATIONS = 4  # times that leaves which cannot be part of any answer are looked for


class SetWalls(NamedTuple):
    """The walls of a column of levels, or of numbers that the row misses: which open cells each lets in."""

    walls: Index  # (k,)
    cells: Index  # (m,) open ones, numbered as open cells
    open: Mask  # (k, m)


class OpenCells(NamedTuple):
    """The cells that a row can be in for less than the limit, and its walls in their numbers."""

    cell: Index  # (open,) number of each among all cells
    first: Index  # (f + 1,) the first open cell of each column
    start: Index  # (f,) the cheapest one of each
    low: Index  # (walls,) the first open cell inside each wall; beyond high where there is none
    high: Index  # (walls,)
    near: Index  # (walls,) the cheapest one inside
    shut: Mask  # (walls,) walls without an open cell
    sets: dict[int, SetWalls]


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
    """The leaves that count for a row; None where no point that costs less than ``limit`` meets the conditions."""
    terms = np.stack([costs.square[row], costs.rest[row], costs.changed[row]])
    total = costs.start_terms[row]
    opened = _open_cells(leaves, model, costs, row, terms, total, limit)
    if opened is None:
        return None
    walls, cells = model.walls, opened.cell
    rise = terms[:, cells[np.minimum(opened.near, len(cells) - 1)]] - terms[:, cells[opened.start]][:, walls.place]
    rise[:, opened.shut] = np.inf
    added = walls.leaves @ rise.T  # (leaves, 3)
    with np.errstate(invalid="ignore"):
        near = costs.effort(total[0] + added[:, 0], total[1] + added[:, 1]) < limit
    alive = np.flatnonzero(near & (total[2] + added[:, 2] <= most_changes))
    found = _count_votes(leaves, model, alive, asked, slack)
    return None if found is None else _local(leaves, model, opened, terms, total, found, asked)


def _open_cells(
    leaves: Leaves, model: LeafWalls, costs: CellCosts, row: int, terms: Array, total: Array, limit: float
) -> OpenCells | None:
    walls, split = model.walls, len(leaves.feature)
    own = terms[:, costs.start[row]]
    alone = total[:, None] - own[:, leaves.feature] + terms[:, :split]
    may = costs.open[row, :split] & (costs.effort(np.maximum(alone[0], 0.0), alone[1]) < limit)
    count = np.concatenate([[0], np.cumsum(may)])
    first, start = count[leaves.first], count[costs.start[row]]
    if not costs.feasible[row] or not may[costs.start[row]].all():
        return None  # a column that has nowhere to be, or the row's nearest legal point is too far
    low, high = count[walls.low], count[walls.high + 1] - 1
    near = np.minimum(np.maximum(start[walls.place], low), high)
    shut, cell, sets = low > high, np.flatnonzero(may), {}
    ordered = terms[0] + terms[1]
    for place, cells, mine, inside in _set_walls(leaves, model, costs.missing[row]):
        here = np.flatnonzero(may[cells])
        part = SetWalls(mine, count[cells[here]], inside[:, here])
        price = np.where(part.open, ordered[cells[here]], np.inf)
        near[mine], shut[mine] = part.cells[price.argmin(axis=1)], ~part.open.any(axis=1)
        sets[place] = part
    return OpenCells(cell, first, start, low, high, near, shut, sets)


def _set_walls(leaves: Leaves, model: LeafWalls, missing: Mask) -> list[tuple[int, Index, Index, Mask]]:
    """For each column whose walls are sets: its place, its cells, its walls, and which cells each lets in."""
    walls, found = model.walls, []
    for mine, cells, inside in walls.levels:
        found.append((int(leaves.feature[cells[0]]), cells, mine, inside))
    for place in np.flatnonzero(missing).tolist():
        if leaves.edges[place] is None:
            continue
        mine = np.flatnonzero(walls.place == place)
        cells = np.arange(leaves.first[place], leaves.first[place + 1])
        inside = (cells >= walls.low[mine][:, None]) & (cells <= walls.high[mine][:, None])
        inside[:, -1] = walls.missing[mine]
        found.append((place, cells, mine, inside))
    return found


class Votes(NamedTuple):
    """Leaves that can be part of an answer, and what they are worth in each condition."""

    leaf: Index  # (a,) among all
    tree: Index  # (a,) from 0, without gaps
    value: Array  # (a, m)
    base: Array  # (m,) what is there without them, less what is needed
    lost: Mask  # (trees,) trees that have lost leaves which no answer has


def _count_votes(
    leaves: Leaves, model: LeafWalls, alive: Index, asked: Conditions, slack: Array
) -> Votes | None:
    """The leaves without those that no answer has: with the best of all other trees they meet no condition."""
    value = model.value[alive] @ asked.directions.T
    base = leaves.base @ asked.directions.T - asked.least + np.abs(asked.directions) @ slack
    tree = model.tree[alive]
    before = np.bincount(tree, minlength=leaves.trees)
    for _ in range(ELIMINATIONS):
        begin = np.flatnonzero(np.diff(tree, prepend=-1))
        if len(begin) < leaves.trees:
            return None
        most = np.maximum.reduceat(value, begin, axis=0) if len(value) else value
        spare = base + most.sum(axis=0)
        if (spare < 0).any():
            return None
        kept = np.flatnonzero((value - most[tree] + spare >= 0).all(axis=1))
        if len(kept) == len(alive):
            break
        alive, tree, value = alive[kept], tree[kept], value[kept]
    return Votes(alive, tree, value, base, np.bincount(tree, minlength=leaves.trees) < before)


def _local(
    leaves: Leaves, model: LeafWalls, opened: OpenCells, terms: Array, total: Array, votes: Votes, asked: Conditions
) -> RowLeaves:
    entry_leaf, entry_wall = _restricting(model, opened, votes.leaf)
    place = model.walls.place[entry_wall]
    is_set = np.isin(place, list(opened.sets))
    number = ~is_set
    columns = np.unique(place[number])
    cuts = np.unique(
        np.concatenate(
            [
                opened.low[entry_wall[number]],
                opened.high[entry_wall[number]] + 1,
                opened.first[columns],
                opened.first[columns + 1],
            ]
        )
    )
    groups = max(len(cuts) - 1, 0)
    bits = _Bits.of(votes)
    low = np.tile(np.searchsorted(cuts, opened.first[columns]), (len(votes.leaf), 1))
    high = np.tile(np.searchsorted(cuts, opened.first[columns + 1]) - 1, (len(votes.leaf), 1))
    ends = low[:1].copy(), high[:1].copy()
    at = entry_leaf[number], np.searchsorted(columns, place[number])
    low[at] = np.searchsorted(cuts, opened.low[entry_wall[number]])
    high[at] = np.searchsorted(cuts, opened.high[entry_wall[number]] + 1) - 1
    above, below = bits.none(groups), bits.none(groups)
    leaf, column = at
    some = low[at] > ends[0][0, column]
    bits.add(above, low[at][some] - 1, leaf[some])
    some = high[at] < ends[1][0, column]
    bits.add(below, high[at][some] + 1, leaf[some])
    for begin, end in zip(ends[0][0].tolist(), ends[1][0].tolist(), strict=True) if len(votes.leaf) else ():
        part = slice(begin, end + 1)
        above[part] = np.bitwise_or.accumulate(above[part][::-1], axis=0)[::-1]
        np.bitwise_or.accumulate(below[part], axis=0, out=below[part])
    start_of = np.zeros(len(opened.cell), dtype=np.intp)
    for place_of in columns.tolist():
        start_of[opened.first[place_of] : opened.first[place_of + 1]] = opened.start[place_of]
    stands = np.clip(start_of[cuts[:-1]], cuts[:-1], cuts[1:] - 1) if groups else cuts[:0]
    set_places, sets, set_shut, set_stands = _local_sets(model, opened, terms, votes, entry_leaf, entry_wall, is_set, groups, bits)
    cell = opened.cell[np.concatenate([stands, set_stands]).astype(np.intp)]
    every = np.concatenate([columns, set_places]).astype(np.intp)
    outside = total - terms[:, opened.cell[opened.start[every]]].sum(axis=1)
    start = np.searchsorted(cuts, opened.start[columns], side="right") - 1
    start = np.concatenate([start, np.array(sets.first, dtype=np.intp)]).astype(np.intp)
    rise_column, rise_cell = _rises(low, high, start, sets, terms[0][cell] + terms[1][cell] + terms[2][cell])
    return RowLeaves(
        asked,
        -bits.rest(votes),
        bits.voters,
        bits.voter_tree,
        bits.voter_word,
        bits.several,
        bits.full,
        bits.value,
        bits.leaf,
        bits.width,
        votes.leaf,
        bits.bit_leaf,
        bits.bit,
        bits.bit_word,
        np.concatenate([above | below, set_shut]),
        above,
        below,
        low,
        high,
        sets,
        start,
        terms[0][cell],
        terms[1][cell],
        terms[2][cell],
        (float(outside[0]), float(outside[1]), float(outside[2])),
        cell,
        every,
        rise_column,
        rise_cell,
    )


def _rises(low: Index, high: Index, start: Index, sets: Sets, price: Array) -> tuple[Index, Index]:
    """For each leaf the local columns in which it asks for more than the cheapest cell, and that cell, padded."""
    numbers = low.shape[1]
    near = np.clip(start[:numbers], low, high)
    parts = [near]
    for word, first in zip(sets.word, sets.first, strict=True):
        parts.append((first + _lowest(sets.open[:, word]))[:, None])
    near = np.concatenate(parts, axis=1) if len(parts) > 1 else near
    if not near.shape[1]:
        return np.zeros((len(low), 0), dtype=np.intp), np.zeros((len(low), 0), dtype=np.intp)
    moved = near != start
    width = int(moved.sum(axis=1).max(initial=0))
    column = np.argsort(~moved, axis=1, kind="stable")[:, :width]
    return column, np.take_along_axis(near, column, axis=1)


def _lowest(words: NDArray[np.uint64]) -> Index:
    """The number of the lowest bit of each line ``(p, words)``; 64 times the words where there is none."""
    place = np.bitwise_count((words & (~words + np.uint64(1))) - np.uint64(1)).astype(np.intp)
    if words.shape[1] == 1:
        return place[:, 0]
    which = (words != 0).argmax(axis=1)
    return np.asarray(which * 64 + np.take_along_axis(place, which[:, None], axis=1)[:, 0])


def _restricting(model: LeafWalls, opened: OpenCells, leaf: Index) -> tuple[Index, Index]:
    """The walls of leaves that keep out an open cell: the place of the leaf in the list, and the wall, each ``(e,)``."""
    table = model.walls.leaves
    begin, width = table.indptr[leaf], np.diff(table.indptr)[leaf]
    entry = np.repeat(begin - np.cumsum(width) + width, width) + np.arange(width.sum())
    owner, wall = np.repeat(np.arange(len(leaf)), width), table.indices[entry].astype(np.intp)
    place = model.walls.place
    narrow = (opened.low > opened.first[place]) | (opened.high < opened.first[place + 1] - 1)
    for part in opened.sets.values():
        narrow[part.walls] = ~part.open.all(axis=1)
    kept = np.flatnonzero(narrow[wall])
    return owner[kept], wall[kept]


class _Bits(NamedTuple):
    """The words of all voters."""

    width: int
    voters: Array
    voter_tree: Index
    voter_word: Index
    several: bool
    full: NDArray[Any]
    value: Array
    leaf: Index
    bit_leaf: Index
    bit: NDArray[Any]
    bit_word: Index
    word_of_bit: Index
    by_leaf: Index  # (e,) the bits, those of a leaf together,
    of_leaf: Index  # (leaves + 1,) and where those of each leaf begin

    @classmethod
    def of(cls, votes: Votes) -> _Bits:
        m, count = votes.value.shape[1], len(votes.leaf)
        begin = np.flatnonzero(np.diff(votes.tree, prepend=-1))
        sizes = np.diff(begin, append=count)
        voters, trees, owners, leaf, worth = [], [], [], [], []
        spread = np.maximum.reduceat(votes.value, begin, axis=0) - np.minimum.reduceat(votes.value, begin, axis=0)
        # a point in a leaf that was lost is no answer: where no condition tells, the first one has to
        spread[votes.lost & ~spread.any(axis=1), :1] = 1.0
        for k in range(m):
            value, varies = votes.value[:, k], spread[:, k] > 0
            chosen = np.flatnonzero(varies)
            mine = np.flatnonzero(np.repeat(varies, sizes))
            owners.append(sum(map(len, trees)) + np.repeat(np.arange(len(chosen)), sizes[chosen]))
            trees.append(chosen)
            voters.append(np.repeat(np.eye(m)[k : k + 1], len(chosen), axis=0))
            leaf.append(mine)
            worth.append(value[mine])
        owner = np.concatenate(owners) if owners else np.empty(0, dtype=np.intp)
        bit_leaf = np.concatenate(leaf) if leaf else np.empty(0, dtype=np.intp)
        value = np.concatenate(worth) if worth else np.empty(0)
        order = np.lexsort((-value, owner))
        owner, bit_leaf, value = owner[order], bit_leaf[order], value[order]
        voter_count = sum(map(len, trees))
        size = np.bincount(owner, minlength=voter_count)
        widest = int(size.max(initial=1))
        width = next((bits for bits in (8, 16, 32) if widest <= bits), 64)
        kind = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}[width]
        words = -(-size // width)
        voter_word = np.cumsum(words) - words
        rank = np.arange(len(owner)) - np.repeat(np.cumsum(size) - size, size)
        word, place = voter_word[owner] + rank // width, rank % width
        total = int(words.sum())
        bit = np.left_shift(np.ones(len(owner), dtype=kind), place.astype(kind))
        values, leaves = np.full((total, width + 1), DEAD), np.full((total, width), -1)
        values[word, place], leaves[word, place] = value, bit_leaf
        bit_word = np.searchsorted(word, np.arange(total))
        full = np.bitwise_or.reduceat(bit, bit_word) if total else bit
        by_leaf = np.argsort(bit_leaf, kind="stable")
        of_leaf = np.searchsorted(bit_leaf[by_leaf], np.arange(count + 1))
        return cls(
            width,
            np.concatenate(voters) if voters else np.empty((0, m)),
            np.concatenate(trees) if trees else np.empty(0, dtype=np.intp),
            voter_word,
            total > voter_count,
            full,
            values.reshape(-1),
            leaves,
            bit_leaf,
            bit,
            bit_word,
            word,
            by_leaf,
            of_leaf,
        )

    def none(self, lines: int) -> NDArray[Any]:
        """No leaf, in so many lines."""
        return np.zeros((lines, len(self.full)), dtype=self.full.dtype)

    def add(self, table: NDArray[Any], line: Index, leaf: Index) -> None:
        """Put leaves ``(e,)`` into lines ``(e,)`` of a table; none is put into a line twice."""
        width = self.of_leaf[leaf + 1] - self.of_leaf[leaf]
        entry = np.repeat(self.of_leaf[leaf] - np.cumsum(width) + width, width) + np.arange(width.sum())
        bit = self.by_leaf[entry]
        flat = table.reshape(-1)
        np.add.at(flat, np.repeat(line, width) * table.shape[1] + self.word_of_bit[bit], self.bit[bit])

    def rest(self, votes: Votes) -> Array:
        """What trees that are no voters add to each condition, with what is there without leaves, ``(m,)``."""
        begin = np.flatnonzero(np.diff(votes.tree, prepend=-1))
        worth = votes.value[begin]
        total = votes.base + worth.sum(axis=0)
        for k in range(votes.value.shape[1]):
            total[k] -= worth[self.voter_tree[self.voters[:, k] > 0], k].sum()
        return total


def _local_sets(
    model: LeafWalls,
    opened: OpenCells,
    terms: Array,
    votes: Votes,
    entry_leaf: Index,
    entry_wall: Index,
    is_set: Mask,
    groups: int,
    bits: _Bits,
) -> tuple[Index, Sets, NDArray[Any], Index]:
    """Columns of levels: their places, classes, the leaves shut to each class, and the open cell it stands for."""
    place = model.walls.place[entry_wall]
    places = np.unique(place[is_set])
    words, firsts, every, opens, shuts, stands, used = [], [], [], [], [], [], 0
    for column in places.tolist():
        part, mine = opened.sets[column], np.flatnonzero(place == column)
        line = np.full(len(model.walls.place), -1)
        line[part.walls] = np.arange(len(part.walls))
        walls, which = np.unique(line[entry_wall[mine]], return_inverse=True)
        inside = part.open[walls]  # (k, m)
        price = terms[:, opened.cell[part.cells]]
        order = np.lexsort((np.arange(len(part.cells)), price[2], price[0] + price[1]))
        _, one, kind = np.unique(inside[:, order], axis=1, return_index=True, return_inverse=True)
        classes = np.sort(one)  # the cheapest level of each class, cheapest first
        cells = order[classes]
        table = inside[:, cells]  # (k, classes)
        count = len(cells)
        size = -(-count // 64)
        mask = _as_words(table, size)
        own = np.tile(_as_words(np.ones((1, count), dtype=bool), size), (len(votes.leaf), 1))
        own[entry_leaf[mine]] = mask[which.reshape(-1)]
        shut = bits.none(count)
        wall, klass = np.nonzero(~table)
        for number in range(count):
            some = mine[np.isin(which.reshape(-1), wall[klass == number])]
            bits.add(shut, np.full(len(some), number), entry_leaf[some])
        words.append(slice(sum(len(e) for e in every), sum(len(e) for e in every) + size))
        firsts.append(groups + used)
        every.append(_as_words(np.ones((1, count), dtype=bool), size)[0])
        opens.append(own)
        shuts.append(shut)
        stands.append(part.cells[cells])
        used += count
    empty = np.empty(0, dtype=np.uint64)
    sets = Sets(
        tuple(words),
        tuple(firsts),
        np.concatenate(every) if every else empty,
        np.concatenate(opens, axis=1) if opens else np.empty((len(votes.leaf), 0), dtype=np.uint64),
    )
    shut = np.concatenate(shuts) if shuts else bits.none(0)
    return places, sets, shut, np.concatenate(stands) if stands else np.empty(0, dtype=np.intp)


def _as_words(table: Mask, size: int) -> NDArray[np.uint64]:
    """Lines of flags ``(k, m)`` as words ``(k, size)``, the first flag in the lowest bit."""
    padded = np.zeros((len(table), size * 64), dtype=bool)
    padded[:, : table.shape[1]] = table
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
