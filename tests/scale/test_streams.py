"""Streams: real pipes, a real growing file, Kafka's own mock broker."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from counterpoise.scale.growing_file import FileLines
from counterpoise.scale.stream import KafkaLines, StreamSettings
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
