"""The ensemble: all the ways out of a decision, sampled from the Boltzmann law of the effort, with error bars."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from counterpoise.api.asking.confirm import reaches_target
from counterpoise.api.explainer import Explainer
from counterpoise.api.firmness.kept import kept_share
from counterpoise.api.firmness.noise import NOISE_WITHOUT_REFERENCE, choose_noise
from counterpoise.api.inputs.rows_in import check_has_rows, model_predictions
from counterpoise.api.replay import Replay, replay
from counterpoise.errors import InputError, ModelError, name_kind, with_article
from counterpoise.explanation.explanation import Explanation
from counterpoise.landscape.ensemble_result import Ensemble
from counterpoise.landscape.row_ensemble import RowEnsemble
from counterpoise.methods.sampler.basins.basins import BasinSettings, find_basins
from counterpoise.methods.sampler.draws import Draws
from counterpoise.methods.sampler.sample import make_places, sample
from counterpoise.methods.sampler.settings import SamplerSettings
from counterpoise.methods.starts import start_at_reference_rows
from counterpoise.problem import Problem
from counterpoise.types import Array, Index, is_number, is_whole_number


def ensemble(
    explainer: Explainer,
    rows: Any,
    *,
    T: float | Literal["auto"] = "auto",
    samples: int = 1000,
    seed: int = 0,
    budget: float | None = None,
    settings: SamplerSettings | None = None,
    basin_settings: BasinSettings | None = None,
    **question: Any,
) -> Ensemble:
    """Sample all the ways out: valid, feasible points by the Boltzmann law of their effort.

    explainer: the model with its reference and constraints.
    rows: the rows, in any form that the explainer takes.
    T: the temperature, as a share of the effort of each row's answer; "auto": 0.05.
    samples: effective samples of each row; 1000 by default.
    seed: of all random numbers; 0 by default.
    budget: seconds for the whole call; None: no limit. What was sampled until then is returned, and says so.
    settings, basin_settings: how many chains, temperatures and steps, and how basins are looked for; None: as they are.
    question: further arguments of the explainer's call, such as target and distance.

    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> train = pd.DataFrame({"load": [1, 2, 8, 9] * 5, "ports": [1, 2, 7, 9] * 5})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"] * 5)
    >>> found = ensemble(Explainer(model, reference=train), train[3:4], target="benign", samples=100)
    >>> found.importance["feature"].tolist()
    ['load', 'ports']
    """
    started = time.perf_counter()
    share = _check_wishes(T, samples)
    for word, given, kind in (
        ("explainer", explainer, Explainer),
        ("settings", settings, SamplerSettings | None),
        ("basin_settings", basin_settings, BasinSettings | None),
    ):
        if not isinstance(given, kind):
            raise InputError(
                f"{word} must be of the kind {_KINDS[word]}",
                f"{name_kind(given)} was given",
                f"give {_KIND_HINTS.get(word, with_article(_KINDS[word]))}",
            )
    question.setdefault("alternatives", 3)
    explanation = explainer(rows, seed=seed, budget=budget, **question)
    check_has_rows(len(explanation))
    part = replay(explanation, explainer.model, reference=explainer.reference)
    deadline = np.inf if budget is None else started + budget
    problem = replace(part.problem, deadline=deadline)
    settings = SamplerSettings() if settings is None else settings
    least = np.asarray(problem.energy.effort(explanation.x[:, None, :], problem.x0)[:, 0])
    open_rows = np.flatnonzero(explanation.valid & (least > 0))
    draws: list[Draws | None] = [None] * len(explanation)
    failures: dict[int, str] = {}  # rows on a point of which the model failed: they cost no other row
    while len(open_rows):
        some = problem.take(open_rows)
        try:
            starts = collect_starts(explanation.answers[open_rows], some)
            found = sample(some, some.make_streams(seed), starts, share * least[open_rows], int(samples), settings)
        except ModelError as error:
            failures |= _blame_row(error, open_rows)
            open_rows = open_rows[~np.isin(open_rows, [*failures])]
            continue
        for place, each in zip(open_rows.tolist(), found, strict=True):
            draws[place] = each
        break
    basin_settings = BasinSettings() if basin_settings is None else basin_settings
    asked = replace(part, problem=problem)
    out = []
    for row in range(len(explanation)):
        about = least[row], share, basin_settings, settings, seed
        try:
            out.append(_describe_sampled_row(asked, explanation, row, draws[row], *about, failures.get(row, "")))
        except ModelError as error:
            out.append(_describe_sampled_row(asked, explanation, row, None, *about, error.given))
    seconds = time.perf_counter() - started
    return Ensemble(explanation, tuple(out), int(samples), seconds, explanation.model_rows + problem.tally.rows)


def _blame_row(error: ModelError, open_rows: Index) -> dict[int, str]:
    """The row that an error is about, with the model's message; raises the error again if it is about none of these."""
    if error.row is None or error.row not in open_rows:
        raise error
    return {error.row: error.given}


_KINDS = {"explainer": "Explainer", "settings": "SamplerSettings", "basin_settings": "BasinSettings"}
_KIND_HINTS = {"explainer": "an Explainer: cp.Explainer(model, reference=...)"}


def _check_wishes(T: object, samples: object) -> float:
    """The temperature as a share, or an error that says what must hold."""
    if not (is_whole_number(samples) and samples >= 1):
        raise InputError("samples must be a whole number of at least 1", f"{samples!r}", "for instance 1000")
    if T == "auto":
        return 0.05
    if not (is_number(T) and 0 < T < np.inf):
        raise InputError(
            "T must be a share of the answer's effort, above 0",
            f"{T!r}",
            "for instance 0.05; for the least change: explain",
        )
    return float(T)


def collect_starts(answers: Array, problem: Problem, reference_starts: int = 4) -> Array:
    """Points that chains begin near, ``(n, s, d)``: the answers, and reference rows made feasible; NaN: none."""
    near = start_at_reference_rows(problem, reference_starts)
    return np.concatenate([answers, np.where(near.valid[..., None], near.x, np.nan)], axis=1)


def _describe_sampled_row(
    part: Replay,
    explanation: Explanation,
    row: int,
    draws: Draws | None,
    least: float,
    share: float,
    basin_settings: BasinSettings,
    settings: SamplerSettings,
    seed: int,
    failure: str,
) -> RowEnsemble:
    """The samples of one row with basins and notes; ``failure`` is the error message if the model failed."""
    problem = part.problem.take([row])
    T = share * least
    basins, kept, valid = None, np.empty(0), np.empty(0, dtype=bool)
    notes: list[str] = []
    if draws is None:
        failed = f"the model failed on a point of this row: {failure}"
        notes.append(failed if failure else _say_why_empty(explanation, row, least))
    else:
        places = make_places(problem, explanation.answers[[row]], settings)
        notes += places.determined.describe(explanation.schema.names, 0)
        basins = find_basins(problem, places, 0, draws, basin_settings, explanation.answers[row])
        kept, valid = _judge_minima(part, problem, basins.x, explanation, row, seed)
        notes += _say_what_is_wrong(draws, least, share, partial(_mean_effort, problem, explanation, row, seed))
    label = explanation.rows.index[row]
    target = str(explanation.target[row])
    found = RowEnsemble(
        explanation.schema,
        row,
        label,
        target,
        problem.x0[0],
        explanation.x[row],
        float(least),
        float(T),
        draws,
        basins,
        kept,
        valid,
        tuple(notes),
    )
    if found.improved is None:
        return found
    better = f"a point of effort {found.least_known:.4g} beats the answer of {least:.4g}: see improved"
    return replace(found, notes=(*found.notes, better))


def _judge_minima(
    part: Replay, problem: Problem, x: Array, explanation: Explanation, row: int, seed: int
) -> tuple[Array, Any]:
    """The share of noisy copies of minima ``(b, d)`` that keep the target, and whether the user's own model agrees."""
    many = problem.take(np.zeros(len(x), dtype=np.intp))
    predicted = model_predictions(many.model, x, many.row_numbers, many.tally)
    valid = reaches_target(many, x, predicted) & many.region.contains(x[:, None, :])[:, 0]
    target = explanation.target[row]
    asked = part.question
    noise = choose_noise(problem, explanation.schema, asked, asked.noise, target, NOISE_WITHOUT_REFERENCE).noise
    draws = problem.make_streams(seed).normal((400, x.shape[1]))
    return kept_share(many, x, noise, np.repeat(draws, len(x), axis=0)), valid


def _say_why_empty(explanation: Explanation, row: int, least: float) -> str:
    if explanation.valid[row] and least == 0:
        return explanation.reason[row] or "the row has the target already: there is nothing to leave"
    return str(explanation.reason[row] or "no valid point is known to begin at")


def _mean_effort(problem: Problem, explanation: Explanation, row: int, seed: int, T: float) -> float:
    """The mean effort of a row at a temperature, roughly, by a short sampling."""
    starts = collect_starts(explanation.answers[[row]], problem)
    settings = SamplerSettings(max_sweeps=150, relearning_sweeps=())
    draws = sample(problem, problem.make_streams(seed), starts, np.array([T]), 1000, settings)[0]
    return np.inf if draws is None else float(draws.effort[..., 0].mean())


def _say_what_is_wrong(draws: Draws, least: float, share: float, mean_effort: Callable[[float], float]) -> list[str]:
    """Notes on what has not converged, and on a temperature at which far points win.

    ``mean_effort`` gives the mean effort at another temperature.
    """
    out = []
    if not draws.has_converged:
        why = draws.stopped or f"after {draws.sweeps} sweeps"
        out.append(
            f"not converged {why}: R-hat {draws.r_hat:.3f}, {draws.effective_size:.0f} effective samples of "
            f"{draws.wanted} wanted; errors may be larger than they say"
        )
    mean, most = float(draws.effort[..., 0].mean()), 1.5 * least
    if mean > most and not draws.stopped:
        would, colder = "less", share * (most - least) / (mean - least)
        for _ in range(6):  # the effort rises more slowly where it is hot, so that this may still be too much
            colder = float(f"{colder:.1g}")
            if mean_effort(colder * least) <= 0.95 * most:
                would = f"T = {colder:g}"
                break
            colder /= 2
        out.append(
            f"T = {share:g} is so hot that the number of far points wins: the mean effort {mean:.3g} is more than "
            f"1.5 times the least, {least:.3g}; {would} would do"
        )
    return out
