"""The noise that answers should withstand: which noise it is, and the share of noisy copies that keep the target."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from counterpoise.errors import InputError
from counterpoise.explanation.question import Question
from counterpoise.objective.noise import Calibration, Gaussian, Noise, RankNoise, calibrate
from counterpoise.problem import Problem, ReferenceRows
from counterpoise.space.nearest_rows import spread_places
from counterpoise.space.region.region import Region
from counterpoise.space.schema.schema import Schema
from counterpoise.streams import StreamKey, Streams
from counterpoise.types import Array, Mask, is_number, split_rows

NoiseWish = float | Noise | Literal["auto"]
"""A noise as users ask for it: a number (Gaussian, in standard deviations), a noise, or "auto"."""

NOISE_WITHOUT_REFERENCE = Gaussian(0.2)  # what checks of answers take for "auto" where there is no reference


def parse_noise(noise: object) -> Noise | None:
    """The noise that a user's word stands for; None: it is to be calibrated on the reference."""
    if isinstance(noise, str) and noise == "auto":
        return None
    if is_number(noise):
        return Gaussian(float(noise))
    if not isinstance(noise, Noise):
        must = "noise must be 'auto', a number, Gaussian, RankNoise or another Noise"
        raise InputError(must, f"{noise!r}", "for instance 0.2")
    return noise


def choose_noise(
    problem: Problem, schema: Schema, question: Question, wish: Noise | None, fallback: Noise | None = None
) -> tuple[Noise, str]:
    """The noise of rows that share one target, and how people read it; ``wish`` None: calibrated on the reference.

    The problem must hold the reference rows where noise is in ranks or calibrated; without any, ``fallback`` stands in
    for calibrated noise.
    """
    reference = problem.reference_rows
    if wish is None and fallback is not None and not len(reference.x):
        return fallback, f"{fallback!r}, no reference to calibrate on"
    if wish is not None:
        if not wish.is_fitted and not len(reference.x):
            raise InputError("rank noise needs reference rows", "there are none", "give reference=, or noise=0.2")
        return (wish.fitted(reference.x) if len(reference.x) else wish), repr(wish)
    there = reference.find_target_rows(problem.goal.take([0])) if len(reference.x) else np.arange(0)
    if not len(there):
        raise InputError(
            "noise='auto' needs reference rows of the target", "there are none", "give the noise, for instance 0.2"
        )
    found = _calibrate_on(problem, schema, question, reference.x[there])
    return found.noise, found.sentence


def _calibrate_on(
    problem: Problem, schema: Schema, question: Question, given: Array, max_rows: int = 200, copies: int = 20
) -> Calibration:
    """Rank noise at the largest level that reference rows ``given`` ``(r, d)`` of the target withstand.

    At most ``max_rows`` of them are copied, each so many times.
    """
    x = given[spread_places(len(given), max_rows)]
    first = np.zeros(len(x), dtype=np.intp)
    region = Region.build(schema, x, question.binding_constraints, question.bounds)
    no_rows = ReferenceRows(x[:0], problem.reference_rows.outputs[:0])
    theirs = replace(
        problem,
        x0=x,
        goal=problem.goal.take(first),
        region=region,
        energy=problem.energy.take(first),
        row_numbers=first,
        reference_rows=no_rows,
        cloud=None,
        hints=None,
    )
    draws = Streams.of(x, StreamKey.FRESH_COPIES).normal((copies, x.shape[1]))

    def keeps(made: Array) -> Mask:
        return theirs.score(made).reached

    noise = RankNoise(0.01).fitted(problem.reference_rows.x)
    return calibrate(noise, x, draws, keeps, region, problem.scales, problem.numeric)


def kept_share(problem: Problem, x: Array, noise: Noise, draws: Array, max_cells: int = 4_000_000) -> Array:
    """The share ``(n,)`` of noisy copies of points ``x`` ``(n, d)`` that keep the target; ``draws`` ``(n, m, d)``.

    So many numbers of copies are made at once.
    """
    kept = np.empty(len(x))
    for some in split_rows(len(kept), max_cells, draws.shape[1] * draws.shape[2]):
        part = problem.take(some)
        copies = noise.copies(x[some, None], draws[some], part.region, part.scales, part.numeric)[:, 0]
        kept[some] = part.score(copies).reached.mean(axis=1)
    return kept
