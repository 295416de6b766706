"""OCSF: each finding as a Detection Finding (class 2004) that updates the alert, one JSON object a line."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from counterpoise.security.findings.finding import Finding, FindingChange

SCHEMA_VERSION = "1.8.0"
DETECTION_FINDING = 2004
UPDATE = 2
LEARNING = 4  # the type of an analytic that was learned from data
PATTERNS = {"up": "BELOW_TIPPING_POINT", "down": "ABOVE_TIPPING_POINT", "other": "OTHER_CATEGORY", "given": "UNKNOWN"}


def make_ocsf(findings: Sequence[Finding], *, product_version: str, written: datetime) -> list[dict[str, Any]]:
    """The events in order; ``written`` is their time, also used for alerts without a time."""
    return [_make_event(finding, product_version, written) for finding in findings]


def _make_event(finding: Finding, product_version: str, written: datetime) -> dict[str, Any]:
    event: dict[str, Any] = {
        "activity_id": UPDATE,
        "activity_name": "Update",
        "category_uid": 2,
        "category_name": "Findings",
        "class_uid": DETECTION_FINDING,
        "class_name": "Detection Finding",
        "type_uid": DETECTION_FINDING * 100 + UPDATE,
        "type_name": "Detection Finding: Update",
        "severity_id": 0,
        "severity": "Unknown",
        "time": milliseconds(finding.time or written),
        "message": finding.text,
        "metadata": {
            "version": SCHEMA_VERSION,
            "uid": str(finding.uid),
            "product": {"name": "Counterpoise", "vendor_name": "Counterpoise", "version": product_version},
        },
        "finding_info": _describe_finding(finding, written),
        "evidences": [_make_evidence(finding)],
        "enrichments": [
            {
                "name": "counterfactual",
                "value": finding.status,
                "provider": "counterpoise",
                "data": known_numbers(finding),
            }
        ],
    }
    if finding.probability_before is not None:
        event["confidence_score"] = round(100 * (1 - finding.probability_before))
    if finding.changes:
        event["anomaly_analyses"] = [_analyse(finding)]
    return event


def milliseconds(when: datetime) -> int:
    """A time as OCSF writes it: whole milliseconds since 1970."""
    return round(when.timestamp() * 1000)


def known_numbers(finding: Finding) -> dict[str, Any]:
    """The measured numbers of an answer by name, without the unknown ones."""
    numbers = {
        "probability_before": finding.probability_before,
        "probability_after": finding.probability_after,
        "distance": finding.distance,
        "effort": finding.effort,
        "bound": finding.bound,
        "kept": finding.kept,
        "distance_to_nearest_real_row": finding.evidence_distance,
    }
    return {"row": finding.row, "position": finding.position} | {
        name: value for name, value in numbers.items() if value is not None
    }


def _describe_finding(finding: Finding, written: datetime) -> dict[str, Any]:
    info: dict[str, Any] = {
        "uid": str(finding.fields.get("flow", finding.uid)),
        "title": f"{finding.before}: what would have made it {finding.target}",
        "desc": finding.text,
        "modified_time": milliseconds(written),
        "analytic": {
            "name": "detector",
            "uid": finding.model[:16] or "not known",
            "type": "Learning (ML/DL)",
            "type_id": LEARNING,
        },
    }
    if finding.attacks:
        info["attacks"] = [{"technique": {"uid": technique, "name": technique}} for technique in finding.attacks]
    return info


def _make_evidence(finding: Finding) -> dict[str, Any]:
    fields, evidence = finding.fields, dict[str, Any](data={"decision": finding.before, "target": finding.target})
    for side, name in (("source", "src_endpoint"), ("destination", "dst_endpoint")):
        end = {"ip": fields.get(f"{side}_ip"), "port": fields.get(f"{side}_port")}
        end = {key: value for key, value in end.items() if value is not None}
        evidence |= {name: end} if end else {}
    if "transport" in fields:
        evidence["connection_info"] = {"protocol_name": fields["transport"], "direction_id": 0}
    return evidence


def _analyse(finding: Finding) -> dict[str, Any]:
    """Each change as an anomaly: the observed value, its side of the tipping point, and the usual values."""
    baselines = [_describe_baseline(change) for change in finding.changes if change.after is not None]
    analysis: dict[str, Any] = {
        "analysis_targets": [{"name": finding.row, "type": "flow"}],
        "anomalies": [
            {
                "observation_parameter": change.feature,
                "observation_type": "Deviation Analysis",
                "observed_pattern": PATTERNS[change.direction],
                "observations": [{"value": "left out" if change.after is None else str(change.before)}],
            }
            for change in finding.changes
        ],
    }
    return analysis | ({"baselines": baselines} if baselines else {})


def _describe_baseline(change: FindingChange) -> dict[str, Any]:
    usual = [{"value": f"{name} {value:g}"} for name, value in (change.baseline or {}).items()]
    return {
        "observation_parameter": change.feature,
        "observation_type": "Deviation Analysis",
        "observed_pattern": "TIPPING_POINT",
        "observations": [{"value": str(change.after)}, *usual],
    }
