"""A wrong value of any option is refused before any output file is touched."""

from pathlib import Path

import pytest
import typer

from alerts import alerts, detector, training
from counterpoise.cli import main
from counterpoise.cli.program import app

OUTPUTS = ("old.ndjson", "old.csv", "old.html", "old.json", "old.parquet", "real.csv")
BEFORE = "last week's\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import joblib

    place = tmp_path_factory.mktemp("outputs")
    frame, label = training()
    frame.assign(label=label).to_csv(place / "train.csv", index=False)
    alerts().head(2).to_csv(place / "rows.csv", index=False)
    joblib.dump(detector(), place / "model.pkl")
    return place


ASK = ("-m", "model.pkl", "--trust", "-d", "train.csv", "-l", "label", "-r", "rows.csv")
WRONG: dict[str, list[str]] = {  # every option, with values that cannot be
    "--model": ["nothing.skops", "rows.csv"],
    "--data": ["nothing.csv"],
    "--rows": ["nothing.csv"],
    "--answers": ["nothing.csv", "x=nothing.csv"],
    "--target": ["cheese", "not cheese"],
    "--threshold": ["2", "nan", "-1"],
    "--schema": ["rows.csv", "nothing.yaml"],
    "--keep": ["2", "0", "-1", "nan"],
    "--noise": ["loud", "rank:9", "-1"],
    "--alternatives": ["0", "-1", "1.5"],
    "--distance": ["miles"],
    "--lam": ["-1", "x", "nan"],
    "--penalty": ["cheese"],
    "--kept": ["maybe"],
    "--temperature": ["0", "-1", "nan", "x"],
    "--samples": ["0", "-1", "x"],
    "--seed": ["x", "1.5"],
    "--budget": ["-1", "nan"],
    "--label": ["cheese"],
    "--id": ["cheese"],
    "--fixed": ["cheese"],
    "--increasing": ["cheese"],
    "--decreasing": ["cheese"],
    "--max-changes": ["-1", "x"],
    "--new-categories": ["maybe"],
    "--evidence": ["x.docx", "rows.csv"],
    "--factory": ["no.such:thing", "nothing"],
    "--method": ["cheese"],
    "--seconds": ["-1", "nan"],
    "--model-rows": ["-1", "x"],
    "--agree": ["nothing.pkl", "rows.csv"],
    "--check": ["nothing.yaml", "rows.csv"],
    "--out": ["rows.csv", "nowhere/x.csv"],
    "--unset": [],  # any text may stand for a missing cell
    "--safe-csv": ["maybe"],
    "--redact": ["maybe"],
    "--discover": ["maybe"],
    "--no-relations": ["maybe"],
    "--proof": ["maybe"],
    "--gap": ["-1", "nan", "x"],
    "--trust": ["maybe"],
    "--force": ["maybe"],
    "--quick": ["maybe"],
    "--title": [],  # any text is a title
    "--receipt": ["nothing.json"],
    "--port": ["x"],
    "--serve": ["maybe"],
    "--format": ["cheese", "eve"],
    "--mapping": ["nothing.yaml", "rows.csv"],
    "--explanation": ["nothing.json"],
    "--flow-rules": ["cheese"],
    "--verdict": ["cheese"],
    "--to": ["cheese"],
    "--attack-table": ["nothing.yaml", "rows.csv"],
    "--on-error": ["maybe"],
    "--jobs": ["0", "x"],
    "--limit": ["-1", "x"],
    "--where": ["cheese > 1", "proba >"],
    "--only": ["cheese"],
    "--strict": ["maybe"],
    "--quiet": ["maybe"],
    "--resume": ["maybe"],
    "--offsets": ["x.offset"],
    "--memory": ["much", "0"],
    "--config": ["nothing.yaml", "rows.csv"],
    "--report": ["page.docx"],
    "--card": ["nobody"],
}
GIVEN_TWICE = {"--model": "-m", "--data": "-d", "--rows": "-r", "--label": "-l"}


def _options(command: str) -> list[str]:
    parameters = typer.main.get_command(app).commands[command].params
    return [each.opts[0] for each in parameters if each.opts[0].startswith("--") and each.opts[0] != "--help"]


def test_every_option_of_every_command_is_tried_here() -> None:
    every = {option for command in typer.main.get_command(app).commands for option in _options(command)}
    assert every <= set(WRONG), f"add wrong values of {every - set(WRONG)}"


def _cases() -> list[tuple[str, str, str]]:
    return [
        (command, option, value)
        for command in ("explain", "landscape", "check", "compare", "schema", "report", "triage")
        for option in _options(command)
        for value in WRONG.get(option, [])
    ]


def _words(command: str, option: str, value: str, out: str) -> list[str]:
    words = {
        "explain": [*ASK, "--evidence", "real.csv"],
        "landscape": [*ASK],
        "check": [*ASK, "--answers", "rows.csv"],
        "compare": [*ASK, "--method", "nearest"],
        "schema": ["-d", "train.csv"],
        "report": ["model.pkl"],
        "triage": [*ASK],
    }[command]
    short = GIVEN_TWICE.get(option, option)
    if short in words:
        words[words.index(short) + 1] = value
    elif option == "--out":
        out = value
    else:
        words += [option, value]
    return [command, *words, "-o", out]


@pytest.mark.parametrize(("command", "option", "value"), _cases())
def test_a_wrong_option_touches_no_output(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    option: str,
    value: str,
) -> None:
    monkeypatch.chdir(folder)
    for name in OUTPUTS:
        (folder / name).write_text(BEFORE)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    # NDJSON is written while rows are searched; a schema file that is there is refused as such
    out = {"explain": "old.ndjson", "schema": "new.yaml", "landscape": "old.html"}.get(command, "old.csv")
    with pytest.raises(SystemExit) as ended:
        main(_words(command, option, value, out))
    assert ended.value.code == 2, capsys.readouterr()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
