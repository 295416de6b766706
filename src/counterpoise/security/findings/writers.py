"""The formats that findings are written in, by name."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from counterpoise.errors import InputError
from counterpoise.explanation.explanation import Explanation
from counterpoise.security.findings.ecs import make_ecs
from counterpoise.security.findings.finding import make_findings
from counterpoise.security.findings.ocsf import make_ocsf
from counterpoise.security.findings.sigma import make_sigma, write_sigma
from counterpoise.security.findings.stix import make_stix
from counterpoise.security.findings.ticket import make_ticket
from counterpoise.space.yaml.key_forms import shorten_repr
from counterpoise.space.yaml.text import load_yaml_file

FINDING_FORMATS = ("ocsf", "ecs", "stix", "sigma", "ticket")


def write_findings(
    explanation: Explanation,
    kind: str,
    *,
    redact: bool = False,
    attacks: Mapping[str, Sequence[str]] | None = None,
    written: datetime | None = None,
) -> str:
    """What an explanation says of its rows, in a security format.

    explanation: what `counterpoise.explain` returns.
    kind: "ocsf" and "ecs" (a JSON object a line), "stix" (a bundle), "sigma" (YAML), "ticket" (Markdown).
    redact: leave out every value, address and time; a Sigma rule is made of values and is refused.
    attacks: ATT&CK technique ids by what the model says of a row; none but these is written.
    written: when; None: now.

    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from counterpoise.api import explain
    >>> train = pd.DataFrame({"ports": [1, 2, 7, 9]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> line = write_findings(explain(model, train[3:], reference=train), "ocsf")
    >>> json.loads(line)["class_uid"], json.loads(line)["type_uid"]
    (2004, 200402)
    """
    check_finding_format(kind, redact=redact)
    when = datetime.now(UTC) if written is None else written
    if kind == "sigma":
        return write_sigma(make_sigma(explanation, written=when, attacks=attacks))
    findings = make_findings(explanation, redact=redact, attacks=attacks)
    if kind == "ticket":
        return make_ticket(findings, written=when) + "\n"
    product = version("counterpoise")
    if kind == "stix":
        return _dump(make_stix(findings, product_version=product, written=when), indent=1) + "\n"
    make = make_ocsf if kind == "ocsf" else make_ecs
    return "".join(_dump(line) + "\n" for line in make(findings, product_version=product, written=when))


def check_finding_format(kind: str, *, redact: bool) -> None:
    """Raise an error for an unknown format, or one that cannot be written without values."""
    if kind not in FINDING_FORMATS:
        raise InputError(f"a finding is written as one of {', '.join(FINDING_FORMATS)}", f"{kind!r}", "choose one")
    if redact and kind == "sigma":
        raise InputError("--redact writes no values", "a Sigma rule is made of them", "choose another format")


def load_attacks(path: str | Path) -> dict[str, list[str]]:
    """A user's table of ATT&CK techniques: YAML that maps what the model says to ids, such as ``ddos: [T1498]``."""
    try:
        content = load_yaml_file(path)
    except (OSError, ValueError) as error:
        why = str(error).splitlines()[0]
        raise InputError("a table of ATT&CK techniques must be YAML", f"{path}: {why}", "correct the path") from error
    must = "a table of ATT&CK techniques maps what the model says to ids"
    if not isinstance(content, dict):
        raise InputError(must, f"{Path(path).name} has something else", "for instance ddos: [T1498]")
    table: dict[str, list[str]] = {}
    for label, ids in content.items():
        listed = [ids] if isinstance(ids, str) else ids
        if not isinstance(listed, list) or not all(isinstance(each, str) and each[:1] in "Tt" for each in listed):
            raise InputError(must, f"{label!r} has {shorten_repr(ids)}", "for instance ddos: [T1498]")
        table[str(label)] = listed
    return table


def _dump(content: Any, indent: int | None = None) -> str:
    return json.dumps(content, ensure_ascii=True, allow_nan=False, indent=indent)
