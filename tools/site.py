"""Hooks of the documentation site: pages are written for readers of the repository, and shown elsewhere too."""

import re
from typing import Any

FENCE = re.compile(r"^(```\w+)[^\S\n]+[^\n]*$", re.MULTILINE)  # words after the language are for tests/docs


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """The page without words that only tests read, and with names of files in place of links to them."""
    up = re.escape("../" * (page.file.src_uri.count("/") + 1))
    outside = re.compile(rf"\[([^\]]*)\]\({up}([^)\s]*)\)")  # links to files beside docs/, which the site does not have
    return outside.sub(_named, FENCE.sub(r"\1", markdown))


def _named(link: re.Match[str]) -> str:
    text, path = link[1], link[2]
    return text if path in text else f"{text} (`{path}`)"
