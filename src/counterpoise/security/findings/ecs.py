"""ECS: each finding as a document of the Elastic Common Schema, one JSON object a line; only its own fields."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from counterpoise.security.findings.finding import Finding
from counterpoise.security.findings.ocsf import known_numbers

ECS_VERSION = "8.17.0"


def make_ecs(findings: Sequence[Finding], *, product_version: str, written: datetime) -> list[dict[str, Any]]:
    """The documents, in order; what ECS has no field for is in ``labels``, as texts."""
    return [_make_document(finding, product_version, written) for finding in findings]


def stamp_time(when: datetime) -> str:
    """A time as ECS and STIX write it.

    >>> stamp_time(datetime(2020, 6, 5, 14, 39, tzinfo=UTC))
    '2020-06-05T14:39:00.000Z'
    """
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{when.microsecond // 1000:03d}Z"


def _make_document(finding: Finding, product_version: str, written: datetime) -> dict[str, Any]:
    fields = finding.fields
    labels = {f"cp_{name}": str(value) for name, value in known_numbers(finding).items()}
    labels |= {"cp_status": finding.status, "cp_decision": finding.before, "cp_target": finding.target}
    labels |= {f"cp_change_{place}": change.write() for place, change in enumerate(finding.changes, start=1)}
    document: dict[str, Any] = {
        "@timestamp": stamp_time(finding.time or written),
        "ecs": {"version": ECS_VERSION},
        "message": finding.text,
        "tags": ["counterfactual"],
        "labels": labels,
        "event": {
            "kind": "enrichment",
            "category": ["network"],
            "type": ["info"],
            "module": "counterpoise",
            "dataset": "counterpoise.finding",
            "id": str(finding.uid),
            "created": stamp_time(written),
            "reason": finding.text,
        },
        "observer": {"product": "Counterpoise", "vendor": "Counterpoise", "version": product_version},
    }
    if "flow" in fields:
        document["event"]["reference"] = str(fields["flow"])
    for side in ("source", "destination"):
        end = {"ip": fields.get(f"{side}_ip"), "port": fields.get(f"{side}_port")}
        end = {key: value for key, value in end.items() if value is not None}
        document |= {side: end} if end else {}
    if "transport" in fields:
        document["network"] = {"transport": fields["transport"]}
    addresses = [fields[f"{side}_ip"] for side in ("source", "destination") if f"{side}_ip" in fields]
    document |= {"related": {"ip": addresses}} if addresses else {}
    if finding.attacks:
        document["threat"] = {"framework": "MITRE ATT&CK", "technique": {"id": list(finding.attacks)}}
    return document
