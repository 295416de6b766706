"""The search of models whose leaves are known: the most promising points are surveyed, round after round.

A point that does not reach the target yet is worth what it has cost, and what the rest of the margin will cost at the
price that the incumbent pays for it: the Eq. (3) of this search. The points surveyed next are drawn by the Boltzmann
law for this merit, a few at a time and none twice, while T falls, until rounds no longer improve anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from counterpoise.methods.care import Care, leaves_of, small
from counterpoise.methods.jumping import JUMPS
from counterpoise.methods.menu import Menu
from counterpoise.methods.points import Points
from counterpoise.methods.population import WORTH, gained
from counterpoise.methods.survey import ALONE, MULTIPLIERS, survey
from counterpoise.methods.sweep import FARTHEST, additive, reach
from counterpoise.models.leaves import FEW, Leaves
from counterpoise.physics.cooling import Cooling
from counterpoise.physics.metropolis import summarise
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import Array, Index

FEWEST, MOST, WALLS = 2, 8, 20_000  # rounds of jumps into leaves: as many as keep the walls looked at below this
LEAST = 1e-6  # of margin that a row is taken to lack
TINY = np.finfo(np.float64).tiny
ROOT = 2.0**0.5  # effort and margin are one number: no two points are likely to share it
FEW_ROUNDS = 6  # that a ration should last for


class Front(NamedTuple):
    """Points that have been tried and not been surveyed yet, the most promising ones of each row."""

    x: Array  # (n, w, d)
    effort: Array  # (n, w)
    short: Array  # (n, w) what they lack of the margin; infinite where they may not be
    mark: Array  # (n, w) a number that tells points apart

    def at(self, rows: Index) -> Front:
        """The points of some rows."""
        return Front(*(array[rows] for array in self))

    def joined(self, other: Front) -> Front:
        """These points and others."""
        return Front(*(np.concatenate(pair, axis=1) for pair in zip(self, other, strict=True)))

    def drawn(self, price: Array, T: Array, seen: Array, draws: Array, width: int) -> Draw:
        """``width`` points by the law of Eq. (4) for their merit at temperatures ``T`` ``(n,)``, none of them seen yet.

        ``price`` ``(n,)`` is what a unit of margin costs; ``draws`` ``(n, w)`` are uniform. The largest of keys that
        are minus the energy over T plus Gumbel noise are a draw without replacement (Vieira, 2014).
        """
        rows = np.arange(len(self.mark))[:, None]
        order = self.mark.argsort(axis=1, kind="stable")
        mark = self.mark[rows, order]
        old = (mark[:, :, None] == seen[:, None, :]).any(axis=2)
        old[:, 1:] |= mark[:, 1:] == mark[:, :-1]  # the same point once more
        merit = self.effort + price[:, None] * self.short
        again, place = old.nonzero()
        merit[again, order[again, place]] = np.inf
        noise = np.log(-np.log(np.maximum(draws, TINY)))
        place = (merit + T[:, None] * noise).argsort(axis=1, kind="stable")[:, : 2 * width]
        place = np.where(np.isfinite(merit[rows, place]), place, place[:, :1])
        chosen, left = place[:, :width], place[:, width:]
        rest = Front(*(array[rows, left] for array in self))
        return Draw(self.x[rows, chosen], chosen, merit[rows, chosen], self.mark[rows, chosen], rest)


class Draw(NamedTuple):
    """Points to be surveyed next ``(n, w, d)``, their place among those drawn from, and what is left of these."""

    x: Array
    place: Index
    merit: Array
    mark: Array
    left: Front


def beam(
    problem: Problem,
    streams: Streams,
    start: Points,
    care: Care,
    rounds: int,
    warm: float,
    cooling: Cooling,
) -> Iterator[tuple[Index, Points, Array]]:
    """The points that each round tries, ``(r, t, d)``, of the rows that are still searched, ``(r,)``.

    And the effort of an answer that has been surveyed ``(r,)``: as long as it is the lowest, no single change shortens
    it. NaN where no such answer is known.

    The rows themselves and the points of ``start`` ``(n, k, d)`` are surveyed first. ``warm`` is the first temperature,
    as a share of the incumbent's effort.
    """
    rows, leaves = np.arange(len(problem)), leaves_of(problem)
    assert leaves is not None, "without leaves there is nothing to survey"
    walls = leaves.walls if leaves.trees <= FEW or small(leaves) else None
    worth = care.worth if walls is None else WORTH  # few trees are soon searched to the end
    jumping = 0 if walls is None else int(np.clip(WALLS // max(len(walls.place), 1), FEWEST, MOST))
    tried = MULTIPLIERS + ALONE + (JUMPS if jumping else 0)
    widest = int(max(1, problem.left // (FEW_ROUNDS * tried))) if problem.left < np.inf else max(care.beam)
    menu = Menu.of(problem, leaves)
    home = problem.region.home[:, None, :]
    lowest, missed, stale = start.lowest, np.full(len(rows), np.inf), np.zeros(len(rows), dtype=np.intp)
    points = np.concatenate([home, start.x], axis=1) if start.asked else home
    need = _lacking(problem, leaves, home[:, 0]) if jumping else missed  # else the first survey says it
    none = np.empty((len(rows), 0))
    waiting, seen = Front(points[:, :0], none, none, none), none
    T = warm * np.where(np.isfinite(lowest), lowest, 1.0)
    still = np.full(len(rows), np.nan)
    free = problem.region.max_changes is None and not len(problem.region.system)
    exact = free and problem.energy.additive and not problem.votes
    for number in range(rounds):
        if problem.expired:
            break
        price = _price(care, number, lowest, need) if number < jumping else None
        every, now = survey(problem, leaves, menu, points, reach(problem, lowest), price)
        if not number:
            need = missed = np.maximum(-now[:, 0], LEAST)
        x, inside = menu.settled(every)
        score, effort = problem.score(x, once=True), problem.energy.effort(x, problem.x0)
        found = Points(x, score.margin, np.where(score.reached & inside, effort, np.inf))
        yield rows, found, still
        short = np.where(score.reached, 0.0, np.maximum(-additive(problem, score.margin), 0.0))
        if not inside.all():
            short = np.where(inside, short, np.inf)
        before, lowest = lowest, np.minimum(lowest, found.lowest)
        farther, missed = missed, np.minimum(missed, short.min(axis=1))
        # a row that has no answer yet gains by coming nearer to one
        stale = np.where(gained(before, lowest, worth) | (np.isinf(lowest) & (missed < farther)), 0, stale + 1)
        older, fresh = waiting.effort.shape[1], Front(x, effort, short, effort + ROOT * score.margin)
        waiting = waiting.joined(fresh) if older else fresh
        price, width = _price(care, number + 1, lowest, need), care.beam[min(number, len(care.beam) - 1)]
        draw = waiting.drawn(price, T, seen, streams.uniform((waiting.effort.shape[1],)), min(width, widest))
        promise = draw.merit.min(axis=1)
        # a round without a gain is the last one, unless a point that is left promises less than the incumbent
        more = (stale == 0) | ((stale < care.lasting) & (promise < lowest))
        # single changes have all been seen: an answer of one is beaten by none of two where changes are counted
        keep = np.flatnonzero(np.isfinite(promise) & more & ~problem.energy.settled(lowest))
        if not len(keep):
            break
        T = cooling(number, T, summarise(draw.place >= older, draw.merit))
        points, waiting, seen = draw.x, draw.left, np.concatenate([seen, draw.mark], axis=1)
        if exact:  # an answer lacks no margin: its merit is its effort
            still = np.where((draw.merit == lowest[:, None]).any(axis=1), lowest, still)
        if len(keep) < len(rows):
            problem, streams = problem.take(keep), streams.take(keep)
            menu, waiting, points, seen = menu.at(problem, keep), waiting.at(keep), points[keep], seen[keep]
            rows, lowest, missed, stale = rows[keep], lowest[keep], missed[keep], stale[keep]
            need, T, still = need[keep], T[keep], still[keep]


def _lacking(problem: Problem, leaves: Leaves, x: Array) -> Array:
    """What points ``x`` ``(n, d)`` lack of the margin, as it adds up, ``(n,)``."""
    margin = problem.goal.margin(leaves.finish(leaves.sums(leaves.cells(x)))[:, None, :])[:, 0]
    return np.maximum(-additive(problem, margin), LEAST)


def _price(care: Care, number: int, lowest: Array, need: Array) -> Array:
    """What a unit of margin is taken to cost each row in a round, ``(n,)``.

    Which price finds the nearest answer differs from row to row: rounds take turns.
    """
    dear = care.dear[number % len(care.dear)]
    return np.asarray(dear * np.where(np.isfinite(lowest), lowest, FARTHEST) / need)
