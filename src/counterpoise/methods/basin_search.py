"""One answer a basin: the ensemble around a search's answers is sampled and quenched; its minima are the answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from counterpoise.methods.base import Method, Run, last_run
from counterpoise.methods.points import Points, make_points
from counterpoise.methods.polish import shorten_changes
from counterpoise.methods.sampler.basins.basins import BasinSettings, find_basins
from counterpoise.methods.sampler.draws import Draws
from counterpoise.methods.sampler.sample import make_places, sample
from counterpoise.methods.sampler.settings import SamplerSettings
from counterpoise.methods.settings.finish import PolishSettings
from counterpoise.methods.starts import start_at_reference_rows
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import Array


@dataclass(frozen=True)
class BasinSearch:
    """Another method's answers, then one answer for each basin of the ensemble around them, by free energy.

    >>> from counterpoise.methods.search import Search
    >>> BasinSearch(Search()).answers
    5
    """

    method: Method
    answers: int = 5
    """Basins of each row, at most: those of least free energy."""
    T: float = 0.05
    """The temperature, as a share of the effort of the row's best answer."""
    samples: int = 200
    """Effective samples of each row."""
    sampler: SamplerSettings = field(
        default_factory=lambda: SamplerSettings(
            ladders=4,
            temperatures=4,
            adaptation_sweeps=20,
            adaptation_rounds=2,
            relearning_sweeps=(),
            block_sweeps=25,
            max_sweeps=150,
            max_r_hat=1.05,
        )
    )
    """Shorter chains than the ensemble's: which basins there are is asked, not how much exactly they weigh."""
    basins: BasinSettings = field(default_factory=lambda: BasinSettings(quenched=60))
    polish: PolishSettings = field(default_factory=PolishSettings)

    def iterate(self, problem: Problem, streams: Streams) -> Iterator[Run]:
        run = None
        for run in self.method.iterate(problem, streams):
            yield run._replace(done=np.zeros_like(run.done))
        assert run is not None, "a method yields at least one run"
        rows = np.flatnonzero(run.valid.any(axis=1) & (run.effort.min(axis=1) > 0))
        x = np.full((len(problem), self.answers, problem.x0.shape[1]), np.nan)
        rank = np.full((len(problem), self.answers), np.inf)
        if len(rows) and not problem.has_expired:
            part = problem.take(rows)
            earlier_answers = np.where(run.valid[rows][..., None], run.x[rows], np.nan)
            near = start_at_reference_rows(part, 4)
            starts = np.concatenate([earlier_answers, np.where(near.valid[..., None], near.x, np.nan)], axis=1)
            T = self.T * run.effort[rows].min(axis=1)
            draws = sample(part, streams.take(rows), starts, T, self.samples, self.sampler)
            for place, (row, each) in enumerate(zip(rows.tolist(), draws, strict=True)):
                if each is not None:
                    found = self._pick_minima(problem.take([row]), starts[[place]], each)
                    x[row, : len(found)], rank[row, : len(found)] = found, np.arange(len(found))
        yield _add_minima(problem, run, x, rank)

    def _pick_minima(self, problem: Problem, starts: Array, draws: Draws) -> Array:
        """The minima ``(b, d)`` of one row's basins, that of least free energy first, shortened where they can be."""
        found = find_basins(problem, make_places(problem, starts, self.sampler), 0, draws, self.basins, starts[0])
        x = found.x[np.argsort(-found.weight, kind="stable")[: self.answers]]
        many = problem.take(np.zeros(len(x), dtype=np.intp))
        points = make_points(many, x[:, None], many.score(x[:, None]), many.region.contains(x[:, None]))
        return np.asarray(shorten_changes(many, points, np.ones(len(x), dtype=bool), self.polish).x[:, 0])

    def __call__(self, problem: Problem, streams: Streams) -> Run:
        return last_run(self.iterate(problem, streams))


def _add_minima(problem: Problem, run: Run, x: Array, rank: Array) -> Run:
    """The run with minima ``(n, b, d)`` in front where a row has any; its other answers follow by effort."""
    there = np.isfinite(rank)
    filled = np.where(there[..., None], x, problem.region.nearest_feasible[:, None, :])
    points = make_points(problem, filled, problem.score(filled), problem.region.contains(filled) & there)
    every = Points(*(np.concatenate(pair, axis=1) for pair in zip(points, run[:3], strict=True)))
    has_minima = there.any(axis=1, keepdims=True)
    later = np.where(has_minima, np.inf, run.effort.argsort(axis=1, kind="stable").argsort(axis=1))
    order = np.concatenate([np.where(points.valid, rank, np.inf), later], axis=1)
    lost = has_minima & ~np.isfinite(order).any(axis=1, keepdims=True)  # no minimum holds: what the search found does
    order = np.where(lost, np.concatenate([rank, run.effort], axis=1), order)
    return run._replace(
        x=every.x,
        margin=every.margin,
        effort=every.effort,
        done=np.ones_like(run.done),
        rank=order,
        locally_minimal_effort=None,
    )
