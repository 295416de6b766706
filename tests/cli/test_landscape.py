"""counterpoise landscape: a page, JSON, text, and wrong outputs refused."""

import json
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

from counterpoise.cli.program import app


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("landscape")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 10, (200, 3)), columns=["ports", "load", "age"])
    label = np.where(table["ports"] + table["load"] > 9, "alert", "benign")
    joblib.dump(DecisionTreeClassifier(max_depth=5, random_state=0).fit(table, label), place / "model.pkl")
    table.assign(label=label).to_csv(place / "train.csv", index=False)
    table[label == "alert"][:1].to_csv(place / "one.csv", index=False)
    return place


def run(files: Path, *more: str) -> tuple[int, str]:
    given = ["landscape", "-m", f"{files}/model.pkl", "--trust", "-d", f"{files}/train.csv", "-l", "label"]
    found = CliRunner().invoke(app, [*given, "-r", f"{files}/one.csv", "-t", "benign", "--samples", "100", *more])
    return found.exit_code, found.output + str(found.exception or "")


def test_text_on_the_terminal(files: Path) -> None:
    code, said = run(files)
    assert code == 0
    assert "to benign: effort" in said
    assert "out" in said


def test_rows_have_the_names_that_id_gives(files: Path) -> None:
    pd.read_csv(files / "one.csv").assign(uid="C7").to_csv(files / "named.csv", index=False)
    _, said = run(files, "-r", f"{files}/named.csv", "--id", "uid")
    assert "Row C7, to benign: effort" in said
    run(files, "-r", f"{files}/named.csv", "--id", "uid", "-o", f"{files}/named.json")
    assert json.loads((files / "named.json").read_text())["labels"] == ["C7"]


def test_a_page_that_needs_nothing_beside_it(files: Path) -> None:
    pytest.importorskip("matplotlib")
    code, _ = run(files, "-o", f"{files}/landscape.html")
    page = (files / "landscape.html").read_text(encoding="utf-8")
    assert code == 0
    assert page.count("data:image/png;base64") == 4
    assert "http://" not in page
    assert "https://" not in page
    assert "<script" not in page
    assert "script-src" not in page
    assert 'name="viewport"' in page  # for phones
    assert "prefers-color-scheme: dark" in page


def test_json(files: Path) -> None:
    code, _ = run(files, "-o", f"{files}/landscape.json")
    assert code == 0
    assert {"importance", "basins", "barriers", "energy", "diagnostics"} <= set(
        json.loads((files / "landscape.json").read_text())
    )


def test_so_many_rows_and_no_more(files: Path) -> None:
    table = pd.read_csv(files / "train.csv")
    table[table["label"] == "alert"].head(3).drop(columns="label").to_csv(files / "three.csv", index=False)
    _, said = run(files, "-r", f"{files}/three.csv", "--limit", "1")
    assert said.count(", to benign") == 1
    code, said = run(files, "--limit", "0")
    assert "there must be at least one row; --limit is 0" in said
    assert code != 0


@pytest.mark.parametrize(
    ("more", "said"), [(["-o", "x.csv"], "must end in .html or .json"), (["-T", "0"], "T must be a share")]
)
def test_wrong_options_are_named(files: Path, more: list[str], said: str) -> None:
    code, output = run(files, *more)
    assert code != 0
    assert said in output
