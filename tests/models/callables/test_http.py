"""A model behind HTTP, against a real server: batches in order, patience with a busy one, plain words on a bad one."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pandas as pd
import pytest

from counterpoise.errors import InputError, ModelError
from counterpoise.models.callables.http import Remote
from counterpoise.models.registry import as_model
from counterpoise.space.schema.schema import Schema

X = np.arange(40.0).reshape(20, 2)


@contextmanager
def serving(answer: Callable[[dict[str, Any], int], tuple[int, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server whose answer to each request is given by a function of its body and its number."""
    seen: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append({**body, "key": self.headers.get("X-Key")})
            status, found = answer(body, len(seen))
            text = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/score", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def total(body: dict[str, Any], number: int) -> tuple[int, Any]:
    return 200, [sum(value or 0 for value in row) for row in body["rows"]]


@pytest.mark.parametrize("workers", [1, 4])
def test_answers_come_back_in_the_order_of_the_rows(workers: int) -> None:
    def slow_first(body: dict[str, Any], number: int) -> tuple[int, Any]:
        time.sleep(0.03 if body["rows"][0][0] == 0 else 0)
        return total(body, number)

    with serving(slow_first) as (url, seen):
        found = Remote(url, batch=6, workers=workers, headers={"X-Key": "secret"})(X)
    assert found.tolist() == X.sum(1).tolist()
    assert sorted(len(request["rows"]) for request in seen) == [2, 6, 6, 6]
    assert {request["key"] for request in seen} == {"secret"}


def test_a_frame_is_sent_by_name_with_its_kinds_and_missing_cells() -> None:
    table = pd.DataFrame({"n": [1, 2], "rate": [0.1 + 0.2, np.nan], "proto": ["tcp", None], "ok": [True, False]})
    with serving(lambda body, number: (200, {"predictions": ["a", "b"]})) as (url, seen):
        assert Remote(url)(table).tolist() == ["a", "b"]
    assert seen[0]["columns"] == ["n", "rate", "proto", "ok"]
    assert seen[0]["rows"] == [[1, 0.1 + 0.2, "tcp", True], [2, None, None, False]]


def test_it_is_a_model_like_any_callable() -> None:
    def chances(body: dict[str, Any], number: int) -> tuple[int, Any]:
        return 200, [[1 - row[0] / 40, row[0] / 40] for row in body["rows"]]

    with serving(chances) as (url, _):
        model = as_model(Remote(url, batch=7), Schema.infer(X), X)
        assert (model.labels, model.link) == ((0, 1), "log")
        assert np.allclose(model.outputs(X)[:, 1], X[:, 0] / 40)


def test_a_busy_server_is_asked_again() -> None:
    with serving(lambda body, number: (503, "busy") if number < 3 else total(body, number)) as (url, seen):
        assert Remote(url, wait=0.001)(X).tolist() == X.sum(1).tolist()
    assert len(seen) == 3


@pytest.mark.parametrize(
    ("answer", "message", "requests"),
    [
        (lambda body, number: (500, "broken"), "500 Internal Server Error", 3),
        (lambda body, number: (401, "no key"), '401 Unauthorized: "no key"', 1),
        (lambda body, number: (200, b"<html>"), "something else", 1),
        (lambda body, number: (200, [1, 2]), "for 20 rows it answered with 2 entries", 1),
        (lambda body, number: (200, {"scores": []}), "no list 'predictions'", 1),
    ],
    ids=["broken", "forbidden", "not json", "too few", "other name"],
)
def test_a_bad_answer_is_said(answer, message: str, requests: int) -> None:
    with serving(answer) as (url, seen), pytest.raises(ModelError, match=message):
        Remote(url, retries=2, wait=0.001)(X)
    assert len(seen) == requests


def test_a_server_that_does_not_answer_in_time_is_given_up() -> None:
    def asleep(body: dict[str, Any], number: int) -> tuple[int, Any]:
        time.sleep(0.2)
        return total(body, number)

    with serving(asleep) as (url, _), pytest.raises(ModelError, match=r"after 2 attempts: .*timed out"):
        Remote(url, timeout=0.05, retries=1, wait=0.001)(X)


def _read_request(connection: socket.socket) -> None:
    """Read a request to the end of its body."""
    given = b""
    while b"\r\n\r\n" not in given:
        given += connection.recv(2**16)
    head, _, body = given.partition(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(2**16)


@contextmanager
def dripping(start: bytes, drops: bytes, pause: float = 0.05) -> Iterator[str]:
    """A server that answers with a start at once and with the rest byte by byte, so that no single wait is long."""
    listener = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()

    def serve() -> None:
        with contextlib.suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                _read_request(connection)  # what is left unread would end in a reset
                connection.sendall(start)
                for place in range(len(drops)):
                    if ended.wait(pause):
                        break
                    connection.sendall(drops[place : place + 1])

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/score"
    finally:
        ended.set()
        listener.close()
        thread.join()


@pytest.mark.parametrize("part", ["head", "body"])
def test_a_reply_that_drips_is_given_up(part: str) -> None:
    body = json.dumps([0.5] * 20).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n" % len(body)
    slow = b"X-Slow: " + b"a" * 40 + b"\r\n"
    start, drops = (head, slow + b"\r\n" + body) if part == "head" else (head + b"\r\n", body)
    with dripping(start, drops) as url, pytest.raises(ModelError, match=r"after 1 attempts: .*timed out"):
        Remote(url, timeout=0.5, retries=0)(X)
    with dripping(start, drops, pause=0.0) as url:
        assert Remote(url, timeout=30, retries=0)(X).tolist() == [0.5] * 20


def test_a_reply_that_is_too_long_is_given_up() -> None:
    def long(body: dict[str, Any], number: int) -> tuple[int, Any]:
        return 200, b"[" + b" " * 10_000 + b"0]"

    with serving(long) as (url, seen):
        with pytest.raises(ModelError, match="more than 5,000 bytes"):
            Remote(url, reply_bytes=5000)(X[:1])
        assert len(seen) == 1
        assert Remote(url, reply_bytes=20_000)(X[:1]).tolist() == [0]


@pytest.mark.parametrize(
    ("answer", "message"),
    [(b"[" * 10**6, "something else"), (b"[[1], [2, 3]]", "different shapes")],
    ids=["deep", "ragged"],
)
def test_a_reply_of_an_absurd_shape_is_said(answer: bytes, message: str) -> None:
    with serving(lambda body, number: (200, answer)) as (url, _), pytest.raises(ModelError, match=message):
        Remote(url, retries=0)(X[:2])


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status: int) -> None:
    """Neither rows nor a key go to an address that was not given, and nothing that it says is a prediction."""
    with serving(total) as (elsewhere, seen), redirecting(status, elsewhere) as (url, asked):
        with pytest.raises(ModelError, match=rf"{status}, a redirect to '{elsewhere}', which is not followed"):
            Remote(url, headers={"Authorization": "Bearer secret"})(X)
        assert seen == []
        assert asked == ["POST /score"]


@contextmanager
def redirecting(status: int, place: str) -> Iterator[tuple[str, list[str]]]:
    """A server that points to another one, and answers whoever comes back."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            asked.append(f"{self.command} {self.path}")
            self.send_response(status)
            self.send_header("Location", place)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/score", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_server_that_is_not_there_is_said() -> None:
    with serving(total) as (url, _):
        pass
    with pytest.raises(ModelError, match=r"after 1 attempts: .*refused"):
        Remote(url, retries=0)(X)


@pytest.mark.parametrize(
    "settings", [{"url": "file:///etc/hosts"}, {"batch": 0}, {"timeout": 0}, {"retries": -1}, {"wait": -1}]
)
def test_settings_that_make_no_sense_are_refused(settings) -> None:
    with pytest.raises(InputError):
        Remote(**{"url": "http://localhost", **settings})


def test_a_key_is_not_shown() -> None:
    assert "secret" not in repr(Remote("https://example.org", headers={"X-Key": "secret"}))
