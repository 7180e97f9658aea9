"""Finding one provider among many: the controls, and what every line about a provider carries for them.

The script find.js does the finding; without scripts the controls are not shown.
"""

from collections.abc import Iterable
from typing import TypedDict

from martfl.dashboard.markup import Html, h, section
from martfl.dashboard.story import Story, Turn
from martfl.dashboard.words import role_of

MANY = 12  # providers that one finds without help
KINDS = {"all": "all", "bought": "bought", "dropped": "dropped", "caught": "attackers caught"}


class Traits(TypedDict):
    """Attributes of an element that tells of one provider."""

    data_find: str
    data_kinds: str


def traits(name: str, address: str, turns: Iterable[Turn]) -> Traits:
    """What a line is found by: a name, an address, and what happened in the epochs that it tells of."""
    found = {kind for turn in turns for kind in _kinds(turn)}
    return {"data_find": f"{name} {address}", "data_kinds": " ".join(kind for kind in KINDS if kind in found)}


def _kinds(turn: Turn) -> set[str]:
    bought = {"bought"} if turn.price is not None else set()
    return bought | ({role_of(turn)} & KINDS.keys())


def finder(story: Story) -> Html | None:
    """The controls, where there are many providers. They never change, so the live page leaves them alone."""
    if len(story.parties) <= MANY:
        return None
    field = h(
        "input", type="search", id="find-text", autocomplete="off", spellcheck="false", placeholder="0x… or a name"
    )
    choices = [
        h("label", h("input", type="radio", name="find-kind", value=kind, checked=kind == "all"), h("span", words))
        for kind, words in KINDS.items()
    ]
    controls = h(
        "div",
        h("p", h("label", "Name or address", for_="find-text"), field),
        h("fieldset", h("legend", "Show"), choices),
        role="search",
        aria_label="Providers",
    )
    told = h("p", h("output", for_="find-text"), h("button", "Show all", type="button", data_find_all=True), id="found")
    note = h("p", "What you choose here holds for every list of providers, and within an epoch for that epoch.")
    return section("find", "Find a provider", note, controls, told)
