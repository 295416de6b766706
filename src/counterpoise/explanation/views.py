"""Views of answers: tables and cells that people and other programs read."""

from __future__ import annotations

import numpy as np
import pandas as pd

from counterpoise.explanation import sentences, tables
from counterpoise.explanation.answered_rows import COPIES_COLUMN, AnsweredRows
from counterpoise.explanation.fields import REJECTED
from counterpoise.explanation.formats import format_label, format_pair, format_probability, name_label
from counterpoise.explanation.repr import REPR_LIMITS
from counterpoise.space.distance import Distance


def tabulate_answers(explanation: AnsweredRows) -> pd.DataFrame:
    """A line for each answer: what it takes, how sure it is, and what is odd about it."""
    rows = np.repeat(np.arange(len(explanation)), explanation.count)
    slots = np.concatenate([np.arange(0), *(np.arange(count) for count in explanation.count)]).astype(np.int64)
    x0, answers, marks = explanation.x0[rows], explanation.answers[rows, slots], explanation.odd_marks
    labels, names = (
        explanation.rows.index.take(rows),
        np.array([str(name) for name in explanation.schema.names], dtype=object),
    )
    columns = {
        "row": labels.to_flat_index() if isinstance(labels, pd.MultiIndex) else labels,
        "position": rows,
        "alternative": slots,
        "changed": tables.differs(x0, answers[:, None])[:, 0].sum(axis=1),
        "distance": Distance.of(explanation.schema, "l2")(answers[:, None], x0)[:, 0],
        **{
            name: getattr(explanation.measures, name)[rows, slots]
            for name in ("effort", "bound", "probability", "kept", "kept_low", "kept_high", "agree", "agree_of")
        },
        "fragile": marks.is_fragile[rows, slots],
        "edge": marks.is_edge[rows, slots],
        "unusual": ["; ".join(names[mask]) for mask in marks.unusual[rows, slots]],
    }
    return pd.DataFrame(columns)


def describe_outcome(explanation: AnsweredRows, row: int) -> sentences.RowOutcome:
    """The facts about one row that its sentence is made from."""
    after, probability = explanation.score_cells["after"][row], float(explanation.score_cells["probability_after"][row])
    verdict = (
        explanation.target[row],
        after,
        probability,
        bool(explanation.valid[row]),
        explanation.status[row],
        explanation.reason[row],
    )
    marks, changes = explanation.odd_marks, explanation.changes_by_answer[row]
    names = [explanation.schema.features[column].title for column in np.flatnonzero(marks.unusual[row, 0])]
    other_answers = [
        sentences.OtherAnswer(
            changes[slot],
            float(explanation.measures.kept[row, slot]),
            bool(marks.is_fragile[row, slot]),
            *_agreeing_models(explanation, row, slot),
        )
        for slot in range(1, int(explanation.count[row]))
    ]
    return sentences.RowOutcome(
        *verdict,
        kept=float(explanation.kept[row]),
        kept_low=float(explanation.kept_interval[row, 0]),
        copies=count_copies(explanation, row),
        share_asked=np.nan if explanation.question.keep is None else explanation.question.keep,
        effort=float(explanation.effort[row]),
        bound=float(explanation.bound[row]),
        is_fragile=bool(marks.is_fragile[row, 0]),
        unusual=tuple(names),
        far=float(marks.far[row, 0]) if marks.is_edge[row, 0] else np.nan,
        others=tuple(other_answers),
        agreeing=_agreeing_models(explanation, row, 0)[0],
        models=_agreeing_models(explanation, row, 0)[1],
    )


def count_copies(explanation: AnsweredRows, row: int) -> float:
    """On how many noisy copies the firmness of the best answer was measured; NaN where that is not known."""
    if explanation.firm is None or COPIES_COLUMN not in explanation.firm:
        return float("nan")
    return float(explanation.firm[COPIES_COLUMN].iloc[row])


def _agreeing_models(explanation: AnsweredRows, row: int, slot: int) -> tuple[int, int]:
    """How many further models give an answer the target, and how many could be asked about it."""
    share, count = explanation.measures.agree[row, slot], explanation.measures.agree_of[row, slot]
    return (0, 0) if np.isnan(share + count) else (round(share * count), int(count))


def compose_row_text(explanation: AnsweredRows, row: int, *, names_alternatives: bool = True) -> str:
    """The text about one row: a sentence or two, and its alternatives unless these are shown beside it."""
    if explanation.status[row] == REJECTED:
        return f"The row was rejected: {sentences.shorten_reason(explanation.reason[row])}."
    changes, outcome = explanation.changes_by_answer[row][0], describe_outcome(explanation, row)
    outcome = outcome if names_alternatives else outcome._replace(others=())
    return sentences.compose_text(explanation.schema, changes, outcome)


def list_short_cells(explanation: AnsweredRows) -> list[tuple[str, ...]]:
    """The cells of the short table, a tuple for each row; of a rejected one its name and why."""
    out: list[tuple[str, ...]] = []
    for row, (changes, *_) in enumerate(explanation.changes_by_answer):
        label = name_label(explanation.rows.index[row])
        if explanation.status[row] == REJECTED:
            why = f"{REJECTED}: {sentences.shorten_reason(explanation.reason[row])}"
            out.append((label, *[""] * 6, why))
            continue
        scores = explanation.scores.iloc[row]
        labels = [format_label(scores[when]) for when in ("before", "after")]
        odds = [format_probability(scores[f"probability_{when}"]) for when in ("before", "after")]
        distance = f"{explanation.terms.distance[row]:.4g}"
        status = explanation.status[row].replace("_", " ")
        kept = "" if np.isnan(explanation.kept[row]) else f"{int(100 * explanation.kept[row] + 1e-9)}%"
        odds_text = " → ".join(filter(None, odds))
        out.append((label, *labels, odds_text, _format_changes(explanation, changes), distance, kept, status))
    return out


def _format_changes(explanation: AnsweredRows, changes: list[tables.Change]) -> str:
    parts = []
    for change in sentences.sort_by_size(changes)[: REPR_LIMITS.changes]:
        feature = explanation.schema.features[change.column]
        parts.append(f"{feature.title} {' → '.join(format_pair(feature, change.before, change.after))}")
    more = len(changes) - len(parts)
    return ", ".join([*parts, *([f"{more} more"] if more else [])])
