"""A ticket: each finding as a few lines of Markdown that a person can paste and act on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from counterpoise.explanation.cards.cards import CAUTION
from counterpoise.plain_text import escape_controls
from counterpoise.security.findings.ecs import stamp_time
from counterpoise.security.findings.finding import Finding

MARKDOWN_SIGNS = "\\`*_{}[]<>#|"


def make_ticket(findings: Sequence[Finding], *, written: datetime) -> str:
    """The tickets of all findings, one below the other, and what a counterfactual is not."""
    return "\n\n".join(
        [*(_write_finding(finding) for finding in findings), f"_{CAUTION}_", f"Written {stamp_time(written)}."]
    )


def escape_markdown(text: str) -> str:
    """Text in which Markdown has no effect; lines are joined.

    >>> escape_markdown("a|b <i>")
    'a\\\\|b \\\\<i\\\\>'
    """
    plain = " ".join(escape_controls(text).split())
    return "".join(f"\\{sign}" if sign in MARKDOWN_SIGNS else sign for sign in plain)


def _write_finding(finding: Finding) -> str:
    lines = [f"## {escape_markdown(finding.row)}: {escape_markdown(finding.before)}", ""]
    lines += [f"- {escape_markdown(name)}: {escape_markdown(text)}" for name, text in _list_facts(finding) if text]
    lines += ["", escape_markdown(finding.text)]
    if finding.changes:
        lines += ["", f"What would have made it {escape_markdown(finding.target)}:", ""]
        lines += [f"- {escape_markdown(change.write('→'))}" for change in finding.changes]
    sureness = _say_how_sure(finding)
    return "\n".join([*lines, *(["", f"How sure: {sureness}."] if sureness else [])])


def _list_facts(finding: Finding) -> list[tuple[str, str]]:
    """Facts about the alert by name; "" where unknown."""
    ends = [
        ":".join(str(finding.fields[name]) for name in (f"{side}_ip", f"{side}_port") if name in finding.fields)
        for side in ("source", "destination")
    ]
    return [
        ("When", "" if finding.time is None else stamp_time(finding.time)),
        ("Flow", str(finding.fields.get("flow", ""))),
        ("From, to", " → ".join(end for end in ends if end)),
        ("Probability of " + finding.target, _percent(finding.probability_before)),
        ("ATT&CK", ", ".join(finding.attacks)),
    ]


def _say_how_sure(finding: Finding) -> str:
    sure = [
        "proven to be the least" if finding.status == "optimal" else "",
        "" if finding.kept is None else f"kept in {_percent(finding.kept)} of noisy copies",
        "" if finding.evidence_distance is None else f"nearest real row {finding.evidence_distance:.3g} away",
    ]
    return "; ".join(part for part in sure if part)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.3g} %"
