"""The leaves that one row can be led into for less than its incumbent costs, as bits, and the cells they tell apart.

Most leaves are too far from a row to matter. Of the others each tree keeps a word, the best leaf in the lowest bit, so
that what boxes share and what the best leaves left add up to is read off whole words at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoise.methods.trees.cell_costs import CellCosts
from counterpoise.methods.trees.conditions import Conditions
from counterpoise.methods.trees.leaf_walls import LeafWalls
from counterpoise.types import Array, Index, Mask

Words = NDArray[Any]  # unsigned, as narrow as the trees' leaves allow
DEAD = -1e300  # the value of a tree that has no leaf left: finite, so that sums of it are numbers


class Sets(NamedTuple):
    """Local columns of levels without an order: the classes of levels that no leaf tells apart, cheapest first."""

    word: tuple[slice, ...]  # of each column, its words in a box's set of classes
    first: tuple[int, ...]  # the local cell of its first class
    every: NDArray[np.uint64]  # (words,) all classes
    open: NDArray[np.uint64]  # (leaves, words) classes that each leaf is open to


@dataclass(frozen=True, eq=False)
class RowLeaves:
    """What is left of the leaves for one row.

    Local cells are groups of neighbouring cells that no leaf tells apart; each column's are numbered on end, those of
    columns of levels last. A *voter* is a tree in one of the conditions; it has a word, or several.
    """

    conditions: Conditions
    need: Array  # (m,) what the voters must add up to at least, rounding allowed for
    voters: Array  # (voters, m) 1 for the condition that a voter counts in
    voter_tree: Index  # (voters,)
    voter_word: Index  # (voters,) the first word of each
    several: bool  # whether a voter has more than one word
    full: Words  # (words,) all leaves
    value: Array  # (words * (bits + 1),) of each leaf; DEAD at the end of each word
    leaf: Index  # (words, bits) local leaves
    bits: int
    leaves: Index  # (leaves,) numbers of the local leaves among all
    bit_leaf: Index  # (e,) the local leaf of each bit, word after word,
    bit: Words  # (e,) the bit,
    bit_word: Index  # (words,) and the first bit of each word
    shut: Words  # (cells, words) leaves that a local cell is outside of
    above: Words  # (cells, words) leaves that lie above a cell of numbers,
    below: Words  # (cells, words) and below it
    low: Index  # (leaves, numbers) the first local cell of each leaf in each column of numbers
    high: Index  # (leaves, numbers)
    sets: Sets
    start: Index  # (columns,) the cheapest local cell of each local column
    square: Array  # (cells,) what a local cell adds under the root of L2,
    rest: Array  # (cells,) and besides
    changed: Array  # (cells,) 1 where it differs from the row
    fixed: tuple[float, float, float]  # the same three of all columns that are not local
    cell: Index  # (cells,) the cell, among all, that a local one stands for
    column: Index  # (columns,) places of local columns among those that are split
    rise_column: Index  # (leaves, w) local columns in which a leaf may ask for more than the cheapest cell
    rise_cell: Index  # (leaves, w) and the cell that it asks for; the cheapest one where it asks for nothing

    def best(self, alive: Words) -> Array:
        """What the best leaf left is worth to each voter, ``(p, voters)``."""
        lowest = alive & (~alive + alive.dtype.type(1))
        place = np.bitwise_count(lowest - alive.dtype.type(1)).astype(np.intp)
        place = np.minimum(place, self.bits)
        place += np.arange(len(self.full)) * (self.bits + 1)
        found = self.value.take(place)
        return np.maximum.reduceat(found, self.voter_word, axis=1) if self.several else found

    def inside(self, cells: Index) -> Words:
        """The leaves that points ``(p, columns)`` in local cells are in, ``(p, words)``."""
        return self.full & ~np.bitwise_or.reduce(self.shut.take(cells, axis=0), axis=1)

    def packed(self, chosen: Mask) -> Words:
        """Chosen leaves ``(p, leaves)`` as words ``(p, words)``."""
        bits = np.where(chosen.take(self.bit_leaf, axis=1), self.bit, self.bit.dtype.type(0))
        return np.bitwise_or.reduceat(bits, self.bit_word, axis=1)
