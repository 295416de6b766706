"""Alert cards: what people read of each row, as text and a few numbers, ready for a page or a terminal.

A redacted card names the row, the features and the direction of each change, and holds no cell of any column, no reason
and no noise: the answer for an attack is also a recipe for evading the detector.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import isnan
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from counterpoise.explanation import tables
from counterpoise.explanation.answered_rows import AnsweredRows
from counterpoise.explanation.cards.evidence import Evidence, build_evidence
from counterpoise.explanation.fields import REJECTED
from counterpoise.explanation.formats import format_label, format_pair, format_probability, format_times
from counterpoise.explanation.sentences import say_proof, say_share, sort_by_size
from counterpoise.explanation.views import compose_row_text, count_copies
from counterpoise.space.distance import Distance
from counterpoise.space.schema.schema import Feature

CarriedCells = tuple[tuple[str, str], ...]
Direction = Literal["up", "down", "other", "given"]
DIRECTION_WORDS = {"up": "higher", "down": "lower", "other": "different", "given": "known"}
CAUTION = (
    "A counterfactual describes the model, not the world: it says what would have changed this decision, not what "
    "happened or what to do."
)


RECIPE_CAUTION = "For an attack it is also a recipe for evading the detector: share it with care."
REDACTION_NOTE = "Values are left out of this report: it names the features and the direction of each change."


class CardChange(NamedTuple):
    """One changed feature of an answer; redacted, it has neither values nor percentiles."""

    column: int  # place in the schema
    title: str
    direction: Direction
    size: float = 0.0  # what it adds to an L1 distance, in standard deviations
    before: str = ""
    after: str = ""
    end_values: tuple[float, float] | None = None  # the two values as numbers, where they are
    percentiles: tuple[tuple[str, float, float], ...] = ()  # population, percentile before, percentile after


class CardAnswer(NamedTuple):
    """One counterfactual of a row."""

    prediction: str  # what the model says of it
    probability: str  # of the target; "" if the model has none or was not asked
    distance: float  # NaN if it was not computed
    changes: tuple[CardChange, ...]  # the largest first
    text: str  # the same in a sentence
    kept: str = ""  # share of noisy copies that keep the target; "" where it was not measured
    marks: tuple[str, ...] = ()  # what is odd about it, a few words each


class Card(NamedTuple):
    """One row: its verdict, its answers, and how sure they are."""

    row: str
    carried_columns: tuple[tuple[str, str], ...]  # columns that the model does not see: ids, times
    status: str
    reason: str
    target: str
    prediction: str  # before
    probability: str  # of the target before
    best_answer: CardAnswer
    tipping: CardAnswer | None  # the least change, where the best answer is the firm one
    firmness: str  # how well the best answer holds, in words; "" where that was not measured
    noise: str  # the noise that the answer should withstand
    other_answers: tuple[CardAnswer, ...]
    evidence: Evidence = Evidence()  # the nearest real rows of the target; none where redacted
    proof: str = ""  # how near to the least the best answer is, in a few words; "" where nothing is known


def build_cards(explanation: AnsweredRows, *, redact: bool = False, with_context: bool = True) -> list[Card]:
    """The cards of all rows, in order; without context they leave out percentiles and real rows, which take time.

    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from counterpoise.api import explain
    >>> train = pd.DataFrame({"ports": [1, 2, 7, 9]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> card, = build_cards(explain(model, train[3:], reference=train))
    >>> best = card.best_answer
    >>> card.prediction, best.prediction, best.changes[0].before, best.changes[0].direction
    ('alert', 'benign', '9', 'down')
    """
    options = {"redact": redact, "with_context": with_context and not redact}
    best = _list_answers(explanation, **options)
    tipping = None if explanation.tipping is None else _list_answers(explanation.tipping, **options)
    carried: list[CarriedCells] = [()] * len(explanation) if redact else _list_carried(explanation)
    labels = [_row_name(label) for label in explanation.rows.index]
    cards = []
    gap = explanation.gap.tolist()
    for row, answers in enumerate(best):
        beside = () if tipping is None else tipping[row][0].changes
        cards.append(
            Card(
                row=labels[row],
                carried_columns=carried[row],
                status=str(explanation.status[row]),
                reason="" if redact else str(explanation.reason[row]),
                target=_say_unless_rejected(explanation, row, explanation.target[row]),
                prediction=_say_unless_rejected(explanation, row, explanation.score_cells["before"][row]),
                probability=format_probability(float(explanation.score_cells["probability_before"][row])),
                best_answer=answers[0],
                tipping=None if tipping is None else tipping[row][0],
                firmness=_say_firmness(explanation, row),
                noise="" if redact else str(explanation.measures.noise[row]),
                other_answers=tuple(answers[1:]),
                evidence=build_evidence(explanation, row, [change.column for change in (*answers[0].changes, *beside)])
                if options["with_context"]
                else Evidence(),
                proof=say_proof(gap[row]),
            )
        )
    return cards


def _say_unless_rejected(explanation: AnsweredRows, row: int, label: Any) -> str:
    """A label of the row, what the model says or should say; "" where the row was rejected."""
    return "" if explanation.status[row] == REJECTED else format_label(label)


def _list_carried(explanation: AnsweredRows) -> list[CarriedCells]:
    """For each row the names and cells of the columns that the model does not see."""
    known = set(explanation.schema.names)
    names = [name for name in explanation.rows.columns if name not in known]
    cells = [[_format_cell(value) for value in explanation.rows[name].astype(object)] for name in names]
    titles = list(map(str, names))
    lines = zip(*cells, strict=True) if cells else [()] * len(explanation)
    return [tuple(zip(titles, line, strict=True)) for line in lines]


def compared_labels(explanation: AnsweredRows, row: int) -> list[Hashable]:
    """Labels whose reference rows a row is compared with: its prediction before and after the change."""
    labels = [explanation.score_cells[when][row] for when in ("before", "after")]
    found = [label for label in dict.fromkeys(labels) if isinstance(label, Hashable) and label in explanation.quantiles]
    return found or list(explanation.quantiles)[:2]


def direction_of(feature: Feature, before: Any, after: Any) -> Direction:
    """The direction of a change.

    >>> direction_of(Feature("ports", "integer"), 8, 2)
    'down'
    """
    if pd.api.types.is_scalar(before) and pd.isna(before):
        return "given"
    if feature.kind == "ordinal":
        before, after = feature.categories.index(before), feature.categories.index(after)
    elif not feature.is_numeric:
        return "other"
    return "up" if after > before else "down"


def say_directions(changes: Sequence[CardChange]) -> str:
    """The changes without their values: "lower latency and higher throughput"."""
    parts = [f"{DIRECTION_WORDS[change.direction]} {change.title}" for change in changes]
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def _list_answers(explanation: AnsweredRows, *, redact: bool, with_context: bool) -> list[list[CardAnswer]]:
    """For each row its answers, the best first; where none is valid, the nearest miss."""
    count = np.maximum(explanation.count, 1)
    listed = tables.list_changes(
        explanation.schema, explanation.rows, explanation.x0, explanation.answers, count.tolist()
    )
    grouped: dict[tuple[int, int], list[tables.Change]] = {}
    for change in listed:
        grouped.setdefault((change.row, change.alternative), []).append(change)
    out = []
    for row in range(len(explanation)):
        described = [
            tuple(
                _describe_change(explanation, change, redact=redact, with_context=with_context)
                for change in sort_by_size(grouped.get((row, slot), []))
            )
            for slot in range(int(count[row]))
        ]
        out.append(
            [
                _build_best_answer(explanation, row, described[0], redact=redact),
                *(
                    _build_other_answer(explanation, row, slot, described[slot], redact=redact)
                    for slot in range(1, len(described))
                ),
            ]
        )
    return out


def _build_best_answer(
    explanation: AnsweredRows, row: int, changes: tuple[CardChange, ...], *, redact: bool
) -> CardAnswer:
    scores = explanation.score_cells
    prediction = _say_unless_rejected(explanation, row, scores["after"][row])
    probability = format_probability(float(scores["probability_after"][row]))
    if redact:
        text = _write_redacted_text(explanation, row, changes, prediction)
    else:
        text = compose_row_text(explanation, row, names_alternatives=False)  # a card lists them below
    distance = float(explanation.terms.distance[row])
    return CardAnswer(
        prediction, probability, distance, changes, text, *_say_quality(explanation, row, 0, redact=redact)
    )


def _build_other_answer(
    explanation: AnsweredRows, row: int, slot: int, changes: tuple[CardChange, ...], *, redact: bool
) -> CardAnswer:
    measures = explanation.measures
    probability = format_probability(float(measures.probability[row, slot]))
    answer, x0 = explanation.answers[row : row + 1, slot : slot + 1], explanation.x0[row : row + 1]
    distance = float("nan") if redact else float(Distance.of(explanation.schema, "l2")(answer, x0)[0, 0])
    quality = _say_quality(explanation, row, slot, redact=redact)
    return CardAnswer("", probability, distance, changes, "", *quality)


def _say_quality(explanation: AnsweredRows, row: int, slot: int, *, redact: bool) -> tuple[str, tuple[str, ...]]:
    """The share of noisy copies that an answer keeps, and what is odd about it, in a few words each.

    A redacted card says nothing that depends on values.
    """
    kept, marks = float(explanation.measures.kept[row, slot]), explanation.odd_marks
    if not explanation.valid[row]:
        return "", ()
    unusual = [explanation.schema.features[column].title for column in np.flatnonzero(marks.unusual[row, slot])]
    remarks = [
        "fragile: fewer than half of its noisy copies keep the decision" if marks.is_fragile[row, slot] else "",
        f"unusual for {format_label(explanation.target[row])}: {', '.join(unusual)}" if unusual else "",
        "an edge of the model, not a path that data takes: the nearest real row is "
        f"{format_times(marks.far[row, slot])} times as far"
        if marks.is_edge[row, slot]
        else "",
    ]
    return "" if isnan(kept) else f"{int(100 * kept + 1e-9)}%", tuple(filter(None, remarks[:1] if redact else remarks))


def _write_redacted_text(explanation: AnsweredRows, row: int, changes: tuple[CardChange, ...], prediction: str) -> str:
    if explanation.status[row] == REJECTED:
        return "The row was rejected."
    if not explanation.valid[row]:
        return f"No change was found that makes the model say {format_label(explanation.target[row])}."
    if not changes:
        return f"The model already says {prediction}; nothing needs to change."
    return f"With {say_directions(changes)} the model would have said {prediction}."


def _describe_change(
    explanation: AnsweredRows, change: tables.Change, *, redact: bool, with_context: bool
) -> CardChange:
    feature = explanation.schema.features[change.column]
    direction = direction_of(feature, change.before, change.after)
    if redact:
        return CardChange(change.column, feature.title, direction)
    before, after = format_pair(feature, change.before, change.after)
    described = CardChange(change.column, feature.title, direction, change.size, before, after)
    if not feature.is_numeric or direction == "given" or not with_context:
        return described
    ends = float(change.before), float(change.after)
    ranks = []
    for label in compared_labels(explanation, change.row):
        was, now = (explanation.percentile(feature.name, end, label) for end in ends)
        ranks += [] if isnan(was) or isnan(now) else [(format_label(label), was, now)]
    return described._replace(end_values=ends, percentiles=tuple(ranks))


def _say_firmness(explanation: AnsweredRows, row: int) -> str:
    ends = explanation.kept[row], explanation.kept_interval[row, 0]
    if not explanation.valid[row] or isnan(ends[0]):
        return ""
    low = f"{int(100 * float(ends[1]) + 1e-9)} %"
    share = say_share(float(ends[0]), is_fragile=False, copies=count_copies(explanation, row))
    return f"{share} keep the decision (at least {low}, with 95 % confidence)"


def _row_name(label: Any) -> str:
    """The label of a row as text."""
    return " / ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def _format_cell(value: Any) -> str:
    return "" if pd.api.types.is_scalar(value) and pd.isna(value) else str(value)


def ordinal(number: float) -> str:
    """A percentile as people say it; only what is above everything is the 100th.

    >>> ordinal(2.2), ordinal(11), ordinal(99.9), ordinal(100)
    ('2nd', '11th', '99th', '100th')
    """
    whole = int(number)
    ending = "th" if 10 <= whole % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(whole % 10, "th")
    return f"{whole}{ending}"


def format_change(change: CardChange, arrow: str = "→") -> str:
    """A change in a few words: "ports 8 → 2", or "lower ports" where values are left out."""
    if not change.before and not change.after:
        return f"{DIRECTION_WORDS[change.direction]} {change.title}"
    return f"{change.title} {change.before} {arrow} {change.after}"
