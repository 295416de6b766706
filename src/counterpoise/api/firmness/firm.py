"""Firm answers: the search for answers that withstand noise, and the share of fresh noisy copies that keep them."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoise.api.firmness.kept import counts_of_kept_copies
from counterpoise.api.firmness.noise import ChosenNoise, choose_noise
from counterpoise.api.solve import Answers, AnswerTask, answer_rows
from counterpoise.errors import InputError
from counterpoise.explanation.answered_rows import COPIES_COLUMN, FIRM_COLUMNS
from counterpoise.explanation.question import Question
from counterpoise.methods.firm.firm_search import FirmSearch
from counterpoise.objective.noise import Noise
from counterpoise.physics.robustness import share_interval
from counterpoise.problem import Cloud, Problem
from counterpoise.streams import StreamKey
from counterpoise.types import Array, Index, is_number


@dataclass(frozen=True)
class FirmnessCheck:
    """How the firmness of an answer is measured."""

    copies: int = 1000
    """Noisy copies on which a share is verified: drawn after the search, and never shown to it."""
    confidence: float = 0.95
    """Of the interval around that share."""
    overshoot: float = 1.1
    """The price of fragility is measured at this many times the change,"""
    price_copies: int = 200
    """on so many of the copies."""
    least_copies: int = 30
    """Of a model so slow that the budget of seconds does not last for all of them."""

    def count_affordable(self, copies: int, rows: int, problem: Problem, deadline: float) -> int:
        """How many of the ``copies`` of each of so many rows the model can be asked about before the ``deadline``."""
        if np.isinf(deadline):
            return copies
        fixed, each = problem.tally.seconds_of_call
        share = copies / (copies + self.price_copies)  # the others tell the price of fragility
        left = share * (deadline - time.perf_counter() - 2 * fixed)
        return int(min(max(left / (each * max(rows, 1)), self.least_copies), copies))


CHECK = FirmnessCheck()


class Firmness(NamedTuple):
    """How firm answers are, ``(n,)`` each: share of fresh copies kept, its interval, price of fragility, and noise."""

    kept: Array
    low: Array
    high: Array
    temperature: Array
    noise: NDArray[np.object_]
    copies: Array  # on how many fresh copies the share was measured

    @classmethod
    def empty(cls) -> Firmness:
        """The firmness of no answers."""
        return cls(*(np.empty(0),) * 4, np.empty(0, dtype=object), np.empty(0))

    def to_frame(self, index: pd.Index[Any]) -> pd.DataFrame:
        """The table that an Explanation holds."""
        return pd.DataFrame(dict(zip((*FIRM_COLUMNS, COPIES_COLUMN), self, strict=True)), index=index)

    @classmethod
    def concatenate(cls, parts: list[Firmness], order: Index) -> Firmness:
        """Several parts as one; ``order`` places their rows."""
        return cls(*(np.concatenate(arrays)[order] for arrays in zip(*parts, strict=True)))


def check_firmness(keep: object, temperature: object) -> None:
    """An error where ``keep`` and ``temperature`` make no sense, alone or together."""
    if keep is not None and not (is_number(keep) and 0 < keep < 1):
        raise InputError("keep must be a share between 0 and 1", f"{keep!r}", "for instance 0.9, or None")
    if not (is_number(temperature) and 0 <= temperature < np.inf):
        raise InputError("temperature must be a number of at least 0", f"{temperature!r}", "0 gives the minimal answer")
    if keep is not None and temperature:
        raise InputError(
            "keep and temperature must not be given together", "both were", "keep finds the temperature of each row"
        )


def find_firm_answers(task: AnswerTask, tipping: Answers, deadline: float = np.inf) -> tuple[Answers, Firmness]:
    """The firm answers to a chunk whose minimal answers are ``tipping``, and how firm they are.

    Rows that share a target share the noise. When the time of the task is up, the minimal answers are returned as they
    are; shares are measured on so many copies as the time until the ``deadline`` allows.
    """
    asked, problem = task.question, task.problem
    rows, chosen = [*problem.goal.group_rows()], list[ChosenNoise]()
    for group in rows:
        part = problem.take(group)
        chosen.append(choose_noise(part, task.schema, asked, asked.noise, task.row_targets.target[group[0]]))
    noises = [(group, choice.noise) for group, choice in zip(rows, chosen, strict=True)]
    answers = tipping if problem.has_expired else _search_firm_answers(task, tipping, noises)
    answers = answers if task.plan is None else _fill_with_minimal(problem, answers, tipping)
    copies = CHECK.copies if task.plan is None else task.plan.fresh_copies
    copies = CHECK.count_affordable(copies, len(problem), problem, deadline)
    shares = [
        _measure_firmness(problem.take(group), answers.take(group), asked, choice.noise, choice.words, copies)
        for group, choice in zip(rows, chosen, strict=True)
    ]
    firmness = Firmness.concatenate(shares, np.argsort(np.concatenate(rows), kind="stable"))
    return _explain_shortfalls(answers, firmness, asked, copies), firmness


def _search_firm_answers(
    task: AnswerTask, tipping: Answers, noises: list[tuple[Index, Noise]], kappa_times_margin: float = 20.0
) -> Answers:
    """Answers that withstand noise; kappa, in the decision form of Eq. (6), is in units of the row's own margin."""
    problem, asked, d = task.problem, task.question, task.problem.x0.shape[1]
    hints = tipping.x[:, :1]  # not the alternatives: the best answer must not depend on how many are asked for
    margin = np.abs(problem.goal.margin(task.row_predictions.outputs[:, None, :])[:, 0])
    kappa = kappa_times_margin / np.maximum(margin, 1e-6)
    none = np.empty((len(problem), 0, d))
    owners = np.zeros(len(problem), dtype=np.intp)
    if asked.noise is None:  # calibrated, for each target its own
        for number, (rows, _) in enumerate(noises):
            owners[rows] = number
    cloud = Cloud(tuple(noise for _, noise in noises), owners, none, asked.keep or 0.0, asked.temperature, kappa)
    return answer_rows(
        task._replace(problem=replace(problem, cloud=cloud, hints=hints), method=FirmSearch()), lambda finished: None
    )


def _fill_with_minimal(problem: Problem, answers: Answers, minimal: Answers) -> Answers:
    """The answers, with the minimal ones of rows whose model rows ended before a firm one was found."""
    budget = problem.tally.row_budget
    assert budget is not None, "without a limit of model rows there is nothing to fill"
    lost = ~answers.valid & minimal.valid & budget.was_cut[problem.row_numbers]
    n = len(problem)
    return Answers.concatenate([answers, minimal], np.where(lost, n, 0) + np.arange(n)) if lost.any() else answers


def _measure_firmness(
    problem: Problem, answers: Answers, question: Question, noise: Noise, noise_words: str, copies: int
) -> Firmness:
    """The share of fresh ``copies`` that keep the target, with its confidence interval, and the price of fragility.

    The user's own predict decides, whatever the search looked at.
    """
    n, d = problem.x0.shape
    draws = problem.make_streams(question.seed ^ StreamKey.FRESH_COPIES).normal((copies, d))
    x = answers.x[:, 0]
    start = np.where(np.isnan(problem.x0), x, problem.x0)
    beside, _ = problem.region.bring_inside(
        np.where(problem.numeric, start + CHECK.overshoot * (x - start), x)[:, None, :]
    )
    held = counts_of_kept_copies(problem, x, noise, draws)
    kept = held.mean(axis=1)
    before = held[:, : CHECK.price_copies].mean(axis=1)
    after = counts_of_kept_copies(problem, beside[:, 0], noise, draws[:, : CHECK.price_copies]).mean(axis=1)
    effort = problem.energy.effort(np.concatenate([x[:, None], beside], axis=1), problem.x0)
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.log(after) - np.log(before)
        price = np.where(gain > 0, (effort[:, 1] - effort[:, 0]) / gain, np.nan)
    low, high = share_interval(np.rint(kept * copies), copies, CHECK.confidence)
    words = np.full(n, noise_words, dtype=object)
    price = np.full(n, question.temperature) if question.temperature else price
    return Firmness(kept, low, high, price, words, np.full(n, float(copies)))


def _explain_shortfalls(answers: Answers, shares: Firmness, question: Question, copies: int) -> Answers:
    """The answers, with a reason where fewer copies than asked for surely keep the target."""
    if question.keep is None:
        return answers
    reason = answers.reason.copy()
    for row in np.flatnonzero(answers.valid & (shares.low < question.keep)).tolist():
        kept = f"kept in {shares.kept[row]:.1%} of {copies} noisy copies"
        reached = f"{kept}, not surely in the {question.keep:.0%} asked for"
        reason[row] = f"{reason[row]}; {reached}" if reason[row] else reached
    return answers._replace(reason=reason)
