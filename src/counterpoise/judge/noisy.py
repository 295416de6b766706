"""Answers under noise: which noise, the share of copies that keep the target, and how much noise leaves enough."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from counterpoise.api.reference import Reference
from counterpoise.errors import InputError
from counterpoise.judge.recalling import RecalledAnswers
from counterpoise.model_calls import model_outputs
from counterpoise.objective.noise import Gaussian, Noise, RankNoise, calibrate
from counterpoise.space.region.region import Region
from counterpoise.space.schema.schema import Schema
from counterpoise.streams import Streams
from counterpoise.types import Array, Index, Mask

CHECK_STREAM_KEY = 0xC4EC4  # sets the draws of a check apart from those of any search
CELLS_PER_BATCH = 4_000_000  # numbers in one batch of copies
NOISE_FACTORS = 2.0 ** np.arange(-5, 2.5, 0.5)  # parts of the noise at which the radius is looked for
RADIUS_COPIES = 200  # copies at each of them
CALIBRATION_ROWS, CALIBRATION_COPIES = 200, 20  # reference rows, and copies of each, that noise is calibrated on


def choose_noise(
    part: RecalledAnswers, noise: float | Noise | Literal["auto"], model: Any, schema: Schema, reference: Any
) -> tuple[Noise, str]:
    """The noise of rows with one target, and how people read it."""
    if isinstance(noise, (int, float)):
        return Gaussian(float(noise)), repr(Gaussian(float(noise)))
    own = isinstance(noise, Noise)
    if isinstance(noise, Noise) and noise.is_fitted:
        return noise, repr(noise)
    if not own and noise != "auto":
        must = "noise must be 'auto', a number, Gaussian, RankNoise or another Noise"
        raise InputError(must, f"{noise!r}", "for instance 0.2")
    if reference is None:
        if own:
            raise InputError("this noise must know the reference", "none was given", "give reference=")
        return Gaussian(0.2), f"{Gaussian(0.2)!r}, no reference to calibrate on"
    x = (reference if isinstance(reference, Reference) else Reference(model, reference, schema)).x
    if isinstance(noise, Noise):
        return noise.fitted(x), repr(noise)
    outputs = model_outputs(part.problem.model, x, np.arange(len(x)), part.problem.tally, "reference row")
    there = np.flatnonzero(part.problem.goal.take([0]).is_reached(outputs[None])[0])
    if not len(there):
        raise InputError(
            "noise='auto' needs reference rows of the target", "there are none", "give the noise, for instance 0.2"
        )
    rows = x[there[np.linspace(0, len(there) - 1, min(len(there), CALIBRATION_ROWS)).astype(np.intp)]]
    one = part.problem.goal.take(np.zeros(len(rows), dtype=np.intp))

    def keeps(copies: Array) -> Mask:
        flat = copies.reshape(-1, copies.shape[-1])
        said = model_outputs(part.problem.model, flat, np.zeros(len(flat), dtype=np.intp), part.problem.tally)
        return one.is_reached(said.reshape(*copies.shape[:2], -1))

    region = Region.build(schema, rows, part.constraints, part.bounds)
    draws = Streams.of(rows, CHECK_STREAM_KEY).normal((CALIBRATION_COPIES, x.shape[1]))
    scales, numeric = part.problem.scales, part.problem.numeric
    found = calibrate(RankNoise(0.01).fitted(x), rows, draws, keeps, region, scales, numeric)
    return found.noise, found.sentence


def kept_share(part: RecalledAnswers, noise: Noise, draws: Array) -> Array:
    """The share of copies that keep the target, ``(n,)``."""
    problem, kept = part.problem, np.empty(len(part.rows))
    width = max(1, CELLS_PER_BATCH // (draws.shape[1] * draws.shape[2]))
    for start in range(0, len(kept), width):
        some: Index = np.arange(start, min(start + width, len(kept)))
        own = problem.take(some)
        copies = noise.copies(part.x[some, None], draws[some], own.region, own.scales, own.numeric)[:, 0]
        kept[some] = own.score(copies).reached.mean(axis=1)
    return kept


def kept_share_by_level(part: RecalledAnswers, noise: Noise, draws: Array) -> tuple[Array, Array]:
    """Noise levels ``(g,)`` around that of a noise, and the share of copies kept at each, ``(n, g)``."""
    if not noise.level > 0:
        return np.empty(0), np.empty((len(part.rows), 0))
    levels = noise.level * NOISE_FACTORS
    levels = levels[levels <= noise.max_level]
    return levels, np.stack([kept_share(part, noise.scaled(float(level)), draws) for level in levels], axis=1)


def noise_radius(levels: Array, kept: Array, share: float) -> Array:
    """The noise level ``(n,)`` at which the share ``kept`` ``(n, g)`` falls to the one wanted, between ``levels``."""
    if not len(levels):
        return np.full(len(kept), np.nan)
    kept = np.minimum.accumulate(kept, axis=1)
    first = np.argmax(kept < share, axis=1)  # the first level that loses too many
    rows = np.arange(len(kept))
    before, after = kept[rows, np.maximum(first - 1, 0)], kept[rows, first]
    part_way = (before - share) / np.where(before > after, before - after, 1.0)
    between = levels[np.maximum(first - 1, 0)] + np.clip(part_way, 0, 1) * (
        levels[first] - levels[np.maximum(first - 1, 0)]
    )
    return np.where((kept >= share).all(axis=1), levels[-1], np.where(first == 0, 0.0, between))
