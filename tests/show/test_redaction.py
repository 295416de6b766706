"""A redacted output holds no value: a secret in each kind of place is in the whole output, and in no redacted one."""

import io
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import counterpoise as cp
from counterpoise.cli import main
from counterpoise.show.redaction import LEFT_OUT, SHOWN_SETTINGS, redact_notes, redact_settings
from counterpoise.show.report import render_page

SECRETS = {
    "a cell of the row": "7310.25",
    "a category of the row": "sekrit-row",
    "a category of the reference": "sekrit-ref",
    "a carried cell": "sekrit-carried",
    "a constraint's number": "8211.5",
    "a relaxed rule's number": "9127",
    "a description": "sekrit-about",
    "why a feature is held": "sekrit-why",
    "an end of the observed range": "9999.75",
    "a new category": "sekrit-new",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("redaction")
    rng = np.random.default_rng(0)
    train = pd.DataFrame(
        {
            "load": rng.normal(5000, 2000, 80).round(2).clip(1, 9000),
            "size": rng.normal(10, 4, 80).round(2),
            "proto": np.where(np.arange(80) % 2, "sekrit-ref", "sekrit-row"),
            "site": np.arange(80) % 3,
        }
    )
    train.loc[0, "load"] = 9999.75
    label = np.where(train["load"] + 300 * train["size"] > 8500, "alert", "benign")
    front = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["proto"]), remainder="passthrough", sparse_threshold=0
    )
    model = make_pipeline(front, LogisticRegression(max_iter=2000)).fit(train, label)
    train.to_csv(place / "train.csv", index=False)
    rows = train[model.predict(train) == "alert"].head(4).reset_index(drop=True)
    rows.loc[0, ["load", "proto"]] = [7310.25, "sekrit-row"]
    rows.loc[1, "proto"] = "sekrit-new"
    rows.assign(note="sekrit-carried").to_csv(place / "rows.csv", index=False)
    joblib.dump(model, place / "model.pkl")
    (place / "s.yaml").write_text(
        "columns:\n- {name: load, kind: continuous, max: 8211.5, description: sekrit-about}\n"
        "- {name: size, kind: continuous}\n- {name: proto, kind: categorical}\n"
        "- {name: site, kind: integer, fixed: sekrit-why}\n"
        "relations:\n- {rule: load + size >= 9127, relax: true}\n- {rule: load + size <= 9127, relax: true}\n"
    )
    return place


def _outputs(folder: Path, *more: str) -> dict[str, str]:
    """Everything that explain writes, by where it does."""
    ask = ["explain", "-m", "model.pkl", "--trust", "-d", "train.csv", "-r", "rows.csv", "-s", "s.yaml", "-t", "benign"]
    ask += ["--new-categories", "-a", "2", *more]
    out = {}
    for name in ("page.html", "lines.ndjson", "table.csv", "-", None):
        said, told = io.StringIO(), io.StringIO()
        with redirect_stdout(said), redirect_stderr(told), pytest.raises(SystemExit) as ended:
            main([*ask, *([] if name is None else ["-o", name])])
        assert ended.value.code in (0, 1), told.getvalue()
        out |= {f"{name} on standard output": said.getvalue(), f"{name} on standard error": told.getvalue()}
        if name not in (None, "-"):
            out[name] = (folder / name).read_text(encoding="utf-8")
    return out


@pytest.mark.parametrize("more", [(), ("--keep", "0.6", "--noise", "0.05")])
def test_no_secret_is_in_any_redacted_output(
    folder: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    monkeypatch.chdir(folder)
    whole = "".join(_outputs(folder, *more).values())
    hidden = _outputs(folder, "--redact", *more)
    for place, secret in SECRETS.items():
        if secret not in ("sekrit-new",):  # notes do not name a new category even in full
            assert secret in whole, f"{place} is shown nowhere: this test tests nothing of it"
        for output, text in hidden.items():
            assert secret not in text, f"{place} is in {output}"
    assert all(
        "load" in text for output, text in hidden.items() if output in ("page.html", "lines.ndjson", "table.csv")
    )


def test_a_page_of_the_whole_explanation_is_refused_redacted_and_its_report_is_not(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    ask = ["explain", "-m", "model.pkl", "--trust", "-d", "train.csv", "-r", "rows.csv", "-s", "s.yaml"]
    for more, code in ((["--redact"], 2), ([], 0)):
        with pytest.raises(SystemExit) as ended:
            main([*ask, "--new-categories", "-o", "all.json", *more])
        assert ended.value.code in (code, 1)
    explanation = cp.Explanation.load("all.json")
    explanation = replace(explanation, notes=(*explanation.notes, "the limit is sekrit-note"))
    page = render_page(explanation, redact=True)
    assert not [secret for secret in (*SECRETS.values(), "sekrit-note") if secret in page]
    assert "sekrit-note" in render_page(explanation)


def test_a_setting_or_note_that_is_not_listed_is_left_out() -> None:
    assert redact_settings({"tomorrow's": "sekrit"}) == {}
    assert "constraints" not in SHOWN_SETTINGS
    assert redact_notes(["the budget of sekrit s", "sekrit"])[1] == LEFT_OUT
    assert "sekrit" not in "".join(redact_notes(["the budget of sekrit s", "carried through and not shown sekrit"]))
