"""The workbench over HTTP: each request of the page is a question of the session, answered in a thread of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from threading import Event, Thread
from time import monotonic
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from counterpoise.cancellation import Cancelled
from counterpoise.errors import CounterpoiseError, InputError
from counterpoise.web.question_thread import CANCELLED_BY, KINDS, RANKS, Finish, Precedence, QuestionThread
from counterpoise.web.questions import answer_question
from counterpoise.web.session import Session

PAGE_FILES = {"html": "text/html", "css": "text/css", "js": "text/javascript"}
MAX_BODY_BYTES = 1 << 20


@dataclass(frozen=True)
class ServerSettings:
    """How long the page waits for the model, and when the server works ahead."""

    answer_seconds: float = 60.0
    """After this a question is given up: the model may hang."""
    proof_seconds: float = 600.0
    """The same for proofs, firm answers beside others and pictures, which nobody waits for with idle hands."""
    idle_seconds: float = 1.5
    """Rows that nobody opened are answered after so long without a request."""


class Server:
    """The application around one session; a new question of a page cancels the one that the page asked before."""

    def __init__(self, session: Session, settings: ServerSettings | None = None) -> None:
        self.session = session
        self.settings = ServerSettings() if settings is None else settings
        self._at_work: dict[tuple[str, str], QuestionThread] = {}  # by page and kind
        self._precedence = Precedence()
        self._ahead: QuestionThread | None = None
        self._last_request, self._closed = monotonic(), Event()
        self.app = Starlette(
            routes=[
                Route("/", self._send_file("workbench.html")),
                Route("/files/{name}", self._send_named_file),
                Route("/api/{what}", self._answer, methods=["POST"]),
            ]
        )
        Thread(target=self._work_ahead, daemon=True, name="counterpoise-ahead").start()

    def close(self) -> None:
        """Stop working ahead, and what is being answered."""
        self._closed.set()
        for thread in (*self._at_work.values(), self._ahead):
            if thread is not None:
                thread.cancel()

    def _work_ahead(self) -> None:
        """Answer rows while nobody asks; a question stops the step at work, which is begun again later.

        What a model raises ends it, and each row still says it when opened.
        """
        for step in self.session.steps_ahead():
            error: BaseException | None = Cancelled()
            while isinstance(error, Cancelled):
                if self._closed.is_set():
                    return
                error = self._run_ahead(step)
                self._wait_until_idle()
            if error is not None:
                return

    def _run_ahead(self, step: Callable[[], None]) -> BaseException | None:
        """What a step of the work ahead raised, in a thread that a question can cancel."""
        over = Event()
        raised: list[BaseException | None] = []

        def finish(_: Any, error: BaseException | None) -> None:
            raised.append(error)
            over.set()

        self._ahead = QuestionThread(step, finish, self._precedence, RANKS["ahead"])
        over.wait()
        return raised[-1]

    def _wait_until_idle(self) -> None:
        """Return when nobody has asked anything for a while, or the server is closed."""
        while not self._closed.is_set():
            left = self._last_request + self.settings.idle_seconds - monotonic()
            if left <= 0:
                return
            self._closed.wait(left)

    def _make_way(self, page: str, kind: str) -> None:
        """Cancel what a question of this kind takes the place of."""
        if self._ahead is not None:
            self._ahead.cancel()
        for other in CANCELLED_BY.get(kind, ()):
            earlier = self._at_work.pop((page, other), None)
            if earlier is not None:
                earlier.cancel()

    async def _answer(self, request: Request) -> Response:
        """The JSON that answers a question; an error of ours is a line that the page shows."""
        what = request.path_params["what"]
        kind = KINDS.get(what, what)
        is_long = kind in ("follow-up", "picture")
        seconds = self.settings.proof_seconds if is_long else self.settings.answer_seconds
        try:
            body = await _read_body(request)
            key = str(body.get("page", "")), kind
            if not body.get("isAgain"):  # an open list asks again by itself while rows are answered ahead
                self._last_request = monotonic()
                self._make_way(*key)
            future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            thread = QuestionThread(
                lambda: answer_question(self.session, what, body),
                _finish_in_loop(future),
                self._precedence,
                RANKS.get(kind, 0),
            )
            self._at_work[key] = thread
            try:
                found = await asyncio.wait_for(future, seconds)
            finally:
                thread.cancel()
                if self._at_work.get(key) is thread:
                    del self._at_work[key]
        except TimeoutError:
            return _error(
                504, f"the model must answer; it has not for {seconds:g} s; it may hang: try again, or restart"
            )
        except Cancelled:
            return JSONResponse({"isCancelled": True})  # no error: a browser would write it to its console
        except CounterpoiseError as error:
            return _error(422, str(error))
        except Exception as error:  # what the user's model raises is shown, and the page stays usable
            return _error(500, f"{type(error).__name__}: {error}")
        return JSONResponse(found)

    def _send_file(self, name: str) -> Callable[[Request], Any]:
        async def send(request: Request) -> Response:
            self._last_request = monotonic()
            return _page_file(name)

        return send

    async def _send_named_file(self, request: Request) -> Response:
        return _page_file(request.path_params["name"])


def _page_file(name: str) -> Response:
    folder = files("counterpoise.web") / "template"
    ending = name.rpartition(".")[2]
    if ending not in PAGE_FILES or name not in {entry.name for entry in folder.iterdir()}:
        return Response("there is no such file\n", 404, media_type="text/plain")
    return Response((folder / name).read_text(encoding="utf-8"), media_type=f"{PAGE_FILES[ending]}; charset=utf-8")


async def _read_body(request: Request) -> dict[str, Any]:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY_BYTES:
            raise InputError(f"a question must be at most {MAX_BODY_BYTES} bytes", "it is longer", "ask for less")
        parts.append(part)
    text = b"".join(parts)
    try:
        body = json.loads(text) if text else {}
    except ValueError:
        raise InputError("a question must be JSON", "it is not", "reload the page") from None
    if not isinstance(body, dict):
        raise InputError("a question must be an object", f"{type(body).__name__}", "reload the page")
    return body


def _finish_in_loop(future: asyncio.Future[Any]) -> Finish:
    """What the thread of a question calls at its end: it hands the result to the loop that waits."""
    loop = future.get_loop()

    def set_result(value: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    def finish(value: Any, error: BaseException | None) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(set_result, value, error)

    return finish


def _error(status: int, line: str) -> JSONResponse:
    return JSONResponse({"error": line}, status)
