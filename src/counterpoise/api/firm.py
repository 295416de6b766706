"""Firm answers: the noise they should withstand, the search for them, and the share of fresh copies that they keep."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoise.api.solve import Answers, AnswerTask, answer_rows
from counterpoise.errors import InputError
from counterpoise.explanation.explanation import FIRM_COLUMNS
from counterpoise.methods.firm import FirmSearch
from counterpoise.objective.noise import Calibration, Gaussian, Noise, RankNoise, calibrate
from counterpoise.physics.robustness import share_interval
from counterpoise.problem import Cloud, Problem, ReferenceRows
from counterpoise.space.nearest_rows import spread_places
from counterpoise.space.region.region import Region
from counterpoise.streams import Streams
from counterpoise.types import Array, Index, Mask, is_number

FRESH_COPIES = 1000  # noisy copies on which a share is verified: drawn after the search, and never shown to it
FRESH_STREAM_KEY = 0x5EED  # sets their streams apart from those of the search
CALIBRATION_ROWS = 200  # reference rows, and copies of each, that noise is calibrated on
CALIBRATION_COPIES = 20
KAPPA_TIMES_MARGIN = 20.0  # kappa times the row's own margin: a copy that lost as much as the row lacks hardly counts
CONFIDENCE_LEVEL = 0.95
OVERSHOOT_FACTOR = 1.1  # how far past an answer the price of fragility is measured


@dataclass(frozen=True)
class FirmnessRequest:
    """What an answer should withstand: ``keep`` a share of noisy copies, or pay ``temperature`` for what it loses."""

    keep: float | None
    temperature: float
    noise: Noise | None  # None: calibrated on the reference

    @property
    def settings(self) -> dict[str, str]:
        """How people read it in a report."""
        asked = {"keep": f"{self.keep:g}"} if self.keep else {"temperature": f"{self.temperature:g}"}
        return asked | {"noise": "auto" if self.noise is None else repr(self.noise)}


class Firmness(NamedTuple):
    """How firm answers are, ``(n,)`` each: share of fresh copies kept, its interval, price of fragility, noise."""

    kept: Array
    low: Array
    high: Array
    temperature: Array
    noise: NDArray[np.object_]

    @classmethod
    def empty(cls) -> Firmness:
        """The firmness of no answers."""
        return cls(*(np.empty(0),) * 4, np.empty(0, dtype=object))

    def to_frame(self, index: pd.Index[Any]) -> pd.DataFrame:
        """The table that an Explanation holds."""
        return pd.DataFrame(dict(zip(FIRM_COLUMNS, self, strict=True)), index=index)

    @classmethod
    def concatenate(cls, parts: list[Firmness], order: Index) -> Firmness:
        """Several parts as one, in this order."""
        return cls(*(np.concatenate(arrays)[order] for arrays in zip(*parts, strict=True)))


def parse_firmness(keep: float | None, temperature: float, noise: object) -> FirmnessRequest | None:
    """The user's words, or None where no firmness is asked for."""
    if keep is not None and not (is_number(keep) and 0 < keep < 1):
        raise InputError("keep must be a share between 0 and 1", f"{keep!r}", "for instance 0.9, or None")
    if not (is_number(temperature) and 0 <= temperature < np.inf):
        raise InputError("temperature must be a number of at least 0", f"{temperature!r}", "0 gives the minimal answer")
    if keep is not None and temperature:
        raise InputError(
            "keep and temperature must not be given together", "both were", "keep finds the temperature of each row"
        )
    known = isinstance(noise, str) and noise == "auto"
    if not known and not is_number(noise) and not isinstance(noise, Noise):
        must = "noise must be 'auto', a number, Gaussian, RankNoise or another Noise"
        raise InputError(must, f"{noise!r}", "for instance 0.2")
    if keep is None and not temperature:
        if not known:
            raise InputError("noise must go with keep or temperature", "neither was given", "for instance keep=0.9")
        return None
    made = noise if isinstance(noise, Noise) else Gaussian(float(noise)) if is_number(noise) else None
    return FirmnessRequest(None if keep is None else float(keep), float(temperature), made)


def find_firm_answers(task: AnswerTask, tipping: Answers, asked: FirmnessRequest) -> tuple[Answers, Firmness]:
    """Firm answers beside the minimal ones, and how firm they are; rows of one target share one noise.

    Where the time is up, the minimal ones stand in for them.
    """
    problem = task.problem
    parts: list[Answers] = []
    shares: list[Firmness] = []
    rows: list[Index] = []
    for group in problem.goal.group_rows():
        part = task.take(group)
        noise, said = _choose_noise(part.problem, task, asked)
        minimal = tipping.take(group)
        answers = minimal if part.problem.has_expired else _search_firm_answers(part, minimal, asked, noise)
        shares.append(_measure_firmness(part.problem, answers, asked, noise, said, task.seed))
        parts.append(_explain_shortfalls(answers, shares[-1], asked))
        rows.append(group)
    order = np.argsort(np.concatenate(rows), kind="stable")
    return Answers.concatenate(parts, order), Firmness.concatenate(shares, order)


def _search_firm_answers(task: AnswerTask, tipping: Answers, asked: FirmnessRequest, noise: Noise) -> Answers:
    problem, d = task.problem, task.problem.x0.shape[1]
    empty = np.asarray(np.isnan(tipping.x).all(axis=2))
    hints = np.where(empty[..., None], tipping.x[:, :1], tipping.x)
    margin = np.abs(problem.goal.margin(task.row_predictions.outputs[:, None, :])[:, 0])
    kappa = KAPPA_TIMES_MARGIN / np.maximum(margin, 1e-6)
    none = np.empty((len(problem), 0, d))
    cloud = Cloud(noise, none, keep=asked.keep or 0.0, T=asked.temperature, kappa=kappa)
    return answer_rows(
        task._replace(problem=replace(problem, cloud=cloud, hints=hints), method=FirmSearch()), lambda finished: None
    )


def _choose_noise(problem: Problem, task: AnswerTask, asked: FirmnessRequest) -> tuple[Noise, str]:
    """The noise of rows with one target, and how people read it."""
    reference = problem.reference_rows.x
    if asked.noise is not None:
        return asked.noise.fitted(reference), repr(asked.noise)
    goal = problem.goal.take([0])
    there = np.flatnonzero(goal.is_reached(problem.reference_rows.outputs[None])[0]) if len(reference) else np.arange(0)
    if not len(there):
        raise InputError(
            "noise='auto' needs reference rows of the target", "there are none", "give the noise, for instance 0.2"
        )
    picked = there[spread_places(len(there), CALIBRATION_ROWS)]
    chosen = _calibrate_noise(problem, task, reference[picked])
    return chosen.noise, chosen.sentence


def _calibrate_noise(problem: Problem, task: AnswerTask, x: Array) -> Calibration:
    region = Region.build(task.schema, x, task.constraints, task.bounds)
    goal = problem.goal.take(np.zeros(len(x), dtype=np.intp))
    own = replace(
        problem, x0=x, goal=goal, region=region, energy=problem.energy.take(np.zeros(len(x), dtype=np.intp)),
        row_numbers=np.zeros(len(x), dtype=np.intp), reference_rows=ReferenceRows(x[:0], problem.reference_rows.outputs[:0]),
    )  # fmt: skip
    draws = Streams.of(x, FRESH_STREAM_KEY).normal((CALIBRATION_COPIES, x.shape[1]))

    def keeps(copies: Array) -> Mask:
        return own.score(copies).reached

    noise = RankNoise(0.01).fitted(problem.reference_rows.x)
    return calibrate(noise, x, draws, keeps, region, problem.scales, problem.numeric)


def _measure_firmness(
    problem: Problem, answers: Answers, asked: FirmnessRequest, noise: Noise, said: str, seed: int
) -> Firmness:
    """The share of fresh copies that keep the target, with its confidence interval, and the price of fragility."""
    n, d = problem.x0.shape
    draws = problem.make_streams(seed ^ FRESH_STREAM_KEY).normal((FRESH_COPIES, d))
    own = replace(problem, cloud=Cloud(noise, draws, keep=asked.keep or 0.0))
    x = answers.x[:, 0]
    start = np.where(np.isnan(problem.x0), x, problem.x0)
    beside, _ = problem.region.bring_inside(
        np.where(problem.numeric, start + OVERSHOOT_FACTOR * (x - start), x)[:, None, :]
    )
    points = np.concatenate([x[:, None, :], beside], axis=1)
    kept = own.score_under_noise(points).kept
    effort = problem.energy.effort(points, problem.x0)
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.log(kept[:, 1]) - np.log(kept[:, 0])
        price = np.where(gain > 0, (effort[:, 1] - effort[:, 0]) / gain, np.nan)
    low, high = share_interval(np.rint(kept[:, 0] * FRESH_COPIES), FRESH_COPIES, CONFIDENCE_LEVEL)
    words = np.full(n, said, dtype=object)
    return Firmness(kept[:, 0], low, high, np.full(n, asked.temperature) if asked.temperature else price, words)


def _explain_shortfalls(answers: Answers, shares: Firmness, asked: FirmnessRequest) -> Answers:
    """The answers, with a reason where the share asked for was not reached."""
    if asked.keep is None:
        return answers
    reason = answers.reason.copy()
    for row in np.flatnonzero(answers.valid & (shares.low < asked.keep)).tolist():
        reached = f"kept in {shares.kept[row]:.1%} of {FRESH_COPIES} noisy copies, not surely in the {asked.keep:.0%} asked for"
        reason[row] = f"{reason[row]}; {reached}" if reason[row] else reached
    return answers._replace(reason=reason)
