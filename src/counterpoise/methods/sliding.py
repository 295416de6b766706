"""Sliding: the search of models with a slope, their own or one that differences show.

A row whose score is linear is finished by its Taylor jump. Elsewhere walkers go round the row on spheres that close in;
where few features should change, lines along single features take their place. Taylor steps lead from there to the
nearest point of the boundary. No slope says which category to take, or which of many features to change far: sweeps do.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from counterpoise.methods.board import Board
from counterpoise.methods.care import counted, late, sparing
from counterpoise.methods.curving import curve, curved, unsettled
from counterpoise.methods.descent import branched, coarse_cells, descend, jump, scattered, switched, walk
from counterpoise.methods.lines import lines, most_asked
from counterpoise.methods.points import Points, joined, scored
from counterpoise.methods.population import gained
from counterpoise.methods.sifting import Sifting
from counterpoise.methods.slopes import slope
from counterpoise.methods.starts import elsewhere, sectioned, starting
from counterpoise.methods.sweep import unbound
from counterpoise.methods.switches import filled
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import Array, Index, Mask

STARTS = 6  # of a row
TOGETHER = 3  # starts that change several features, where few should change
WALKED = 14  # steps of the walk to the boundary
SLID = 3  # Taylor steps after it
AGAIN = 3  # Taylor steps after sweeps
WIDEST = 42  # columns of a black box whose whole numbers are tried one up and one down
FEW = 2  # changes that lines find as well as sweeps do
NEARER, FARTHER = 0.4, 1.4  # times what the expansion promised: beyond these, its slope says little
SWEPT = 3  # chains of a row that are swept
BRANCHED = 3  # times that whole numbers are tried one up and one down, at most
DIFFERENCES = 3000  # model rows that a search by differences may spend on slopes


def slide(board: Board, rows: Index, problem: Problem, streams: Streams, walkers: int, sift: Sifting) -> Iterator[None]:
    """Search some rows of a board, ``walkers`` chains each; what is found is entered, and each stage yields."""
    if problem.differentiable:
        jumped = jump(problem, elsewhere(problem, streams, STARTS))
        margin, gradient = jumped.margin, jumped.gradient
        if len(jumped.straight):
            board.enter(rows[jumped.straight], jumped.points)
            yield
            bent = np.ones(len(rows), dtype=bool)
            bent[jumped.straight[jumped.points.valid[:, 0]]] = False
            left = np.flatnonzero(bent)
            if not len(left):
                return
            margin, gradient = margin[left], gradient[left]
            rows, problem, streams = rows[left], problem.take(left), streams.take(left)
    else:
        score, gradient = slope(problem, problem.x0[:, None, :])
        margin = score.margin
    points = board.points.at(rows).best(1)
    if sparing(problem) and problem.left > most_asked(problem):
        found = lines(problem, STARTS, TOGETHER)
        points = found if late(problem) else joined(found, points)  # else the best start is the row, which lines have
        board.enter(rows, points)
        yield
        # one change is beaten by none of two where changes are counted
        left = np.flatnonzero((problem.cloud is not None) | ~problem.energy.settled(points.lowest))
        if not len(left):
            return
        points, margin, gradient = points.at(left), margin[left], gradient[left]
        rows, problem, streams = rows[left], problem.take(left), streams.take(left)
        if not problem.differentiable:
            points = points.best(max(1, DIFFERENCES // (SLID * problem.x0.shape[1])))
    else:
        # beside the nearest by length, those of few changes
        if counted(problem) and problem.left > most_asked(problem):
            board.enter(rows, lines(problem, STARTS, TOGETHER))
        points = _walked(problem, streams, points, walkers, margin, gradient)
        yield
    found = descend(problem, points, SLID, margin)
    board.enter(rows, found)
    yield
    if problem.differentiable:
        stuck = np.flatnonzero(found.lowest >= points.lowest)
        if len(stuck):  # no slope led anywhere from where the walks ended: that point, brought to the boundary
            board.enter(rows[stuck], sectioned(problem.take(stuck), found.at(stuck).best(1)))
        if not (problem.plain and problem.region.gapless):
            board.enter(rows, switched(problem).best(STARTS))
    elif not problem.region.gapless:
        given, real = filled(problem, problem.region.home)
        board.enter(rows, scored(problem, given).only(real))
    if problem.differentiable or (problem.x0.shape[1] <= WIDEST and problem.left == np.inf):
        yield from _branched(board, rows, problem)
    if problem.plain and sparing(problem):
        best = board.points.at(rows).best(1).x
        many = np.count_nonzero(problem.region.changed(best), axis=-1)[:, 0] > FEW
        left = np.flatnonzero(many | _astray(problem, best, margin, gradient))
        rows, problem, streams = rows[left], problem.take(left), streams.take(left)
        margin, gradient = margin[left], gradient[left]
    if len(rows) and (sparing(problem) or counted(problem) or not problem.plain):
        features = unbound(problem) if problem.energy.distance.weight("l2") else None
        yield from sift(board, rows, problem, streams, None, _to_sweep(board, rows, problem, streams), features)
        board.enter(rows, descend(problem, board.points.at(rows).best(SWEPT), AGAIN))
        yield
    if len(rows) and curved(problem):
        yield from _bent(board, rows, problem, streams, margin, gradient, sift)


def _walked(problem: Problem, streams: Streams, points: Points, walkers: int, margin: Array, gradient: Array) -> Points:
    """Where walkers end, and the ``points`` ``(n, 1, d)`` themselves; by differences, as many as there are rows for."""
    d = problem.x0.shape[1]
    chains = walkers if problem.differentiable else max(1, min(walkers, DIFFERENCES // (12 * d)))
    steps = WALKED if problem.differentiable else min(WALKED, DIFFERENCES // (2 * d * chains))
    if steps <= 3:
        return points
    spheres = scattered(problem, streams, points, chains, margin, gradient)
    return joined(walk(problem, *spheres, steps), points)


def _astray(problem: Problem, x: Array, margin: Array, gradient: Array) -> Mask:
    """Rows whose answer ``x`` ``(n, 1, d)`` is not about as far as the expansion at the row promised, ``(n,)``.

    Then the slope there, ``gradient`` ``(n, 1, d)``, says little of where the boundary is.
    """
    u, h = problem.energy.distance.differences(x, problem.x0)[:, 0], np.abs(gradient[:, 0] * problem.scales)
    if problem.energy.distance.weight("l2"):
        length, steep = np.sqrt(np.square(u).sum(axis=1)), np.sqrt(np.square(h).sum(axis=1))
    else:
        length, steep = u.sum(axis=1), h.max(axis=1)  # where the steepest feature alone would end
    promised = np.abs(margin[:, 0]) / np.maximum(steep, 1e-300)
    return np.asarray((length < NEARER * promised) | (length > FARTHER * promised))


def _bent(
    board: Board, rows: Index, problem: Problem, streams: Streams, margin: Array, gradient: Array, sift: Sifting
) -> Iterator[None]:
    """Rows that slopes have misled, by second-order steps; those that these help are swept once more in L1."""
    nearest = board.points.at(rows).best(1)
    left = np.flatnonzero(nearest.valid[:, 0] & _astray(problem, nearest.x, margin, gradient))
    left = left[unsettled(problem.take(left), nearest.x[left])] if len(left) else left
    if not len(left):
        return
    rows, problem, streams, before = rows[left], problem.take(left), streams.take(left), nearest.lowest[left]
    board.enter(rows, curve(problem, board.points.at(rows), margin[left]))
    yield
    left = np.flatnonzero(gained(before, board.points.at(rows).lowest))
    if len(left) and sparing(problem):
        part = board.points.at(rows[left]).best(1)
        yield from sift(board, rows[left], problem.take(left), streams.take(left), None, part)


def _branched(board: Board, rows: Index, problem: Problem) -> Iterator[None]:
    """Whole numbers one up and one down, while it pays."""
    active = np.flatnonzero(coarse_cells(problem, board.points.at(rows).best(1)).any(axis=1))
    for _ in range(BRANCHED if len(active) else 0):
        mine = rows[active]
        before = board.points.at(mine).lowest
        board.enter(mine, branched(problem.take(active), board.points.at(mine).best(1)))
        active = active[gained(before, board.points.at(mine).lowest)]
        yield
        if not len(active):
            return


def _to_sweep(board: Board, rows: Index, problem: Problem, streams: Streams) -> Points:
    """The chains to sweep: the best so far, one that a reference row led to, and the row itself."""
    points = board.points.at(rows).best(SWEPT - 1)
    if late(problem):
        others = descend(problem, starting(problem, streams, STARTS, 0).best(SWEPT - 1), AGAIN)
        board.enter(rows, others)
        points = joined(points.first(1), others.best(1))
    return joined(points, scored(problem, problem.region.home[:, None, :]))
