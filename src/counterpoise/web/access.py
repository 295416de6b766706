"""Who may talk to the workbench: one browser that has the token, on this machine, from our own page."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "counterpoise"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


class Access:
    """An application in front of another that lets in whoever has the cookie, which a token buys once.

    token: stands in the address that the owner opens; the first to bring it gets the cookie, and it is void.
    hosts: what the Host header may say, and so the Origin of a request that changes something.

    Every other request is refused with 403, so that a page of another site, or another name for this machine, gets
    nothing. The headers of every answer forbid the page to load or to send anything elsewhere.
    """

    def __init__(self, app: Application, token: str, hosts: Iterable[str]) -> None:
        self.app, self.token, self.hosts = app, token, frozenset(hosts)
        self._cookie = secrets.token_urlsafe(32)
        self._is_token_spent = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._find_refusal(scope, headers)
        if refusal:
            await _answer(send, 403, f"{refusal}\n")
        elif scope["path"] == "/" and self._buys_cookie(scope):
            self._is_token_spent = True
            cookie = f"{COOKIE}={self._cookie}; Path=/; HttpOnly; SameSite=Strict"
            await _answer(send, 303, "", ((b"location", b"/"), (b"set-cookie", cookie.encode())))
        elif not self._has_cookie(headers):
            await _answer(send, 403, "open the address that the command printed; it holds for one browser\n")
        else:
            await self.app(scope, receive, _with_headers(send))

    def _find_refusal(self, scope: Scope, headers: dict[bytes, str]) -> str:
        """Why a request is refused whoever sends it; empty where it is not."""
        if headers.get(b"host", "") not in self.hosts:
            return "this name is not the workbench's"
        origin = headers.get(b"origin")
        if origin is not None and origin not in {f"http://{host}" for host in self.hosts}:
            return "another page may not ask the workbench"
        if scope["method"] not in ("GET", "HEAD") and origin is None:
            return "a question must say which page it comes from"
        return ""

    def _buys_cookie(self, scope: Scope) -> bool:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        return not self._is_token_spent and secrets.compare_digest(given.encode(), self.token.encode())

    def _has_cookie(self, headers: dict[bytes, str]) -> bool:
        held = SimpleCookie(headers.get(b"cookie", "")).get(COOKIE)
        return held is not None and secrets.compare_digest(held.value.encode(), self._cookie.encode())


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *HEADERS]
        await send(message)

    return send_with_headers


async def _answer(send: Send, status: int, text: str, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
    plain = (b"content-type", b"text/plain; charset=utf-8")
    await send({"type": "http.response.start", "status": status, "headers": [plain, *headers, *HEADERS]})
    await send({"type": "http.response.body", "body": text.encode()})
