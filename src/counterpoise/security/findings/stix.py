"""STIX 2.1: a bundle with a note for each finding, about the traffic that was observed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from counterpoise.security.findings.ecs import stamp_time
from counterpoise.security.findings.finding import Finding

OBSERVABLE_NAMESPACE = UUID("00abedb4-aa42-466c-9c01-fed23315a9b7")  # of the specification, for ids of observables


def make_stix(findings: Sequence[Finding], *, product_version: str, written: datetime) -> dict[str, Any]:
    """The bundle: who says so, and for each finding its addresses, traffic, observed-data and note.

    A finding without addresses, such as a redacted one, has a note alone: STIX has no traffic without an end.
    """
    when = stamp_time(written)
    who = {
        "type": "identity",
        "spec_version": "2.1",
        "id": f"identity--{uuid5(NAMESPACE_URL, 'counterpoise')}",
        "created": "2020-01-01T00:00:00.000Z",
        "modified": "2020-01-01T00:00:00.000Z",
        "name": f"Counterpoise {product_version}",
        "identity_class": "system",
    }
    objects: dict[str, dict[str, Any]] = {who["id"]: who}
    for finding in findings:
        for made in _make_objects(finding, who["id"], when):
            objects[made["id"]] = made
    name = json.dumps([when, *(str(finding.uid) for finding in findings)])
    return {"type": "bundle", "id": f"bundle--{uuid5(NAMESPACE_URL, name)}", "objects": list(objects.values())}


def _make_objects(finding: Finding, who: str, when: str) -> list[dict[str, Any]]:
    ends = {side: finding.fields.get(f"{side}_ip") for side in ("source", "destination")}
    found = {side: _make_address(address) for side, address in ends.items() if address is not None}
    made: list[dict[str, Any]] = list(found.values())
    about = who
    if found:
        traffic = _make_traffic(finding, found)
        seen = stamp_time(finding.time) if finding.time is not None else when
        about = f"observed-data--{finding.uid}"
        observed = {
            "type": "observed-data",
            "spec_version": "2.1",
            "id": about,
            "created_by_ref": who,
            "created": when,
            "modified": when,
            "first_observed": seen,
            "last_observed": seen,
            "number_observed": 1,
            "object_refs": [traffic["id"], *(address["id"] for address in found.values())],
        }
        made += [traffic, observed]
    changes = "; ".join(change.write() for change in finding.changes)
    note: dict[str, Any] = {
        "type": "note",
        "spec_version": "2.1",
        "id": f"note--{finding.uid}",
        "created_by_ref": who,
        "created": when,
        "modified": when,
        "abstract": f"{finding.row}: {finding.before}, and what would have made it {finding.target}",
        "content": finding.text + (f"\nChanges: {changes}" if changes else ""),
        "authors": ["Counterpoise"],
        "object_refs": [about],
    }
    if finding.attacks:
        note["external_references"] = [
            {"source_name": "mitre-attack", "external_id": technique} for technique in finding.attacks
        ]
    return [*made, note]


def _make_address(address: str) -> dict[str, Any]:
    kind = "ipv6-addr" if ":" in address else "ipv4-addr"
    return {"type": kind, "spec_version": "2.1", "id": _observable_id(kind, {"value": address}), "value": address}


def _make_traffic(finding: Finding, ends: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    fields = finding.fields
    kinds = sorted({str(end["type"]).removesuffix("-addr") for end in ends.values()})
    parts: dict[str, Any] = {"protocols": [*kinds, *([fields["transport"]] if "transport" in fields else [])]}
    for side, short in (("source", "src"), ("destination", "dst")):
        if side in ends:
            parts[f"{short}_ref"] = ends[side]["id"]
        if f"{side}_port" in fields:
            parts[f"{short}_port"] = fields[f"{side}_port"]
    if finding.time is not None:
        parts["start"] = stamp_time(finding.time)
    return {"type": "network-traffic", "spec_version": "2.1", "id": _observable_id("network-traffic", parts), **parts}


def _observable_id(kind: str, parts: Mapping[str, Any]) -> str:
    """The id of an observable, the same wherever the same thing was seen."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"{kind}--{uuid5(OBSERVABLE_NAMESPACE, text)}"
