"""What happens to a night's work when something goes wrong: real processes, real signals, full disks, closed pipes."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pandas as pd
import pytest

import counterpoise as cp
from scale.night import ASK, alerts, command, environment, fill, run, start

HEADER = "bytes,packets,proto,rate,ticket\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("night"), 300)


def _readable(path: Path) -> int:
    """The number of rows in a file of answers, which must be whole."""
    if path.suffix == ".ndjson":
        text = path.read_text()
        assert text == "" or text.endswith("\n")
        return len([json.loads(line) for line in text.splitlines()])
    if path.suffix == ".csv":
        return len(pd.read_csv(path))
    if path.suffix == ".parquet":
        return len(pd.read_parquet(path))
    if path.suffix == ".json":
        return len(cp.Explanation.load(path))
    assert path.read_text().rstrip().endswith("</html>")
    return path.read_text().count('"row"') or 1


@pytest.fixture(scope="module")
def calls(folder: Path) -> int:
    """How often the model is asked in a whole run of two chunks."""
    ask = "signalling.pkl", *ASK[2:]
    assert run(folder, "explain", "-m", *ask, "-r", "rows.csv", "--limit", "136", "-o", "whole.csv").returncode == 0
    return int((folder / "calls.txt").read_text())


SENT = [(signal.SIGTERM, ending) for ending in ("ndjson", "csv", "parquet", "json", "html")]
NOTHING = [("", "csv"), ("", "ndjson"), *((HEADER, ending) for ending in ("csv", "parquet", "json", "html"))]


@pytest.mark.parametrize(("sent", "ending"), [*SENT, (signal.SIGHUP, "csv"), (signal.SIGINT, "ndjson")])
def test_a_signal_keeps_what_is_finished(folder: Path, calls: int, sent: signal.Signals, ending: str) -> None:
    out = folder / f"{sent.name}.{ending}"
    (folder / "signal.txt").write_text(f"{calls * 9 // 10} {int(sent)}")
    done = run(folder, "explain", "-m", "signalling.pkl", *ASK[2:], "-r", "rows.csv", "--limit", "136", "-o", out.name)
    (folder / "signal.txt").unlink()
    assert done.returncode == 128 + sent, done.stderr
    assert b"Traceback" not in done.stderr
    assert 0 < _readable(out) < 136
    assert not list(folder.glob(".partial*"))


def test_a_bad_row_costs_no_other(folder: Path) -> None:
    rows = alerts(12).astype(object)
    rows.loc[3, "packets"] = "many"
    rows.loc[7, "proto"] = "carrier pigeon"
    rows.loc[9, "rate"] = "inf"
    rows.to_csv(folder / "bad.csv", index=False)
    done = run(folder, "explain", *ASK, "-r", "bad.csv", "-o", "bad.parquet")
    table = pd.read_parquet(folder / "bad.parquet")
    assert done.returncode == 1, done.stderr
    assert table.loc[table["cp_status"] == "rejected", "cp_position"].tolist() == [3, 7, 9]
    assert table.loc[table["cp_status"] == "rejected", "cp_reason"].str.len().min() > 0
    alone = run(folder, "explain", *ASK, "-r", "bad.csv", "-o", "bad.parquet", "--on-error", "raise")
    assert alone.returncode == 2


@pytest.mark.parametrize(("given", "ending"), NOTHING)
def test_no_rows_are_no_error(folder: Path, given: str, ending: str) -> None:
    (folder / "none.csv").write_text(given)
    done = run(folder, "explain", *ASK, "-r", "none.csv", "-o", f"nothing.{ending}")
    assert done.returncode == 0, done.stderr
    assert ending == "html" or _readable(folder / f"nothing.{ending}") == 0


@pytest.mark.parametrize("given", ["", HEADER, "rows"])
def test_a_comparison_of_no_rows_is_an_empty_table(folder: Path, given: str) -> None:
    (folder / "none.csv").write_text(given if given != "rows" else (folder / "rows.csv").read_text())
    pick = ("--where", "packets > 1000") if given == "rows" else ()
    done = run(folder, "compare", *ASK[:-2], "-r", "none.csv", "-o", "compared.csv", *pick)
    assert (done.returncode, done.stderr.count(b"counterpoise:")) == (0, 0), done.stderr
    table = pd.read_csv(folder / "compared.csv")
    assert (len(table), {"method", "validity", "l2", "effort", "seconds"} <= set(table.columns)) == (0, True)


def test_a_full_disk_keeps_whole_lines_and_ends_in_three(folder: Path) -> None:
    words = command("explain", *ASK, "-r", "rows.csv", "-o", "full.ndjson")
    limit = f"ulimit -f 16; exec {' '.join(words)}"  # blocks of 512 or 1024 bytes
    done = subprocess.run(["bash", "-c", limit], cwd=folder, env=environment(), capture_output=True, timeout=300)
    assert done.returncode == 3, done.stderr
    assert done.stderr.count(b"counterpoise:") == 1
    assert 0 < _readable(folder / "full.ndjson") < 300


@pytest.mark.parametrize("ending", ["csv", "html"])
def test_a_full_disk_leaves_the_old_file_alone(folder: Path, ending: str) -> None:
    old = folder / f"old.{ending}"
    old.write_text("last week's")
    words = command("explain", *ASK, "-r", "rows.csv", "--limit", "60", "-o", old.name)
    limit = f"ulimit -f 4; exec {' '.join(words)}"
    done = subprocess.run(["bash", "-c", limit], cwd=folder, env=environment(), capture_output=True, timeout=300)
    assert done.returncode == 3, done.stderr
    assert (old.read_text(), list(folder.glob(".partial*"))) == ("last week's", [])


def test_a_reader_that_goes_away_ends_it_with_three(folder: Path) -> None:
    with start(folder, "explain", *ASK, "-r", "rows.csv", "-o", "-") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        json.loads(process.stdout.readline())
        process.stdout.close()
        said = process.stderr.read()
        assert (process.wait(timeout=120), said.count(b"counterpoise:")) == (3, 1), said


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_told_before_the_work(folder: Path) -> None:
    locked = folder / "locked"
    locked.mkdir(exist_ok=True)
    locked.chmod(0o500)
    assert run(folder, "explain", *ASK, "-r", "rows.csv", "-o", "locked/x.csv").returncode == 2


def test_limit_where_only_quiet_and_config(folder: Path) -> None:
    (folder / "night.yaml").write_text(
        "model: model.pkl\ntrust: true\ndata: train.csv\nlabel: label\nrows: rows.csv\ntarget: benign\nproof: false\n"
        "kept: false\nonly: [bytes, packets]\nlimit: 5\nwhere: packets > 20 and proba > 0.5\nquiet: true\n"
    )
    done = run(folder, "explain", "--config", "night.yaml", "-o", "few.csv")
    table = pd.read_csv(folder / "few.csv")
    assert done.stderr == b""
    assert 0 < len(table) <= 5
    assert {name for cell in table["cp_changed"].dropna() for name in cell.split("; ")} <= {"bytes", "packets"}
    assert run(folder, "explain", "--config", "night.yaml", "-o", "few.csv", "--limit", "0").returncode == 0
    (folder / "wrong.yaml").write_text("modle: model.pkl\n")
    assert run(folder, "explain", "--config", "wrong.yaml").returncode == 2


@pytest.mark.parametrize("words", [("-r", "-"), ("-r", "rows.ndjson")], ids=["stream", "file"])
def test_a_full_disk_under_standard_output_ends_in_three(folder: Path, words: tuple[str, ...]) -> None:
    with open("/dev/full", "wb") as full, (folder / "rows.ndjson").open("rb") as rows:
        asked = command("explain", *ASK, *words, "--limit", "20", "-o", "-")
        done = subprocess.run(
            asked, cwd=folder, env=environment(), stdin=rows, stdout=full, stderr=subprocess.PIPE, timeout=300
        )
    assert (done.returncode, done.stderr.count(b"counterpoise:")) == (3, 1), done.stderr


def test_a_stream_that_is_ended_while_it_waits_keeps_what_is_answered(folder: Path) -> None:
    rows = (folder / "rows.ndjson").read_bytes().splitlines(keepends=True)[:5]
    with start(folder, "explain", *ASK, "-r", "-", "-o", "waited.ndjson", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(b"".join(rows))
        process.stdin.flush()
        while not (folder / "waited.ndjson").exists() or not (folder / "waited.ndjson").read_bytes():
            assert process.poll() is None
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)  # while its reader waits for more
        assert (process.wait(timeout=60), b"Fatal" in process.stderr.read()) == (143, False)
    assert _readable(folder / "waited.ndjson") > 0


@pytest.mark.parametrize("out", ["lost.ndjson", "lost/"])
def test_a_lost_worker_costs_nothing_and_many_end_the_run(folder: Path, out: str) -> None:
    words = (
        "explain",
        "-m",
        "dying.pkl",
        *ASK[2:],
        "-r",
        "rows.csv",
        "--limit",
        "24",
        "--jobs",
        "2",
        "--model-rows",
        "300",
    )
    assert run(folder, *words, "-o", f"whole-{out}").returncode == 0
    (folder / "die-0").touch()
    done = run(folder, *words, "-o", out)
    assert (done.returncode, (folder / "die-0").exists()) == (0, False), done.stderr
    for wanted in (folder / f"whole-{out}").glob("part*") if out.endswith("/") else [folder / f"whole-{out}"]:
        found = folder / out / wanted.name if out.endswith("/") else folder / out
        assert found.read_bytes() == wanted.read_bytes()
    for number in range(40):
        (folder / f"die-{number}").touch()
    done = run(folder, *words, "-o", f"many-{out}")
    for token in folder.glob("die-*"):
        token.unlink()
    assert (done.returncode, done.stderr.count(b"counterpoise:")) == (3, 1), done.stderr
    assert b"Traceback" not in done.stderr
