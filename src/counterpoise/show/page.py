"""The report's page: the summary and the list as HTML, the cards as data that the page draws when one is opened.

Whatever comes from data, names of features included, is escaped by the template or written by the page as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from counterpoise.explanation.cards.cards import (
    CAUTION,
    RECIPE_CAUTION,
    REDACTION_NOTE,
    Card,
    CardAnswer,
    CardChange,
    format_change,
)
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.fields import REJECTED
from counterpoise.explanation.formats import format_label
from counterpoise.show.overview import Frequency, Overview, list_tiles, say_cost
from counterpoise.show.redaction import redact_notes, redact_settings
from counterpoise.show.templates import render_template
from counterpoise.types import Array


@dataclass(frozen=True)
class PageSettings:
    """How much the summary and the list of the report show."""

    max_bars: int = 10  # features in the summary
    max_changes_listed: int = 3  # changes of a row in the list
    max_histogram_bins: int = 16  # of distances in the summary
    histogram_log_from: float = 30.0  # where the farthest answer is this many times as far as the nearest


PAGE = PageSettings()
COLUMN_HEADINGS = (
    ("place", "Row"),
    ("said", "Before"),
    ("after", "After"),
    ("probability", "Probability"),
    ("changes", "Changes"),
    ("distance", "Distance"),
    ("kept", "Kept"),
    ("status", "Status"),
)


def compose_page(
    explanation: Explanation,
    cards: Sequence[Card],
    seen: Overview,
    *,
    title: str,
    written: str,
    redact: bool,
    ways: Sequence[Sequence[str]] = (),
    listed: str = "",
) -> str:
    """The page, from the template report.html; ``written`` says when, ``ways`` what was sampled of each row, if so.

    ``listed`` says which rows have a card, where not all do that ``seen`` counts.
    """
    return render_template(
        "counterpoise.show",
        "report.html",
        title=title,
        lead=" ".join(filter(None, [_write_lead(seen), listed])),
        cautions=(CAUTION, REDACTION_NOTE if redact else RECIPE_CAUTION),
        tiles=list_tiles(seen),
        bars=_frequency_bars(seen),
        bars_left_out=max(0, len(seen.features) - PAGE.max_bars),
        histogram=_measure_histogram(seen.distances),
        statuses=[(name, name.replace("_", " ")) for name in seen.status_counts],
        features=[(str(feature.column), feature.title) for feature in seen.features],
        headings=COLUMN_HEADINGS,
        lines=[_list_line(card) for card in cards],
        facts=_list_facts(explanation, seen, written, redact=redact),
        data=_page_data(explanation, cards, ways, redact=redact),
    )


def _write_lead(seen: Overview) -> str:
    if not seen.row_count:
        return "No rows were explained."
    turned = seen.valid_count - seen.already_count
    words = [f"{turned} of {seen.row_count} decisions would turn with the changes below."]
    if seen.row_count == 1 and turned:
        words = ["The decision would turn with the change below."]
    if seen.already_count:
        words.append(f"{seen.already_count} already had the decision asked for.")
    if seen.row_count > seen.valid_count:
        words.append(f"For {seen.row_count - seen.valid_count} no such change was found.")
    return " ".join(words)


def _frequency_bars(seen: Overview) -> list[dict[str, Any]]:
    """A bar for each of the features that change most often, split by the direction of the change."""
    total = max(len(seen.distances), 1)

    def segments(feature: Frequency) -> list[dict[str, Any]]:
        counts = (
            ("down", "lowered", feature.down_count),
            ("up", "raised", feature.up_count),
            ("other", "category changed", feature.other_count),
        )
        return [
            {"direction": direction, "word": word, "count": count, "width": f"{100 * count / total:.2f}"}
            for direction, word, count in counts
            if count
        ]

    return [
        {
            "title": feature.title,
            "share": f"{100 * feature.row_count / total:.0f}",
            "segments": segments(feature),
        }
        for feature in seen.features[: PAGE.max_bars]
    ]


def _measure_histogram(distances: Array) -> dict[str, Any]:
    """Where the bars, the median and the labels of a histogram of the answers' distances stand; {} without answers."""
    distances = distances[np.isfinite(distances)]  # squares of numbers near the ends of their type are not
    if not len(distances):
        return {}
    low, top = float(distances.min()), float(distances.max()) or 1.0
    is_wide = low > 0 and top > PAGE.histogram_log_from * low  # a long tail: even steps of the logarithm
    start, span = (np.log(low), np.log(top) - np.log(low)) if is_wide else (0.0, top)
    places = (np.log(distances) if is_wide else distances) - start
    bins = min(PAGE.max_histogram_bins, max(4, len(distances)))
    counts, _ = np.histogram(places, bins=bins, range=(0.0, span))

    def value_at(share: float) -> float:
        """The distance at a share of the width."""
        return float(np.exp(start + share * span)) if is_wide else share * top

    width, height, gap = 320, 130, 2
    step, tallest = width / bins, counts.max()
    return {
        "width": width,
        "height": height,
        "is_log": is_wide,
        "bars": [
            {
                "x": f"{place * step + gap / 2:.1f}",
                "y": f"{height - height * count / tallest:.1f}",
                "width": f"{step - gap:.1f}",
                "height": f"{height * count / tallest:.1f}",
                "title": f"{value_at(place / bins):.3g} to {value_at((place + 1) / bins):.3g}: {count} rows",
            }
            for place, count in enumerate(counts.tolist())
        ],
        "median": f"{float(np.median(places)) / span * width:.1f}",
        "labels": [
            {"x": f"{share * width:.0f}", "anchor": anchor, "text": f"{value_at(share):.3g}"}
            for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end"))
        ],
    }


def _list_line(card: Card) -> dict[str, str]:
    """One line of the list; it is all that is drawn until the row is opened."""
    best = card.best_answer
    shown = ", ".join(format_change(change) for change in best.changes[: PAGE.max_changes_listed])
    left_out = len(best.changes) - PAGE.max_changes_listed
    more = f" and {left_out} more" if left_out > 0 else ""
    return {
        "row": card.row,
        "status": card.status,
        "target": card.target,
        "before": card.prediction,
        "after": best.prediction,
        "odds": " → ".join(text for text in (card.probability, best.probability) if text),
        "changes": best.text if card.status == REJECTED else shown + more,
        "distance": f"{best.distance:.3g}" if isfinite(best.distance) else "",
        "kept": best.kept,
    }


def _list_facts(explanation: Explanation, seen: Overview, written: str, *, redact: bool) -> list[tuple[str, str]]:
    """What is needed to repeat the run, and the notes that concern all rows."""
    settings = redact_settings(explanation.settings) if redact else explanation.settings
    facts = {
        "written": written,
        "seed": str(explanation.seed),
        **settings,
        "took": say_cost(seen),
        "model": _describe_model(explanation),
        "versions": ", ".join(f"{name} {text}" for name, text in explanation.versions.items() if name != "model"),
        "notes": "; ".join(redact_notes(explanation.notes) if redact else explanation.notes),
    }
    return [(name, text) for name, text in facts.items() if text]


def _describe_model(explanation: Explanation) -> str:
    """A short hash of the model's answers, by which it can be recognised."""
    known = explanation.versions.get("model", "")
    return known and f"sha256 of what it says of reference rows: {known[:16]}"


def _page_data(
    explanation: Explanation, cards: Sequence[Card], ways: Sequence[Sequence[str]], *, redact: bool
) -> dict[str, Any]:
    """The data that the page draws cards from."""
    return {
        "redacted": redact,
        "features": [
            {
                "title": feature.title,
                "about": "" if redact else feature.description,
                "quantiles": {} if redact else _class_quantiles(explanation, place),
            }
            for place, feature in enumerate(explanation.schema)
        ],
        "held": [[explanation.schema[name].title, "" if redact else why] for name, why in explanation.held.items()],
        "constraints": "" if redact else explanation.settings.get("constraints", ""),
        "rows": [
            {
                "row": card.row,
                "carried": card.carried_columns,
                "status": card.status,
                "proof": card.proof,
                "reason": card.reason,
                "target": card.target,
                "said": card.prediction,
                "probability": card.probability,
                "best": _answer_data(card.best_answer),
                "tipping": None if card.tipping is None else _answer_data(card.tipping),
                "firmness": card.firmness,
                "noise": card.noise,
                "others": [_answer_data(other) for other in card.other_answers],
                "ways": list(ways[place]) if ways else [],
                "evidence": {
                    "distances": [_round_number(distance) for distance in card.evidence.distances],
                    "lines": [[line.column, line.own, line.answer, *line.real] for line in card.evidence.lines],
                },
            }
            for place, card in enumerate(cards)
        ],
    }


def _class_quantiles(explanation: Explanation, place: int) -> dict[str, list[float]]:
    return {
        format_label(label): [_round_number(value) for value in levels[:, place].tolist()]
        for label, levels in explanation.quantiles.items()
        if not np.isnan(levels[:, place]).any()
    }


def _answer_data(answer: CardAnswer) -> dict[str, Any]:
    return {
        "said": answer.prediction,
        "probability": answer.probability,
        "distance": _round_number(answer.distance) if isfinite(answer.distance) else None,
        "text": answer.text,
        "kept": answer.kept,
        "marks": answer.marks,
        "changes": [_change_data(change) for change in answer.changes],
    }


def _change_data(change: CardChange) -> dict[str, Any]:
    data: dict[str, Any] = {"column": change.column, "direction": change.direction}
    if change.before or change.after:
        data |= {"before": change.before, "after": change.after}
    if change.end_values is not None:
        data |= {"at": [_round_number(end) for end in change.end_values]}
        data |= {"ranks": [[name, round(before, 1), round(after, 1)] for name, before, after in change.percentiles]}
    return data


def _round_number(value: float) -> float:
    return float(f"{value:.6g}")
