"""The default search: annealed chains that use whatever the model offers, rows x chains in one model call per step.

A model with a slope (its own, or one that differences show) is searched by Taylor steps, from where walkers on closing
spheres, or lines along single features, lead; sweeps follow where there are categories or many changes. Trees are
searched by their leaves: the most promising points, drawn by their Boltzmann weights, are surveyed round after round.
Any other model is searched by annealed chains of blind moves and by sweeps; where its split points are known, chains
live on the cells between them. Every incumbent is valid by construction, and a row leaves the batch when nothing
improves it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from counterpoise.errors import InputError
from counterpoise.methods.base import Run, last
from counterpoise.methods.beam import beam
from counterpoise.methods.board import Board
from counterpoise.methods.care import NARROW, care_of, late, leaves_of
from counterpoise.methods.cells import Cells
from counterpoise.methods.points import Points, joined, scored
from counterpoise.methods.population import Population
from counterpoise.methods.sifting import Sifting
from counterpoise.methods.singles import singles
from counterpoise.methods.sliding import STARTS, slide
from counterpoise.methods.slopes import responds
from counterpoise.methods.starts import astray, at_home, one_sided, ranged, starting, verging
from counterpoise.methods.sweep import reach
from counterpoise.physics.cooling import ConstantSpeed, Cooling
from counterpoise.problem import Problem
from counterpoise.space.distance import Norm
from counterpoise.streams import Streams
from counterpoise.types import Index, is_number, is_whole

A_CHAIN = 60  # model rows of a ration for each chain, the sweeps included
BISECTED = 6  # times that reference rows are halved towards the row, where nothing else brings them nearer
GATHERED = 8  # rounds of surveys whose points are entered at once
KEPT = 12  # points of a row whose model is surveyed: the best of those that differ by what they change
SWEPT = 3  # single changes of a row that enter
FEW_SINGLES, MOST_SINGLES = 200, 2000  # split points that are all tried alone: always, and where changes count
FED = 2  # points of a row whose columns feed others that are swept
VERGING = 120  # reference rows that a target which no row has met is looked for from
CHECKED = 5  # steps between two looks at which rows are finished


@dataclass(frozen=True)
class Annealing:
    """Annealed chains over the valid states of each row.

    ``chains`` per row; ``steps`` at most, from temperature ``start`` to ``end``, both shares of the incumbent's effort;
    None: 48 chains and 10 steps for models that vote or give probabilities, 24 and 5 for scores that add up. A row is
    finished earlier after ``patience`` steps without improvement, and then swept at most ``sweeps`` times. On models
    with a slope ``walkers`` chains per row walk to the boundary; on trees whose leaves are known at most ``sweeps``
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
            if not (is_whole(given) and given >= least) and not (given is None and name in ("chains", "steps")):
                raise InputError(f"{name} must be at least {least}", f"{given!r}", "give a whole number")
        for name in ("start", "end"):
            given = getattr(self, name)
            if not (is_number(given) and 0 < given < np.inf):
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
        known, at_first = leaves_of(problem) is not None, not late(problem)
        count = min(chains, STARTS if problem.differentiable else KEPT if known else chains)
        bisections = 0 if problem.differentiable or known else BISECTED
        start = starting(problem, streams, count, bisections) if at_first else at_home(problem, count)
        board = Board(start, problem.region, varied=known)
        yield board.run()
        self._thin(board, problem, streams)
        bound = len(problem.region.system) and problem.region.max_changes is not None
        if bound and problem.differentiable and len(board.open):
            # steps that keep to relations change as many features as it takes, which may be few enough
            self._detour(board, board.open, problem, streams, None, None)
        yield from self._searched(board, board.open, problem, streams)
        if not at_first:
            # the row itself led nowhere, or far beside the nearest reference row: from reference rows, then
            far = known and not problem.expired
            lost = astray(problem, board.points.lowest) if far else np.flatnonzero(np.isinf(board.points.lowest))
            if len(lost):
                others = starting(problem.take(lost), streams.take(lost), count, bisections)
                board.enter(lost, others)
                yield from self._searched(board, lost, problem, streams, others)
        if len(problem.region.system) and not (known or problem.energy.distance.weight("l2")):
            # only steps in L2 know the way where relations leave little room
            lost = np.flatnonzero(~board.points.valid.any(axis=1))
            if len(lost) and not problem.expired:
                self._detour(board, lost, problem, streams, "l2", problem.region.max_changes)
                yield from self._searched(board, lost[board.points.valid[lost].any(axis=1)], problem, streams)
        board.done[:] = True
        yield board.run()

    def _searched(
        self, board: Board, rows: Index, problem: Problem, streams: Streams, start: Points | None = None
    ) -> Iterator[Run]:
        """Some rows searched as their model asks for; surveys begin at ``start`` ``(r, k, d)``, else at the best."""
        if not len(rows):
            return
        steep = responds(problem.take(rows), board.points.at(rows))
        sift = Sifting(self.sweeps, self.start, self.end)
        if steep.any():
            some = rows[steep]
            part, own = problem.take(some), streams.take(some)
            if ranged(part) and len(part.donors.x) and part.left == np.inf:
                board.enter(some, scored(part, self(one_sided(part), own).x))
            for _ in slide(board, some, part, own, self.walkers, sift):
                yield board.run()
        if not steep.all():
            some = rows[~steep]
            begin = (start or board.points.at(rows)).best(1).at(np.flatnonzero(~steep))
            for _ in self._hop(board, some, problem.take(some), streams.take(some), sift, begin):
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
        self._detour(board, rows, problem, streams, "l0", None)

    def _detour(
        self, board: Board, rows: Index, problem: Problem, streams: Streams, norm: Norm | None, most: int | None
    ) -> None:
        """Answers to some rows that another distance finds nearest (None: the same), with ``most`` changes at most."""
        part = problem.take(rows)
        energy = part.energy
        if norm is not None:
            energy = replace(energy, distance=replace(energy.distance, mixture=((norm, 1.0),)))
        other = replace(part, energy=energy, region=replace(part.region, max_changes=most))
        board.enter(rows, scored(part, self(other, streams.take(rows)).x))

    def _surveyed(self, board: Board, rows: Index, problem: Problem, streams: Streams, start: Points) -> Iterator[None]:
        """Rows of a model whose leaves are known, from themselves and from ``start`` ``(n, k, d)``."""
        care, cooling = care_of(problem), self.schedule(problem)
        waiting: list[Points] = []  # entered together, as long as they are of the same rows
        here = rows[:0]
        try:
            for some, found, still in beam(problem, streams, start, care, self.sweeps, self.start, cooling):
                if len(some) != len(here) or len(waiting) == GATHERED:
                    self._entered(board, here, waiting)
                    waiting = []
                here = rows[some]
                waiting.append(found)
                board.still[here] = still
                yield
        finally:  # however the search ends, what it has found stays
            self._entered(board, here, waiting)

    @staticmethod
    def _entered(board: Board, rows: Index, waiting: list[Points]) -> None:
        if waiting:
            board.enter(rows, joined(*waiting) if len(waiting) > 1 else waiting[0])

    def _hop(
        self, board: Board, rows: Index, problem: Problem, streams: Streams, sift: Sifting, start: Points
    ) -> Iterator[None]:
        """Models without one: annealed blind moves, then sweeps of the best chains."""
        if leaves_of(problem) is not None:
            yield from self._surveyed(board, rows, problem, streams, start)
            lost = np.flatnonzero(~board.points.at(rows).valid.any(axis=1))
            if len(lost) and len(problem.donors.x) and start.asked and not problem.expired:
                # a narrow target: from what just misses it
                some = rows[lost], problem.take(lost), streams.take(lost)
                yield from self._surveyed(board, *some, verging(some[1], VERGING))
            feeding = np.flatnonzero(problem.region.system.sources[problem.numeric])
            if len(feeding):  # what a survey says of a column leaves out what is computed from it
                home = scored(problem, problem.region.home[:, None, :])
                points = joined(board.points.at(rows).best(FED), home)
                yield from sift(board, rows, problem, streams, None, points, feeding)
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
        if _alone(problem, cells):
            board.enter(rows, singles(problem, cells, reach(problem, board.points.at(rows).lowest), SWEPT))
            left = np.flatnonzero(~problem.energy.settled(board.points.at(rows).lowest))  # none can cost less
            if not len(left):
                return
            rows, problem, streams, raw = rows[left], problem.take(left), streams.take(left), raw.at(left)
        home = scored(problem, problem.region.home[:, None, :])  # few changes are found from where there are none
        points = joined(board.points.at(rows).best(1), raw, home)
        yield from sift(board, rows, problem, streams, cells, points)


def _alone(problem: Problem, cells: Cells | None) -> bool:
    """Whether each number is tried alone at every value that split points tell apart, or at some of all."""
    if cells is None:
        return problem.x0.shape[1] <= NARROW and problem.left == np.inf
    return bool(cells.count.sum() <= (MOST_SINGLES if problem.energy.distance.weight("l0") else FEW_SINGLES))
