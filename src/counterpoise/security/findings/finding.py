"""Finding: what an explanation says of one alert, in the terms that security formats share.

Whatever the writers write comes from here, so that a finding made with ``redact`` cannot leak a value in any format.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_address
from math import isnan
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, UUID, uuid5

import numpy as np
import pandas as pd

from counterpoise.explanation.cards.cards import DIRECTION_WORDS, build_cards, direction_of
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.exports.flat import real_rows
from counterpoise.explanation.formats import format_pair
from counterpoise.explanation.sentences import sort_by_size
from counterpoise.explanation.tables import Change

FIELD_ROLES = {  # what the formats call a field of a log, and the names that tools give it
    "source_ip": ("id.orig_h", "src_ip", "Src IP", "Source IP", "srcip", "saddr"),
    "source_port": ("id.orig_p", "src_port", "Src Port", "Source Port", "sport"),
    "destination_ip": ("id.resp_h", "dest_ip", "dst_ip", "Dst IP", "Destination IP", "dstip", "daddr"),
    "destination_port": ("id.resp_p", "dest_port", "dst_port", "Dst Port", "Destination Port", "dsport"),
    "transport": ("proto", "protocol", "Protocol", "protocol_type"),
    "time": ("ts", "timestamp", "Timestamp", "bidirectional_first_seen_ms", "@timestamp"),
    "flow": ("uid", "flow_id", "Flow ID"),
}
PROTOCOL_NAMES = {"1": "icmp", "2": "igmp", "6": "tcp", "17": "udp", "47": "gre", "58": "ipv6-icmp", "132": "sctp"}
BASELINE_SHARES = {"5 %": 2, "median": 5, "95 %": 8}  # places in `tables.QUANTILE_SHARES`
MILLISECONDS_FROM = 1e11  # a time above this is not in seconds


class FindingChange(NamedTuple):
    """One change of the best answer; values, their texts and the baseline are empty where they are left out."""

    feature: str
    direction: str  # up, down, other, given
    before: Any = None
    after: Any = None
    texts: tuple[str, str] = ("", "")  # both values as people read them, with as many digits as tell them apart
    baseline: Mapping[str, float] | None = None  # of the target's reference rows

    def write(self, arrow: str = "->") -> str:
        """The change in a few words: its values, or its direction where they are left out.

        >>> FindingChange("ports", "down", 8, 2, ("8", "2")).write(), FindingChange("ports", "down").write()
        ('ports 8 -> 2', 'lower ports')
        """
        if not any(self.texts):
            return f"{DIRECTION_WORDS[self.direction]} {self.feature}"
        return f"{self.feature} {self.texts[0]} {arrow} {self.texts[1]}"


@dataclass(frozen=True)
class Finding:
    """One alert: the prediction, the change that would have reversed it, and how certain that is."""

    uid: UUID
    row: str
    position: int
    status: str
    before: str
    after: str
    target: str
    probability_before: float | None  # of the target
    probability_after: float | None
    distance: float | None  # standard deviations
    effort: float | None
    bound: float | None
    kept: float | None
    evidence_distance: float | None  # to the nearest real row of the target
    text: str
    changes: tuple[FindingChange, ...]
    fields: Mapping[str, Any]  # by role (`FIELD_ROLES`); empty where redacted
    model: str  # a hash of what it says of reference rows
    attacks: tuple[str, ...] = ()
    time: datetime | None = None


def make_findings(
    explanation: Explanation, *, redact: bool = False, attacks: Mapping[str, Sequence[str]] | None = None
) -> list[Finding]:
    """The findings of all rows, in order.

    attacks: ATT&CK technique ids by what the model says of a row; only these are ever written.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from counterpoise.api import explain
    >>> train = pd.DataFrame({"ports": [1, 2, 7, 9]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> finding, = make_findings(explain(model, train[3:], reference=train))
    >>> finding.before, finding.after, finding.changes[0].feature, finding.changes[0].before
    ('alert', 'benign', 'ports', 9)
    """
    nearest = [min(apart.tolist(), default=float("nan")) for _, apart in real_rows(explanation)]
    model = explanation.versions.get("model", "")
    findings = []
    for place, card in enumerate(build_cards(explanation, redact=redact)):
        scores, measures = explanation.model_scores, explanation.measures
        fields = {} if redact else _read_fields(explanation.rows.iloc[place])
        changes = explanation.changes_by_answer[place][0]
        known = dict(attacks or {})
        findings.append(
            Finding(
                uid=uuid5(NAMESPACE_URL, json.dumps(["counterpoise", model, card.row, place, card.target])),
                row=card.row,
                position=place,
                status=card.status,
                before=card.prediction,
                after=card.best_answer.prediction,
                target=card.target,
                probability_before=_number(scores.probability_before[place]),
                probability_after=_number(scores.probability_after[place]),
                distance=_number(card.best_answer.distance),
                effort=_number(measures.effort[place, 0]),
                bound=_number(explanation.bound[place]),
                kept=_number(explanation.kept[place]),
                evidence_distance=_number(nearest[place]),
                text=card.best_answer.text,
                changes=tuple(_describe(explanation, place, change, redact) for change in sort_by_size(changes)),
                fields=fields,
                model=model,
                attacks=tuple(known.get(card.prediction, ())),
                time=_read_time(fields.get("time")),
            )
        )
    return findings


def _describe(explanation: Explanation, place: int, change: Change, redact: bool) -> FindingChange:
    feature = explanation.schema.features[change.column]
    direction = direction_of(feature, change.before, change.after)
    if redact:
        return FindingChange(str(feature.name), direction)
    after = explanation.model_scores.after[place]
    levels = explanation.quantiles.get(after)
    baseline = None
    if levels is not None and feature.is_numeric and not np.isnan(levels[:, change.column]).any():
        baseline = {name: float(levels[share, change.column]) for name, share in BASELINE_SHARES.items()}
    texts = format_pair(feature, change.before, change.after)
    values = plain_value(change.before), plain_value(change.after)
    return FindingChange(str(feature.name), direction, *values, texts, baseline)


def plain_value(value: Any) -> Any:
    """A value that JSON has; what it does not know becomes text."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or (pd.api.types.is_scalar(value) and pd.isna(value)):
        return None
    return value if isinstance(value, (bool, int, float, str)) else str(value)


def _number(value: Any) -> float | None:
    number = float(value)
    return None if isnan(number) or np.isinf(number) else number


def _read_fields(row: pd.Series[Any]) -> dict[str, Any]:
    """The row's fields by their roles, those that it has, are not missing, and are what the role says."""
    fields: dict[str, Any] = {}
    for role, names in FIELD_ROLES.items():
        found = (plain_value(row[name]) for name in names if name in row.index)
        value = next((value for value in found if value not in (None, "")), None)
        kept = None if value is None else FIELD_READERS.get(role, lambda value: value)(value)
        if kept is not None:
            fields[role] = kept
    return fields


def _read_address(value: Any) -> str | None:
    """An IP address as text; None for anything else, such as a host name.

    >>> _read_address("203.0.113.7"), _read_address("cam-17")
    ('203.0.113.7', None)
    """
    try:
        return str(ip_address(str(value).strip()))
    except ValueError:
        return None


def _read_port(value: Any) -> int | None:
    """A port as a number; None for anything else.

    >>> _read_port("443"), _read_port(80.0), _read_port("http"), _read_port(70000)
    (443, 80, None, None)
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return int(number) if number.is_integer() and 0 <= number <= 65535 else None


def _read_transport(value: Any) -> str | None:
    """A protocol by its name in small letters, where a tool may have written its number.

    >>> _read_transport("TCP"), _read_transport(17), _read_transport("6"), _read_transport(250)
    ('tcp', 'udp', 'tcp', '250')
    """
    text = f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)
    return PROTOCOL_NAMES.get(text, text.lower())


FIELD_READERS: Mapping[str, Callable[[Any], Any]] = {
    "source_ip": _read_address,
    "destination_ip": _read_address,
    "source_port": _read_port,
    "destination_port": _read_port,
    "transport": _read_transport,
}
"""By role what makes a field of a cell; None where the cell is no such thing, so that no format has a wrong one."""


def _read_time(value: Any) -> datetime | None:
    """A time as seconds or milliseconds since 1970, or as text; None where it is neither.

    >>> _read_time(1591367999.3059881).isoformat(timespec="seconds"), _read_time("soon")
    ('2020-06-05T14:39:59+00:00', None)
    """
    try:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if value > MILLISECONDS_FROM else value, UTC)
        stamp = pd.Timestamp(str(value)) if value is not None else None
    except (ValueError, OverflowError, OSError):
        return None
    if stamp is None or pd.isna(stamp):
        return None
    return (stamp.tz_localize(UTC) if stamp.tzinfo is None else stamp.tz_convert(UTC)).to_pydatetime()
