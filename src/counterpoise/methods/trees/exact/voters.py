"""Voters: the trees that count in each condition, their leaves as bits, the best leaf in the lowest bit of its word."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoise.methods.trees.exact.conditions import Conditions
from counterpoise.methods.trees.exact.open_cells import LeafWalls
from counterpoise.models.trees.leaves import Leaves
from counterpoise.types import Array, Index, Mask

Words = NDArray[Any]  # unsigned, as narrow as the number of leaves of a tree allows
DEAD = -1e300  # the value of a tree that has no leaf left: finite, so that sums of it are numbers
ELIMINATIONS = 4  # times that leaves which cannot be part of any answer are looked for
KINDS: dict[int, Any] = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


class Votes(NamedTuple):
    """Leaves that can be part of an answer, and what they are worth in each condition."""

    leaf: Index  # (a,) among all
    tree: Index  # (a,)
    begin: Index  # (trees,) the first leaf of each tree
    value: Array  # (a, m)
    base: Array  # (m,) what is there without leaves, less what is needed
    lost: Mask  # (trees,) trees that have lost leaves which no answer has

    @classmethod
    def of(cls, leaves: Leaves, model: LeafWalls, alive: Index, asked: Conditions, slack: Array) -> Votes | None:
        """Leaves ``(a,)`` without those that fall short even with the best of all other trees; None: no answer."""
        tree = model.tree[alive]
        if len(np.flatnonzero(np.diff(tree, prepend=-1))) < leaves.tree_count:
            return None
        value = model.value[alive] @ asked.directions.T
        base = leaves.base @ asked.directions.T - asked.least + np.abs(asked.directions) @ slack
        found = cls.without_losers(alive, tree, value, base, np.zeros(leaves.tree_count, dtype=bool))
        return None if found is None else found[0]

    @classmethod
    def without_losers(
        cls, leaf: Index, tree: Index, value: Array, base: Array, lost: Mask
    ) -> tuple[Votes, Index] | None:
        """Leaves ``(a,)`` of trees 0, 1, 2, … without those that no answer has, and the places of those left.

        ``lost`` ``(trees,)`` says which trees have lost leaves before.
        """
        kept, before = np.arange(len(leaf)), np.bincount(tree)
        for _ in range(ELIMINATIONS):
            begin = np.flatnonzero(np.diff(tree[kept], prepend=-1))
            most = np.maximum.reduceat(value[kept], begin, axis=0)
            spare = base + most.sum(axis=0)
            if len(begin) < len(lost) or (spare < 0).any():
                return None
            enough = np.flatnonzero((value[kept] - most[tree[kept]] + spare >= 0).all(axis=1))
            if len(enough) == len(kept):
                break
            kept = kept[enough]
        begin = np.flatnonzero(np.diff(tree[kept], prepend=-1))
        if len(begin) < len(lost):
            return None
        lost = lost | (np.diff(begin, append=len(kept)) < before)
        return cls(leaf[kept], tree[kept], begin, value[kept], base, lost), kept


class Voters(NamedTuple):
    """A voter is a tree in one condition in which its leaves differ; it has a word of bits, or several."""

    bits: int  # of a word
    tree: Index  # (voters,)
    counts_in: Array  # (voters, m) 1 for its condition
    need: Array  # (m,) what voters must add up to at least
    word: Index  # (voters,) the first word of each
    several: bool  # whether some voter has more than one word
    full: Words  # (words,) all leaves
    value: Array  # (words * (bits + 1),) of each leaf; DEAD at the end of each word
    leaf: Index  # (words, bits) the leaf of each bit
    bit: Words  # (e,) all bits, word after word,
    bit_leaf: Index  # (e,) their leaves,
    bit_word: Index  # (e,) and their words
    word_bit: Index  # (words,) the first bit of each word
    by_leaf: Index  # (e,) the bits, those of a leaf together,
    of_leaf: Index  # (leaves + 1,) and where those of each leaf begin

    @classmethod
    def of(cls, votes: Votes) -> Voters:
        """The voters of some leaves."""
        condition, tree = _list_voters(votes)
        m, sizes = votes.value.shape[1], np.diff(votes.begin, append=len(votes.leaf))
        size = sizes[tree]
        owner = np.repeat(np.arange(len(tree)), size)
        leaf = np.repeat(votes.begin[tree] - np.cumsum(size) + size, size) + np.arange(size.sum())
        value = votes.value[leaf, condition[owner]]
        order = np.lexsort((-value, owner))
        leaf, value = leaf[order], value[order]
        bits = next((width for width in (8, 16, 32) if size.max(initial=1) <= width), 64)
        words = -(-size // bits)
        word = np.cumsum(words) - words
        rank = np.arange(len(owner)) - np.repeat(np.cumsum(size) - size, size)
        bit_word, place, total = word[owner] + rank // bits, rank % bits, int(words.sum())
        bit = np.left_shift(np.ones(len(owner), dtype=KINDS[bits]), place.astype(KINDS[bits]))
        values, leaves = np.full((total, bits + 1), DEAD), np.full((total, bits), -1)
        values[bit_word, place], leaves[bit_word, place] = value, leaf
        word_bit = np.searchsorted(bit_word, np.arange(total))
        by_leaf = np.argsort(leaf, kind="stable")
        return cls(
            bits,
            tree,
            np.eye(m)[condition],
            -_without(votes, condition, tree),
            word,
            total > len(tree),
            np.bitwise_or.reduceat(bit, word_bit) if total else bit,
            values.reshape(-1),
            leaves,
            bit,
            leaf,
            bit_word,
            word_bit,
            by_leaf,
            np.searchsorted(leaf[by_leaf], np.arange(len(votes.leaf) + 1)),
        )

    def best(self, alive: Words) -> Array:
        """What the best of some leaves ``(p, words)`` is worth to each voter, ``(p, voters)``."""
        one = alive.dtype.type(1)
        place = np.bitwise_count((alive & (~alive + one)) - one).astype(np.intp)  # of the lowest bit
        place += np.arange(len(self.full)) * (self.bits + 1)
        found = self.value.take(place)
        return np.maximum.reduceat(found, self.word, axis=1) if self.several else found

    def count_leaves(self, alive: Words) -> Index:
        """How many leaves each voter has among some ``(p, words)``, ``(p, voters)``."""
        found = np.bitwise_count(alive).astype(np.intp)
        return np.add.reduceat(found, self.word, axis=1) if self.several else found

    def listed(self, alive: Words, voter: Index) -> tuple[Index, Index]:
        """The leaves that one voter ``(p,)`` of each line ``(p, words)`` has: the line, and the leaf, each ``(c,)``."""
        line, word = np.arange(len(voter)), self.word[voter]
        if self.several:
            count = np.diff(self.word, append=len(self.full))[voter]
            line = np.repeat(line, count)
            word = np.repeat(word - np.cumsum(count) + count, count) + np.arange(count.sum())
        flags = np.unpackbits(alive[line, word][:, None].view(np.uint8), axis=1, bitorder="little")
        entry, place = flags.nonzero()
        return line[entry], self.leaf[word[entry], place]

    def pack(self, chosen: Mask) -> Words:
        """Chosen leaves ``(p, leaves)`` as words ``(p, words)``."""
        bits = np.where(chosen.take(self.bit_leaf, axis=1), self.bit, self.bit.dtype.type(0))
        return np.bitwise_or.reduceat(bits, self.word_bit, axis=1)

    def none(self, lines: int) -> Words:
        """No leaf, in so many lines."""
        return np.zeros((lines, len(self.full)), dtype=self.full.dtype)

    def put(self, table: Words, line: Index, leaf: Index) -> None:
        """Put leaves ``(e,)`` into lines ``(e,)`` of a table; none is put into a line twice."""
        width = self.of_leaf[leaf + 1] - self.of_leaf[leaf]
        entry = np.repeat(self.of_leaf[leaf] - np.cumsum(width) + width, width) + np.arange(width.sum())
        bit = self.by_leaf[entry]
        np.add.at(table.reshape(-1), np.repeat(line, width) * table.shape[1] + self.bit_word[bit], self.bit[bit])


def _list_voters(votes: Votes) -> tuple[Index, Index]:
    """The condition and the tree of each voter, those of a condition together."""
    most, least = (reduce(votes.value, votes.begin, axis=0) for reduce in (np.maximum.reduceat, np.minimum.reduceat))
    differs = most > least
    # a point in a leaf that was lost is no answer: where no condition tells, the first one has to
    differs[votes.lost & ~differs.any(axis=1), :1] = True
    condition, tree = differs.T.nonzero()
    return condition, tree


def _without(votes: Votes, condition: Index, tree: Index) -> Array:
    """What trees that are no voters add to each condition, with what is there without leaves, ``(m,)``."""
    worth = votes.value[votes.begin]
    worth[tree, condition] = 0.0
    return np.asarray(votes.base + worth.sum(axis=0))
