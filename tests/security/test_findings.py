"""Findings hold what a format can hold: cells that are no address, port or protocol name never break one."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import counterpoise as cp
from counterpoise.security.findings.finding import make_findings
from counterpoise.security.findings.writers import write_findings

TRAIN = pd.DataFrame({"volume": [1e8, 1.1e8, 1.2e8, 3e8, 3.1e8, 3.2e8], "ports": [1, 2, 3, 7, 8, 9]})
ODD_CELLS = st.one_of(
    st.none(), st.text(max_size=8), st.floats(), st.integers(-5, 10**6), st.sampled_from(["10.0.0.7", "::1", "cam-17"])
)


def explain_with(**cells: object) -> cp.Explanation:
    """An alert that has some further cells."""
    model = LogisticRegression().fit(TRAIN / TRAIN.max(), ["benign"] * 3 + ["alert"] * 3)
    scaled = cp.Function(lambda rows: model.predict_proba(rows / TRAIN.max().to_numpy()), labels=model.classes_)
    alert = TRAIN[5:].assign(**{name: pd.Series([cell], index=[5], dtype=object) for name, cell in cells.items()})
    return cp.explain(scaled, alert, reference=TRAIN, target="benign", alternatives=1, proof=False, kept=False)


@settings(max_examples=40)
@given(address=ODD_CELLS, port=ODD_CELLS, protocol=ODD_CELLS, time=ODD_CELLS)
def test_odd_cells_break_no_format(address: object, port: object, protocol: object, time: object) -> None:
    stix2 = pytest.importorskip("stix2")
    detection = pytest.importorskip("py_ocsf_models.events.findings.detection_finding")
    found = explain_with(src_ip=address, dst_port=port, proto=protocol, ts=time)
    detection.DetectionFinding.model_validate(json.loads(write_findings(found, "ocsf")))
    stix2.parse(write_findings(found, "stix"), allow_custom=False)
    ecs = json.loads(write_findings(found, "ecs"))
    assert isinstance(ecs.get("destination", {}).get("port", 0), int)
    assert write_findings(found, "ticket").startswith("## 5: alert")


def test_the_number_of_a_protocol_is_written_as_its_name() -> None:
    fields = make_findings(explain_with(src_ip="10.0.0.7", Protocol=17.0, dst_port="53"))[0].fields
    assert (fields["transport"], fields["destination_port"], fields["source_ip"]) == ("udp", 53, "10.0.0.7")


@given(before=st.floats(1e-9, 1e12), step=st.floats(1e-9, 1e-3))
def test_a_change_is_written_with_as_many_digits_as_tell_its_ends_apart(before: float, step: float) -> None:
    train = pd.DataFrame({"rate": [before, before * (1 + step)]})
    train = pd.concat([train, train * 1.0000001], ignore_index=True)
    if train["rate"].nunique() < 4:
        return

    def decide(rows: np.ndarray) -> np.ndarray:
        high = (np.asarray(rows, dtype=float)[:, 0] >= train["rate"][1]).astype(float)
        return np.column_stack([1 - high, high])

    found = cp.explain(
        cp.Function(decide, labels=("benign", "alert")), train[1:2], reference=train, target="benign", kept=False
    )
    for finding in make_findings(found):
        for change in finding.changes:
            assert change.before != change.after
            old, new = change.write("|").removeprefix("rate ").split("|")
            assert old.strip() != new.strip()
