"""Kept: the share of noisy copies of each answer that keep the target, in one model call for a chunk of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from counterpoise.api.asking.confirm import meets_goal
from counterpoise.api.firmness.noise import NOISE_WITHOUT_REFERENCE, choose_noise
from counterpoise.api.inputs.rows_in import model_predictions
from counterpoise.api.solve import Answers, AnswerTask
from counterpoise.errors import InputError
from counterpoise.objective.noise import Noise
from counterpoise.objective.noise_by_feature import check_copies
from counterpoise.physics.robustness import share_interval
from counterpoise.problem import Problem
from counterpoise.streams import draw_keyed_normals
from counterpoise.types import Array, Index, Mask, split_rows

KeptSetting: TypeAlias = bool | Literal["auto"]
"""Whether the share kept is measured: "auto" leaves it out for remote models and where time or model rows run out."""

KEPT_STREAM_NAME = b"kept"  # sets these draws apart from those of any search


@dataclass(frozen=True)
class KeptSettings:
    """How the share of noisy copies that keep the target is measured."""

    copies: int = 200  # noisy copies of each answer
    confidence: float = 0.95  # of the interval around the share kept
    close_call: float = 1e-6  # margins this near to 0, beside the outputs, are decided by the user's own predict
    cells_together: int = 4_000_000  # numbers in the copies that are made at once


class KeptShares(NamedTuple):
    """Share kept by answers ``(n, a)``, its interval, and the noise of each row in words, ``(n,)``."""

    share: Array
    low: Array
    high: Array
    noise: NDArray[np.object_]
    levels: dict[str, float]  # by target, the level of noise "auto"

    @classmethod
    def unknown(cls, n: int, a: int) -> KeptShares:
        """No shares at all, for n rows of a answers each."""
        nothing = np.full((n, a), np.nan)
        return cls(nothing, nothing, nothing, np.full(n, "", dtype=object), {})

    @classmethod
    def concatenate(cls, parts: list[KeptShares], order: Index) -> KeptShares:
        """Several parts as one; ``order`` places their rows."""
        share, low, high, noise = (
            np.concatenate(each)[order] for each in zip(*(part[:4] for part in parts), strict=True)
        )
        levels = {target: level for part in parts for target, level in part.levels.items()}
        return cls(share, low, high, noise, levels)


def check_kept(kept: object) -> KeptSetting:
    """The setting, if it is one."""
    if isinstance(kept, (bool, np.bool_)):
        return bool(kept)
    if isinstance(kept, str) and kept == "auto":
        return "auto"
    raise InputError("kept must be 'auto', True or False", f"{kept!r}", "leave it at 'auto'")


def reason_to_skip(task: AnswerTask, settings: KeptSettings) -> str:
    """Why the share kept is not measured although nobody forbade it; empty where it is."""
    problem, answers = task.problem, task.question.alternatives
    if task.question.kept == "auto":
        if problem.model.is_remote:
            return "the model is remote"
        if problem.is_out_of_time:
            return "the time was up"
        if task.plan is not None and not task.plan.kept_copies:
            more = f"{settings.copies * answers} model rows more for each row"
            return f"{more} are too many of the {task.question.model_rows}"
    return ""


def measure_kept(task: AnswerTask, answers: Answers, settings: KeptSettings = KeptSettings()) -> KeptShares:
    """The share of noisy copies of every answer that keep the target; NaN where there is no valid answer.

    All answers of all rows have the same draws, so that a row alone has the share that it has in a batch.
    """
    n, a, d = answers.x.shape
    there = np.asarray((np.arange(a) < answers.answer_count[:, None]) & answers.valid[:, None])
    share, words = np.full((n, a), np.nan), np.full(n, "", dtype=object)
    levels: dict[str, float] = {}
    rows = np.flatnonzero(there[:, 0])
    if len(rows):
        part = task.take(rows)
        noises: list[tuple[Index, Noise]] = []
        for group in part.problem.goal.group_rows():
            target = part.row_targets.target[group[0]]
            mine = part.problem.take(group)
            chosen = choose_noise(
                mine, task.schema, task.question, task.question.noise, target, NOISE_WITHOUT_REFERENCE
            )
            noises.append((group, chosen.noise))
            words[rows[group]] = chosen.words
            levels |= {} if chosen.calibrated_level is None else {str(target): chosen.calibrated_level}
        x = np.where(there[rows][..., None], answers.x[rows], answers.x[rows, :1])
        draws = draw_keyed_normals(KEPT_STREAM_NAME, task.question.seed, (settings.copies, d))
        doubted = (answers.margin[rows] >= 0) != answers.valid[rows]  # outputs and predict say different things here
        share[rows] = shares_kept(
            part.problem, x, noises, np.broadcast_to(draws, (len(x), *draws.shape)), doubted, settings
        )
        share[~there] = np.nan
    low, high = share_interval(np.rint(share * settings.copies), settings.copies, settings.confidence)
    return KeptShares(share, np.where(there, low, np.nan), np.where(there, high, np.nan), words, levels)


def shares_kept(
    problem: Problem,
    x: Array,
    noises: Sequence[tuple[Index, Noise]],
    draws: Array,
    doubted: Mask | None = None,
    settings: KeptSettings = KeptSettings(),
) -> Array:
    """The share ``(n, a)`` of noisy copies of points ``x`` ``(n, a, d)`` that keep the target; ``draws`` ``(n, m, d)``.

    ``noises`` has the places of rows and their noise. The model's outputs decide, but where they are as good as equal,
    and in rows that are ``doubted`` ``(n,)``, the user's own predict does.
    """
    n, a, d = x.shape
    m = draws.shape[1]
    owner = np.empty(n, dtype=np.intp)
    for number, (rows, _) in enumerate(noises):
        owner[rows] = number
    kept = np.empty((n, a))
    for some in split_rows(n, settings.cells_together, a * m * d):
        part, copies = problem.take(some), np.empty((len(some), a, m, d))
        for number, (_, noise) in enumerate(noises):
            mine = np.flatnonzero(owner[some] == number)
            if len(mine):
                copies[mine] = _make_copies(part.take(mine), x[some[mine]], noise, _take_draws(draws, some[mine]))
        doubts = None if doubted is None else doubted[some]
        reached = _decide(part, copies.reshape(len(some), a * m, d), doubts, settings)
        kept[some] = reached.reshape(len(some), a, m).mean(axis=2)
    return kept


def kept_share(problem: Problem, x: Array, noise: Noise, draws: Array) -> Array:
    """The share ``(n,)`` of noisy copies of points ``x`` ``(n, d)`` that keep the target; ``draws`` ``(n, m, d)``."""
    return shares_kept(problem, x[:, None], [(np.arange(len(x)), noise)], draws)[:, 0] if len(x) else np.empty(0)


def counts_of_kept_copies(
    problem: Problem, x: Array, noise: Noise, draws: Array, settings: KeptSettings = KeptSettings()
) -> Mask:
    """Which noisy copies ``(n, m)`` of points ``x`` ``(n, d)`` the user's own predict gives the target.

    ``draws`` ``(n, m, d)`` are those of the copies.
    """
    (n, d), m = x.shape, draws.shape[1]
    kept = np.empty((n, m), dtype=bool)
    for some in split_rows(n, settings.cells_together, m * d):
        part = problem.take(some)
        copies = _make_copies(part, x[some, None], noise, draws[some]).reshape(-1, d)
        owners = np.repeat(np.arange(len(some)), m)
        numbers = part.row_numbers[owners]
        predicted = model_predictions(part.model, copies, numbers, part.tally)
        reached = meets_goal(part.model, part.goal.take(owners), copies, predicted, numbers, part.tally)
        kept[some] = reached.reshape(len(some), m)
    return kept


def _take_draws(draws: Array, rows: Index) -> Array:
    """The draws ``(n, m, d)`` of some rows; where all rows have the same, they are not copied."""
    if draws.strides[0] == 0:
        return np.broadcast_to(draws[0], (len(rows), *draws.shape[1:]))
    return draws[rows]


def _make_copies(problem: Problem, x: Array, noise: Noise, draws: Array) -> Array:
    made = noise.copies(x, draws, problem.region, problem.scales, problem.numeric)
    copies = check_copies(made, x, draws, noise)
    wanted = (*x.shape[:2], draws.shape[1], x.shape[2])
    if copies.shape != wanted:
        raise InputError(
            "a noise must give copies of the shape (rows, points, draws, features)",
            f"{noise!r} gave {copies.shape} instead of {wanted}",
            "correct its copies",
        )
    return copies


def _decide(problem: Problem, x: Array, doubted: Mask | None, settings: KeptSettings) -> Mask:
    """Whether points ``x`` ``(n, k, d)`` have the target, ``(n, k)``."""
    outputs = problem.outputs(x)
    margin, reached = problem.goal.margin(outputs), problem.goal.is_reached(outputs)
    largest = np.abs(outputs).reshape(len(outputs), -1).max(axis=1, initial=0.0)
    unsure = np.abs(margin) <= settings.close_call * (1.0 + largest[:, None])
    if doubted is not None:
        unsure |= doubted[:, None]
    rows, places = np.nonzero(unsure)
    if problem.tally.row_budget is not None:  # where no model rows are left for predict, the outputs decide
        numbers = problem.row_numbers[rows]
        can = problem.tally.row_budget.can_verify(numbers, problem.tally.row_budget.judgement)
        rows, places = rows[can], places[can]
    if len(rows):
        part, points = problem.take(rows), x[rows, places]
        predicted = model_predictions(problem.model, points, part.row_numbers, problem.tally)
        reached = reached.copy()
        reached[rows, places] = meets_goal(problem.model, part.goal, points, predicted, part.row_numbers, problem.tally)
    return reached
