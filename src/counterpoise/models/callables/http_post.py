"""One HTTP request with a body: the whole reply within a time and a size, and from the address that was asked only."""

from __future__ import annotations

import io
import socket
import time
from collections.abc import Mapping
from functools import partial
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener


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
