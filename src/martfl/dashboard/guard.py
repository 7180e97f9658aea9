"""What every request passes: the right host, a read-only method, the token where one is needed; and what every answer
carries: a policy under which the page may load nothing but its own style, script and data."""

import hmac
import ipaddress
import os
import secrets
from http.cookies import CookieError, SimpleCookie
from pathlib import Path

from martfl.asgi import App, AsgiEvent, Receive, Scope, Send
from martfl.errors import InputError

COOKIE = "martfl"
TOKEN_VARIABLE = "MARTFL_DASHBOARD_TOKEN"
SHORTEST = 16  # characters of a token
LOCAL = ("localhost", "127.0.0.1", "[::1]", "::1")
OPEN_PATHS = ("/login", "/style.css")
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def is_local(host: str) -> bool:
    """Whether only this machine can reach a server bound to `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_token(path: Path | None) -> str | None:
    """The token from a file or from the environment; never from the command line, which others can see."""
    try:
        token = path.read_text(encoding="utf-8").strip() if path else os.environ.get(TOKEN_VARIABLE, "").strip()
    except OSError as error:
        raise InputError(f"the token file cannot be read: {error}") from error
    if not token and path is None:
        return None
    if len(token) < SHORTEST:
        raise InputError(f"a token must have at least {SHORTEST} characters, got {len(token)}")
    return token


class PageGuard:
    """An ASGI wrapper. A session is a random cookie that the server hands out for the token, once it has seen it."""

    def __init__(self, app: App, *, token: str | None, local: bool) -> None:
        self.app, self.token, self.local = app, token, local
        self.session = secrets.token_urlsafe(32)

    def knows(self, token: str) -> bool:
        """Whether this is the token; takes the same time either way."""
        return self.token is not None and hmac.compare_digest(token.encode(), self.token.encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        answer = _plain(*refusal) if refusal else self.app
        await answer(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        host = headers.get("host", "").rsplit(":", 1)[0] if not headers.get("host", "").endswith("]") else "[::1]"
        if self.local and host not in LOCAL:  # another site's name that was made to point here
            return 421, "this page is for the machine that it runs on"
        if scope["method"] not in ("GET", "HEAD") and not (scope["method"] == "POST" and scope["path"] == "/login"):
            return 405, "this page is read-only"
        if self.token is None or scope["path"] in OPEN_PATHS or self._allowed(headers):
            return None
        return 401, "a token is needed: open /login"

    def _allowed(self, headers: dict[str, str]) -> bool:
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self.knows(given.strip()):
            return True
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            return False
        return cookie is not None and hmac.compare_digest(cookie.value.encode(), self.session.encode())


def _with_headers(send: Send) -> Send:
    async def wrapped(message: AsgiEvent) -> None:
        if message["type"] == "http.response.start":
            own = {key.lower() for key, _ in message.get("headers", [])}
            extra = [(k.encode(), v.encode()) for k, v in HEADERS.items() if k.encode() not in own]
            message = {**message, "headers": [*message.get("headers", []), *extra]}
        await send(message)

    return wrapped


def _plain(status: int, text: str) -> App:
    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        wants_page = status == 401 and scope["path"] == "/"
        kind = [(b"content-type", b"text/plain; charset=utf-8")]
        headers = [*kind, (b"location", b"login")] if wants_page else kind
        await send({"type": "http.response.start", "status": 303 if wants_page else status, "headers": headers})
        await send({"type": "http.response.body", "body": text.encode()})

    return answer
