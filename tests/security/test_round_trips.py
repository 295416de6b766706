"""From a log of each tool, through a detector, to every format, judged by packages that others wrote."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

import flow_logs
from counterpoise.cli import main

KINDS = ("ocsf", "ecs", "stix", "sigma", "ticket")
OCSF_FIELDS = {  # what the schema 1.8 has, of what a Detection Finding and its parts may hold
    "": "activity_id activity_name category_uid category_name class_uid class_name type_uid type_name severity_id "
    "severity time message metadata finding_info evidences enrichments confidence_score anomaly_analyses",
    "metadata": "version uid product",
    "product": "name vendor_name version",
    "finding_info": "uid title desc modified_time analytic attacks",
    "analytic": "name uid type type_id",
    "attacks": "technique",
    "technique": "uid name",
    "evidences": "data src_endpoint dst_endpoint connection_info",
    "src_endpoint": "ip port",
    "dst_endpoint": "ip port",
    "connection_info": "protocol_name direction_id",
    "enrichments": "name value provider data",
    "anomaly_analyses": "analysis_targets anomalies baselines",
    "analysis_targets": "name type",
    "anomalies": "observation_parameter observation_type observed_pattern observations",
    "baselines": "observation_parameter observation_type observed_pattern observations",
    "observations": "value",
}
ECS_TEXT = """
@timestamp ecs.version message tags event.kind event.category event.type event.module event.dataset event.id
event.created event.reason event.reference observer.product observer.vendor observer.version source.ip source.port
destination.ip destination.port network.transport related.ip threat.framework threat.technique.id
"""
ECS_FIELDS = set(ECS_TEXT.split())  # of its field list, those that a finding may have


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import joblib

    place = tmp_path_factory.mktemp("soc")
    table, label = flow_logs.training()
    table.assign(label=label).to_csv(place / "train.csv", index=False)
    joblib.dump(flow_logs.detector(), place / "model.pkl")
    for name, (kind, write) in flow_logs.LOGS.items():
        (place / name).write_text(write(), encoding="utf-8")
        (place / f"{kind}.yaml").write_text(flow_logs.mapping_text(kind), encoding="utf-8")
    (place / "attacks.yaml").write_text("ddos: [T1498]\n", encoding="utf-8")
    return place


def _run(folder: Path, log: str, out: str, *more: str) -> int:
    kind = flow_logs.LOGS[log][0]
    model = ["-m", str(folder / "model.pkl"), "--trust", "-d", str(folder / "train.csv"), "-l", "label"]
    rows = ["-r", str(folder / log), "--mapping", str(folder / f"{kind}.yaml"), "-t", "benign"]
    with pytest.raises(SystemExit) as ended:
        main(["explain", *model, *rows, "-o", str(folder / out), *more])
    return int(ended.value.code or 0)


def _check_fields(place: str, value: Any) -> None:
    if isinstance(value, list):
        for part in value:
            _check_fields(place, part)
    elif isinstance(value, dict) and place != "data":
        assert set(value) <= set(OCSF_FIELDS[place].split()), (place, value.keys())
        for name, part in value.items():
            _check_fields(name, part)


def _flatten(document: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in document.items():
        flat |= _flatten(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return flat


def _check_ocsf(text: str) -> int:
    from py_ocsf_models.events.findings.detection_finding import DetectionFinding

    events = [json.loads(line) for line in text.splitlines()]
    for event in events:
        found = DetectionFinding.model_validate(event)
        assert (found.class_uid, found.type_uid, found.activity_id) == (2004, 200402, 2)
        _check_fields("", event)
    return len(events)


def _check_ecs(text: str) -> int:
    documents = [json.loads(line) for line in text.splitlines()]
    for document in documents:
        labels = document.pop("labels")
        assert all(isinstance(value, str) and "." not in name for name, value in labels.items())
        assert set(_flatten(document)) <= ECS_FIELDS
    return len(documents)


def _check_stix(text: str) -> int:
    import stix2

    bundle = stix2.parse(text, allow_custom=False)
    known = {made["id"] for made in bundle.objects}
    notes = [made for made in bundle.objects if made["type"] == "note"]
    assert all(set(note["object_refs"]) <= known for note in notes)
    return len(notes)


def _check_sigma(text: str) -> int:
    from sigma.collection import SigmaCollection

    rules = SigmaCollection.from_yaml(text)
    assert not rules.errors
    return len(rules.rules)


CHECKS = {"ocsf": _check_ocsf, "ecs": _check_ecs, "stix": _check_stix, "sigma": _check_sigma}


@pytest.mark.parametrize("log", flow_logs.LOGS)
def test_every_log_reaches_every_format(folder: Path, log: str) -> None:
    rows = len(flow_logs.raised())
    for kind in KINDS:
        assert _run(folder, log, "out.txt", "--to", kind, "--attack-table", str(folder / "attacks.yaml")) == 0
        text = (folder / "out.txt").read_text(encoding="utf-8")
        if kind == "ticket":
            assert text.count("\n## ") + text.startswith("## ") == rows
        else:
            found = CHECKS[kind](text)
            assert found == rows if kind != "sigma" else found >= 1
        assert "T1498" in text or "t1498" in text
        if kind in ("ocsf", "ecs", "stix", "ticket"):
            assert "192.168.4.70" in text


@pytest.mark.parametrize("log", flow_logs.LOGS)
def test_ids_times_and_addresses_are_carried(folder: Path, log: str) -> None:
    assert _run(folder, log, "out.csv") == 0
    answers = pd.read_csv(folder / "out.csv")
    assert len(answers) == len(flow_logs.raised())
    assert answers.astype(str).apply(lambda column: column.str.contains("192.168.4.7")).to_numpy().any()


def test_a_sigma_rule_matches_the_alerts_it_is_made_of(folder: Path) -> None:
    assert _run(folder, "conn.log", "rules.yml", "--to", "sigma") == 0
    rule = next(yaml.safe_load_all((folder / "rules.yml").read_text(encoding="utf-8")))
    mask = pd.Series(True, index=flow_logs.raised().index)
    for key, value in rule["detection"]["selection"].items():
        name, modifier = key.split("|")
        column = flow_logs.raised()[name]
        mask &= column >= value if modifier == "gte" else column <= value
    assert mask.sum() >= int(rule["description"].split()[1])


@pytest.mark.parametrize("kind", ["ocsf", "ecs", "stix", "ticket"])
def test_redaction_leaves_no_value(folder: Path, kind: str) -> None:
    """Every value of the rows and of the answers, and every address, is made recognisable, and looked for."""
    assert _run(folder, "conn.log", "answers.csv") == 0
    answers = pd.read_csv(folder / "answers.csv")
    values = {
        f"{value:.10g}"
        for table in (answers, flow_logs.raised())
        for value in table[flow_logs.COLUMNS].to_numpy(dtype=float).ravel()
    }
    secret = {value for value in values if len(value) >= 4}
    assert _run(folder, "conn.log", "red.txt", "--to", kind, "--redact") == 0
    text = (folder / "red.txt").read_text(encoding="utf-8")
    if kind in CHECKS:
        assert CHECKS[kind](text) == len(answers)
    import re

    numbers = set(re.findall(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w.-])", text))
    assert not numbers & secret
    assert "192.168" not in text
    assert "203.0.113" not in text
    assert "CMdzit" not in text
    assert "2020-06-05" not in text
    assert "spkts" in text or "dur" in text


def test_sigma_refuses_redaction(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(folder, "conn.log", "none.yml", "--to", "sigma", "--redact") == 2
    assert "made of them" in capsys.readouterr().err
    assert not (folder / "none.yml").exists()
