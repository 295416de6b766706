"""The notes of a run: remarks that concern all of its rows."""

from __future__ import annotations

from typing import Any

from counterpoise.api.inputs.binding import note_relations

FEW_ANSWERS_NOTE = "have fewer answers, each without something that a better one needs, than the"


def collect_notes(run: Any) -> tuple[str, ...]:
    """The notes of the explanation: what holds for all rows."""
    return (
        *run.reference.notes,
        *run.explained.model.notes,
        *run.input_rows.notes,
        *run.form_notes,
        *note_relations(run.question.relations, run.rows_let_off),
        *run.form.steadiness.notes(),
        *_block_notes(run),
        *_missing_reference_notes(run),
        *_budget_notes(run),
        *_model_row_notes(run),
        *_few_answers_notes(run),
        *dict.fromkeys(run.kept_notes),
    )


def _block_notes(run: Any) -> tuple[str, ...]:
    """A note where the model is asked in calls of one size."""
    size = run.tally.block_rows
    return (
        (f"what the model says depends on how many rows it is asked about: it was asked in calls of {size} rows",)
        if size
        else ()
    )


def _budget_notes(run: Any) -> tuple[str, ...]:
    """A note where the budget ended a search."""
    if not run.rows_out_of_time:
        return ()
    whose = "of the row" if len(run.input_rows) == 1 else f"of {run.rows_out_of_time} of the {len(run.input_rows)} rows"
    return (f"the budget of {run.question.budget:g} s ended the search {whose}: more time may find nearer answers",)


def _model_row_notes(run: Any) -> tuple[str, ...]:
    """A note where the limit of model rows ended a search."""
    if not run.rows_out_of_model_rows:
        return ()
    whose = (
        "of the row" if len(run.input_rows) == 1 else f"of {run.rows_out_of_model_rows} of {len(run.input_rows)} rows"
    )
    return (f"{run.question.model_rows} model rows a row ended the search {whose}: more may find nearer answers",)


def _few_answers_notes(run: Any) -> tuple[str, ...]:
    """A note where rows have fewer answers than were asked for."""
    wanted = run.question.alternatives
    found = [answers for answers, _ in run.firm_answers] or run.finished_answers
    short_rows = sum(int((part.valid & (part.answer_count < wanted)).sum()) for part in found)
    rows = sum(len(part.valid) for part in found)
    return (f"{short_rows} of {rows} rows {FEW_ANSWERS_NOTE} {wanted} asked for",) if short_rows else ()


def _missing_reference_notes(run: Any) -> tuple[str, ...]:
    """A note where the reference has no row to start a search from."""
    if not len(run.reference_rows.x):
        return ("there are no reference rows: the search starts from random directions",)
    goal = run.row_targets.goal
    for group in goal.group_rows():
        if not len(run.reference_rows.find_target_rows(goal.take(group[:1]))):
            target = run.row_targets.target[group[0]]
            return (f"no reference row is {target}: the search starts from random directions",)
    return ()
