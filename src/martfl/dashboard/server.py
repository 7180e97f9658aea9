"""The live page: the report's sections, replaced as the market goes on. Reads only.

The server says over server-sent events *that* something changed; the page then fetches the sections.
"""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from urllib.parse import parse_qs

from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)

from martfl.dashboard.document import SCRIPTS, document, resource, standalone_policy, stylesheet
from martfl.dashboard.guard import COOKIE, PageGuard
from martfl.dashboard.markup import Html, h
from martfl.dashboard.report import render_report
from martfl.dashboard.sections import navigation, sections
from martfl.dashboard.story import Story
from martfl.dashboard.watch import Watcher
from martfl.dashboard.words import moment, plural

DETAILED = 12  # epochs that the page shows in full; the report has all
MOST_STREAMS = 32
STILL_HERE = 15.0  # seconds between two signs of life on a quiet stream
LONGEST_FORM = 4096
PAGE = "page.js"  # what only the live page does


@dataclass
class LivePage:
    """The handlers, over one watcher."""

    watcher: Watcher
    pause: float = 0.5
    streams: int = 0
    rendered: tuple[Story, dict[str, tuple[Html, str]]] | None = None

    async def index(self) -> Response:
        """The page as it is now; it works without the script, only not live."""
        story = await run_in_threadpool(self.watcher.story)
        parts = await self._parts(story)
        have = ",".join(f"{name}={digest}" for name, (_, digest) in parts.items())
        head = [
            h("link", rel="stylesheet", href="style.css"),
            h("meta", name="martfl-sections", content=have),
            [h("script", src=name, defer=True) for name in (*SCRIPTS, PAGE)],
        ]
        status = h("p", _status(story), id="status", role="status", aria_live="polite")
        subtitle = "A market for model updates, live. This page only reads."
        content = [html for html, _ in parts.values()]
        return HTMLResponse(
            document(story.name, head, content, navigation=navigation(), subtitle=subtitle, status=status)
        )

    async def parts(self, have: str = "") -> Response:
        """The sections as [name, digest, HTML], in order; without the HTML for digests that the page has."""
        story, known = await run_in_threadpool(self.watcher.story), set(have.split(","))
        parts = await self._parts(story)
        found = [[name, digest, None if digest in known else html] for name, (html, digest) in parts.items()]
        return JSONResponse({"sections": found, "status": _status(story)})

    async def _parts(self, story: Story) -> dict[str, tuple[Html, str]]:
        """Rendered once for all readers of a story."""
        if self.rendered is None or self.rendered[0] is not story:
            self.rendered = story, await run_in_threadpool(_render, story)
        return self.rendered[1]

    async def events(self, request: Request) -> Response:
        """A line whenever something changed."""
        if self.streams >= MOST_STREAMS:
            return PlainTextResponse("too many listeners", status_code=503)
        return StreamingResponse(self._stream(request), media_type="text/event-stream")

    async def report(self) -> Response:
        """The whole report, as a file would hold it."""
        story = await run_in_threadpool(self.watcher.story)
        return HTMLResponse(render_report(story), headers={"content-security-policy": standalone_policy()})

    async def _stream(self, request: Request) -> AsyncIterator[str]:
        self.streams += 1
        try:
            last, said = "", time.monotonic()
            while not await request.is_disconnected():
                version = await run_in_threadpool(self.watcher.version)
                if version != last or time.monotonic() - said > STILL_HERE:
                    yield f"event: changed\ndata: {version}\n\n" if version != last else ": still here\n\n"
                    last, said = version, time.monotonic()
                await asyncio.sleep(self.pause)
        finally:
            self.streams -= 1


def make_app(watcher: Watcher, *, token: str | None = None, local: bool = True, pause: float = 0.5) -> PageGuard:
    """The application, guarded; `local` refuses names other than this machine's own."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    page, guard = LivePage(watcher, pause), PageGuard(app, token=token, local=local)
    app.get("/", response_model=None)(page.index)
    app.get("/sections", response_model=None)(page.parts)
    app.get("/events", response_model=None)(page.events)
    app.get("/report.html", response_model=None)(page.report)
    _add_files(app)
    if token is not None:
        _add_login(app, guard)
    return guard


def _add_files(app: FastAPI) -> None:
    @app.get("/style.css", response_model=None)
    async def style() -> Response:
        return Response(stylesheet(), media_type="text/css")

    for name in (*SCRIPTS, PAGE):
        app.get(f"/{name}", response_model=None)(partial(_script, name))


async def _script(name: str) -> Response:
    return Response(resource(name), media_type="text/javascript")


def _add_login(app: FastAPI, guard: PageGuard) -> None:
    @app.get("/login", response_model=None)
    async def form() -> Response:
        return HTMLResponse(_login_page(""))

    @app.post("/login", response_model=None)
    async def login(request: Request) -> Response:
        body = await _limited(request)
        given = parse_qs(body.decode("utf-8", "replace")).get("token", [""])[0]
        if not guard.knows(given.strip()):
            await asyncio.sleep(1.0)  # guessing takes time
            return HTMLResponse(_login_page("That is not the token."), status_code=401)
        answer = RedirectResponse(".", status_code=303)
        secure = request.url.scheme == "https"
        answer.set_cookie(COOKIE, guard.session, httponly=True, samesite="strict", secure=secure)
        return answer


async def _limited(request: Request) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LONGEST_FORM:
            return b""
    return body


def _login_page(error: str) -> str:
    field = h("input", type="password", name="token", id="token", required=True, autocomplete="current-password")
    note = h("p", error, role="alert") if error else None
    form = h("form", h("label", "Token", for_="token"), field, h("button", "Open", type="submit"), method="post")
    style = h("link", rel="stylesheet", href="style.css")
    box: Html = h("section", h("p", "Whoever started this page has its token."), note, form)
    return document("martfl", style, box)


def _render(story: Story) -> dict[str, tuple[Html, str]]:
    parts = sections(story, detailed=DETAILED)
    return {name: (html, hashlib.sha256(html.encode()).hexdigest()[:16]) for name, html in parts.items()}


def _status(story: Story) -> str:
    if not story.epochs:
        return "live · waiting for the first epoch"
    latest = max(epoch.latest for epoch in story.epochs)
    return f"live · {plural(len(story.epochs), 'epoch')} · last change {moment(latest)}"
