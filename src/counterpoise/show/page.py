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

from counterpoise.explanation import Explanation
from counterpoise.sentences import format_label
from counterpoise.show.cards import CAUTION, MOVED, RECIPE, REDACTED, Answer, Card, Change
from counterpoise.show.overview import Frequency, Overview
from counterpoise.types import Array

MOST_BARS = 10
MOST_CHANGES = 3  # of a row in the list
BINS = 16
HEADINGS = (
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
    cautions = (CAUTION, REDACTED if redact else RECIPE)
    return _fill(
        parts["report.html"],
        title=escape(title),
        style=parts["report.css"],
        script=parts["report.js"],
        lead=escape(_lead(seen)),
        caution=" ".join(map(escape, cautions)),
        tiles=_tiles(explanation, seen),
        frequencies=_frequencies(seen),
        histogram=_histogram(seen.distances),
        statuses=_options((name, name.replace("_", " ")) for name in seen.statuses),
        features=_options((str(feature.column), feature.title) for feature in seen.features),
        headings="".join(f'<th scope="col"><button data-sort="{key}">{name}</button></th>' for key, name in HEADINGS),
        rows="".join(_row(place, card) for place, card in enumerate(cards)),
        about=_about(explanation, written, redact=redact),
        data=_embed(_data(explanation, cards, redact=redact)),
    )


def _fill(template: str, **pieces: str) -> str:
    """Put the pieces where the template names them; what a piece itself contains is left alone."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: pieces[match.group(1)], template)


def _embed(data: Any) -> str:
    """Data as JSON that cannot end the script element it stands in."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _lead(seen: Overview) -> str:
    if not seen.rows:
        return "No rows were explained."
    turned = seen.valid - seen.already
    words = [f"{turned} of {seen.rows} decisions would turn with the changes below."]
    if seen.rows == 1 and turned:
        words = ["The decision would turn with the change below."]
    if seen.already:
        words.append(f"{seen.already} already had the decision asked for.")
    if seen.rows > seen.valid:
        words.append(f"For {seen.rows - seen.valid} no such change was found.")
    return " ".join(words)


def _tiles(explanation: Explanation, seen: Overview) -> str:
    tiles = [(f"{seen.valid} of {seen.rows}", "reach the target")]
    if len(seen.distances):
        tiles += [
            (f"{np.median(seen.changed):g}", "features changed, median"),
            (f"{np.median(seen.distances):.3g}", "feature scales of distance, median"),
        ]
    if explanation.firm is not None:
        kept = explanation.firm["kept"].to_numpy(dtype=np.float64)[explanation.valid]
        kept = kept[~np.isnan(kept)]
        tiles += [(f"{100 * np.median(kept):.0f}%", "of noisy copies keep it, median")] if len(kept) else []
    tiles.append((f"{explanation.seconds:.2g} s", f"{explanation.model_rows:,} rows asked of the model"))
    return "".join(f"<div class=tile><b>{escape(value)}</b><span>{escape(name)}</span></div>" for value, name in tiles)


def _frequencies(seen: Overview) -> str:
    total = max(len(seen.distances), 1)
    if not seen.features:
        return "<p class=faint>No answer changes anything.</p>"

    def bar(feature: Frequency) -> str:
        segments = "".join(
            f'<i class="{way}" style="width:{100 * count / total:.2f}%" title="{word}: {count}"></i>'
            for way, word, count in (
                ("down", "lowered", feature.down),
                ("up", "raised", feature.up),
                ("other", "set otherwise", feature.other),
            )
            if count
        )
        return (
            f'<div class=bar><span class=name title="{escape(feature.title)}">{escape(feature.title)}</span>'
            f"<span class=track>{segments}</span><span class=share>{100 * feature.rows / total:.0f}%</span></div>"
        )

    rest = len(seen.features) - MOST_BARS
    more = f"<p class=faint>and {rest} more</p>" if rest > 0 else ""
    return "".join(map(bar, seen.features[:MOST_BARS])) + more


def _histogram(distances: Array) -> str:
    """Distances of the answers as an SVG histogram."""
    if not len(distances):
        return "<p class=faint>No answer changes anything.</p>"
    top = float(distances.max()) or 1.0
    counts, _ = np.histogram(distances, bins=min(BINS, max(4, len(distances))), range=(0.0, top))
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


def _options(choices: Iterable[tuple[str, str]]) -> str:
    return "".join(f'<option value="{escape(value)}">{escape(text)}</option>' for value, text in choices)


def _row(place: int, card: Card) -> str:
    """One line of the list; it is all that is drawn until the row is opened."""
    changes = card.best.changes
    shown = ", ".join(_short(change) for change in changes[:MOST_CHANGES])
    more = f" and {len(changes) - MOST_CHANGES} more" if len(changes) > MOST_CHANGES else ""
    distance = f"{card.best.distance:.3g}" if isfinite(card.best.distance) else ""
    return (
        f'<tr data-place="{place}" class="line {escape(card.status)}" id="row-{place}">'
        f"<th scope=row><button class=open aria-expanded=false>{escape(card.row)}</button></th>"
        f"<td class=before>{escape(card.said)}</td>"
        f"<td class=after>{escape(card.best.said)}</td>"
        f'<td class=odds title="probability of {escape(card.target)}, before and after">{_odds(card)}</td>'
        f"<td class=changes>{escape(shown + more) or '<span class=faint>nothing</span>'}</td>"
        f"<td class=number>{distance}</td>"
        f"<td class=status><span>{escape(card.status.replace('_', ' '))}</span></td></tr>"
    )


def _odds(card: Card) -> str:
    """The target's probability, before and after."""
    return " → ".join(escape(text) for text in (card.probability, card.best.probability) if text)


def _short(change: Change) -> str:
    if not change.before and not change.after:
        return f"{MOVED[change.direction]} {change.title}"
    return f"{change.title} {change.before} → {change.after}"


def _about(explanation: Explanation, written: str, *, redact: bool) -> str:
    """What it takes to repeat the run, and what is said once for all rows."""
    settings = {name: text for name, text in explanation.settings.items() if not (redact and name == "constraints")}
    facts = {
        "written": written,
        "seed": str(explanation.seed),
        **settings,
        "took": f"{explanation.seconds:.3g} s, {explanation.model_rows:,} rows asked of the model",
        "model": _model(explanation),
        "versions": ", ".join(f"{name} {text}" for name, text in explanation.versions.items() if name != "model"),
        "notes": "; ".join(explanation.notes),
    }
    return "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts.items() if text)


def _model(explanation: Explanation) -> str:
    """Which model it was, as far as its answers tell."""
    known = explanation.versions.get("model", "")
    return known and f"sha256 of what it says of reference rows: {known[:16]}"


def _data(explanation: Explanation, cards: Sequence[Card], *, redact: bool) -> dict[str, Any]:
    """What the page draws cards from."""
    return {
        "redacted": redact,
        "features": [
            {
                "title": feature.title,
                "about": feature.description,
                "quantiles": {} if redact else _populations(explanation, place),
            }
            for place, feature in enumerate(explanation.schema)
        ],
        "held": [[explanation.schema[name].title, why] for name, why in explanation.held.items()],
        "constraints": "" if redact else explanation.settings.get("constraints", ""),
        "rows": [
            {
                "row": card.row,
                "carried": card.carried,
                "status": card.status,
                "reason": card.reason,
                "target": card.target,
                "said": card.said,
                "probability": card.probability,
                "best": _answer(card.best),
                "tipping": None if card.tipping is None else _answer(card.tipping),
                "firmness": card.firmness,
                "noise": card.noise,
                "others": [_answer(other) for other in card.others],
                "evidence": [
                    [_short_number(near.distance), [(column, said) for column, _, said in near.values]]
                    for near in card.evidence
                ],
            }
            for card in cards
        ],
    }


def _populations(explanation: Explanation, place: int) -> dict[str, list[float]]:
    return {
        format_label(label): [_short_number(value) for value in levels[:, place].tolist()]
        for label, levels in explanation.quantiles.items()
        if not np.isnan(levels[:, place]).any()
    }


def _answer(answer: Answer) -> dict[str, Any]:
    return {
        "said": answer.said,
        "probability": answer.probability,
        "distance": _short_number(answer.distance) if isfinite(answer.distance) else None,
        "text": answer.text,
        "changes": [_change(change) for change in answer.changes],
    }


def _change(change: Change) -> dict[str, Any]:
    data: dict[str, Any] = {"column": change.column, "direction": change.direction}
    if change.before or change.after:
        data |= {"before": change.before, "after": change.after}
    if change.positions is not None:
        data |= {"at": [_short_number(end) for end in change.positions]}
        data |= {"ranks": [[name, round(before, 1), round(after, 1)] for name, before, after in change.percentiles]}
    return data


def _short_number(value: float) -> float:
    return float(f"{value:.6g}")
