"""Sigma: a rule for each group of alerts that share a way out, in the form of the specification 2.1."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import yaml

from counterpoise.errors import InputError
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.formats import format_label
from counterpoise.security.findings.finding import plain_value
from counterpoise.security.groups import AlertGroup, group_alerts


def make_sigma(
    explanation: Explanation, *, written: datetime, attacks: Mapping[str, Sequence[str]] | None = None
) -> list[dict[str, Any]]:
    """A rule for each group: it matches every alert of the group, by the features that its way out moves.

    A feature that comes down is matched from the least value of these alerts on, one that goes up to the greatest, a
    category by those that they have.
    """
    return [
        _make_rule(explanation, group, written, attacks or {})
        for group in group_alerts(explanation)
        if any(move.direction != "given" for move in group.moves)
    ]


def write_sigma(rules: Sequence[Mapping[str, Any]]) -> str:
    """The rules as YAML, a document each."""
    if not rules:
        raise InputError(
            "a Sigma rule needs alerts that share a way out", "no two of these do", "write another format, or more rows"
        )
    return str(yaml.safe_dump_all(rules, sort_keys=False, allow_unicode=True, explicit_start=len(rules) > 1))


def _make_rule(
    explanation: Explanation, group: AlertGroup, written: datetime, attacks: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    rows = list(group.rows)
    decisions = sorted({format_label(label) for label in explanation.model_scores.before[rows].tolist()})
    target = " or ".join(sorted({format_label(label) for label in explanation.target[rows].tolist()}))
    selection = _select_alerts(explanation, group)
    title = f"{', '.join(decisions)} that turns {target} with {group.title}"
    rule: dict[str, Any] = {
        "title": title[:256],
        "id": str(uuid5(NAMESPACE_URL, json.dumps(["counterpoise", title, selection], default=str))),
        "status": "experimental",
        "description": f"Matches {len(rows)} of {len(explanation)} alerts that share a way out to {target}: "
        f"{group.title}. Made from what a model decides, not from an attack that was seen.",
        "author": "Counterpoise",
        "date": written.strftime("%Y-%m-%d"),
        "logsource": {"category": "network_connection"},
        "detection": {"selection": selection, "condition": "selection"},
        "falsepositives": ["Traffic that the model alerts on by mistake"],
        "level": "informational",
    }
    tags = sorted({f"attack.{technique.lower()}" for label in decisions for technique in attacks.get(label, ())})
    return rule | ({"tags": tags} if tags else {})


def _select_alerts(explanation: Explanation, group: AlertGroup) -> dict[str, Any]:
    """What the alerts of a group have in common, in the features that its way out moves."""
    names = {str(name): name for name in explanation.schema.names}
    selection: dict[str, Any] = {}
    for move in group.moves:
        cells = explanation.rows[names[move.feature]].iloc[list(group.rows)].tolist()
        values = [value for value in map(plain_value, cells) if value is not None]
        if move.direction == "other":
            listed = sorted(set(values), key=str)
            selection[move.feature] = listed[0] if len(listed) == 1 else listed
        elif move.direction in ("up", "down"):
            modifier, end = ("gte", min(values)) if move.direction == "down" else ("lte", max(values))
            selection[f"{move.feature}|{modifier}"] = end
    return selection
