"""Providers: who was paid what over all epochs, and for each of them what happened to its updates and why."""

import re

from martfl.dashboard.charts import bar, bars, role_class, shape_of
from martfl.dashboard.finding import traits
from martfl.dashboard.markup import Html, h, section
from martfl.dashboard.saving import payments_link
from martfl.dashboard.story import Story, Turn
from martfl.dashboard.words import (
    ROLE_WORDS,
    anchor,
    label,
    money,
    party_link,
    percent,
    plural,
    really,
    role_of,
    short,
    turn_sentence,
    verdict,
)
from martfl.valuation import brief

MOST_MARKS = 20  # epochs shown as marks beside a name
AMOUNTS = ("prices", "bonus", "paid")
ADDED = "What your update added to the model's goodness on a row of the buyer's data (nine times in ten)"


def role_mark(role: str, words: str = "") -> Html:
    """The shape that stands for a role."""
    shape = h("path", d=shape_of(role), class_=role_class(role))
    return h("svg", h("title", words or role), shape, viewBox="-8 -8 16 16", class_="swatch", role="img")


def role_badge(role: str) -> Html:
    """Shape and word."""
    return h("span", role_mark(role), role, class_="role", title=ROLE_WORDS.get(role)) if role else h("span", "–")


def overview(story: Story) -> Html:
    """One line per provider, the best paid first."""
    order = sorted(story.parties, key=lambda address: -story.paid_to(address))
    demo = any(party.behaviour for party in story.parties.values())
    note = (
        "Whoever is bought and hands its update over is paid its price, which is at least what it asked. What is left "
    )
    note += "of the reward goes by weight, as a bonus. The contract pays; nobody can change the sums. "
    note += "“Really” is what this demo told the provider to do; no real acquirer knows it." if demo else ""
    most = max((story.paid_to(address) for address in order), default=0) or 1
    columns = ("provider", *(("really",) if demo else ()), "decisions, oldest first", *AMOUNTS, "")
    head = h("tr", [h("th", name, scope="col", class_="number" if name in AMOUNTS else None) for name in columns])
    rows = [_row(story, address, demo=demo, share=story.paid_to(address) / most) for address in order]
    legend = h("ul", [h("li", role_mark(role), f"{role}: {words}") for role, words in _used(story)], class_="legend")
    table = h("table", h("thead", head), h("tbody", rows), class_="cards people")
    return section("providers", "Who was paid what", h("p", note), legend, table, payments_link(story))


def _row(story: Story, address: str, *, demo: bool, share: float) -> Html:
    party, turns = story.parties[address], story.turns_of(address)
    marks = [role_mark(role_of(t), f"epoch {n}: {role_of(t)}") for n, t in turns.items() if role_of(t)]
    rest = h("small", f"{len(marks) - MOST_MARKS} more, then ") if len(marks) > MOST_MARKS else None
    total, bonus = story.paid_to(address), sum(turn.bonus for turn in turns.values())
    amounts = dict(zip(AMOUNTS, (total - bonus, bonus, total), strict=True))
    return h(
        "tr",
        h("th", party_link(story, address), h("small", short(address)), scope="row"),
        h("td", really(party), data_label="really") if demo else None,
        h("td", rest, marks[-MOST_MARKS:], class_="marks"),
        [h("td", money(story, value), class_="number", data_label=name) for name, value in amounts.items()],
        h("td", bar(share, "s2")),
        **traits(label(story, address), address, turns.values()),
    )


def _used(story: Story) -> list[tuple[str, str]]:
    found = {role_of(turn) for epoch in story.epochs for turn in epoch.turns}
    return [(role, words) for role, words in ROLE_WORDS.items() if role in found]


def views(story: Story, *, latest: int | None = None) -> Html:
    """What happened to my update, and why this weight: a part for each provider; `latest` limits the epochs told."""
    note = h("p", "Find your name: what happened to your updates, why you got this weight, and what you were paid.")
    order = sorted(story.parties, key=lambda address: in_order(label(story, address)))
    return section("views", "For each provider", note, *(view(story, address, latest=latest) for address in order))


def in_order(name: str) -> list[tuple[int, str]]:
    """A key by which names sort as people sort them: 2 before 10."""
    parts = re.findall(r"0*([0-9]+)|([^0-9]+)", name.lower())
    return [(len(digits), digits or text) for digits, text in parts]


def view(story: Story, address: str, *, opened: bool = False, latest: int | None = None) -> Html:
    """One provider's part."""
    turns, total = story.turns_of(address), story.paid_to(address)
    title = h(
        "summary",
        h("bdi", label(story, address)),
        h("small", short(address)),
        h("span", money(story, total), class_="sum"),
    )
    epochs = {epoch.number: epoch for epoch in story.epochs}
    sentences = [
        h("li", h("strong", f"Epoch {n} ({verdict(epochs[n])}). "), h("bdi", turn_sentence(story, epochs[n], turn)))
        for n, turn in list(turns.items())[-(latest or len(turns)) :]
    ]
    last = max(turns, default=0)
    if last and any(epoch.number > last and epoch.turns for epoch in story.epochs):
        sentences.append(h("li", f"Since epoch {last + 1} you are not invited any more."))
    checked = sum(turn.checked for turn in turns.values())
    words = f"You checked the published model against the chain in {plural(checked, 'epoch')}." if checked else ""
    where = h("p", "Your address: ", h("code", address, class_="long"))
    return h(
        "details",
        title,
        where,
        h("ul", sentences, class_="plain"),
        _bars(story, dict(list(turns.items())[-(latest or MOST_MARKS) :])),
        h("p", words),
        id=anchor(address),
        open=opened,
        **traits(label(story, address), address, turns.values()),
    )


def _bars(story: Story, turns: dict[int, Turn]) -> list[Html]:
    """Weight, value and pay over the epochs: what an update counted for, what it added, and what it earned."""
    if not turns:
        return []
    weights = [(f"epoch {n}", turn.weight, percent(turn.weight)) for n, turn in turns.items()]
    pay = [(f"epoch {n}", turn.paid, _pay_words(story, turn)) for n, turn in turns.items() if turn.paid is not None]
    added = [(f"epoch {n}", turn.value.added, brief(turn.value)) for n, turn in turns.items() if turn.value]
    drawn = [bars(weights, title="Weight in the new model", kind="s0")]
    drawn += [bars(added, title=ADDED, kind="s1")] if added else []
    return [*drawn, bars(pay, title="Paid, epoch by epoch", kind="s2")] if pay else drawn


def _pay_words(story: Story, turn: Turn) -> str:
    whole = money(story, turn.paid or 0)
    return f"{whole}, of it bonus {money(story, turn.bonus)}" if turn.bonus else whole
