"""The Explanation of a run: the answers of its chunks, in the order of the rows, with all that was measured of them."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from counterpoise.api.assemble import assemble_explanation
from counterpoise.api.batch.run_notes import collect_notes
from counterpoise.api.firmness.firm import Firmness
from counterpoise.api.firmness.kept import KeptShares
from counterpoise.api.solve import Answers
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.question import Question
from counterpoise.types import Index


def join_answers(run: Any) -> Explanation:
    """The Explanation of the rows of a run that are finished."""
    rows = np.concatenate([np.arange(0), *run.finished_rows])
    order = np.argsort(rows, kind="stable")
    none = Answers.empty(run.question.alternatives, len(run.explained.schema))
    answers = Answers.concatenate(run.finished_answers or [none], order)
    explain = partial(
        assemble_explanation,
        _question_with_noise(run),
        run.explained,
        run.reference.quantiles(run.explained.model),
        run.input_rows,
        run.row_targets,
        run.row_predictions,
        rows[order],
        seconds=time.perf_counter() - run.start_time,
        model_rows=run.tally.rows,
        notes=collect_notes(run),
    )
    evidence = np.concatenate(run.evidence)[order] if run.evidence else None
    kept = _join_kept(run, run.kept, order)
    if not run.question.asks_for_firmness:
        return explain(answers, kept, evidence=evidence)
    firmness = Firmness.concatenate([Firmness.empty(), *(found for _, found in run.firm_answers)], order)
    firmer = Answers.concatenate([none, *(found for found, _ in run.firm_answers)], order)
    found = explain(firmer, _join_kept(run, run.firm_kept, order), evidence=evidence)
    tipping = explain(answers, kept, evidence=None)
    return replace(found, firm=firmness.to_frame(found.rows.index), tipping=tipping)


def _join_kept(run: Any, parts: list[KeptShares], order: Index) -> KeptShares:
    return KeptShares.concatenate([KeptShares.unknown(0, run.question.alternatives), *parts], order)


def _question_with_noise(run: Any) -> Question:
    """The question with the levels of noise "auto" that were found for its targets."""
    question: Question = run.question
    found = {target: level for part in (*run.kept, *run.firm_kept) for target, level in part.levels.items()}
    return replace(question, noise_levels=found) if found else question
