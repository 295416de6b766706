"""The page about a folder of parts: a summary of all rows, cards of some of them; --strict for folders and streams."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import counterpoise as cp
from counterpoise.scale import explain_to_folder, report_folder
from counterpoise.scale.folder_report import ChosenRows
from counterpoise.scale.part_folder import MANIFEST, read_manifest
from counterpoise.scale.part_summary import summarize_parts
from counterpoise.show.overview import build_overview
from scale.night import ASK, SETTINGS, alerts, explainer, fill, run
from scale.test_same_bytes import rows_with_a_bad_one


def listed_rows(page: Path) -> list[str]:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page.read_text(), re.S)
    assert found is not None
    return [row["row"] for row in json.loads(found[1])["rows"]]


@pytest.mark.parametrize("settings", [SETTINGS, {"target": "benign"}], ids=["quick", "default"])
def test_the_summary_of_parts_is_that_of_all_rows(tmp_path: Path, settings: dict[str, Any]) -> None:
    rows = rows_with_a_bad_one()
    explain_to_folder(explainer(), [rows[:7], rows[7:30], rows[30:]], tmp_path / "a", **settings)
    _, lines = read_manifest(tmp_path / "a" / MANIFEST)
    found = summarize_parts(tmp_path / "a", lines.values(), explainer().schema)._asdict()
    wanted = build_overview(explainer()(rows, **settings))._asdict()
    for name in ("seconds", "model_rows"):
        del found[name], wanted[name]
    found["change_counts"], wanted["change_counts"] = np.sort(found["change_counts"]), np.sort(wanted["change_counts"])
    for name, value in wanted.items():
        assert (
            np.array_equal(found[name], value, equal_nan=True)
            if isinstance(value, np.ndarray)
            else (found[name] == value)
        ), name


@pytest.mark.parametrize("settings", [SETTINGS, {"target": "benign"}], ids=["quick", "default"])
def test_a_page_has_the_cards_of_the_rows_that_are_given(tmp_path: Path, settings: dict[str, Any]) -> None:
    rows = alerts(40)
    explain_to_folder(explainer(), [rows[:20], rows[20:]], tmp_path / "a", **settings)
    page = report_folder(tmp_path / "a", explainer()(rows[5:8], **settings), tmp_path / "page.html")
    assert listed_rows(page) == ["5", "6", "7"]
    assert "40 of 40" in page.read_text()
    assert "The list has 3 of them." in page.read_text()
    with pytest.raises(cp.InputError, match="question seed was '0' and is '1'"):
        report_folder(tmp_path / "a", explainer()(rows[5:8], seed=1, **settings), tmp_path / "page.html")
    (tmp_path / "a" / "_SUCCESS").unlink()
    with pytest.raises(cp.InputError, match="finished"):
        report_folder(tmp_path / "a", explainer()(rows[5:8], **settings), tmp_path / "page.html")


def test_a_sample_does_not_depend_on_the_parts() -> None:
    rows, found = pd.DataFrame({"load": np.arange(500)}), []
    for size in (1, 7, 500):
        chosen = ChosenRows(20)
        for start in range(0, 500, size):
            chosen.add(rows[start : start + size], start)
        found.append(chosen.frame["load"].tolist())
    assert found[0] == found[1] == found[2]
    assert found[0] == sorted(found[0])
    assert len(found[0]) == 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("pages"), 130)


def test_the_command_writes_a_page_with_a_sample_or_with_the_rows_asked_for(folder: Path) -> None:
    words = "explain", *ASK, "-r", "rows.csv", "--id", "ticket", "-o", "answers/"
    done = run(folder, *words, "--report", "night.html")
    assert done.returncode == 0, done.stderr
    assert len(listed_rows(folder / "night.html")) == 100
    done = run(folder, *words, "--resume", "--report", "two.html", "--card", "T-99", "--card", "T-3")
    assert done.returncode == 0, done.stderr
    assert listed_rows(folder / "two.html") == ["T-3", "T-99"]
    (folder / "full.html").symlink_to("/dev/full")
    done = run(folder, *words, "--resume", "--report", "full.html")
    assert (done.returncode, b"the page must be writable" in done.stderr) == (3, True), done.stderr
    done = run(folder, *words, "--resume", "--report", "one.html", "--card", "T-3", "--card", "nobody")
    assert (done.returncode, b"nobody" in done.stderr) == (1, True)
    assert listed_rows(folder / "one.html") == ["T-3"]


@pytest.mark.parametrize(
    "words",
    [
        ("-o", "x.csv", "--report", "p.html"),
        ("-o", "y/", "--report", "p.csv"),
        ("-o", "y/", "--card", "T-3"),
        ("-o", "y/", "--report", "y/p.html"),
        ("-o", "y/", "--report", "nowhere/p.html"),
        ("-o", "y/", "--report", "rows.csv"),
    ],
)
def test_a_page_that_cannot_be_is_refused_before_the_work(folder: Path, words: tuple[str, ...]) -> None:
    done = run(folder, "explain", *ASK, "-r", "rows.csv", *words)
    assert (done.returncode, done.stderr.count(b"counterpoise:")) == (2, 1), done.stderr
    assert not (folder / "y").exists()


def test_strict_holds_for_folders_and_streams(folder: Path) -> None:
    ask = [word for word in ASK if word != "--no-kept"]
    words = "explain", *ask, "--limit", "6", "--keep", "0.999", "--noise", "2.0"
    for out, rows in (("file.csv", "rows.csv"), ("strict/", "rows.csv"), ("-", "-")):
        given = {"input": (folder / "rows.ndjson").read_bytes()} if rows == "-" else {}
        lax = run(folder, *words, "-r", rows, "-o", out, **given)
        more = ("--resume",) if out == "strict/" else ()
        strict = run(folder, *words, "-r", rows, "-o", out, "--strict", *more, **given)
        assert (lax.returncode, strict.returncode) == (0, 1), (out, lax.stderr, strict.stderr)
