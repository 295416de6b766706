"""The noise that answers should withstand: the user's own, or one that is calibrated on the reference."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from counterpoise.errors import InputError
from counterpoise.explanation.question import Question
from counterpoise.model_calls import Tally
from counterpoise.objective.calibration import Calibration, CalibrationSettings, calibrate
from counterpoise.objective.noise import Gaussian, Noise, RankNoise
from counterpoise.objective.noise_by_feature import NoiseByFeature
from counterpoise.problem import Problem
from counterpoise.reference_rows import ReferenceRows
from counterpoise.space.nearest_rows import spread_places
from counterpoise.space.region.region import Region
from counterpoise.space.schema.schema import Schema
from counterpoise.streams import draw_keyed_normals
from counterpoise.types import Array, Mask, is_number

NoiseWish = float | Noise | Mapping[Hashable, Noise | float] | Literal["auto"]
"""A noise as users ask for it: a number (Gaussian, in standard deviations), a noise, one by feature, or "auto"."""

NOISE_WITHOUT_REFERENCE = Gaussian(0.2)  # what checks of answers take for "auto" where there is no reference


class ChosenNoise(NamedTuple):
    """A noise, how people read it, and its level where it was calibrated."""

    noise: Noise
    words: str
    calibrated_level: float | None = None


def parse_noise(noise: object, schema: Schema | None = None) -> Noise | None:
    """The noise that a user's word stands for; None: it is to be calibrated on the reference."""
    if isinstance(noise, str) and noise == "auto":
        return None
    if is_number(noise):
        return Gaussian(float(noise))
    if isinstance(noise, Mapping) and schema is not None:
        return NoiseByFeature.of(noise, schema)
    if not isinstance(noise, Noise) or isinstance(noise, type):
        must = "noise must be 'auto', a number, Gaussian, RankNoise or another Noise"
        raise InputError(must, f"{noise!r}", "for instance 0.2")
    return noise


def fit_noise(noise: Noise, reference: ReferenceRows) -> Noise:
    """The noise, knowing the reference rows where there are any; their ranks are learnt once."""
    if isinstance(noise, RankNoise) and not noise.is_fitted and len(reference.x):
        return replace(noise, ranks=reference.rank_noise.ranks)
    return noise.fitted(reference.x) if len(reference.x) else noise


def choose_noise(
    problem: Problem,
    schema: Schema,
    question: Question,
    wish: Noise | None,
    target: Any,
    fallback: Noise | None = None,
    calibration: CalibrationSettings = CalibrationSettings(),
) -> ChosenNoise:
    """The noise of rows that share one ``target``, and how people read it; ``wish`` None: calibrated on the reference.

    A level that the question holds for the target is taken as it is; any other is found once for each target, seed
    and set of constraints, and kept with the reference rows. The problem must hold these where noise is in ranks or
    calibrated; where they have no row of the target, ``fallback`` stands in for calibrated noise.
    """
    reference = problem.reference_rows
    if wish is not None:
        if not wish.is_fitted and not len(reference.x):
            raise InputError("rank noise needs reference rows", "there are none", "give reference=, or noise=0.2")
        return ChosenNoise(fit_noise(wish, reference), repr(wish))
    known = question.noise_levels.get(str(target))
    if known is not None and len(reference.x):
        return ChosenNoise(reference.rank_noise.scaled(known), f"rank noise {known:g}, as it was calibrated", known)
    goal = problem.goal.take([0])
    there = reference.find_target_rows(goal) if len(reference.x) else np.arange(0)
    if not len(there):
        if fallback is not None:
            lacks = "reference row of the target" if len(reference.x) else "reference"
            return ChosenNoise(fallback, f"{fallback!r}, no {lacks} to calibrate on")
        raise InputError(
            "noise='auto' needs reference rows of the target", "there are none", "give the noise, for instance 0.2"
        )

    def calibrated() -> Calibration:
        rows = reference.x[there[spread_places(len(there), calibration.rows)]]
        return _calibrate_on(problem, schema, question, rows, calibration)

    asked = f"{question.seed} {question.bounds} {question.binding_constraints!r}"  # what the copies are held to
    found = reference.get_calibration(goal, asked, calibrated)
    return ChosenNoise(found.noise, found.sentence, found.noise.level)


def _calibrate_on(
    problem: Problem, schema: Schema, question: Question, x: Array, settings: CalibrationSettings
) -> Calibration:
    """Rank noise at the largest level that reference rows ``x`` ``(r, d)`` of the target withstand.

    Like the model's outputs of the reference, these rows are not counted: they are asked once for all calls.
    """
    first = np.zeros(len(x), dtype=np.intp)
    region = Region.build(schema, x, question.binding_constraints, question.bounds)
    theirs = replace(
        problem,
        x0=x,
        goal=problem.goal.take(first),
        region=region,
        energy=problem.energy.take(first),
        row_numbers=first,
        reference_rows=ReferenceRows(x[:0], problem.reference_rows.outputs[:0]),
        cloud=None,
        hints=None,
        tally=Tally(),
    )
    draws = draw_keyed_normals(problem.goal.take([0]).key, question.seed, (len(x), settings.copies, x.shape[1]))

    def keeps(copies: Array) -> Mask:
        return theirs.score(copies).reached

    noise = problem.reference_rows.rank_noise
    return calibrate(noise, x, draws, keeps, region, problem.numeric, settings)
