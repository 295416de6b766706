"""Two detectors, and one over time: answers are judged by the other model, and a second model is never ignored."""

from pathlib import Path

import joblib
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier

import counterpoise as cp
import flow_logs
from counterpoise.cli import main
from counterpoise.security.detectors import check_validity, compare_models


def _later() -> GradientBoostingClassifier:
    table, label = flow_logs.training()
    return GradientBoostingClassifier(n_estimators=40, max_depth=2, random_state=1).fit(table[::2], label[::2])


def test_answers_that_hold_are_those_that_the_other_model_confirms() -> None:
    table, _ = flow_logs.training()
    rows = flow_logs.raised()
    found = compare_models(flow_logs.detector(), _later(), rows, reference=table, target="benign")
    own = cp.explain(flow_logs.detector(), rows, reference=table, target="benign", alternatives=1)
    assert found.table["a_holds_in_b"].tolist() == (_later().predict(own.frame) == "benign").tolist()
    assert found.table["agree"].tolist() == (_later().predict(rows) == "ddos").tolist()
    assert set(found.features["feature"]) <= set(flow_logs.COLUMNS)


def test_a_saved_explanation_is_judged_by_a_later_model(tmp_path: Path) -> None:
    table, _ = flow_logs.training()
    own = cp.explain(flow_logs.detector(), flow_logs.raised(), reference=table, target="benign", alternatives=1)
    own.save(tmp_path / "old.json")
    back = cp.Explanation.load(tmp_path / "old.json")
    same = check_validity(back, flow_logs.detector(), reference=table)
    assert same.is_valid_and_feasible.all()
    later = check_validity(back, _later(), reference=table)
    assert later.table["valid"].tolist() == (_later().predict(own.frame) == "benign").tolist()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("two")
    table, label = flow_logs.training()
    table.assign(label=label).to_csv(place / "train.csv", index=False)
    flow_logs.raised().to_csv(place / "rows.csv", index=False)
    joblib.dump(flow_logs.detector(), place / "a.pkl")
    joblib.dump(_later(), place / "b.pkl")
    return place


def _run(folder: Path, *words: str) -> int:
    data = ["--trust", "-d", str(folder / "train.csv"), "-l", "label"]
    with pytest.raises(SystemExit) as ended:
        main([words[0], *data, *(str(folder / word[1:]) if word.startswith("@") else word for word in words[1:])])
    return int(ended.value.code or 0)


def test_the_commands(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("-r", "@rows.csv", "-t", "benign")
    assert _run(folder, "compare-models", "-m", "@a.pkl", "-m", "@b.pkl", *asked, "-o", "@both.csv") in (0, 1)
    assert len(pd.read_csv(folder / "both.csv")) == len(flow_logs.raised())
    assert _run(folder, "compare-models", "-m", "@a.pkl", *asked) == 2
    capsys.readouterr()
    _run(folder, "compare-models", "-m", "@a.pkl", "-m", "@b.pkl", *asked)
    shown = capsys.readouterr()
    assert shown.out.splitlines()[:2] == [f"a: {folder / 'a.pkl'}", f"b: {folder / 'b.pkl'}"]
    assert (shown.out.count("the models agree"), shown.err) == (1, "")
    assert _run(folder, "explain", "-m", "@a.pkl", *asked, "-o", "@old.json") == 0
    assert _run(folder, "check", "-m", "@a.pkl", "--explanation", "@old.json") == 0
    assert _run(folder, "check", "-m", "@b.pkl", "--explanation", "@old.json", "-o", "@held.csv") in (0, 1)
    capsys.readouterr()
    assert _run(folder, "explain", "-m", "@a.pkl", "-m", "@b.pkl", *asked) == 2
    assert "one --model" in capsys.readouterr().err


def test_two_models_are_compared_on_a_log(folder: Path) -> None:
    (folder / "conn.log").write_text(flow_logs.zeek_tsv(), encoding="utf-8")
    (folder / "map.yaml").write_text(flow_logs.mapping_text("zeek"), encoding="utf-8")
    models = ("-m", "@a.pkl", "-m", "@b.pkl", "-t", "benign")
    _run(folder, "compare-models", *models, "-r", "@rows.csv", "-o", "@table.csv")
    _run(folder, "compare-models", *models, "-r", "@conn.log", "--mapping", "@map.yaml", "-o", "@log.csv")
    one, two = (pd.read_csv(folder / name).drop(columns="row") for name in ("table.csv", "log.csv"))
    pd.testing.assert_frame_equal(one, two)


def test_answers_side_by_side_with_text_and_as_markdown_and_excel(folder: Path) -> None:
    asked = ("-m", "@a.pkl", "-r", "@rows.csv", "-t", "benign")
    assert _run(folder, "explain", *asked, "-o", "@out.csv") == 0
    line = pd.read_csv(folder / "out.csv").iloc[0]
    name = line["cp_changed"].split("; ")[0]
    assert f"{name} {flow_logs.raised()[name].iloc[0]} -> {line[name]}" in line["cp_changes"]
    assert "the model would have said benign" in line["cp_text"]
    assert _run(folder, "explain", *asked, "-o", "@out.md") == 0
    assert (folder / "out.md").read_text(encoding="utf-8").startswith("| row |")
    assert _run(folder, "explain", *asked, "-o", "@out.xlsx") == 0
    assert len(pd.read_excel(folder / "out.xlsx", sheet_name="answers")) == len(flow_logs.raised())
    assert _run(folder, "explain", *asked, "-o", "@red.csv", "--redact") == 0
    assert not {"cp_text", "cp_changes"} & set(pd.read_csv(folder / "red.csv").columns)
    assert _run(folder, "explain", *asked, "-o", "@red.md", "--redact") == 2
