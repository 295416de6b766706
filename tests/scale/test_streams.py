"""Streams: real pipes, a real growing file, Kafka's own mock broker."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoise.scale.growing_file import FileLines
from counterpoise.scale.stream import KafkaLines, LineCutter, StreamSettings
from scale.night import ASK, alerts, fill, run, start

SETTINGS = StreamSettings(batch_rows=4, wait_seconds=0.05, tick_seconds=0.01)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("streams"), 30)


def test_a_stream_is_answered_as_it_comes_and_with_the_same_bytes(folder: Path) -> None:
    whole = run(folder, "explain", *ASK, "-r", "rows.ndjson", "-o", "whole.ndjson")
    assert whole.returncode == 0, whole.stderr
    wanted = (folder / "whole.ndjson").read_bytes()
    lines = (folder / "rows.ndjson").read_bytes().splitlines(keepends=True)
    with start(folder, "explain", *ASK, "-r", "-", "-o", "-", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(lines[0])
        process.stdin.flush()
        first = process.stdout.readline()  # comes while the input is still open
        process.stdin.write(b"".join(lines[1:]))
        process.stdin.close()
        rest = process.stdout.read()
        assert process.wait(timeout=60) == 0
    assert first + rest == wanted


def test_csv_lines_and_broken_lines_are_answered_too(folder: Path) -> None:
    header, *lines = (folder / "rows.csv").read_text().splitlines()
    given = "\n".join([header, lines[0], "1,2", lines[1], ""])
    done = run(folder, "explain", *ASK, "-r", "-", "-o", "-", input=given.encode())
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [record["status"] == "rejected" for record in records] == [False, True, False]
    assert done.returncode == 1


def test_nested_json_comes_back_as_json(folder: Path) -> None:
    record = {**json.loads(alerts(30).iloc[0].to_json()), "flow": {"ports": [1, 2], "up": True}}
    done = run(folder, "explain", *ASK, "-r", "-", "-o", "-", input=json.dumps(record).encode() + b"\n")
    assert json.loads(done.stdout)["carried"]["flow"] == record["flow"]


def test_a_line_without_end_costs_no_other(folder: Path) -> None:
    good = (folder / "rows.ndjson").read_bytes().splitlines(keepends=True)[:2]
    long = b'{"ticket": "' + b"x" * 60_000_000 + b'"}\n'  # took a quarter of an hour while all of it was cut each time
    done = run(folder, "explain", *ASK, "-r", "-", "-o", "-", input=good[0] + long + good[1])
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [record["status"] == "rejected" for record in records] == [False, True, False], done.stderr
    assert records[1]["reason"] == "a line must have at most 16,000,000 bytes"


def test_of_a_line_that_is_too_long_a_file_gives_the_beginning(tmp_path: Path) -> None:
    log, note = tmp_path / "log", tmp_path / "log.offset"
    log.write_bytes(b"a\n" + b"long" * 200 + b"\nb\n" + b"grows" * 100)
    short = StreamSettings(batch_rows=4, wait_seconds=0.05, tick_seconds=0.01, line_bytes=10)
    source = FileLines(log, note)
    assert source.read(short) == [b"a\n", b"longlonglon\n", b"b\n"]
    source.commit()
    assert source.read(short) == []
    with log.open("ab") as file:
        file.write(b"\nc\n")
    source.close()
    again = FileLines(log, note)
    assert again.read(short) == [b"growsgrowsg\n", b"c\n"]
    again.close()


@given(st.lists(st.binary(max_size=12)), st.integers(1, 20))
def test_lines_are_the_same_however_their_bytes_come(pieces: list[bytes], most: int) -> None:
    cutter, whole = LineCutter(most), b"".join(pieces)
    lines = [line for piece in pieces for line in cutter.add(piece)]
    assert [*lines, cutter.rest] == [
        *(line[: most + 1] + b"\n" for line in whole.split(b"\n")[:-1]),
        whole.split(b"\n")[-1][: most + 1],
    ]


def _all(source: FileLines) -> list[bytes]:
    found: list[bytes] = []
    for _ in range(12):
        found += source.read(SETTINGS) or []
        source.commit()
    return found


def test_a_file_is_followed_through_rotation_and_truncation(tmp_path: Path) -> None:
    log, note = tmp_path / "log", tmp_path / "log.offset"
    log.write_bytes(b"a\nb\nhal")
    source = FileLines(log, note)
    assert _all(source) == [b"a\n", b"b\n"]
    with log.open("ab") as file:
        file.write(b"f\n")
    log.rename(tmp_path / "log.1")
    log.write_bytes(b"c\n")
    assert _all(source) == [b"half\n", b"c\n"]
    log.write_bytes(b"")
    assert _all(source) == []
    log.write_bytes(b"d\n")
    assert _all(source) == [b"d\n"]
    with log.open("ab") as file:
        file.write(b"e\n")
    log.rename(tmp_path / "log.2")
    log.write_bytes(b"f\n")
    source.close()
    source = FileLines(log, note)
    assert _all(source) == [b"e\n", b"f\n"]  # another process goes on there
    source.close()


def test_a_file_is_known_again_though_it_was_cut_and_has_grown_past_the_place(tmp_path: Path) -> None:
    log, note = tmp_path / "log", tmp_path / "log.offset"
    log.write_bytes(b"a\nb\n")
    source = FileLines(log, note)
    assert _all(source) == [b"a\n", b"b\n"]
    log.write_bytes(b"longer\nthan before\n")
    assert _all(source) == [b"longer\n", b"than before\n"]
    source.close()
    log.write_bytes(b"another file of the same inode\n")
    source = FileLines(log, note)
    assert source.is_lost
    assert _all(source) == [b"another file of the same inode\n"]
    source.close()


def test_files_rotated_twice_are_read_in_order(tmp_path: Path) -> None:
    log, note = tmp_path / "log", tmp_path / "log.offset"
    log.write_bytes(b"a\n")
    source = FileLines(log, note)
    assert _all(source) == [b"a\n"]
    source.close()
    for number, line in enumerate((b"b\n", b"c\n")):
        with log.open("ab") as file:
            file.write(line)
        log.rename(tmp_path / f"log.{2 - number}")
        os.utime(tmp_path / f"log.{2 - number}", (number, number))
    log.write_bytes(b"d\n")
    source = FileLines(log, note)
    assert _all(source) == [b"b\n", b"c\n", b"d\n"]
    source.close()


def test_csv_is_watched_through_a_restart_and_a_rotation(folder: Path) -> None:
    header, *lines = (folder / "rows.csv").read_text().splitlines(keepends=True)
    grows, out = folder / "grows.csv", folder / "watched-csv.ndjson"
    out.write_text('{"row": "cut off by kill -9')
    grows.write_text(header + "".join(lines[:3]))
    for more in (2, 2):
        before = out.read_text().count("\n")
        wanted = 3 if not before else 4
        with start(folder, "watch", grows.name, *ASK, "-o", out.name, "--offsets", "csv.offset") as process:
            while out.read_text().count("\n") < before + wanted:
                assert process.poll() is None
                time.sleep(0.1)
            process.send_signal(signal.SIGTERM)
            process.communicate()
        with grows.open("a") as file:
            file.write("".join(lines[3 : 3 + more]))
        if not before:
            grows.rename(folder / "grows.csv.1")
            grows.write_text(header + "".join(lines[5:7]))
    tickets = [json.loads(line)["carried"]["ticket"] for line in out.read_text().splitlines()]
    assert tickets == [f"T-{number}" for number in range(7)]


def test_a_limit_counts_the_rows_that_a_rule_picks(folder: Path) -> None:
    pick = "--where", "packets > 30", "--limit", "3"
    run(folder, "explain", *ASK, "-r", "rows.ndjson", "-o", "picked.ndjson", *pick)
    streamed = run(folder, "explain", *ASK, "-r", "-", "-o", "-", *pick, input=(folder / "rows.ndjson").read_bytes())
    assert streamed.stdout == (folder / "picked.ndjson").read_bytes()
    assert streamed.stdout.count(b"\n") == 3


def test_a_watch_that_was_ended_goes_on_where_it_was(folder: Path) -> None:
    lines = (folder / "rows.ndjson").read_bytes().splitlines(keepends=True)
    grows, out = folder / "grows.ndjson", folder / "watched.ndjson"
    for some in (lines[:10], lines[10:25]):
        with grows.open("ab") as file:
            file.write(b"".join(some))
        before = out.read_text().count("\n") if out.exists() else 0
        with start(folder, "watch", grows.name, *ASK, "-o", out.name, "--offsets", "grows.offset") as process:
            for _ in range(600):
                if out.exists() and out.read_text().count("\n") >= before + len(some):
                    break
                time.sleep(0.1)
            process.send_signal(signal.SIGTERM)
            process.communicate()
            assert process.returncode == 143
    tickets = [json.loads(line)["carried"]["ticket"] for line in out.read_text().splitlines()]
    assert tickets == [f"T-{number}" for number in range(25)]


def test_a_topic_is_read_and_committed() -> None:
    kafka = pytest.importorskip("confluent_kafka")
    producer = kafka.Producer({"bootstrap.servers": "mock", "test.mock.num.brokers": 1})
    metadata = producer.list_topics(timeout=10)
    broker = next(iter(metadata.brokers.values()))
    for number in range(5):
        producer.produce("alerts", value=json.dumps({"number": number}).encode())
    producer.flush(10)
    source = KafkaLines(f"kafka://{broker.host}:{broker.port}/alerts?group=night")
    found: list[bytes] = []
    until = time.monotonic() + 60
    while len(found) < 5 and time.monotonic() < until:
        found += source.read(SETTINGS) or []
    assert sorted(json.loads(line)["number"] for line in found) == list(range(5))
    source.commit()
    source.close()
    again = KafkaLines(f"kafka://{broker.host}:{broker.port}/alerts?group=night")
    rest = [line for _ in range(20) for line in again.read(SETTINGS) or []]
    again.close()
    assert rest == []
