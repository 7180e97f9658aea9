"""HTML that is safe by construction: every string is escaped unless it was made here.

h("p", "paid to ", h("bdi", name), class_="note")
"""

import unicodedata
from collections.abc import Iterable
from html import escape
from typing import TypeAlias

VOID = frozenset({"br", "hr", "img", "input", "link", "meta"})
LONGEST = 48  # characters of a name that are shown
HIDDEN = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")  # controls, bidirectional overrides, private and broken characters


class Html(str):
    """Text that is markup already. Nothing but this module makes one out of strings from elsewhere."""

    __slots__ = ()


Child: TypeAlias = "str | int | Iterable[Child] | None"


def h(tag: str, *children: Child, **attributes: str | int | float | bool | None) -> Html:
    """An element. `class_` stands for `class`, `_` for `-`; None and False leave an attribute out."""
    start = f"<{tag}{_attributes(attributes)}>"
    return Html(start if tag in VOID else f"{start}{join(children)}</{tag}>")


def join(children: Iterable[Child]) -> Html:
    """Children one after the other, strings escaped."""
    return Html("".join(_text(child) for child in children))


def section(name: str, title: str, *content: Child) -> Html:
    """A section with its heading."""
    return h("section", h("h2", title, id=f"{name}-title"), content, id=name, aria_labelledby=f"{name}-title")


def name_text(name: str) -> str:
    """Somebody else's name, without invisible characters and not too long."""
    visible = "".join("�" if unicodedata.category(char) in HIDDEN else char for char in name)
    calm = "".join(char for char in visible if not unicodedata.combining(char) or ord(char) < 0x370)
    return calm if len(calm) <= LONGEST else calm[: LONGEST - 1] + "…"


def _text(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return child
    if isinstance(child, (str, int)):
        return escape(str(child), quote=True)
    return join(child)


def _attributes(values: dict[str, str | int | float | bool | None]) -> str:
    kept = ((key, value) for key, value in values.items() if value is not None and value is not False)
    return "".join(f" {_name(key)}" + ("" if value is True else f'="{_value(value)}"') for key, value in kept)


def _name(key: str) -> str:
    return "viewBox" if key == "viewBox" else key.rstrip("_").replace("_", "-")


def _value(value: str | int | float) -> str:
    return f"{value:.6g}" if isinstance(value, float) else escape(str(value), quote=True)
