"""The frame around sections: one document, one style, the palette as variables."""

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files

from martfl import palette
from martfl.dashboard.markup import Child, Html, h, join

COLOURS = ("BLUE", "ORANGE", "GREEN", "PURPLE", "SKY", "VERMILION", "YELLOW", "GREY")
SCRIPTS = ("find.js", "save.js")


@cache
def stylesheet() -> str:
    """The palette as variables, then the style."""
    names = {getattr(palette, name): name.lower() for name in COLOURS}
    variables = "".join(f"--{name}:{colour};" for colour, name in names.items())
    roles = {**palette.ROLE_COLOURS, "caught": palette.VERMILION}
    rules = [f".role-{role.replace(' ', '-')}{{fill:var(--{names[colour]})}}" for role, colour in roles.items()]
    for number, colour in enumerate(palette.SERIES):
        rules.append(
            f".s{number}{{fill:var(--{names[colour]})}}.line.s{number}{{stroke:var(--{names[colour]});fill:none}}"
        )
    body = resource("style.css")
    return f":root{{{variables}}}\n{_squeeze(body)}\n" + "\n".join(rules)


@cache
def script() -> str:
    """What readers can do with a page wherever it is opened; the live page loads the same files."""
    return "".join(resource(name) for name in SCRIPTS)


def resource(name: str) -> str:
    """A text file of this package."""
    return files("martfl.dashboard").joinpath(name).read_text(encoding="utf-8")


def standalone(title: str, *content: Child, navigation: Html | None = None, subtitle: str = "") -> str:
    """A document in one file, which asks nobody for anything: the policy forbids it to."""
    head = [
        h("meta", http_equiv="Content-Security-Policy", content=standalone_policy()),
        h("meta", name="referrer", content="no-referrer"),
        Html(f"<style>{stylesheet()}</style>"),
        Html(f"<script>{script()}</script>"),
    ]
    return document(title, head, *content, navigation=navigation, subtitle=subtitle)


def standalone_policy() -> str:
    """Nothing but the style and the script in the file itself, and images in it."""
    style, code = (_digest(text) for text in (stylesheet(), script()))
    sources = f"style-src '{style}'; script-src '{code}'; img-src data:"
    return f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def document(
    title: str, head: Child, *content: Child, navigation: Html | None = None, subtitle: str = "", status: Child = None
) -> str:
    """The whole page."""
    meta = [
        h("meta", charset="utf-8"),
        h("meta", name="viewport", content="width=device-width, initial-scale=1"),
        h("link", rel="icon", href="data:,"),
    ]
    top = h("header", h("h1", h("bdi", title)), h("p", subtitle, class_="note") if subtitle else None, status)
    skip = h("a", "Skip to the content", href="#content", class_="skip")
    body = h("body", skip, top, navigation, h("main", content, id="content"), h("footer", h("p", "Made by martfl.")))
    inner = join([h("head", meta, h("title", title), head), body])
    return "<!doctype html>\n" + h("html", inner, lang="en") + "\n"


def _squeeze(style: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", style, flags=re.S)).strip()
