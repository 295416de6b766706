"""Suricata's EVE: a JSON object a line, of which those of flows and alerts are rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from counterpoise.security.logs.log_table import (
    LineProblem,
    LogTable,
    build_log_table,
    flatten_record,
    read_json_objects,
    refuse_empty,
    set_wrong_apart,
)

ROW_EVENTS = ("flow", "alert", "netflow")


def read_eve(lines: Iterable[str]) -> LogTable:
    """The table of the flow and alert records, with names such as flow.pkts_toserver and alert.signature.

    Records of other kinds, which every EVE log has, are counted and left out; a broken line is told.

    >>> log = ['{"event_type": "flow", "flow": {"age": 3}}', '{"event_type": "dns"}', '{"event_type"']
    >>> found = read_eve(log)
    >>> found.table["flow.age"].tolist(), [each.line for each in found.problems]
    ([3], [3, 0])
    """
    records, problems, other_kinds = [], [], Counter[str]()
    for number, found in read_json_objects(lines):
        if isinstance(found, str):
            problems.append(LineProblem(number, found))
        elif "event_type" not in found:
            problems.append(LineProblem(number, "it has no event_type, as records of Suricata have"))
        elif found["event_type"] not in ROW_EVENTS:
            other_kinds[str(found["event_type"])] += 1
        else:
            records.append((number, flatten_record(found)))
    if other_kinds:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(other_kinds.items()))
        problems.append(LineProblem(0, f"records that are no flow and no alert were left out: {kinds}"))
    kept = set_wrong_apart(records, problems)
    if not kept:
        refuse_empty("eve", problems)
    return build_log_table("eve", kept, problems)
