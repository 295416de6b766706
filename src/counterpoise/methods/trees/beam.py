"""The search of models whose leaves are known: each round surveys the most promising points.

The merit of a point that does not reach the target yet is what it costs plus what the missing margin will cost at the
price that the best answer so far pays for it: the Eq. (3) of this search. Each round surveys a few points of least
merit, none twice, until rounds no longer improve anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from counterpoise.methods.incumbents import has_improved
from counterpoise.methods.model_kinds import has_few_leaves, leaves_of
from counterpoise.methods.points import Points
from counterpoise.methods.settings.search_settings import DEFAULTS, SearchSettings, Thoroughness
from counterpoise.methods.trees.cell_menu import CellValues
from counterpoise.methods.trees.survey import survey_changes
from counterpoise.methods.trials.sweep import max_useful_distance, to_additive_scale
from counterpoise.models.trees.leaves import Leaves
from counterpoise.problem import Problem
from counterpoise.types import Array, Index


class SearchFrontier(NamedTuple):
    """Points that have been tried and not been surveyed yet, the most promising ones of each row."""

    x: Array  # (n, w, d)
    effort: Array  # (n, w)
    lacking_margin: Array  # (n, w) what they lack of the margin; infinite where they may not be
    fingerprint: Array  # (n, w) a number that tells points apart

    def at(self, rows: Index) -> SearchFrontier:
        """The points of some rows."""
        return SearchFrontier(*(array[rows] for array in self))

    def merge_with(self, other: SearchFrontier) -> SearchFrontier:
        """These points and others."""
        return SearchFrontier(*(np.concatenate(pair, axis=1) for pair in zip(self, other, strict=True)))

    def take_best(self, price: Array, seen: Array, width: int) -> FrontierChoice:
        """The ``width`` points of least merit that have not been surveyed; merit is effort plus what margin will cost.

        ``price`` ``(n,)`` is the cost of a unit of margin, ``seen`` ``(n, s)`` the fingerprints of surveyed points.
        """
        rows = np.arange(len(self.fingerprint))[:, None]
        order = self.fingerprint.argsort(axis=1, kind="stable")
        mark = self.fingerprint[rows, order]
        old = (mark[:, :, None] == seen[:, None, :]).any(axis=2)
        old[:, 1:] |= mark[:, 1:] == mark[:, :-1]  # the same point once more
        merit = self.effort + price[:, None] * self.lacking_margin
        again, place = old.nonzero()
        merit[again, order[again, place]] = np.inf
        place = merit.argsort(axis=1, kind="stable")[:, : 2 * width]
        place = np.where(np.isfinite(merit[rows, place]), place, place[:, :1])
        chosen, left = place[:, :width], place[:, width:]
        rest = SearchFrontier(*(array[rows, left] for array in self))
        return FrontierChoice(self.x[rows, chosen], merit[rows, chosen], self.fingerprint[rows, chosen], rest)


class FrontierChoice(NamedTuple):
    """Points to be surveyed next ``(n, w, d)``, and the next best, which wait for a later round."""

    x: Array
    merit: Array
    fingerprint: Array
    waiting: SearchFrontier


def beam_search(
    problem: Problem, start: Points, care: Thoroughness, settings: SearchSettings = DEFAULTS
) -> Iterator[tuple[Index, Points, Array]]:
    """Each round yields the rows still searched ``(r,)``, the points it tried ``(r, t, d)``, and an effort ``(r,)``.

    The effort is that of a row's best answer once it has been surveyed: no change of a single feature makes that
    answer cheaper. It counts only while it is the row's lowest effort. NaN where no such answer is known.

    The rows themselves and the points of ``start`` ``(n, k, d)`` are surveyed first.
    """
    rows, leaves = np.arange(len(problem)), leaves_of(problem)
    assert leaves is not None, "without leaves there is nothing to survey"
    walls = leaves.leaf_boxes if leaves.has_few_trees or has_few_leaves(leaves, settings=settings) else None
    worth = (
        care.min_gain_share if walls is None else settings.trials.min_gain_share
    )  # few trees are soon searched to the end
    jumping = 0 if walls is None else _count_jump_rounds(len(walls.place), settings)
    widest = _widest_beam(problem, care, jumping > 0, settings)
    menu = CellValues.of(problem, leaves, settings)
    home = problem.region.nearest_feasible[:, None, :]
    lowest, missed, stale = start.lowest_effort, np.full(len(rows), np.inf), np.zeros(len(rows), dtype=np.intp)
    points = np.concatenate([home, start.x], axis=1) if start.has_been_scored else home
    need = (
        _lacking_margin(problem, leaves, home[:, 0], settings=settings) if jumping else missed
    )  # else the first survey says it
    none = np.empty((len(rows), 0))
    waiting, seen = SearchFrontier(points[:, :0], none, none, none), none
    still = np.full(len(rows), np.nan)
    exact = _surveys_every_single_change(problem)
    for number in range(settings.trees.rounds):
        if problem.has_expired:
            break
        price = _margin_price(care, number, lowest, need, settings=settings) if number < jumping else None
        every, now = survey_changes(
            problem,
            leaves,
            menu,
            points,
            max_useful_distance(problem, lowest, settings=settings),
            price,
            settings=settings,
        )
        if not number:
            need = missed = np.maximum(-now[:, 0], settings.trees.min_lacking_margin)
        x, inside = menu.settle_in_region(every)
        score, effort = problem.score(x, once=True), problem.energy.effort(x, problem.x0)
        found = Points(x, score.margin, np.where(score.reached & inside, effort, np.inf))
        yield rows, found, still
        short = np.where(score.reached, 0.0, np.maximum(-to_additive_scale(problem, score.margin), 0.0))
        short = np.where(inside, short, np.inf)
        before, lowest = lowest, np.minimum(lowest, found.lowest_effort)
        farther, missed = missed, np.minimum(missed, short.min(axis=1))
        # a row that has no answer yet gains by coming nearer to one
        stale = np.where(
            has_improved(before, lowest, worth, settings=settings) | (np.isinf(lowest) & (missed < farther)),
            0,
            stale + 1,
        )
        fresh = SearchFrontier(x, effort, short, effort + 2.0**0.5 * score.margin)
        waiting = waiting.merge_with(fresh) if waiting.effort.shape[1] else fresh
        price, width = (
            _margin_price(care, number + 1, lowest, need, settings=settings),
            care.beam_widths[min(number, len(care.beam_widths) - 1)],
        )
        chosen = waiting.take_best(price, seen, min(width, widest))
        promise = chosen.merit.min(axis=1)
        # a round without a gain is the last one, unless a point that is left promises less than the incumbent
        more = (stale == 0) | ((stale < care.round_patience) & (promise < lowest))
        # single changes have all been seen: an answer of one is beaten by none of two where changes are counted
        keep = np.flatnonzero(np.isfinite(promise) & more & ~problem.beats_any_two_changes(lowest))
        if not len(keep):
            break
        points, waiting, seen = chosen.x, chosen.waiting, np.concatenate([seen, chosen.fingerprint], axis=1)
        if exact:  # an answer lacks no margin: its merit is its effort
            still = np.where((chosen.merit == lowest[:, None]).any(axis=1), lowest, still)
        if len(keep) < len(rows):
            problem = problem.take(keep)
            menu, waiting, points, seen = menu.at(problem, keep), waiting.at(keep), points[keep], seen[keep]
            rows, lowest, missed, stale = rows[keep], lowest[keep], missed[keep], stale[keep]
            need, still = need[keep], still[keep]


def _count_jump_rounds(leaf_count: int, settings: SearchSettings) -> int:
    """How many rounds jump into leaves: the fewer leaves there are, the more rounds."""
    trees = settings.trees
    return int(np.clip(trees.jump_wall_budget // max(leaf_count, 1), trees.min_jump_rounds, trees.max_jump_rounds))


def _widest_beam(problem: Problem, care: Thoroughness, jumps: bool, settings: SearchSettings) -> int:
    """How many points a round surveys at most, so that a limited number of model rows lasts for enough rounds."""
    if problem.model_rows_left == np.inf:
        return max(care.beam_widths)
    trees = settings.trees
    tried = trees.combinations + trees.single_changes_tried + (trees.leaf_jumps_per_point if jumps else 0)
    return int(max(1, problem.model_rows_left // (trees.min_rounds_per_ration * tried)))


def _surveys_every_single_change(problem: Problem) -> bool:
    """Whether the survey of an answer shows that no single change shortens it."""
    is_free = problem.region.max_changes is None and not len(problem.region.system)
    return is_free and problem.energy.is_norm_plus_prices and not problem.sums_probabilities


def _lacking_margin(problem: Problem, leaves: Leaves, x: Array, settings: SearchSettings = DEFAULTS) -> Array:
    """What points ``x`` ``(n, d)`` lack of the margin, as it adds up, ``(n,)``."""
    margin = problem.goal.margin(leaves.to_outputs(leaves.sums_at(leaves.find_cells(x)))[:, None, :])[:, 0]
    return np.maximum(-to_additive_scale(problem, margin), settings.trees.min_lacking_margin)


def _margin_price(
    care: Thoroughness, number: int, lowest: Array, need: Array, settings: SearchSettings = DEFAULTS
) -> Array:
    """What a unit of margin is taken to cost each row in a round, ``(n,)``.

    Which price finds the nearest answer differs from row to row: rounds take turns.
    """
    dear = care.margin_price_factors[number % len(care.margin_price_factors)]
    return np.asarray(dear * np.where(np.isfinite(lowest), lowest, settings.trials.max_change_distance) / need)
