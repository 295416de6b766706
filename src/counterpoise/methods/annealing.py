"""The default search: annealed chains that use whatever the model offers, rows x chains in one model call per step.

A model with a slope (its own, or one that differences show) is searched by Taylor steps: walkers go round the row on
spheres that close in while the target is reached, with steps that cool, and slide to the nearest point of the boundary.
Where only few features should change, and where there are categories, sweeps over single features follow. Trees whose
leaves fit a table are searched on it: the most promising points, drawn by their Boltzmann weights, are surveyed round
after round. Any other model is searched by annealed chains of blind moves and by sweeps; where its split points are
known, chains live on the cells between them. Every incumbent is valid by construction, and a row leaves the batch when
nothing improves it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from counterpoise.errors import InputError
from counterpoise.methods import moves
from counterpoise.methods.base import Run, last
from counterpoise.methods.beam import beam
from counterpoise.methods.board import Board
from counterpoise.methods.care import care_of, thoroughness
from counterpoise.methods.cells import Cells
from counterpoise.methods.descent import branched, coarse_columns, descend, jump, scattered, switched, walk
from counterpoise.methods.ground import Ground
from counterpoise.methods.population import Population, gained
from counterpoise.methods.slopes import responds, slope
from counterpoise.methods.starts import Points, joined, scored, sectioned, starting
from counterpoise.methods.sweep import MULTIPLIERS, reach, singles, sweep
from counterpoise.models.leaves import Leaves
from counterpoise.physics.cooling import ConstantSpeed, Cooling
from counterpoise.physics.metropolis import accept
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import Array, Index

STARTS = 6  # starts of a row whose model has a slope of its own
WALKED = 16  # steps of the first walk to the boundary
SLID = 3  # Taylor steps after it
AGAIN = 3  # Taylor steps after sweeps
DIFFERENCES = 3000  # model rows that a search by differences may spend on slopes
SWEPT = 3  # chains of a row that are swept
A_CHAIN = 60  # model rows of a ration for each chain, the sweeps included
FEW_SWEEPS = 3  # that a ration should last for
SETTLED = 5  # sweeps before chains are thrown together, where a model is not swept longer
FEW_SINGLES, MOST_SINGLES = 200, 2000  # split points that are all tried alone: always, and where changes count
NARROW = 300  # columns: in wider tables sweeps of numbers that have a slope cost more than they find
BRANCHED = 3  # times that whole numbers are tried one up and one down, at most
CHECKED = 5  # steps between two looks at which rows are finished


@dataclass(frozen=True)
class Annealing:
    """Annealed chains over the valid states of each row.

    ``chains`` per row; ``steps`` at most, from temperature ``start`` to ``end``, both shares of the incumbent's effort;
    None: 48 chains and 10 steps for models that vote or give probabilities, 24 and 5 for scores that add up. A row is
    finished earlier after ``patience`` steps without improvement, and then swept at most ``sweeps`` times. On models
    with a slope ``walkers`` chains per row walk to the boundary; on trees whose leaves fit a table at most ``sweeps``
    rounds of surveys take the place of steps and sweeps. ``cooling`` rules blind chains and surveys, by default
    `ConstantSpeed`; sweeps cool geometrically to ``end``.
    """

    chains: int | None = None
    steps: int | None = None
    patience: int = 15
    start: float = 0.03
    end: float = 1e-4
    cooling: Cooling | None = None
    walkers: int = 6
    sweeps: int = 14

    def __post_init__(self) -> None:
        for name, least in (("chains", 1), ("steps", 1), ("walkers", 1), ("patience", 0), ("sweeps", 0)):
            given = getattr(self, name)
            whole = isinstance(given, (int, np.integer)) and not isinstance(given, bool)
            if not (whole and given >= least) and not (given is None and name in ("chains", "steps")):
                raise InputError(f"{name} must be at least {least}", f"{given!r}", "give a whole number")
        for name in ("start", "end"):
            given = getattr(self, name)
            if not isinstance(given, (int, float, np.floating)) or not 0 < given < np.inf:
                raise InputError(
                    f"{name} must be a number above 0", f"{given!r}", "a share of the effort, such as 0.01"
                )
        if self.end > self.start:
            raise InputError("end must not exceed start", f"{self.start!r} to {self.end!r}", "cooling goes down")
        if self.cooling is not None and not callable(self.cooling):
            raise InputError(
                "cooling must be a schedule",
                f"{self.cooling!r}",
                "for instance Geometric of counterpoise.physics.cooling",
            )

    def iterate(self, problem: Problem, streams: Streams) -> Iterator[Run]:
        # walkers set out from the best start alone; blind chains differ by where they start
        chains = self.chains or int(max(STARTS, min(care_of(problem).chains, problem.left / A_CHAIN)))
        count = min(chains, STARTS) if problem.differentiable else chains
        known = leaves_of(problem) is not None
        start = starting(problem, streams, count, 0 if problem.differentiable or known else 6)
        board = Board(start, problem.region, varied=known)
        yield board.run()
        self._thin(board, problem, streams)
        searched = board.open
        if len(searched):
            steep = responds(problem.take(searched), board.points.best(1).x[searched])
            for rows, search in ((searched[steep], self._slide), (searched[~steep], self._hop)):
                if len(rows):
                    for _ in search(board, rows, problem.take(rows), streams.take(rows)):
                        yield board.run()
        board.done[:] = True
        yield board.run()

    def __call__(self, problem: Problem, streams: Streams) -> Run:
        return last(self.iterate(problem, streams))

    def schedule(self, problem: Problem) -> Cooling:
        """The cooling of a search: the one that was set, or constant speed over as many steps as there are at most."""
        steps = self.sweeps if leaves_of(problem) is not None else self.steps or care_of(problem).steps
        return self.cooling if self.cooling is not None else ConstantSpeed(max(steps, 1))

    def _thin(self, board: Board, problem: Problem, streams: Streams) -> None:
        """Where few features may change and no start is that sparse: the sparsest answers without the ceiling."""
        rows = np.flatnonzero(~board.points.valid.any(axis=1))
        if problem.region.max_changes is None or not len(rows):
            return
        part = problem.take(rows)
        sparsest = replace(part.energy, distance=replace(part.energy.distance, mixture=(("l0", 1.0),)))
        unbound = replace(part, energy=sparsest, region=replace(part.region, max_changes=None))
        board.enter(rows, scored(part, self(unbound, streams.take(rows)).x))

    def _slide(self, board: Board, rows: Index, problem: Problem, streams: Streams) -> Iterator[None]:
        """Models with a slope: jump to the boundary, walk around the row on ever nearer spheres, slide to the end."""
        if problem.differentiable:
            jumped = jump(problem, board.points.x[rows])
            margin, gradient = jumped.margin, jumped.gradient
            if len(jumped.straight):
                board.enter(rows[jumped.straight], jumped.points)
                yield
                bent = np.ones(len(rows), dtype=bool)
                bent[jumped.straight[jumped.points.valid[:, 0]]] = False
                bent = np.flatnonzero(bent)
                if not len(bent):
                    return
                margin, gradient = margin[bent], gradient[bent]
                rows, problem, streams = rows[bent], problem.take(bent), streams.take(bent)
        else:
            score, gradient = slope(problem, problem.x0[:, None, :])
            margin = score.margin
        d = problem.x0.shape[1]
        changes_alone = [norm for norm, _ in problem.energy.distance.mixture] == ["l0"]
        counting = changes_alone and d <= NARROW and problem.cloud is None
        if counting:
            left = self._single(board, rows, problem)
            yield
            if not len(left):
                return
            margin, gradient = margin[left], gradient[left]
            rows, problem, streams = rows[left], problem.take(left), streams.take(left)
        chains = self.walkers if problem.differentiable else max(1, min(self.walkers, DIFFERENCES // (12 * d)))
        steps = WALKED if problem.differentiable else min(WALKED, DIFFERENCES // (2 * d * chains))
        points = board.points.at(rows).best(1)
        if steps > 3 and not counting:  # what is near by other measures takes many changes
            spheres = scattered(problem, streams, points, chains, margin, gradient)
            points = joined(walk(problem, *spheres, steps), points)
            yield
        found = descend(problem, points, SLID, margin)
        board.enter(rows, found)
        yield
        stuck = np.flatnonzero(found.lowest >= points.lowest) if problem.differentiable else rows[:0]
        if len(stuck):  # no slope led anywhere from where the walks ended: that point, brought to the boundary
            board.enter(rows[stuck], sectioned(problem.take(stuck), found.at(stuck).best(1)))
        if problem.differentiable and not problem.plain:
            board.enter(rows, switched(problem).best(STARTS))
        active = np.arange(len(rows) if problem.differentiable and len(coarse_columns(problem)) else 0)
        for _ in range(BRANCHED):
            if not len(active):
                break
            mine = rows[active]
            before = board.points.at(mine).lowest
            board.enter(mine, branched(problem.take(active), board.points.at(mine).best(1)))
            active = active[gained(before, board.points.at(mine).lowest)]
            yield
        sparse = d <= NARROW and not problem.energy.distance.weight("l2")
        if sparse or not problem.plain:
            # no slope says which category to take, or which few features to change far: sweeps do
            home = scored(problem, problem.region.home[:, None, :])
            points = joined(board.points.at(rows).best(SWEPT - 1), home)
            yield from self._sift(board, rows, problem, streams, None, points)
            board.enter(rows, descend(problem, board.points.at(rows).best(SWEPT), AGAIN))
            yield

    def _single(self, board: Board, rows: Index, problem: Problem) -> Index:
        """Single changes where changes alone are counted; the places of the rows for which none is enough."""
        home, width = scored(problem, problem.region.home[:, None, :]), care_of(problem).width
        if problem.left > problem.x0.shape[1] * 2 * width + MULTIPLIERS:
            board.enter(rows, sweep(problem, None, home, reach(problem, home.lowest), width).points)
        return np.flatnonzero(~problem.energy.settled(board.points.at(rows).lowest))

    def _hop(self, board: Board, rows: Index, problem: Problem, streams: Streams) -> Iterator[None]:
        """Models without one: annealed blind moves, then sweeps of the best chains."""
        leaves = leaves_of(problem)
        if leaves is not None:
            start, cooling = board.points.at(rows), self.schedule(problem)
            rounds = beam(problem, streams, leaves, start, care_of(problem), self.sweeps, self.start, cooling)
            for some, found in rounds:
                board.enter(rows[some], found)
                yield
            return
        cells = Cells.of(problem)
        active = np.flatnonzero(board.points.at(rows).valid.any(axis=1))
        # blind moves commit early: sweeps start from where these did too
        care = care_of(problem)
        steps = self.steps or care.steps
        raw = board.points.at(rows).best(max(care.swept - 2, 1))
        chains = Population(
            problem.take(active), streams.take(active), board.points.at(rows[active]), cells, self.start
        )
        chains.snap()
        cooling = self.schedule(problem)
        for step in range(steps):
            if problem.expired or not len(active):
                break
            chains.step(step, cooling)
            if step % CHECKED == CHECKED - 1:
                board.enter(rows[active], chains.best)
                keep = np.flatnonzero(chains.stale < self.patience)
                if len(keep) < len(active):
                    active, chains = active[keep], chains.take(keep)
                yield
        board.enter(rows[active], chains.best)
        if cells is not None and cells.count.sum() <= (
            MOST_SINGLES if problem.energy.distance.weight("l0") else FEW_SINGLES
        ):
            board.enter(rows, singles(problem, cells, SWEPT))
        home = scored(problem, problem.region.home[:, None, :])  # few changes are found from where there are none
        points = joined(board.points.at(rows).best(1), raw, home)
        yield from self._sift(board, rows, problem, streams, cells, points)

    def _sift(
        self, board: Board, rows: Index, problem: Problem, streams: Streams, cells: Cells | None, points: Points
    ) -> Iterator[None]:
        """The best chains swept, then thrown together and swept again while it pays."""
        active, stale = np.arange(len(rows)), np.zeros(len(rows), dtype=np.intp)
        only: Index | None = None
        care = care_of(problem)
        longer = thoroughness(cells)
        # a ration that does not last for a few sweeps of all chains may last for those of the best
        cost = problem.x0.shape[1] * (2 * care.width + 1) + MULTIPLIERS
        points = points.first(max(1, int(min(points.x.shape[1], problem.left / (FEW_SWEEPS * cost)))))
        patient, settled = care.patient * longer, max(2, SETTLED // longer)
        for number in range(self.sweeps * longer):
            if problem.expired or not len(active):
                break
            part = problem if len(active) == len(rows) else problem.take(active)
            mine = streams if len(active) == len(rows) else streams.take(active)
            before = board.points.at(rows[active]).lowest
            start = points if number < settled else self._thrown(part, mine, points, board.points.x[rows[active]])
            found, effect = sweep(part, cells, start, reach(part, before), care.width, only)
            T = self._temperature(number / max(self.sweeps - 1, 1)) * before
            with np.errstate(invalid="ignore"):
                taken = accept(found.effort - points.effort, T, mine.uniform((points.x.shape[1],))) & found.valid
            # a row that has no valid point yet follows the margin
            points = points.instead(found, taken | (~points.valid & (found.margin > points.margin)))
            board.enter(rows[active], found)
            after = board.points.at(rows[active]).lowest
            better = gained(before, after) | (np.isinf(after) & (found.margin > start.margin).any(axis=1))
            stale[active] = np.where(better, 0, stale[active] + 1)
            keep = np.flatnonzero(stale[active] < patient)
            active, points = active[keep], points.at(keep)
            # later sweeps try only the features that did most in the first one
            only = np.argsort(-effect, axis=1, kind="stable")[:, : care.screened][keep] if only is None else only[keep]
            yield

    def _thrown(self, problem: Problem, streams: Streams, points: Points, pool: Array) -> Points:
        """Chains mixed with other good points ``(n, p, d)`` of their row and partly set back: where a sweep starts."""
        n, q, d = points.x.shape
        draws = streams.uniform((q, d + 2))
        other = (draws[..., 0] * pool.shape[1]).astype(np.intp)
        partner = pool[np.arange(n)[:, None], other]
        mixed = np.where(draws[..., 2:] < 0.6 * draws[..., 1, None], partner, points.x)
        return scored(problem, moves.reset(Ground.of(problem), streams, mixed, np.ones((n, q))))

    def _temperature(self, done: float) -> float:
        return float(self.start ** (1 - done) * self.end**done)


def leaves_of(problem: Problem) -> Leaves | None:
    """The leaves of the model, where they are known and tell what the search is after."""
    return None if problem.cloud is not None else getattr(problem.model, "leaves", None)
