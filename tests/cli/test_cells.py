"""Cells on the command line: only an empty text is missing, a formula is shown, no data steers a terminal."""

import json
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest

from counterpoise.cli import main
from counterpoise.cli.csv_dialect import read_delimited
from counterpoise.cli.inert_cells import FORMULA_STARTS, inert
from counterpoise.space.yaml.unset_marks import UnsetMarks, load_unset_marks

WORDS = ["None", "NA", "null", "nan", "N/A", "tcp", "-"]
ESCAPE = "yes\x1b]0;taken\x07\x9b31m\u202e"


class SaysByWords:
    """Says the hostile label where the load is above 3, or the word is one that readers take for missing."""

    def __init__(self) -> None:
        self.classes_ = np.array(["=no", ESCAPE])

    def predict(self, frame: Any) -> Any:
        words = frame["word"].isin(["None", "NA"]).to_numpy()
        return self.classes_[((frame["load"].to_numpy() > 3) ^ words).astype(int)]

    def predict_proba(self, frame: Any) -> Any:
        said = (self.predict(frame) == ESCAPE).astype(float)
        return np.column_stack([1 - said, said])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(0)
    words = [WORDS[place] for place in rng.integers(len(WORDS), size=60)]
    train = pd.DataFrame({"load": rng.normal(3, 2, 60).round(2), "word": words})
    train.to_csv(tmp_path / "train.csv", index=False)
    notes = ["=cmd|' /C calc'!A0", "@SUM(A1)", "-2.5", "+cmd", "plain", "\x1b[31mred"] * 2
    train.head(12).assign(note=notes).to_csv(tmp_path / "rows.csv", index=False)
    joblib.dump(SaysByWords(), tmp_path / "model.pkl")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(words)
    return int(ended.value.code or 0)


ASK = ("explain", "-m", "model.pkl", "--trust", "-d", "train.csv", "-r", "rows.csv")


def _read(path: str) -> pd.DataFrame:
    return pd.read_csv(path, keep_default_na=False)


def test_words_for_missing_are_values_and_answers_hold_when_the_file_is_read_again(folder: Path) -> None:
    assert _run(*ASK, "-o", "out.csv", "--no-safe-csv") == 0
    rows, answers = _read("rows.csv"), _read("out.csv")
    assert not (answers["word"] == "").any()
    model = SaysByWords()
    assert (model.predict(answers) != model.predict(rows)).all()
    unchanged = ~answers["cp_changed"].str.contains("word").to_numpy()
    assert (answers["word"].to_numpy() == rows["word"].to_numpy())[unchanged].all()


def test_marks_of_a_schema_file_stand_for_missing_cells(folder: Path) -> None:
    (folder / "s.yaml").write_text(
        "unset: ['NA']\ncolumns:\n"
        "- {name: load, kind: continuous, unset: ['-', '?']}\n- {name: word, kind: categorical}\n"
    )
    marks = load_unset_marks("s.yaml")
    assert marks == UnsetMarks(("NA",), {"load": ("-", "?")})
    table = read_delimited(b"load,word\n?,-\nNA,NA\n1.5,?\n,\n", None, marks)
    assert table["load"].tolist()[2] == 1.5
    assert table["load"].isna().tolist() == [True, True, False, True]
    assert table["word"].isna().tolist() == [False, True, False, True]


def test_a_word_among_numbers_is_refused_with_what_to_do_and_read_where_it_is_said_to_be_missing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (folder / "train.csv").read_text().splitlines()
    (folder / "train.csv").write_text("\n".join([text[0], "NA,tcp", *text[1:]]))
    assert _run("schema", "-d", "train.csv", "-o", "s.yaml") == 2
    said = capsys.readouterr().err
    assert "'load' of --data has numbers and 'NA'; give --unset NA, or write unset: ['NA']" in said
    assert not (folder / "s.yaml").exists()
    assert _run("schema", "-d", "train.csv", "-o", "s.yaml", "--unset", "NA") == 0
    assert load_unset_marks("s.yaml").everywhere == ("NA",)
    (folder / "bad.yaml").write_text("unset: NA\ncolumns: []\n")
    assert _run(*ASK, "-s", "bad.yaml") == 2
    assert "unset must be a list of texts" in capsys.readouterr().err


@pytest.mark.parametrize("start", FORMULA_STARTS)
def test_a_text_that_a_spreadsheet_computes_is_made_inert(start: str) -> None:
    assert inert(f"{start}1+1").startswith("'")
    assert inert(f"a{start}b") == f"a{start}b"
    assert inert(-1.5) == -1.5


@pytest.mark.parametrize("option", [None, "--safe-csv", "--no-safe-csv"])
def test_carried_and_added_columns_are_inert_by_default_features_when_asked(folder: Path, option: str | None) -> None:
    for name in ("train.csv", "rows.csv"):
        text = (folder / name).read_text()
        (folder / name).write_text(text.replace(",nan", ",=nan").replace(",null", ",=null"))
    assert _run(*ASK, "-o", "out.csv", *([option] if option else [])) == 0
    table = _read("out.csv")
    carried, features = table["note"].str[0].tolist(), set(table["word"].str[0])
    assert set(table["cp_before"].str[:2]) | set(table["cp_after"].str[:2]) >= {
        "'=" if option != "--no-safe-csv" else "=n"
    }
    assert (carried[0] == "'", "=" in features) == {
        None: (True, True),
        "--safe-csv": (True, False),
        "--no-safe-csv": (False, True),
    }[option]
    assert table["note"].tolist()[2] == "-2.5"
    assert pd.api.types.is_numeric_dtype(table["load"])


@pytest.mark.parametrize("more", [(), ("-o", "-"), ("--redact",), ("-t", ESCAPE)])
def test_nothing_from_data_steers_the_terminal(
    folder: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...]
) -> None:
    assert _run(*ASK, "--id", "note", *more) == 0
    said = "".join(capsys.readouterr())
    assert not set("\x1b\x07\x9b\u202e") & set(said)
    assert "taken" in said
    if more[:1] == ("-o",):
        assert ESCAPE in [json.loads(line)["before"] for line in said.splitlines() if line.startswith("{")]


@pytest.mark.parametrize("name", ["lo\x1b[2Jad", "lo\u202ead"])
def test_names_of_columns_do_not_either(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, tmp_path: Path
) -> None:
    (folder / "odd.csv").write_text(f"{name},word\n1,tcp\nx,tcp\n3,udp\n")
    (folder / "s.yaml").write_text(f'columns:\n- {{name: "{name.encode("unicode_escape").decode()}", kind: integer}}\n')
    assert _run("schema", "-d", "odd.csv", "-c", "s.yaml") == 1
    assert _run(*ASK, "-s", "s.yaml", "--fixed", name) == 2
    assert not set("\x1b\u202e") & set("".join(capsys.readouterr()))
