"""The report's page: the summary and the list as HTML, the cards as data that the page draws when one is opened.

Whatever comes from data, names of features included, is escaped here or written by the page as text, never as HTML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import isfinite
from typing import Any

import numpy as np

from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.sentences import format_label
from counterpoise.show.cards import (
    CAUTION,
    DIRECTION_WORDS,
    RECIPE_CAUTION,
    REDACTION_NOTE,
    Card,
    CardAnswer,
    CardChange,
)
from counterpoise.show.overview import Frequency, Overview
from counterpoise.types import Array

MAX_BARS = 10
MAX_CHANGES_LISTED = 3  # of a row in the list
MAX_HISTOGRAM_BINS = 16
COLUMN_HEADINGS = (
    ("place", "Row"),
    ("said", "Before"),
    ("after", "After"),
    ("probability", "Probability"),
    ("changes", "Changes"),
    ("distance", "Distance"),
    ("status", "Status"),
)


def compose_page(
    explanation: Explanation,
    cards: Sequence[Card],
    seen: Overview,
    parts: Mapping[str, str],
    *,
    title: str,
    written: str,
    redact: bool,
) -> str:
    """The page, from its parts: "report.html" with places for the rest, "report.css" and "report.js"."""
    cautions = (CAUTION, REDACTION_NOTE if redact else RECIPE_CAUTION)
    return _fill_template(
        parts["report.html"],
        title=escape(title),
        style=parts["report.css"],
        script=parts["report.js"],
        lead=escape(_write_lead(seen)),
        caution=" ".join(map(escape, cautions)),
        tiles=_write_tiles(explanation, seen),
        frequencies=_write_frequencies(seen),
        histogram=_draw_histogram(seen.distances),
        statuses=_write_options((name, name.replace("_", " ")) for name in seen.status_counts),
        features=_write_options((str(feature.column), feature.title) for feature in seen.features),
        headings="".join(
            f'<th scope="col"><button data-sort="{key}">{name}</button></th>' for key, name in COLUMN_HEADINGS
        ),
        rows="".join(_write_row(place, card) for place, card in enumerate(cards)),
        about=_write_about(explanation, written, redact=redact),
        data=_embed_json(_page_data(explanation, cards, redact=redact)),
    )


def _fill_template(template: str, **pieces: str) -> str:
    """Put the pieces where the template names them; what a piece itself contains is left alone."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: pieces[match.group(1)], template)


def _embed_json(data: Any) -> str:
    """Data as JSON that cannot end the script element it stands in."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


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


def _write_tiles(explanation: Explanation, seen: Overview) -> str:
    tiles = [(f"{seen.valid_count} of {seen.row_count}", "reach the target")]
    if len(seen.distances):
        tiles += [
            (f"{np.median(seen.change_counts):g}", "features changed, median"),
            (f"{np.median(seen.distances):.3g}", "standard deviations of distance, median"),
        ]
    if explanation.firm is not None:
        kept = explanation.firm["kept"].to_numpy(dtype=np.float64)[explanation.valid]
        kept = kept[~np.isnan(kept)]
        tiles += [(f"{100 * np.median(kept):.0f}%", "of noisy copies keep it, median")] if len(kept) else []
    tiles.append((f"{explanation.seconds:.2g} s", f"{explanation.model_rows:,} rows asked of the model"))
    return "".join(f"<div class=tile><b>{escape(value)}</b><span>{escape(name)}</span></div>" for value, name in tiles)


def _write_frequencies(seen: Overview) -> str:
    total = max(len(seen.distances), 1)
    if not seen.features:
        return "<p class=faint>No answer changes anything.</p>"

    def bar(feature: Frequency) -> str:
        segments = "".join(
            f'<i class="{way}" style="width:{100 * count / total:.2f}%" title="{word}: {count}"></i>'
            for way, word, count in (
                ("down", "lowered", feature.down_count),
                ("up", "raised", feature.up_count),
                ("other", "set otherwise", feature.other_count),
            )
            if count
        )
        return (
            f'<div class=bar><span class=name title="{escape(feature.title)}">{escape(feature.title)}</span>'
            f"<span class=track>{segments}</span><span class=share>{100 * feature.row_count / total:.0f}%</span></div>"
        )

    rest = len(seen.features) - MAX_BARS
    more = f"<p class=faint>and {rest} more</p>" if rest > 0 else ""
    return "".join(map(bar, seen.features[:MAX_BARS])) + more


def _draw_histogram(distances: Array) -> str:
    """Distances of the answers as an SVG histogram."""
    if not len(distances):
        return "<p class=faint>No answer changes anything.</p>"
    top = float(distances.max()) or 1.0
    counts, _ = np.histogram(distances, bins=min(MAX_HISTOGRAM_BINS, max(4, len(distances))), range=(0.0, top))
    width, height, gap = 320.0, 130.0, 2.0
    step = width / len(counts)
    bars = "".join(
        f'<rect x="{place * step + gap / 2:.1f}" y="{height - height * count / counts.max():.1f}" '
        f'width="{step - gap:.1f}" height="{height * count / counts.max():.1f}" rx="2"><title>'
        f"{top * place / len(counts):.3g} to {top * (place + 1) / len(counts):.3g}: {count} rows</title></rect>"
        for place, count in enumerate(counts.tolist())
    )
    middle = float(np.median(distances)) / top * width
    mark = f'<line x1="{middle:.1f}" x2="{middle:.1f}" y1="0" y2="{height:.0f}" class=median />'
    labels = "".join(
        f'<text x="{share * width:.0f}" y="{height + 16:.0f}" text-anchor="{anchor}">{share * top:.3g}</text>'
        for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end"))
    )
    return (
        f'<svg class=histogram viewBox="0 0 {width:.0f} {height + 20:.0f}" role=img '
        f'aria-label="Histogram of distances">{bars}{mark}{labels}</svg>'
    )


def _write_options(choices: Iterable[tuple[str, str]]) -> str:
    return "".join(f'<option value="{escape(value)}">{escape(text)}</option>' for value, text in choices)


def _write_row(place: int, card: Card) -> str:
    """One line of the list; it is all that is drawn until the row is opened."""
    changes = card.best_answer.changes
    shown = ", ".join(_format_change(change) for change in changes[:MAX_CHANGES_LISTED])
    more = f" and {len(changes) - MAX_CHANGES_LISTED} more" if len(changes) > MAX_CHANGES_LISTED else ""
    distance = f"{card.best_answer.distance:.3g}" if isfinite(card.best_answer.distance) else ""
    return (
        f'<tr data-place="{place}" class="line {escape(card.status)}" id="row-{place}">'
        f"<th scope=row><button class=open aria-expanded=false>{escape(card.row)}</button></th>"
        f"<td class=before>{escape(card.prediction)}</td>"
        f"<td class=after>{escape(card.best_answer.prediction)}</td>"
        f'<td class=odds title="probability of {escape(card.target)}, before and after">{_format_odds(card)}</td>'
        f"<td class=changes>{escape(shown + more) or '<span class=faint>nothing</span>'}</td>"
        f"<td class=number>{distance}</td>"
        f"<td class=status><span>{escape(card.status.replace('_', ' '))}</span></td></tr>"
    )


def _format_odds(card: Card) -> str:
    """The target's probability, before and after."""
    return " → ".join(escape(text) for text in (card.probability, card.best_answer.probability) if text)


def _format_change(change: CardChange) -> str:
    if not change.before and not change.after:
        return f"{DIRECTION_WORDS[change.direction]} {change.title}"
    return f"{change.title} {change.before} → {change.after}"


def _write_about(explanation: Explanation, written: str, *, redact: bool) -> str:
    """What it takes to repeat the run, and what is said once for all rows."""
    settings = {name: text for name, text in explanation.settings.items() if not (redact and name == "constraints")}
    facts = {
        "written": written,
        "seed": str(explanation.seed),
        **settings,
        "took": f"{explanation.seconds:.3g} s, {explanation.model_rows:,} rows asked of the model",
        "model": _describe_model(explanation),
        "versions": ", ".join(f"{name} {text}" for name, text in explanation.versions.items() if name != "model"),
        "notes": "; ".join(explanation.notes),
    }
    return "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts.items() if text)


def _describe_model(explanation: Explanation) -> str:
    """Which model it was, as far as its answers tell."""
    known = explanation.versions.get("model", "")
    return known and f"sha256 of what it says of reference rows: {known[:16]}"


def _page_data(explanation: Explanation, cards: Sequence[Card], *, redact: bool) -> dict[str, Any]:
    """What the page draws cards from."""
    return {
        "redacted": redact,
        "features": [
            {
                "title": feature.title,
                "about": feature.description,
                "quantiles": {} if redact else _class_quantiles(explanation, place),
            }
            for place, feature in enumerate(explanation.schema)
        ],
        "held": [[explanation.schema[name].title, why] for name, why in explanation.held.items()],
        "constraints": "" if redact else explanation.settings.get("constraints", ""),
        "rows": [
            {
                "row": card.row,
                "carried": card.carried_columns,
                "status": card.status,
                "reason": card.reason,
                "target": card.target,
                "said": card.prediction,
                "probability": card.probability,
                "best": _answer_data(card.best_answer),
                "tipping": None if card.tipping is None else _answer_data(card.tipping),
                "firmness": card.firmness,
                "noise": card.noise,
                "others": [_answer_data(other) for other in card.other_answers],
                "evidence": [
                    [_round_number(near.distance), [(column, said) for column, _, said in near.values]]
                    for near in card.evidence
                ],
            }
            for card in cards
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
