"""The commands: tables in and out, exit codes, and one clear line for everything that can be wrong."""

import json
import subprocess
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import joblib
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import counterpoise as cp
from alerts import alerts, detector, explained, training
from counterpoise.api.explainer import Explainer
from counterpoise.api.inputs.binding import note_relations
from counterpoise.cli import main
from counterpoise.cli.options import say_in_options
from counterpoise.space.constraints.relative_to_row import prices_of_changes
from counterpoise.space.distance import Distance
from counterpoise.space.schema.encode import encode

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files as a user has them."""
    place = tmp_path_factory.mktemp("files")
    frame, label = training()
    frame.assign(label=label).to_csv(place / "train.csv", index=False)
    rows = alerts().rename_axis("name").reset_index()
    rows.to_csv(place / "alerts.csv", index=False)
    rows.to_json(place / "alerts.ndjson", orient="records", lines=True)
    joblib.dump(detector(), place / "model.pkl")
    return place


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in the folder: exit code, output, and what it said."""
    monkeypatch.chdir(folder)

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        said = capsys.readouterr()
        assert "Traceback" not in said.err or "--debug" in arguments
        return int(ended.value.code or 0), said.out, said.err

    return call


ASK = (
    "-m",
    "model.pkl",
    "--trust",
    "-d",
    "train.csv",
    "-l",
    "label",
    "-r",
    "alerts.csv",
    "-t",
    "benign",
    "--id",
    "name",
)


def test_answers_are_those_of_the_library(run: Run, folder: Path) -> None:
    code, _, said = run("explain", *ASK, "-a", "2", "-o", "found.json")
    assert code == 0
    assert "6 of 6 rows reach the target" in said
    found = cp.Explanation.load(folder / "found.json")
    assert found.x.tolist() == explained().x.tolist()


@pytest.mark.parametrize("name", ["found.csv", "found.parquet"])
def test_a_table_has_a_line_for_each_answer_and_carries_columns_through(run: Run, folder: Path, name: str) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow", reason="no pyarrow: Parquet is an extra")
    assert run("explain", *ASK, "-a", "2", "-o", name)[0] == 0
    table = pd.read_csv(folder / name) if name.endswith("csv") else pd.read_parquet(folder / name)
    assert len(table) == explained().count.sum()
    assert set(table["source"]) == {"10.0.0.7"}
    best = table[table["cp_alternative"] == 0]
    assert best["cp_row"].tolist() == alerts().index.tolist()
    assert detector().predict(best[list(training()[0].columns)]).tolist() == ["benign"] * 6


def test_lines_are_json_objects_in_the_order_of_the_rows(run: Run) -> None:
    code, out, _ = run("explain", *ASK, "-o", "-")
    records = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [record["row"] for record in records] == alerts().index.tolist()
    first = explained().changes.query("row == 'A0' and alternative == 0")
    assert {change["feature"]: change["to"] for change in records[0]["changes"]} == dict(
        zip(first["feature"], first["to"], strict=True)
    )


def test_lines_carry_the_real_rows_that_back_them_up(run: Run, folder: Path) -> None:
    records = [json.loads(line) for line in run("explain", *ASK, "-o", "-")[1].splitlines()]
    frame = training()[0]
    assert [record["position"] for record in records] == list(range(6))
    for record in records:
        distances = [real["distance"] for real in record["evidence"]]
        assert distances == sorted(distances)
        for real in record["evidence"]:
            cells = pd.DataFrame([real["values"]])[list(frame.columns)]
            assert detector().predict(cells)[0] == "benign"
            assert (frame == cells.iloc[0]).all(axis=1).any(), "a row of the training data"
    hidden = run("explain", *ASK, "-o", "-", "--redact")[1]
    assert all("evidence" not in json.loads(line) for line in hidden.splitlines())


@pytest.mark.parametrize("out", ["-", "best.csv"])
def test_real_rows_have_a_table_of_their_own(run: Run, folder: Path, out: str) -> None:
    code, lines, _ = run("explain", *ASK, "-o", out, "--evidence", "real.csv")
    assert code == 0
    real = pd.read_csv(folder / "real.csv")
    assert real.columns.tolist() == ["cp_row", "cp_position", "cp_rank", "cp_distance", *training()[0].columns]
    assert real["cp_rank"].tolist() == [1, 2, 3] * 6
    nearest = real[real["cp_rank"] == 1]["cp_distance"].tolist()
    if out == "-":
        assert [json.loads(line)["evidence"][0]["distance"] for line in lines.splitlines()] == pytest.approx(nearest)
    else:
        assert pd.read_csv(folder / out)["cp_evidence_distance"].tolist() == pytest.approx(nearest)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--evidence", "real.html"), "--evidence must end in one of .csv, .parquet"),
        (("--evidence", "nowhere/real.csv"), "--evidence must name a file that can be written"),
        (("--evidence", "real.csv", "--redact"), "--redact writes no values"),
        (("-o", "real.csv", "--evidence", "./real.csv"), "--evidence must be another file than --out"),
    ],
)
def test_real_rows_that_cannot_be_written_are_named_before_the_work(
    run: Run, more: tuple[str, ...], words: str
) -> None:
    code, _, said = run("explain", *ASK, *more)
    assert code == 2
    assert words in said


def test_lines_say_no_value_when_redacted(run: Run) -> None:
    out = run("explain", *ASK, "-o", "-", "--redact")[1]
    changes = [change for line in out.splitlines() for change in json.loads(line)["changes"]]
    assert all(set(change) == {"feature", "direction"} for change in changes)


def test_rows_come_from_standard_input_too(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [word if word != "alerts.csv" else "-" for word in ASK]
    outputs = []
    for name in ("alerts.csv", "alerts.ndjson"):
        with (folder / name).open() as stream:
            monkeypatch.setattr(sys, "stdin", stream)
            outputs.append(run("explain", *asked, "-o", "-"))
    assert outputs[0] == outputs[1]
    assert outputs[0][0] == 0


def test_a_pipe_gets_plain_text(run: Run) -> None:
    code, out, _ = run("explain", *ASK)
    assert code == 0
    assert out.startswith("A0: alert (benign")
    assert "\x1b" not in out
    assert "describes the model, not the world" in out


def test_a_report_is_written_from_rows_and_from_a_saved_explanation(run: Run, folder: Path) -> None:
    assert run("explain", *ASK, "-o", "one.html")[0] == 0
    explained().save(folder / "saved.json")
    assert run("report", "saved.json", "-o", "two.html", "--redact")[:2] == (0, "two.html\n")
    assert "A0" in (folder / "one.html").read_text(encoding="utf-8")
    assert "Values are left out" in (folder / "two.html").read_text(encoding="utf-8")


def test_constraints_hold(run: Run, folder: Path) -> None:
    words = ("--fixed", "latency", "--fixed", "cpu_usage", "--decreasing", "failed_auth")
    run("explain", *ASK, *words, "-o", "held.csv")
    held = pd.read_csv(folder / "held.csv")
    assert held["latency"].tolist() == alerts()["latency"].tolist()
    assert (held["failed_auth"].to_numpy() <= alerts()["failed_auth"].to_numpy()).all()


def write_strangers(folder: Path) -> None:
    """A model with an encoder that ignores what it does not know, and rows with such a category."""
    table = pd.DataFrame({"proto": ["tcp", "udp"] * 30, "rate": range(60)})
    front = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["proto"]), remainder="passthrough")
    joblib.dump(make_pipeline(front, LogisticRegression()).fit(table, table["rate"] > 30), folder / "coded.pkl")
    table.to_csv(folder / "flows.csv", index=False)
    pd.DataFrame({"proto": ["quic", "tcp"], "rate": [50, 9]}).to_csv(folder / "new.csv", index=False)


def test_new_categories_are_refused_or_allowed(run: Run, folder: Path) -> None:
    write_strangers(folder)
    ask = "-m", "coded.pkl", "--trust", "-d", "flows.csv", "-r", "new.csv", "-o", "strange.csv"
    code, _, said = run("explain", *ask, "--on-error", "raise")
    assert (code, "--new-categories" in said) == (2, True)
    assert run("explain", *ask)[0] == 1
    assert "rejected" in set(pd.read_csv(folder / "strange.csv")["cp_status"])
    code, _, said = run("explain", *ask, "--new-categories")
    assert (code, "no reference row has, and no answer takes: 'proto' of row 0" in said) == (0, True)
    assert len(pd.read_csv(folder / "strange.csv")) == 2
    judged = *ask[:-2], "--new-categories"
    assert run("check", *judged, "--answers", "strange.csv")[0] == 0
    assert run("check", *judged[:-1], "--answers", "strange.csv")[0] == 2
    assert run("compare", *judged, "--answers", "ours=strange.csv", "--method", "nearest")[0] == 0


def test_a_redacted_page_does_not_name_a_new_category(run: Run, folder: Path) -> None:
    write_strangers(folder)
    ask = "-m", "coded.pkl", "--trust", "-d", "flows.csv", "-r", "new.csv", "--new-categories", "--redact"
    code, _, said = run("explain", *ask, "-o", "strange.html")
    page = (folder / "strange.html").read_text()
    assert (code, "quic" in page, "quic" in said) == (0, False, False)
    assert "no reference row has" in page


def test_not_finding_every_answer_ends_in_one(run: Run) -> None:
    fixed = [word for name in training()[0].columns if name != "firmware_age" for word in ("--fixed", name)]
    code, out, said = run("explain", *ASK, *fixed, "-o", "-")
    assert code == 1
    assert "infeasible" in out
    assert "of 6 rows reach the target" in said


def test_check_judges_the_answers_of_others(run: Run, folder: Path) -> None:
    explained().frame.to_csv(folder / "theirs.csv", index=False)
    asked = ("check", *ASK, "--answers", "theirs.csv")
    assert run(*asked)[0] == 0
    assert run("check", *ASK, "--answers", "alerts.csv")[0] == 1
    changed = explained().changes["feature"].iloc[0]
    code, _, said = run(*asked, "--fixed", str(changed), "-o", "judged.csv")
    assert code == 1
    assert "reach the target inside the constraints" in said
    assert "Immutable" in (folder / "judged.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize("asked_more", [("--limit", "4"), ("--where", "latency > 65"), ("-a", "2")])
def test_check_finds_the_rows_that_a_table_of_explain_is_about(
    run: Run, folder: Path, asked_more: tuple[str, ...]
) -> None:
    assert run("explain", *ASK, *asked_more, "-o", "ours.csv")[0] == 0
    ours = pd.read_csv(folder / "ours.csv")
    for ask in (ASK, ASK[:-2])[: 1 if "--where" in asked_more else 2]:  # with --id, and without explain's names
        code, out, said = run("check", *ask, "--answers", "ours.csv")
        assert (code, said) == (0, f"{len(ours)} of {len(ours)} reach the target inside the constraints\n")
        judged = pd.read_csv(StringIO(out), sep="\t")
        assert judged["l2"].tolist() == pytest.approx(ours["cp_distance"].tolist(), rel=1e-4)


def test_answers_to_other_rows_are_refused(run: Run, folder: Path) -> None:
    run("explain", *ASK, "--limit", "4", "-o", "ours.csv")
    pd.read_csv(folder / "alerts.csv").assign(name=list("uvwxyz")).to_csv(folder / "others.csv", index=False)
    code, _, said = run("check", *ASK, "-r", "others.csv", "--answers", "ours.csv")
    assert code == 2
    assert "answers with cp_position must be about these rows" in said


def test_methods_and_answers_from_elsewhere_are_compared(run: Run, folder: Path) -> None:
    explained().frame.to_csv(folder / "theirs.csv", index=False)
    asked = [word for word in ASK if word not in ("--id", "name")]
    code, out, said = run("compare", *asked, "--method", "nearest", "--answers", "theirs=theirs.csv")
    assert code == 0
    lines = pd.read_csv(StringIO(out), sep="\t", index_col="method")
    assert lines.index.tolist() == ["nearest", "theirs"]
    assert lines.loc["theirs", "validity"] == 1
    assert lines.loc["theirs", "l2"] < lines.loc["nearest", "l2"]
    assert "2 methods, 6 rows" in said
    assert run("compare", *asked, "--method", "nearest", "-o", "all.csv")[0] == 0
    assert pd.read_csv(folder / "all.csv")["method"].tolist() == ["nearest"]
    some = run("compare", *asked, "--method", "nearest", "--answers", "theirs=theirs.csv", "--limit", "2")[2]
    assert "2 methods, 2 rows; the best has an answer to 100% of them" in some
    code, _, said = run("compare", *asked, "--method", "nearest", "--where", "latency > 100000")
    assert code == 0
    assert "no rows: nothing to explain" in said


def test_no_rows_are_told_in_one_line(run: Run, folder: Path) -> None:
    header = (folder / "alerts.csv").read_text(encoding="utf-8").splitlines()[0]
    (folder / "header.csv").write_text(f"{header}\n", encoding="utf-8")
    (folder / "nothing.csv").touch()
    for more in (("-r", "header.csv"), ("-r", "nothing.csv"), ("--limit", "0"), ("--where", "latency > 100000")):
        code, out, said = run("explain", *ASK, *more)
        assert (code, out) == (0, "")
        assert said.splitlines()[-1] == "no rows: nothing to explain"
        assert "0 of 0" not in said
        assert run("explain", *ASK, *more, "-o", "none.csv")[0] == 0
        assert "cp_status" in pd.read_csv(folder / "none.csv").columns


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--method", "magic"), "--method must be one of search"),
        (("--answers", "theirs.csv"), "--answers must be NAME=FILE"),
        (("--answers", "theirs=nowhere.csv"), "there is no file 'nowhere.csv'"),
        (("--method", "nearest", "-o", "x.html"), "--out must end in one of .csv, .parquet"),
    ],
)
def test_a_wrong_comparison_ends_in_a_line_and_two(run: Run, more: tuple[str, ...], words: str) -> None:
    code, _, said = run("compare", *(word for word in ASK if word not in ("--id", "name")), *more)
    assert code == 2
    assert words in said


def test_the_paper_is_written_to_a_folder(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def write(place: Path, **more: Any) -> Path:
        asked.update(more, place=place)
        more["progress"](1, 7, "Figure 1")
        return place / "paper.html"

    monkeypatch.setattr("counterpoise.paper.write", write)
    code, out, _ = run("paper", "--quick", "--out", "made", "--seed", "3", "--rows", "6")
    assert (code, out.strip()) == (0, "made/paper.html")
    assert (asked["quick"], asked["seed"], asked["rows"], asked["place"]) == (True, 3, 6, Path("made"))
    assert "twenty" not in run("paper", "--help")[1]


@pytest.mark.parametrize("command", ["paper", "demo"])
@pytest.mark.parametrize(("place", "why"), [("train.csv", "it is a file"), ("train.csv/deeper", "Not a directory")])
def test_a_folder_that_cannot_be_written_is_named_before_the_work(run: Run, command: str, place: str, why: str) -> None:
    code, out, said = run(command, "--out", place)
    assert (code, out) == (2, "")
    assert f"--out must name a folder that can be written; '{place}': {why}" in said


def test_a_firm_answer_is_asked_for_with_keep(run: Run, folder: Path) -> None:
    assert run("explain", *ASK, "--keep", "0.8", "--noise", "0.1", "-o", "firm.json")[0] == 0
    found = cp.Explanation.load(folder / "firm.json")
    assert found.tipping is not None
    assert found.firm is not None
    assert (found.firm["kept"] > 0.7).all()


@pytest.fixture
def fragile() -> tuple[str, ...]:
    """A question whose noise is so loud that no answer keeps the share asked for."""
    return (*ASK, "--keep", "0.99", "--noise", "30", "-a", "2")


def test_a_share_that_is_not_kept_is_told_and_ends_in_one(run: Run, folder: Path, fragile: tuple[str, ...]) -> None:
    code, _, said = run("explain", *fragile, "-o", "loud.csv", "--strict")
    assert code == 1
    assert run("explain", *fragile, "-o", "loud.csv")[0] == 0  # a share that is missed is told, and no error
    assert "6 of 6 rows reach the target; 0 surely keep it in 99 % of noisy copies" in said
    loud = pd.read_csv(folder / "loud.csv")
    assert set(loud["cp_status"]) == {"valid"}
    best = loud[loud["cp_alternative"] == 0]
    assert (best["cp_kept_low"] < 0.99).all()
    assert ((best["cp_kept_low"] <= best["cp_kept"]) & (best["cp_kept"] <= best["cp_kept_high"])).all()
    assert loud["cp_kept"].notna().all()  # each alternative has its own
    for more in ((), ("--redact",)):
        out = run("explain", *fragile, *more)[1]
        told = "fewer than were asked for." if more else "in the 99 asked for."
        assert out.count(told) == 6
    records = [json.loads(line) for line in run("explain", *fragile, "-o", "-")[1].splitlines()]
    assert [record["kept"] for record in records] == pytest.approx(best["cp_kept"].tolist())


def test_a_share_that_is_kept_ends_in_zero(run: Run, folder: Path) -> None:
    code, out, said = run("explain", *ASK, "--keep", "0.8", "--noise", "0.1", "-o", "-")
    assert code == 0
    assert "6 of 6 rows reach the target; 6 surely keep it in 80 % of noisy copies" in said
    assert all(json.loads(line)["kept_low"] >= 0.8 for line in out.splitlines())
    for flag, measured in (("--kept", True), ("--no-kept", False)):
        run("explain", *ASK, flag, "-o", "plain.csv")
        assert pd.read_csv(folder / "plain.csv")["cp_kept"].notna().all() == measured


def test_fewer_firm_answers_than_asked_for_are_told(run: Run) -> None:
    _, out, said = run("explain", *ASK, "--keep", "0.8", "--noise", "0.1", "-a", "3", "-o", "-")
    records = [json.loads(line) for line in out.splitlines()]
    few = sum(len(record["alternatives"]) < 2 for record in records)
    assert ("rows have fewer answers" in said) == bool(few)
    assert all(len(record["alternatives_measured"]) == len(record["alternatives"]) for record in records)
    fixed = [f"--fixed={name}" for name in training()[0].columns[3:]]
    told = run("explain", *ASK, *fixed, "-a", "9", "-o", "-")[2]
    assert "rows have fewer answers, each without something that a better one needs, than the 9 asked for" in told
    plain = [json.loads(line) for line in run("explain", *ASK, "-a", "3", "-o", "-")[1].splitlines()]
    for record, other in zip(records, plain, strict=True):
        assert record["tipping"] == {name: other[name] for name in ("distance", "changes", "alternatives")}
        assert "tipping" not in other


def test_messages_name_options_and_no_arguments_of_python(run: Run, folder: Path) -> None:
    assert "--keep must be a share between 0 and 1; 2.0; for instance 0.9\n" in run("explain", *ASK, "--keep", "2")[2]
    told = run("explain", *ASK, "--model-rows", "3")[2]
    assert "--model-rows must last" in told
    assert "no --keep, --no-kept" in told
    code, out, _ = run("explain", *ASK, *(f"--fixed={name}" for name in training()[0].columns))
    assert code == 1
    assert "No feature may change: each is held fixed" in out
    (note,) = note_relations([cp.Rule("failed_auth <= port_scans")], {})
    assert "schema --discover lists them, --no-relations lifts them" in say_in_options(note)
    assert "None" not in out


def test_a_budget_that_ran_out_is_told_once(run: Run, folder: Path) -> None:
    code, _, said = run("explain", *ASK, "--budget", "0", "-o", "late.csv")
    assert "note: the budget of 0 s ended the search of 6 of the 6 rows" in said
    assert "6 of 6 rows reach the target" in said
    assert code == 3  # every row has an answer, and none was searched to the end
    assert len(pd.read_csv(folder / "late.csv")) == 6
    assert run("explain", *ASK, "--budget", "600", "-o", "found.csv")[0] == 0
    rows = pd.concat([pd.read_csv(folder / "alerts.csv")] * 4)
    rows.to_csv(folder / "long.csv", index=False)
    said = run("explain", *ASK, "-r", "long.csv", "--budget", "0", "-o", "-")[2]
    assert said.count("the budget of") == 1
    assert "note: the budget of 0 s ended the search of some rows: more time may find nearer answers\n" in said


def test_what_is_said_once_for_all_rows_is_on_standard_error(run: Run) -> None:
    assert run("explain", *ASK, "-o", "-")[2].startswith("note: carried through and not shown to the model: 'name'")


def test_a_label_keeps_its_kind_in_lines(run: Run, folder: Path) -> None:
    from sklearn.linear_model import LogisticRegression

    frame, label = training()
    joblib.dump(LogisticRegression(max_iter=2000).fit(frame, (label == "alert").astype(int)), folder / "numbers.pkl")
    asked = _replaced(_replaced(list(ASK), "-m", "numbers.pkl"), "-t", "0")
    for line in run("explain", *asked, "-o", "-")[1].splitlines():
        record = json.loads(line)
        assert record["target"] == record["after"] == 0


@pytest.mark.parametrize("distance", ["l2", "l1", "gower"])
def test_every_alternative_has_its_distance(run: Run, folder: Path, distance: str) -> None:
    run("schema", "-d", "train.csv", "-l", "label", "-o", "dear.yaml", "--force")
    with (folder / "dear.yaml").open("a") as file:
        file.write("constraints:\n- {word: Cost, name: latency, up: 3, down: 5}\n")
    asked = (*ASK, "-a", "3", "--distance", distance, "--schema", "dear.yaml")
    assert run("explain", *asked, "-o", "far.csv")[0] == 0
    far = pd.read_csv(folder / "far.csv")
    assert (far["cp_alternative"] > 0).any()
    told = cp.load_schema(folder / "dear.yaml", training()[0])
    measure = Distance.of(told.schema, distance, prices_of_changes(told.schema, told.constraints))
    rows = encode(told.schema, alerts().iloc[far["cp_position"]])
    expected = measure(encode(told.schema, far)[:, None, :], rows)[:, 0]
    assert far["cp_distance"].tolist() == pytest.approx(expected.tolist())


def test_a_schema_is_written_edited_and_obeyed(run: Run, folder: Path) -> None:
    assert run("schema", "-d", "train.csv", "-l", "label", "-o", "schema.yaml", "--force")[:2] == (0, "schema.yaml\n")
    text = (folder / "schema.yaml").read_text(encoding="utf-8")
    edited = text.replace("- name: latency\n", "- name: latency\n  immutable: true\n  unit: ms\n", 1)
    (folder / "edited.yaml").write_text(edited, encoding="utf-8")
    run("explain", *ASK, "--schema", "edited.yaml", "-o", "obeyed.json")
    found = cp.Explanation.load(folder / "obeyed.json")
    assert found.schema["latency"].unit == "ms"
    assert found.frame["latency"].tolist() == alerts()["latency"].tolist()


def test_a_schema_that_may_have_been_edited_is_not_written_over(run: Run, folder: Path) -> None:
    (folder / "mine.yaml").write_text("columns: []  # my work\n")
    asked = ("schema", "-d", "train.csv", "-l", "label", "-o", "mine.yaml")
    code, _, said = run(*asked)
    assert code == 2
    assert "--out must be a new file; 'mine.yaml' is there" in said
    assert "my work" in (folder / "mine.yaml").read_text(encoding="utf-8")
    assert run(*asked, "--force")[0] == 0
    assert "latency" in (folder / "mine.yaml").read_text(encoding="utf-8")


def test_every_value_that_does_not_fit_is_listed_with_a_row(run: Run, folder: Path) -> None:
    size = 12
    known = pd.DataFrame({"proto": ["tcp", "udp"] * 6, "level": [1, 2] * 6, "load": range(size), "ports": range(size)})
    known.to_csv(folder / "known.csv", index=False)
    run("schema", "-d", "known.csv", "-o", "known.yaml", "--force")
    text = (folder / "known.yaml").read_text(encoding="utf-8")
    text = text.replace("- name: ports\n", "- name: ports\n  max: 9\n", 1) + "relations:\n- rule: load <= ports\n"
    (folder / "known.yaml").write_text(text)
    other = known.astype(object)
    other.loc[[2, 5], "proto"] = "icmp"
    other.loc[7, "proto"] = "gre"
    other.loc[8, "load"] = "n.a."
    other.loc[3, "load"] = 4
    other.to_csv(folder / "odd.csv", index=False)
    code, out, said = run("schema", "-d", "odd.csv", "-c", "known.yaml")
    assert code == 1
    assert out.splitlines() == [
        "proto: 'icmp' is none of its categories; 2 rows, the first is row 2 (counted from 0)",
        "proto: 'gre' is none of its categories; 1 row, the first is row 7 (counted from 0)",
        "load: 'n.a.' is no number; 1 row, the first is row 8 (counted from 0)",
        out.splitlines()[3],
        "1 row breaks Rule('load <= ports'); the first is row 3 (counted from 0)",
    ]
    assert out.splitlines()[3].startswith("ports: 2 rows break Range")
    assert said == "12 rows, 5 misfits\n"


def test_data_is_checked_against_a_schema(run: Run, folder: Path) -> None:
    run("schema", "-d", "train.csv", "-l", "label", "-o", "schema.yaml", "--force")
    text = (folder / "schema.yaml").read_text(encoding="utf-8")
    (folder / "narrow.yaml").write_text(text.replace("- name: latency\n", "- name: latency\n  max: 30\n", 1))
    (folder / "other.csv").write_text("a,b\n1,2\n")
    assert run("schema", "-d", "alerts.csv", "-c", "schema.yaml")[:2] == (0, "")
    code, out, _ = run("schema", "-d", "alerts.csv", "-c", "narrow.yaml")
    assert code == 1
    assert out.startswith("latency: 6 rows break Range")
    assert "the first is row 0 (counted from 0), with" in out
    (folder / "wrong.yaml").write_text(text + "rules:\n- open_ports <= 1\n")
    code, _, said = run("schema", "-d", "alerts.csv", "-c", "wrong.yaml")
    assert code == 2
    assert "wrong.yaml has rules:; write relations:, with entries such as - rule: a <= b" in said
    rule = "relations:\n- rule: open_ports <= 1\n"
    (folder / "ruled.yaml").write_text(text + rule)
    code, out, _ = run("schema", "-d", "alerts.csv", "-c", "ruled.yaml")
    assert code == 1
    assert out.startswith("6 rows break Rule('open_ports <= 1'); the first is row 0 (counted from 0)")
    assert "latency: the column is missing" in run("schema", "-d", "other.csv", "-c", "schema.yaml")[1]


WRONG: dict[str, tuple[tuple[str, ...], str]] = {
    "no such file": (("-r", "nowhere.csv"), "--rows must name a file; there is no file 'nowhere.csv'"),
    "an empty file": (("-d", "empty.csv"), "--data must hold a table; 'empty.csv' is empty"),
    "no rows": (("-r", "bare.csv", "--on-error", "raise"), "'bare.csv' has no rows"),
    "other columns": (("-r", "other.csv", "--id", "a"), "rows must have every column of the reference"),
    "not JSON": (("-r", "lines.ndjson", "--on-error", "raise"), "Expecting value"),
    "not a table": (("-r", "binary.csv"), "'binary.csv' cannot be read as csv"),
    "an unknown ending": (("-r", "model.pkl"), "--rows must end in one of .csv"),
    "a model of the wrong kind": (("-m", "train.csv"), "a model's file must end in one of"),
    "a broken model": (("-m", "broken.pkl"), "--model must name a fitted model; 'broken.pkl' cannot be opened"),
    "something that is no model": (("-m", "list.pkl"), "a model must be one of"),
    "nowhere to write": (("-o", "nowhere/x.csv"), "--out must name a file that can be written"),
    "a folder that holds other things": (("-o", ".."), "the folder of answers must be new or empty"),
    "an unknown output": (("-o", "x.docx"), "--out must end in one of .html, .json, .csv"),
    "redacted values": (("-o", "x.json", "--redact"), "--redact goes with a report"),
    "an unknown target": (("-t", "cheese"), "--target must be a class that the model knows; 'cheese'"),
    "an unknown label": (("-l", "cheese"), "--label must name a column of --data; 'cheese'"),
    "an unknown id": (("--id", "cheese"), "--id must name a column of the rows; 'cheese'"),
    "an unknown constraint": (("--fixed", "cheese"), "--fixed must name a feature; 'cheese'; there are 'packet_loss'"),
    "a typo in a feature": (("--increasing", "Latencyy"), "did you mean 'latency'?"),
    "a typo in an id": (("--id", "nam"), "did you mean 'name'?"),
    "features in one go": (("--fixed", "latency,cpu_usage"), "repeat the option: --fixed latency --fixed cpu_usage"),
    "a separator too many": (
        ("-d", "wide.csv"),
        "'wide.csv' cannot be read as csv (line 2 has 14 cells, the header 12)",
    ),
    "a time below zero": (("--budget", "-1"), "--budget must be seconds, of at least 0; -1.0"),
    "a time that is none": (("--budget", "nan"), "--budget must be seconds, of at least 0; nan"),
    "a wrong number": (("-a", "0"), "alternatives must be a whole number from 1 to 1000"),
    "a wrong noise": (
        ("--noise", "loud"),
        "--noise must be auto, a number of standard deviations, or rank:SHARE; 'loud'",
    ),
    "a schema that is none": (("--schema", "train.csv"), "a schema file must list the columns"),
    "a wrong distance": (("--distance", "miles"), "distance must be one of"),
}


def test_semicolons_and_commas_for_points_are_understood(run: Run, folder: Path) -> None:
    rows = alerts().rename_axis("name").reset_index()
    rows.to_csv(folder / "semi.csv", index=False, sep=";")
    rows.to_csv(folder / "euro.csv", index=False, sep=";", decimal=",")
    rows.to_csv(folder / "tabs.csv", index=False, sep="\t")
    expected = run("explain", *ASK, "-o", "-")
    for name in ("semi.csv", "euro.csv", "tabs.csv"):
        assert run("explain", *ASK, "-r", name, "-o", "-") == expected


def test_the_cell_that_is_no_number_is_named(run: Run, folder: Path) -> None:
    rows = alerts().rename_axis("name").reset_index().astype(object)
    rows.loc[4, "latency"] = "n.a."
    rows.to_csv(folder / "text.csv", index=False)
    code, out, _ = run("explain", *ASK, "-r", "text.csv", "-o", "-")
    records = [json.loads(line) for line in out.splitlines()]
    assert (code, [record["row"] for record in records if record["status"] == "rejected"]) == (1, ["A4"])
    assert "'n.a.'" in records[4]["reason"]
    code, _, said = run("explain", *ASK, "-r", "text.csv", "--on-error", "raise")
    assert code == 2
    assert "'latency' of --rows must hold numbers; row 'A4' (position 4, counted from 0) has 'n.a.'" in said


def test_one_table_comes_from_standard_input(run: Run) -> None:
    code, _, said = run("explain", *ASK, "-d", "-", "-r", "-")
    assert code == 2
    assert "one table can come from standard input; --data and --rows are -" in said


def test_a_file_that_cannot_be_written_in_the_end_is_named(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device", "found.csv")

    monkeypatch.setattr(pd.DataFrame, "to_csv", full)
    code, _, said = run("explain", *ASK, "-o", "found.csv")
    assert code == 3
    assert "No space left on device" in said


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_question_ends_in_a_line_and_two(run: Run, folder: Path, case: str) -> None:
    (folder / "empty.csv").touch()
    lines = (folder / "train.csv").read_text(encoding="utf-8").splitlines()
    (folder / "wide.csv").write_text("\n".join([lines[0], *(line + ",," for line in lines[1:])]))
    (folder / "bare.csv").write_text("a,b\n")
    (folder / "lines.ndjson").write_text('{"a": 1}\nnothing\n')
    (folder / "other.csv").write_text("a,b\n1,2\n")
    (folder / "binary.csv").write_bytes((folder / "model.pkl").read_bytes())
    (folder / "broken.pkl").write_bytes(b"this is not a pickle")
    joblib.dump([1, 2], folder / "list.pkl")
    more, words = WRONG[case]
    asked = list(ASK)
    for option, value in zip(more[::2], more[1::2], strict=False):
        asked = [*asked, option, value] if option not in asked else _replaced(asked, option, value)
    asked += [more[-1]] if len(more) % 2 else []
    code, out, said = run("explain", *asked)
    assert code == 2
    assert words in said
    assert out == ""
    assert said.startswith("counterpoise: ")
    assert len(said.strip().splitlines()) == 1


def _replaced(words: list[str], option: str, value: str) -> list[str]:
    place = words.index(option)
    return [*words[: place + 1], value, *words[place + 2 :]]


def test_a_missing_extra_is_named_before_the_work(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("counterpoise.cli.batch.output_places.find_spec", lambda name: None)
    code, _, said = run("explain", *ASK, "-o", "x.parquet")
    assert code == 2
    assert "pip install 'counterpoise[parquet]'" in said


def test_a_pickle_must_be_trusted(run: Run) -> None:
    code, _, said = run("explain", *(word for word in ASK if word != "--trust"))
    assert code == 2
    assert "--trust" in said


def test_debug_shows_the_traceback(run: Run) -> None:
    assert "Traceback" in run("explain", *ASK, "-t", "cheese", "--debug")[2]


def test_an_interrupted_run_keeps_what_was_finished(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ready = explained()  # before the patch

    def interrupted(self: Explainer, X: Any, **asked: Any) -> Any:
        raise cp.Interrupted("a", "it was interrupted", "c", partial=ready[:2])

    monkeypatch.setattr(Explainer, "__call__", interrupted)
    code, _, said = run("explain", *ASK, "-o", "some.csv")
    assert code == 130
    assert "interrupted; 2 of 6 rows were finished and are in the output" in said
    assert pd.read_csv(folder / "some.csv")["cp_row"].unique().tolist() == ["A0", "A1"]


def test_a_model_that_raises_half_way_keeps_what_was_finished(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    ready = explained()  # before the patch

    def raising(self: Explainer, X: Any, **asked: Any) -> Any:
        raise cp.ModelError("the model must answer", "it raised", "mend it", partial=ready[:3])

    monkeypatch.setattr(Explainer, "__call__", raising)
    code, out, said = run("explain", *ASK, "-o", "-")
    assert code == 3
    assert len(out.splitlines()) == 3
    assert "3 of 6 rows were finished" in said


def test_an_error_in_a_later_part_names_the_row_by_label_and_place(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = explained()  # before the patch
    rows = pd.concat([alerts()] * 12).rename_axis("name").reset_index()
    rows["name"] = [f"B{number}" for number in range(len(rows))]
    rows.to_csv(folder / "long.csv", index=False)

    def failing(self: Explainer, X: Any, **asked: Any) -> Any:
        if X.index[0] == "B0":
            return ready
        raise cp.ModelError("the model must answer", "it raised", "mend it", row=2)

    monkeypatch.setattr(Explainer, "__call__", failing)
    code, _, said = run("explain", *ASK, "-r", "long.csv", "-o", "-")
    assert code == 3
    assert "it is about row 'B10' (position 10, counted from 0)" in said


@pytest.mark.parametrize("option", ["-o", "--evidence"])
@pytest.mark.parametrize("read", ["alerts.csv", "./train.csv"])
def test_what_is_read_is_never_written_over(run: Run, folder: Path, option: str, read: str) -> None:
    before = (folder / read).read_bytes()
    code, _, said = run("explain", *ASK, option, read)
    assert code == 2
    assert "must be another file than" in said
    assert (folder / read).read_bytes() == before


def test_a_reader_that_goes_away_ends_the_run_in_a_line(folder: Path) -> None:
    program = "import sys; from counterpoise.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", program, "explain", *ASK, "-o", "-"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert process.returncode == 3
    assert said == "counterpoise: the reader of the output went away; stopped\n"


def test_what_a_model_prints_does_not_stand_among_the_answers(folder: Path) -> None:
    program = (
        "import joblib, os, sys; kind = type(joblib.load('model.pkl')); says = kind.predict;"
        "kind.predict = lambda self, rows: (print('chatter'), os.write(1, b'noise'), says(self, rows))[-1];"
        "from counterpoise.cli import main; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", program, "explain", *ASK, "-o", "-"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    told = [json.loads(line)["status"] for line in done.stdout.splitlines()]
    assert len(told) == len(alerts())
    assert set(told) <= {"optimal", "bounded", "valid"}
    assert "chatter" in done.stderr
    assert "noise" in done.stderr


def test_numbers_are_asked_for_by_a_range(run: Run, folder: Path) -> None:
    from sklearn.linear_model import LinearRegression

    frame, _ = training()
    joblib.dump(LinearRegression().fit(frame, frame["latency"]), folder / "number.pkl")
    asked = _replaced(_replaced(list(ASK), "-m", "number.pkl"), "-t", ":40")
    assert run("explain", *asked, "-o", "low.csv")[0] == 0
    low = pd.read_csv(folder / "low.csv")
    assert (low["cp_after"] <= 40).all()
    assert run("explain", *_replaced(asked, "-t", "low"))[2].startswith("counterpoise: --target of a model")


def test_every_command_has_an_example(run: Run) -> None:
    for command in ("explain", "check", "compare", "schema", "report", "paper", "demo"):
        code, out, _ = run(command, "--help")
        assert code == 0
        assert f"Example: counterpoise {command}" in out
    assert "Exit codes" in run("--help")[1]


def test_the_version_is_told(run: Run) -> None:
    from importlib.metadata import version

    assert run("--version")[:2] == (0, f"counterpoise {version('counterpoise')}\n")


def test_the_demo_writes_a_page_and_a_picture(run: Run, folder: Path) -> None:
    code, out, _ = run("demo", "--out", "shown")
    assert code == 0
    assert "the paper's alert" in out
    assert (folder / "shown" / "demo.html").stat().st_size > 10_000
    assert (folder / "shown" / "demo.png").read_bytes().startswith(b"\x89PNG")
