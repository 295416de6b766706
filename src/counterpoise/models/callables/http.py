"""A model behind HTTP: rows are posted in batches and the answers come back in the order of the rows."""

from __future__ import annotations

import io
import json
import socket
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

import numpy as np
import pandas as pd

from counterpoise.errors import InputError, ModelError


class ReplyTooLong(Exception):
    """A service answered with more than it may."""


def post(
    url: str, body: bytes, headers: Mapping[str, str], timeout: float, limit: int, piece_bytes: int = 2**16
) -> bytes:
    """The reply to a body that is posted to an address, complete after ``timeout`` seconds and ``limit`` bytes at most.

    A redirect is not followed but raised, as an HTTPError like any other answer that is none: following it would send
    rows and headers, which may hold a key, to an address that nobody gave.
    """
    opener = build_opener(_Plain, _Secure, _NoRedirect)
    with opener.open(Request(url, body, dict(headers)), timeout=timeout) as response:
        parts: list[bytes] = []
        left = limit
        while piece := response.read(piece_bytes):
            left -= len(piece)
            if left < 0:
                raise ReplyTooLong(f"it answered with more than {limit:,} bytes")
            parts.append(piece)
    return b"".join(parts)


class _Remaining(io.RawIOBase):
    """What a socket still has to say, until a moment: each read waits only for the time that is left."""

    def __init__(self, connection: socket.socket, deadline: float) -> None:
        self.connection, self.deadline = connection, deadline
        self.stream = connection.makefile("rb", buffering=0)  # keeps the socket open as long as this is

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self.connection.settimeout(left)
        return self.stream.readinto(buffer)

    def close(self) -> None:
        self.stream.close()
        super().close()


class _Reply(HTTPResponse):
    def __init__(self, connection: socket.socket, *arguments: Any, deadline: float, **options: Any) -> None:
        super().__init__(connection, *arguments, **options)
        self.fp.close()
        self.fp = io.BufferedReader(_Remaining(connection, deadline))


class _Plainly(HTTPConnection):
    def connect(self) -> None:
        deadline = time.monotonic() + float(self.timeout or 0)
        super().connect()
        self.response_class = partial(_Reply, deadline=deadline)  # type: ignore[assignment]


class _Securely(HTTPSConnection):
    def connect(self) -> None:
        deadline = time.monotonic() + float(self.timeout or 0)
        super().connect()
        self.response_class = partial(_Reply, deadline=deadline)  # type: ignore[assignment]


class _Plain(HTTPHandler):
    def http_open(self, request: Request) -> HTTPResponse:
        return self.do_open(_Plainly, request)


class _Secure(HTTPSHandler):
    def https_open(self, request: Request) -> HTTPResponse:
        return self.do_open(_Securely, request)


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *arguments: Any) -> None:
        return None


@dataclass(frozen=True)
class Remote:
    """A callable that posts rows as JSON and returns what the service answers: probabilities, scores or labels.

    Each request holds ``{"columns": [names], "rows": [[values], …]}``, a missing cell as null; the answer is a list
    with one entry per row, bare or as the value of ``answer``. Redirects are not followed: they would send rows and
    headers to an address that was not given.

    url: where rows are posted to.
    batch: rows of a request at most; 1000 by default.
    timeout: seconds after which the whole reply must be there; 30 by default.
    retries: how often a request that fails in passing (no connection, a time-out, one of ``retried_statuses``) is sent
        again; 3 by default.
    wait: seconds before the first of these, then twice that, and so on; 0.5 by default.
    workers: requests at the same time; 1 by default.
    answer: the key of the reply that holds the list.
    reply_bytes: the greatest size of a reply.
    retried_statuses: the HTTP statuses after which a request is sent again.
    headers: of every request; they are in no repr, message or file.

    >>> Remote("https://example.org/score", batch=500, headers={"Authorization": "Bearer …"}).batch
    500
    """

    url: str
    batch: int = 1000
    timeout: float = 30.0
    retries: int = 3
    wait: float = 0.5
    workers: int = 1
    answer: str = "predictions"
    reply_bytes: int = 32 * 2**20
    retried_statuses: tuple[int, ...] = (408, 425, 429, 500, 502, 503, 504)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if urlsplit(self.url).scheme not in ("http", "https"):
            raise InputError("a remote model's address must be http or https", f"{self.url!r}", "correct the address")
        for name, least in (("batch", 1), ("workers", 1), ("retries", 0), ("reply_bytes", 1)):
            if getattr(self, name) < least:
                raise InputError(f"{name} must be at least {least}", f"{getattr(self, name)!r}", "correct it")
        if not self.timeout > 0 or self.wait < 0:
            raise InputError(
                "time-out and wait must not be negative", f"{self.timeout!r}, {self.wait!r}", "correct them"
            )

    def __call__(self, rows: Any) -> Any:
        """The answers for rows given as a frame or an array, one per row and in their order."""
        frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(np.asarray(rows))
        parts = [frame.iloc[start : start + self.batch] for start in range(0, max(1, len(frame)), self.batch)]
        if self.workers == 1:
            answers = [self._ask_batch(part) for part in parts]
        else:
            with ThreadPoolExecutor(self.workers) as pool:
                answers = list(pool.map(self._ask_batch, parts))  # in the order of the parts, whichever comes first
        try:
            return np.asarray([entry for part in answers for entry in part])
        except ValueError as error:
            raise self._make_error(f"its entries are of different shapes ({error})") from error

    def _ask_batch(self, part: pd.DataFrame) -> list[Any]:
        cells = part.astype(object).where(part.notna(), None)
        columns = [name if isinstance(name, (str, int)) else str(name) for name in part.columns.tolist()]
        body = json.dumps({"columns": columns, "rows": cells.to_numpy().tolist()}, allow_nan=False).encode()
        try:
            found = json.loads(self._post(body))
        except (ValueError, RecursionError) as error:
            raise self._make_error(f"it answered with something else ({error})") from error
        entries = found.get(self.answer) if isinstance(found, dict) else found
        if not isinstance(entries, list) or len(entries) != len(part):
            given = f"{len(entries)} entries" if isinstance(entries, list) else f"no list {self.answer!r}"
            raise self._make_error(f"for {len(part)} rows it answered with {given}")
        return entries

    def _post(self, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json", "Accept": "application/json", **self.headers}
        for attempt in range(self.retries + 1):
            try:
                return post(self.url, body, headers, self.timeout, self.reply_bytes)
            except ReplyTooLong as error:
                raise self._make_error(str(error)) from error
            except HTTPError as error:
                if error.code not in self.retried_statuses or attempt == self.retries:
                    raise self._make_error(_given(error)) from error
                error.close()
            except (URLError, TimeoutError, ConnectionError, HTTPException) as error:
                if attempt == self.retries:
                    reason = getattr(error, "reason", error)
                    raise self._make_error(f"after {attempt + 1} attempts: {reason}") from error
            time.sleep(self.wait * 2**attempt)
        raise AssertionError("the last attempt returns or raises")

    def _make_error(self, given: str) -> ModelError:
        return ModelError(
            f"the service at {self.url} must answer each batch with a JSON list of one entry per row",
            given,
            "check the address, the service's log, or raise timeout, retries or wait",
        )


def _given(error: HTTPError) -> str:
    """What a service answered instead of predictions."""
    with error:
        if 300 <= error.code < 400:
            place = error.headers.get("Location", "nowhere")
            return f"it answered {error.code}, a redirect to {place!r:.200}, which is not followed"
        try:
            text = error.read(200).decode(errors="replace").strip()
        except (OSError, HTTPException):  # the reason is late, or broken off
            text = ""
    return f"it answered {error.code} {error.reason}: {text}"
