"""The page of a triage: classes, groups, evasion profile, and a list of thousands to sort, filter and export."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from counterpoise.errors import InputError
from counterpoise.explanation.cards.cards import CAUTION, RECIPE_CAUTION, REDACTION_NOTE
from counterpoise.explanation.formats import format_label
from counterpoise.security.findings.finding import Finding, make_findings
from counterpoise.security.groups import AlertGroup
from counterpoise.security.triage.scorer import CLASSES, NOT_JUDGED
from counterpoise.show.redaction import redact_notes, redact_settings
from counterpoise.show.templates import render_template

if TYPE_CHECKING:
    from counterpoise.security.triage.triage import Triage


def write_triage_page(found: Triage, path: str | Path, *, redact: bool, title: str, about: Mapping[str, str]) -> Path:
    """Write the page; gives its path."""
    page = compose_triage_page(found, redact=redact, title=title, about=about)
    target = Path(path)
    try:
        target.write_text(page, encoding="utf-8")
    except OSError as error:
        raise InputError(
            "a page needs a file that can be written", f"{target}: {error.strerror}", "choose another place"
        ) from error
    return target


def compose_triage_page(
    found: Triage, *, redact: bool, title: str, about: Mapping[str, str], written: datetime | None = None
) -> str:
    """The page as text."""
    when = (datetime.now(UTC) if written is None else written).strftime("%Y-%m-%d %H:%M UTC")
    findings = make_findings(found.explanation, redact=redact)
    counts = found.table["class"].value_counts()
    classes = [*CLASSES, *([NOT_JUDGED] if NOT_JUDGED in counts else [])]
    return render_template(
        "counterpoise.security",
        "triage.html",
        title=title,
        lead=f"{len(found.table)} alerts, {found.note}.",
        cautions=(CAUTION, REDACTION_NOTE if redact else RECIPE_CAUTION),
        facts=_list_facts(found, when, about, redact=redact),
        details=_list_details(found, redact=redact),
        tiles=[(str(int(counts.get(name, 0))), name) for name in classes],
        quality=_describe_quality(found),
        bars=_list_bars(found),
        classes=classes,
        grouped=f"{len(found.groups)} groups have {_percent(found.share_grouped)} of the alerts."
        if found.groups
        else "No alerts share a way out.",
        data=_page_data(found, findings, classes, when, about, redact=redact),
    )


def _list_facts(found: Triage, when: str, about: Mapping[str, str], *, redact: bool) -> list[tuple[str, str]]:
    """Model, data, date and question, for the header."""
    explanation = found.explanation
    known = explanation.versions.get("model", "")
    facts = [
        *((name, text) for name, text in about.items() if text),
        ("model's answers", known and f"sha256 {known[:16]}"),
        ("written", when),
        ("question", f"target {explanation.settings.get('target', '')}"),
        ("notes", "; ".join(redact_notes(explanation.notes) if redact else explanation.notes)),
    ]
    return [(name, text) for name, text in facts if text]


def _list_details(found: Triage, *, redact: bool) -> list[tuple[str, str]]:
    """All that was asked, setting by setting: long where there are many constraints, so the page folds it."""
    settings = found.explanation.settings
    shown = redact_settings(settings) if redact else settings
    return [(name, text) for name, text in shown.items() if text not in ("none", "")]


def _describe_quality(found: Triage) -> dict[str, Any]:
    """Precision and recall of the classes, and from which scores on they are; {} where no verdicts are known."""
    quality = found.quality
    if quality is None:
        return {}
    stands, false_alarm = found.cut_offs
    lines = [
        (str(name), str(int(line["alerts"])), _percent(line["precision"]), _percent(line["recall"]))
        for name, line in quality.classes.iterrows()
    ]
    return {
        "lines": lines,
        "rows": quality.rows,
        "cut_offs": (
            f"Likely false alarm: a score of {false_alarm:.3g} or more."
            if isfinite(false_alarm)
            else "No score parts false alarms well enough to call any alert one: begin at the top of the list.",
            f"Stands: {stands:.3g} or less."
            if isfinite(stands)
            else "No score is low enough to say of an alert that it stands.",
        ),
        "auc": f"{quality.auc:.3f}",
        "alone": f"{quality.auc_probability:.3f}" if isfinite(quality.auc_probability) else "",
    }


def _list_bars(found: Triage, most: int = 10) -> list[dict[str, str]]:
    """The evasion profile: the features that answers move most often."""
    moved = found.evasion[found.evasion["share"] > 0].head(most)
    return [
        {
            "title": str(line["feature"]),
            "share": f"{100 * line['share']:.0f}",
            "down": f"{100 * line['down']:.2f}",
            "up": f"{100 * line['up']:.2f}",
            "other": f"{100 * line['other']:.2f}",
        }
        for _, line in moved.iterrows()
    ]


def _page_data(
    found: Triage, findings: list[Finding], classes: list[str], when: str, about: Mapping[str, str], *, redact: bool
) -> dict[str, Any]:
    """What the page draws its list from: a column an array, so that thousands of alerts stay small."""
    table = found.table
    groups = found.group_table
    carried = [] if redact else _describe_carried_over(found)
    return {
        "written": when,
        "about": dict(about),
        "classes": [classes.index(name) for name in table["class"]],
        "groups": [
            {
                "title": _title_group(group, redact=redact),
                "alerts": len(group.rows),
                "median": "" if redact else str(groups["median"].iloc[place]),
                "verdicts": str(groups["verdicts"].iloc[place]) if "verdicts" in groups and not redact else "",
            }
            for place, group in enumerate(found.groups)
        ],
        "row": [finding.row for finding in findings],
        "before": [finding.before for finding in findings],
        "target": [finding.target for finding in findings],
        "status": [finding.status for finding in findings],
        "text": [finding.text for finding in findings],
        "changes": [[change.write("→") for change in finding.changes] for finding in findings],
        "carried": carried,
        "group": table["group"].tolist(),
        "verdict": _list_verdicts(found, redact=redact),
        **{
            name: _numbers(table[name]) for name in ("probability", "effort", "bound", "kept", "real_distance", "score")
        },
    }


def _list_verdicts(found: Triage, *, redact: bool) -> list[str]:
    """The verdicts, "" where nobody knows; redacted, whether each alert was false: a verdict can be any text."""
    if "verdict" not in found.table:
        return []
    targets = [format_label(target) for target in found.explanation.target]
    pairs = zip(found.table["verdict"].fillna("").tolist(), targets, strict=True)
    return [
        "" if not verdict else verdict if not redact else "false alarm" if verdict == target else "true alert"
        for verdict, target in pairs
    ]


def _title_group(group: AlertGroup, *, redact: bool) -> str:
    """The group's way out; a category that it leads to is a value."""
    moves = [move._replace(part="another") if redact and move.direction == "other" else move for move in group.moves]
    return AlertGroup(tuple(moves), group.rows).title


def _describe_carried_over(found: Triage) -> list[str]:
    known = set(found.explanation.schema.names)
    rows = found.explanation.rows
    names = [name for name in rows.columns if name not in known]
    cells = [["" if pd.isna(cell) else f"{name}: {cell}" for cell in rows[name]] for name in names]
    return [" · ".join(part for part in line if part) for line in zip(*cells, strict=True)]


def _numbers(column: pd.Series[Any]) -> list[float | None]:
    return [float(f"{value:.4g}") if np.isfinite(value) else None for value in column.to_numpy(dtype=np.float64)]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if isfinite(share) else "none"
