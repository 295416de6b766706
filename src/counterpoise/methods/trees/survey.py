"""Surveys: what every change of a single feature does, read off the leaves of trees, and the changes put together.

For a model whose leaves are known, the expansion of the margin in single-feature changes, the Eq. (2) of trees, is
exact and complete, and the model is asked only about combinations of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoise.methods.settings.search_settings import DEFAULTS, SearchSettings
from counterpoise.methods.trees.cell_menu import CellValues
from counterpoise.methods.trees.leaf_jumps import jump_into_leaves
from counterpoise.methods.trials.prices import price_changes
from counterpoise.methods.trials.sweep import to_additive_scale
from counterpoise.models.goals import ClassGoal
from counterpoise.models.trees.leaves import Leaves, SingleChangeSums
from counterpoise.problem import Problem
from counterpoise.types import Array, Index, Mask, split_rows


class SingleChanges(NamedTuple):
    """Single changes worth a thought, point after point and feature after feature; arrays are ``(e,)`` but for one."""

    point: Index
    feature: Index  # its place among those that are split
    column: Index
    value: Array
    gain: Array  # of the margin, on the scale where it adds up
    price: Array  # what it adds to the effort, to first order
    sufficient_effort: Array  # the effort after it, where it reaches the target by itself; else infinite
    current_margin: Array  # (p,) the margins that the points have, on the scale where they add up


class SurveyResult(NamedTuple):
    """What a survey finds: points ``(n, t, d)`` to try, and the margins ``(n, q)`` of those surveyed, on that scale."""

    x: Array
    current_margin: Array


def survey_changes(
    problem: Problem,
    leaves: Leaves,
    menu: CellValues,
    x: Array,
    reach: Array,
    price: Array | None = None,
    settings: SearchSettings = DEFAULTS,
) -> SurveyResult:
    """The points that changes of the points ``x`` ``(n, q, d)`` promise most of.

    ``reach`` ``(n,)`` bounds how far from the row a value is worth trying. For every multiplier that is tried each
    feature takes the value that is worth most, gain of margin against rise of effort; the cheapest single changes that
    reach the target are tried by themselves. With a ``price`` ``(n,)`` of margin each point is also moved into the
    leaves that promise most at that price.
    """
    n, q, d = x.shape
    jumping = 0 if price is None or leaves.leaf_boxes is None else max(len(leaves.value), len(leaves.leaf_boxes.place))
    pieces = min(len(leaves.place_of_cell), settings.batches.pieces_per_tree * leaves.tree_count)
    chunks = split_rows(n, settings.batches.survey_numbers, q * max(pieces, jumping) * len(leaves.base))
    if len(chunks) > 1:  # rows know nothing of each other
        each = []
        for rows in chunks:
            some = problem.take(rows)
            part = some, leaves, menu.at(some, rows), x[rows], reach[rows]
            each.append(survey_changes(*part, None if price is None else price[rows], settings=settings))
        return SurveyResult(*(np.concatenate(arrays) for arrays in zip(*each, strict=True)))
    cells = leaves.find_cells(x.reshape(n * q, d))
    seen = leaves.survey_single_changes(cells, menu.home_cells, menu.window(reach))
    changes = _list_changes(problem, leaves, menu, x, seen, reach, settings=settings)
    spot = _lay_out_changes(changes, n * q, settings=settings)
    tried = [
        _combine_changes(problem, changes, spot, x, settings=settings),
        _try_changes_alone(changes, spot, x.reshape(n * q, d), settings=settings),
    ]
    if price is not None:
        tried.append(jump_into_leaves(problem, leaves, menu, x, cells, seen, price, settings=settings))
    every = np.concatenate(tried, axis=1).reshape(n, -1, d)
    system = problem.region.system
    if len(system):
        every = system.follow_orderings(every, np.repeat(x, every.shape[1] // q, axis=1))
    return SurveyResult(every, changes.current_margin.reshape(n, q))


def _list_changes(
    problem: Problem,
    leaves: Leaves,
    menu: CellValues,
    x: Array,
    seen: SingleChangeSums,
    reach: Array,
    settings: SearchSettings = DEFAULTS,
) -> SingleChanges:
    """The single changes to cells within reach ``(n,)`` of the row, without those that another one beats.

    Of cells that the trees do not tell apart, the one nearest to the row is enough.
    """
    n, q, d = x.shape
    before = problem.energy.distance.differences(x, problem.x0).reshape(n * q, d)
    now, gain, margin = _compute_gains(problem, leaves, seen, q)
    # what is as the row has it is changed for a gain alone
    feature = leaves.place_of_cell.take(seen.first_cell)
    old = before.take(seen.point * d + leaves.columns.take(feature))
    kept = ((gain > 0) | (old > 0)).nonzero()[0]
    point, feature, first, last = (
        seen.point.take(kept),
        feature.take(kept),
        seen.first_cell.take(kept),
        seen.last_cell.take(kept),
    )
    row, group = point // q, point * len(leaves.columns) + feature
    home = menu.home_cells.take(row * len(leaves.columns) + feature)
    up = first >= home
    cell, there = menu.find_nearest_cell(up, first, last)
    value, far, allowed = menu.look_up(row, cell)
    open_to = allowed & (far <= reach.take(row))
    if there is not None:
        open_to &= there
    # measured by what each point has to do: no other point's gains say what is slight in its own
    gain = gain.take(kept)
    largest = np.abs(now)
    np.maximum.at(largest, point, gain)
    largest = np.maximum(largest, np.finfo(np.float64).tiny).take(point)  # a point on the boundary has nothing to do
    slight = np.maximum(gain, -settings.trees.worst_loss_factor * largest) / largest
    slight[~open_to] = -settings.trees.worst_loss_factor
    found = _is_record_gain(group, slight, cell == home, up, settings=settings)
    found &= open_to
    best = found.nonzero()[0]
    point, feature, far, gain = point.take(best), feature.take(best), far.take(best), gain.take(best)
    column, kept = leaves.columns.take(feature), kept.take(best)
    square = np.vecdot(before, before)
    price, effort = price_changes(problem, column, old.take(kept), far, square.take(point))
    rank = np.where(margin.take(kept) >= 0, effort, np.inf)
    return SingleChanges(point, feature, column, value.take(best), gain, price, rank, now)


def _compute_gains(problem: Problem, leaves: Leaves, seen: SingleChangeSums, q: int) -> tuple[Array, Array, Array]:
    """The margins ``(p,)`` of points, what changes gain ``(e,)``, both as they add up, and their margins ``(e,)``.

    There are ``q`` points of each row.
    """
    goal, sums = problem.goal, seen.sums
    if (
        leaves.has_one_margin and isinstance(goal, ClassGoal) and goal.wanted_signs is not None
    ):  # the sum itself, or its negative
        sign = goal.wanted_signs.repeat(q)
        now, gain = sign * sums[:, 0], sign.take(seen.point) * seen.added_sums[:, 0]
        return now, gain, now.take(seen.point) + gain
    now = to_additive_scale(problem, goal.margin(leaves.to_outputs(sums).reshape(len(problem), q, -1)).reshape(-1))
    outputs = leaves.to_outputs(sums.take(seen.point, axis=0) + seen.added_sums)
    if len(problem) == 1:
        margin = goal.margin(outputs[None])[0]
    else:
        margin = goal.take(seen.point // q).margin(outputs[:, None, :])[:, 0]
    return now, to_additive_scale(problem, margin) - now.take(seen.point), margin


def _is_record_gain(group: Index, gain: Array, at_row: Mask, up: Mask, settings: SearchSettings = DEFAULTS) -> Mask:
    """Changes that gain more than all that are nearer to the row, feature by feature, on either side of it.

    Gains lie between minus ``worst_loss_factor`` and 1, and differ if by more than ``gain_tolerance``: all groups share
    one running maximum, and its rounding.
    """
    if not len(gain):
        return up
    apart = np.zeros(len(gain))
    apart[1:] = (group[1:] != group[:-1]).cumsum()
    apart *= 1 - 2 * -settings.trees.worst_loss_factor
    above = np.maximum.accumulate(np.where(up, gain, -settings.trees.worst_loss_factor) + apart)
    below = np.maximum.accumulate((np.where(up & ~at_row, -settings.trees.worst_loss_factor, gain) - apart)[::-1])[::-1]
    found = up.copy()
    found[1:] &= above[1:] > above[:-1] + settings.trees.gain_tolerance
    found[:-1] |= ~up[:-1] & (below[:-1] > below[1:] + settings.trees.gain_tolerance)
    found[-1] |= ~up[-1]
    return found


class ChangeLayout(NamedTuple):
    """Where changes stand: in a table ``(p, w)`` of those of each point, and in groups of those of one feature."""

    table_column: Index  # (e,) in the table
    table_width: int  # of the table
    group_start: Index  # (g,) the first change of each group
    group_size: Index  # (g,)
    changed_points: Index  # (u,) points that have changes
    first_change: Index  # (u,) the first change of each


def _lay_out_changes(changes: SingleChanges, points: int, settings: SearchSettings = DEFAULTS) -> ChangeLayout:
    point = changes.point
    count = np.bincount(point, minlength=points)
    first = count.cumsum() - count
    apart = np.ones(len(point) + 1, dtype=bool)  # where a group begins, or all of them end
    np.not_equal(changes.feature[1:], changes.feature[:-1], out=apart[1:-1])
    apart[1:-1] |= point[1:] != point[:-1]
    ends = apart.nonzero()[0]
    column = np.arange(len(point)) - first.take(point)
    used = count.nonzero()[0]
    return ChangeLayout(
        column,
        int(count.max(initial=settings.trees.single_changes_tried)),
        ends[:-1],
        ends[1:] - ends[:-1],
        used,
        first.take(used),
    )


def _combine_changes(
    problem: Problem, changes: SingleChanges, spot: ChangeLayout, x: Array, settings: SearchSettings = DEFAULTS
) -> Array:
    """Combinations ``(p, m, d)``, one per multiplier: each feature takes the change worth most.

    A few multipliers tell how much combinations gain, by the expansion; those tried are where they gain about as much
    as the point lacks, or lose what it can spare.
    """
    n, q, d = x.shape
    combos = np.repeat(x.reshape(n * q, 1, d), settings.trees.combinations, axis=1)
    point, gain, price = changes.point, changes.gain, changes.price
    if not len(point):
        return combos
    ratio = np.zeros((n * q, spot.table_width))
    ratio[point, spot.table_column] = np.where(gain * price > 0, np.abs(gain) / np.maximum(np.abs(price), 1e-150), 0.0)
    ratio.sort(axis=-1)
    lines, most = np.arange(n * q)[:, None], np.maximum(np.count_nonzero(ratio, axis=-1), 1)[:, None]
    rank = np.minimum(np.rint(most**settings.trees.grid_shares), most)  # (p, grid) of multipliers, the largest first
    worth, chosen = _choose_changes(changes, spot, ratio[lines, spot.table_width - rank.astype(np.intp)])
    total = np.zeros(rank.shape)
    total[spot.changed_points] = np.add.reduceat(np.where(chosen, gain[:, None], 0.0), spot.first_change, axis=0)
    rank = np.concatenate(
        [
            rank[:, settings.trees.always_tried_grid_places],
            _interpolate_ranks(rank, total, changes.current_margin, settings=settings),
        ],
        axis=1,
    )
    rank.sort(axis=1)
    worth, chosen = _choose_changes(changes, spot, ratio[lines, spot.table_width - rank.astype(np.intp)])
    entry, m = np.divmod(chosen.reshape(-1).nonzero()[0], settings.trees.combinations)
    if problem.region.max_changes is not None:
        room = problem.region.max_changes - np.count_nonzero(problem.region.is_changed(x), axis=-1).reshape(-1)
        m, entry = _limit_changes(m, entry, point, worth.T, room)
    combos[point[entry], m, changes.column[entry]] = changes.value[entry]
    return combos


def _choose_changes(changes: SingleChanges, spot: ChangeLayout, multipliers: Array) -> tuple[Array, Mask]:
    """What each change is worth to its point at each multiplier ``(p, m)``, and where its feature takes it: ``(e, m)``.

    A change is taken where it is worth something, and its feature has none that is worth more.
    """
    worth = multipliers.take(changes.point, axis=0)
    worth *= (changes.price * -(1 - 1e-9))[:, None]
    worth += changes.gain[:, None]
    most = np.maximum(np.maximum.reduceat(worth, spot.group_start, axis=0), np.finfo(np.float64).tiny)
    return worth, worth >= most.repeat(spot.group_size, axis=0)


def _interpolate_ranks(rank: Array, total: Array, now: Array, settings: SearchSettings = DEFAULTS) -> Array:
    """Ranks ``(p, t)`` between those of a grid ``(p, m)``, where what combinations gain is what it should be.

    ``total`` ``(p, m)`` is what they gain at the grid's ranks, ``now`` ``(p,)`` the margin that the points have.
    """
    target = np.abs(now)[:, None] * np.where(
        now[:, None] < 0, settings.trees.target_gain_shares, settings.trees.target_loss_shares
    )
    above = np.add.reduce(total[:, :, None] < target[:, None, :], axis=1, dtype=np.intp)
    low, high = np.maximum(above - 1, 0), np.minimum(above, total.shape[1] - 1)
    lines = np.arange(len(rank))[:, None]
    less, more = total[lines, low], total[lines, high]
    share = (target - less) / np.where(more > less, more - less, np.inf)
    start = rank[lines, low]
    return np.asarray(np.rint(start + np.minimum(np.maximum(share, 0.0), 1.0) * (rank[lines, high] - start)))


def _limit_changes(m: Index, entry: Index, point: Index, worth: Array, room: Index) -> tuple[Index, Index]:
    """Of the changes of each combination, those worth most: as many as a point has room for, and one at least."""
    owner = m * len(room) + point[entry]
    order = np.lexsort((-worth[m, entry], owner))
    first = np.searchsorted(owner[order], owner[order], side="left")
    kept = order[np.arange(len(order)) - first < np.maximum(room, 1)[point[entry][order]]]
    return m[kept], entry[kept]


def _try_changes_alone(
    changes: SingleChanges, spot: ChangeLayout, x: Array, settings: SearchSettings = DEFAULTS
) -> Array:
    """Points ``(p, s, d)`` with one change each: the cheapest that reach the target so, of different features."""
    out = np.repeat(x[:, None, :], settings.trees.single_changes_tried, axis=1)
    # of each feature the first that is as cheap as its cheapest
    least = (
        np.minimum.reduceat(changes.sufficient_effort, spot.group_start)
        if len(spot.group_start)
        else changes.sufficient_effort
    )
    enough = np.isfinite(least).nonzero()[0]
    if not len(enough):
        return out
    cheapest = (
        (changes.sufficient_effort == least.repeat(spot.group_size)) & np.isfinite(changes.sufficient_effort)
    ).nonzero()[0]
    place = np.searchsorted(cheapest, spot.group_start[enough])
    entry = cheapest[place]
    entry = entry[np.lexsort((changes.sufficient_effort[entry], changes.point[entry]))]
    point = changes.point[entry]
    slot = np.arange(len(entry)) - np.searchsorted(point, point)
    is_tried = slot < settings.trees.single_changes_tried
    entry, point, slot = entry[is_tried], point[is_tried], slot[is_tried]
    out[point, slot, changes.column[entry]] = changes.value[entry]
    return out
