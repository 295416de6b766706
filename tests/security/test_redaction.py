"""With --redact nothing that stands in a cell leaves: each value is made recognisable, and looked for everywhere."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

import counterpoise as cp
from counterpoise.security.findings.writers import FINDING_FORMATS, write_findings


@cache
def explained() -> cp.Explanation:
    """Alerts that a category or a number turns, with an address, a name and a time beside them."""
    rng = np.random.default_rng(0)
    n = 400
    table = pd.DataFrame(
        {
            "service": pd.Categorical(rng.choice(["secretdns", "secretssh", "secretweb"], n)),
            "port": pd.Categorical(rng.choice([40713, 51117, 60923], n)),
            "volume": 7_000_000 + rng.integers(0, 999_983, n),
            "share": 0.31415926 + 0.1 * rng.random(n),
        }
    )
    loud = (table["volume"] > 7_600_000) & (table["service"] != "secretdns")
    model = HistGradientBoostingClassifier(max_iter=20, categorical_features="from_dtype", random_state=0)
    model.fit(table, np.where(loud, "alert", "benign"))
    alerts = (
        table[loud]
        .head(40)
        .assign(
            src_ip="203.0.113.77", dest_ip="2001:db8::77", host="secrethost", ts=1591367999.305988, uid="Csecretuid"
        )
    )
    alerts.index = pd.Index([f"row-{place}" for place in range(len(alerts))])
    explainer = cp.Explainer(model, reference=table)
    return explainer(alerts, target="benign", alternatives=1)


def secrets() -> set[str]:
    """What no redacted text may hold."""
    found = explained()
    numbers = pd.concat([found.rows, found.frame])[["volume", "share"]].to_numpy(dtype=float).ravel()
    values = {f"{value:.{digits}g}" for value in numbers for digits in (6, 10)} | {
        str(int(v)) for v in numbers if v > 1
    }
    return values | {"secret", "203.0.113", "2001:db8", "40713", "51117", "60923", "2020-06-05", "1591367999"}


def leaks(text: str) -> list[str]:
    return sorted(each for each in secrets() if each in text)


def test_the_case_has_what_could_leak() -> None:
    found = cp.triage(explained())
    assert any(move.direction == "other" for group in found.groups for move in group.moves)
    assert len(leaks(write_findings(explained(), "ticket"))) > 10


@pytest.mark.parametrize("kind", [kind for kind in FINDING_FORMATS if kind != "sigma"])
def test_no_format_leaks(kind: str) -> None:
    assert leaks(write_findings(explained(), kind, redact=True)) == []


def test_the_triage_page_leaks_nothing(tmp_path: Path) -> None:
    verdicts = ["benign", "secret note on 203.0.113.77"] * (len(explained()) // 2)
    path = cp.triage(explained(), verdicts).save(tmp_path / "t.html", redact=True)
    assert leaks(path.read_text(encoding="utf-8")) == []


def test_the_report_leaks_nothing(tmp_path: Path) -> None:
    path = cp.report(explained(), tmp_path / "r.html", redact=True)
    assert leaks(Path(path).read_text(encoding="utf-8")) == []
