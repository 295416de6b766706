"""The workbench as a running thing: a server on this machine, its address, and its end."""

from __future__ import annotations

import secrets
import socket
from threading import Thread
from time import sleep
from typing import TYPE_CHECKING, Any

import pandas as pd

from counterpoise.api.explainer import Explainer
from counterpoise.errors import InputError, MissingExtra
from counterpoise.explanation.question import Target
from counterpoise.web.session import Session, SessionSettings

if TYPE_CHECKING:
    from counterpoise.web.server import ServerSettings

LOOPBACK = "127.0.0.1"


class Workbench:
    """A workbench that is being served until it is closed; `url` is the address to open, once, in one browser."""

    def __init__(self, session: Session, port: int, settings: ServerSettings | None = None) -> None:
        try:
            import uvicorn

            from counterpoise.web.server import Server
        except ImportError:
            raise MissingExtra("web") from None
        from counterpoise.web.access import Access

        self.session, self._socket = session, _bind(port)
        self.port: int = self._socket.getsockname()[1]
        token = secrets.token_urlsafe(24)
        self.url = f"http://{LOOPBACK}:{self.port}/?token={token}"
        self._server = Server(session, settings)
        hosts = [f"{name}:{self.port}" for name in (LOOPBACK, "localhost")]
        access = Access(self._server.app, token, hosts)
        config = uvicorn.Config(access, log_level="error", access_log=False, timeout_graceful_shutdown=1)
        self._uvicorn = uvicorn.Server(config)
        self._thread = Thread(target=self._uvicorn.run, args=([self._socket],), daemon=True, name="counterpoise-web")
        self._thread.start()
        while not self._uvicorn.started and self._thread.is_alive():
            sleep(0.01)

    def __repr__(self) -> str:
        state = "open at" if self._thread.is_alive() else "closed; it was at"
        return f"Workbench of {len(self.session)} rows, {state} {self.url}"

    def __enter__(self) -> Workbench:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def wait(self) -> None:
        """Serve until Ctrl-C."""
        try:
            while self._thread.is_alive():
                self._thread.join(0.5)
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """Stop serving, and remove what the session holds on disk."""
        self._server.close()
        self._uvicorn.should_exit = True
        self._thread.join(5)
        self._socket.close()
        self.session.close()


def workbench(
    explainer: Explainer,
    rows: pd.DataFrame,
    *,
    target: Target = "opposite",
    threshold: float | None = None,
    seed: int = 0,
    port: int = 0,
    title: str = "Workbench",
    settings: SessionSettings | None = None,
) -> Workbench:
    """Open a page on which a person moves the decisions on some rows; it is served to this machine alone.

    explainer: the model with its reference and constraints.
    rows: the rows, a frame; columns that the model does not see are shown and searched.
    target, threshold, seed: as for the explainer's call.
    port: where it is served; 0 (the default) takes a free one.
    title: what the page is called.
    settings: how much is done for a request, and ahead of any; None: as they are.

    The address in ``.url`` holds for one browser: its token is exchanged for a cookie. Needs the extra ``web``.

    >>> from sklearn.linear_model import LogisticRegression
    >>> train = pd.DataFrame({"load": [0.5, 1.25, 3.75, 4.5]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> with workbench(Explainer(model, reference=train), train) as page:
    ...     page.url.startswith("http://127.0.0.1:")
    True
    """
    session = Session(explainer, rows, target=target, threshold=threshold, seed=seed, title=title, settings=settings)
    try:
        return Workbench(session, port)
    except BaseException:
        session.close()
        raise


def _bind(port: Any) -> socket.socket:
    """A socket on the loopback address."""
    if not isinstance(port, int) or isinstance(port, bool) or not 0 <= port < 65536:
        raise InputError("port must be a whole number from 0 to 65535", f"{port!r}", "0 takes a free one")
    # named as TCP: asyncio sends small answers at once only on sockets that say so, else each waits 40 ms
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((LOOPBACK, port))
    except OSError as error:
        found.close()
        raise InputError("the port must be free", f"{port}: {error.strerror}", "choose another; 0 takes any") from None
    return found
