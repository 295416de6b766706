"""Trees joined by twos: a voter for each pair, whose leaves are the boxes that a leaf of either has in common.

The best leaves of two trees often exclude each other, or share no point that costs less than the limit. Then what the
pair can add up to is less than what both can: bounds get sharper, and there are half as many voters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoise.methods.trees.exact.cell_costs import CellCosts
from counterpoise.methods.trees.exact.row_leaves import LocalColumns, RowLeaves
from counterpoise.methods.trees.exact.voters import DEAD, Votes
from counterpoise.types import Array, Index, Mask


class Pairs(NamedTuple):
    """Which leaves of different trees can be chosen together, and what pairs of trees gain by being joined."""

    fits: Mask  # (leaves, leaves)
    number: Index  # (trees, trees) how many pairs of leaves fit
    lost: Mask  # (trees, trees) whether others would, and are worth too little
    gain: Array  # (trees, trees) by how much the best pair is worth less than both best leaves, over all conditions
    spare: float  # what the best leaves of all trees are worth beyond what is needed, over all conditions


def join_trees(
    reduced: RowLeaves, costs: CellCosts, limit: float, most_changes: float, most_leaves: int, worth: float
) -> RowLeaves | None:
    """The same leaves with trees joined by twos, those first that gain most, to at most so many leaves a pair.

    Where that lowers what the trees can add up to beyond what is needed by less than the share ``worth``, they are left
    as they are. None where no choice of leaves is left that meets the conditions and costs less than the limit.
    """
    pairs, votes = _pairs(reduced, costs, limit, most_changes), reduced.votes
    if (pairs.number + np.eye(len(pairs.number)) == 0).any():
        return None
    chosen = _match_trees(pairs, most_leaves)
    if pairs.gain[chosen[:, 0], chosen[:, 1]].sum() < worth * pairs.spare:
        return reduced
    ends = np.append(votes.begin[1:], len(votes.tree))
    parts, alone = [], np.setdiff1d(np.arange(len(ends)), chosen.ravel())
    for one, other in chosen.tolist():
        mine, theirs = pairs.fits[votes.begin[one] : ends[one], votes.begin[other] : ends[other]].nonzero()
        parts.append((votes.begin[one] + mine, votes.begin[other] + theirs))
    for tree in alone.tolist():
        tree_leaves = np.arange(votes.begin[tree], ends[tree])
        parts.append((tree_leaves, tree_leaves))
    first, second = (np.concatenate(side) for side in zip(*parts, strict=True))
    tree = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
    value = votes.value[first] + np.where((first == second)[:, None], 0.0, votes.value[second])
    lost = votes.lost[chosen].any(axis=1) | pairs.lost[chosen[:, 0], chosen[:, 1]]
    lost = np.append(lost, votes.lost[alone])
    return _made(reduced.local, Votes.without_losers(first, tree, value, votes.base, lost), first, second)


def _made(local: LocalColumns, made: tuple[Votes, Index] | None, first: Index, second: Index) -> RowLeaves | None:
    if made is None:
        return None
    votes, kept = made
    one, other = first[kept], second[kept]
    numbers, sets = local.numbers, local.sets
    numbers = numbers._replace(
        low=np.maximum(numbers.low[one], numbers.low[other]), high=np.minimum(numbers.high[one], numbers.high[other])
    )
    sets = sets._replace(open=sets.open[one] & sets.open[other])
    return RowLeaves.of(votes, local._replace(numbers=numbers, sets=sets))


def _pairs(reduced: RowLeaves, costs: CellCosts, limit: float, most_changes: float) -> Pairs:
    votes, local = reduced.votes, reduced.local
    numbers, terms, near = local.numbers, local.terms, reduced.near
    count = len(votes.tree)
    fits = votes.tree[:, None] != votes.tree
    for low, high in zip(numbers.low.T.astype(np.int32), numbers.high.T.astype(np.int32), strict=True):
        fits &= (low[:, None] <= high) & (high[:, None] >= low)
    every = np.arange(count)
    if local.sets.word:
        fits &= local.sets.share(every[:, None], every)
    totals = [np.full((count, count), start) for start in terms.others]
    for column in near.T:
        for total, term in zip(totals, terms[:3], strict=True):
            price = term[column]
            if price.any():
                total += np.maximum(price[:, None], price)
    fits &= costs.effort(np.maximum(totals[0], 0.0), totals[1]) < limit
    if most_changes < np.inf:
        fits &= totals[2] <= most_changes
    before = _count_leaf_pairs(fits, votes.begin)
    best = np.maximum.reduceat(votes.value, votes.begin, axis=0)
    spare = votes.base + best.sum(axis=0)
    gain = np.zeros((len(best), len(best)))
    for k in range(votes.value.shape[1]):
        both = votes.value[:, k][:, None] + votes.value[:, k]
        most = best[votes.tree, k][:, None] + best[votes.tree, k]
        fits &= most - both <= spare[k]
        pair = np.maximum.reduceat(np.where(fits, both, DEAD), votes.begin, axis=0)
        pair = np.maximum.reduceat(pair, votes.begin, axis=1)
        gain += best[:, k][:, None] + best[:, k] - pair
    number = _count_leaf_pairs(fits, votes.begin)
    return Pairs(fits, number, number < before, gain, float(spare.sum()))


def _count_leaf_pairs(fits: Mask, begin: Index) -> Index:
    """How many pairs of leaves each pair of trees has, ``(trees, trees)``."""
    return np.asarray(np.add.reduceat(np.add.reduceat(fits, begin, axis=0, dtype=np.intp), begin, axis=1))


def _match_trees(pairs: Pairs, most_leaves: int) -> Index:
    """Pairs of trees ``(p, 2)``, no tree twice, those first that gain most."""
    one, other = np.triu_indices(len(pairs.gain), 1)
    small = np.flatnonzero(pairs.number[one, other] <= most_leaves)
    one, other = one[small], other[small]
    order = np.lexsort((pairs.number[one, other], -pairs.gain[one, other]))
    free, chosen = np.ones(len(pairs.gain), dtype=bool), []
    for first, second in zip(one[order].tolist(), other[order].tolist(), strict=True):
        if free[first] and free[second]:
            free[first] = free[second] = False
            chosen.append((first, second))
    return np.array(chosen, dtype=np.intp).reshape(-1, 2)
