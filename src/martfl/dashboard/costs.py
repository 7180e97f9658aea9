"""Where money, gas, bytes and time went, what was checked, and the transactions behind it all."""

from collections.abc import Iterable, Mapping

from martfl.dashboard.charts import bars, stack
from martfl.dashboard.markup import Html, h, section
from martfl.dashboard.story import EpochStory, Story
from martfl.dashboard.words import EXPLORERS, label, money, plural, seconds, short, size

MESSAGES = {
    "train": "model to train on",
    "offer": "offers",
    "score": "encrypted scoring",
    "sealed": "sealed updates",
    "key": "keys",
    "published": "new model handed out",
    "closed": "asking to claim",
}
STEPS = {
    "open": "opening the epoch",
    "invite": "providers train, seal and sign",
    "relay": "sending their commitments",
    "offers": "asking for offers",
    "own update": "acquirer trains on root data",
    "scores": "encrypted scoring",
    "order": "fetching and checking sealed updates",
    "buy": "buying on chain",
    "keys": "asking for keys",
    "select": "selection",
    "accept": "accepting on chain",
    "aggregate": "aggregation",
    "publish": "publishing on chain",
    "hand out": "handing out, providers check",
    "prove": "proving",
    "answer": "answering keys on chain",
    "pay": "paying everybody",
}


def money_flow(story: Story) -> Html:
    """Deposits come in; prices, bonus and refunds go out; the rest is forfeited or still held."""
    total = [sum(values) for values in zip(*(_amounts(epoch) for epoch in story.epochs), strict=True)] or [0] * 7
    named = dict(zip(MONEY, total, strict=True))
    note = (
        "The acquirer deposits the reward and, on top, a penalty. A purchase locks the provider's price; what is left "
        "of the reward goes by weight. An acquirer that publishes nothing valid in time forfeits its penalty: it stays "
        "in the contract, and nobody is richer for it. What goes in comes out to the last unit."
    )
    into = stack([(n, named[n], money(story, named[n]), k) for n, k in CAME.items()], title="Came in")
    out = stack([(n, named[n], money(story, named[n]), k) for n, k in WENT.items()], title="Went out")
    lost = sum(epoch.forfeited > 0 for epoch in story.epochs)
    penalties = h("p", f"In {plural(lost, 'epoch')} the acquirer forfeited its penalty.") if lost else None
    table = h("details", h("summary", "By epoch"), _money_table(story))
    return section("money", "Where the money went", h("p", note), into, out, penalties, table)


CAME = {"reward": "s0", "penalty": "s3"}
WENT = {"prices": "s2", "bonus": "s1", "back to the acquirer": "s4", "forfeited": "s5", "still held": "s7"}
MONEY = (*CAME, *WENT)


def _amounts(e: EpochStory) -> tuple[int, ...]:
    """In the order of `MONEY`."""
    return e.reward, e.penalty, e.paid - e.bonus, e.bonus, e.refunded, e.forfeited, e.held


def _money_table(story: Story) -> Html:
    head = h("tr", h("th", "epoch", scope="col"), [h("th", name, scope="col", class_="number") for name in MONEY])

    def row(e: EpochStory) -> Html:
        values = zip(MONEY, _amounts(e), strict=True)
        cells = [h("td", money(story, value), class_="number", data_label=name) for name, value in values]
        return h("tr", h("th", f"epoch {e.number}", scope="row"), cells)

    return h("table", h("thead", head), h("tbody", [row(e) for e in story.epochs]), class_="cards")


def costs(story: Story) -> Html:
    """Gas by function, bytes by message, seconds by step, summed over epochs."""
    gas = _sum(epoch.gas() for epoch in story.epochs)
    sent, received = _sum(e.sent for e in story.epochs), _sum(e.received for e in story.epochs)
    spent = _sum(epoch.seconds for epoch in story.epochs)
    whose = "of all parties" if story.whole_ledger else "of the acquirer alone (the journal does not know the others')"
    gas_rows = [(n.replace("_", " "), v, f"{v:,.0f}") for n, v in _largest(gas)]
    traffic = {kind: sent[kind] + received.get(kind, 0) for kind in sent}
    byte_rows = [(MESSAGES.get(k, k), v, size(v)) for k, v in _largest(traffic)]
    time_rows = [(STEPS[k], v, seconds(v)) for k, v in _largest(spent) if k in STEPS and v >= 0.0005]
    note = f"All epochs together. Gas is what the chain charges for, {whose}; bytes are those that the acquirer sent "
    note += "and received; seconds are working time, without waiting for deadlines."
    tables = [
        bars(gas_rows, title="Gas by contract function", kind="s0"),
        bars(byte_rows, title="Bytes by message", kind="s1"),
        bars(time_rows, title="Seconds by step", kind="s2"),
    ]
    return section(
        "costs", "What it cost", h("p", note), h("div", h("div", tables[:2]), h("div", tables[2:]), class_="columns")
    )


def checks(story: Story) -> Html:
    """Who checked what, over all epochs."""
    total: dict[tuple[str, str], tuple[int, int]] = {}
    for check in (check for epoch in story.epochs for check in epoch.checks):
        passed, of = total.get((check.who, check.kind), (0, 0))
        total[check.who, check.kind] = passed + check.passed, of + check.of
    names = [h("th", name, scope="col") for name in ("who", "checked that")]
    head = h("tr", names, h("th", "passed", scope="col", class_="number"))
    rows = [_check(who, what, *total[who, what]) for who, what in total]
    note = "Nobody is asked to trust anybody. “Did not pass” includes those who did not answer."
    return section(
        "checks", "What was checked, and by whom", h("p", note), h("table", h("thead", head), h("tbody", rows))
    )


def _check(who: str, what: str, passed: int, of: int) -> Html:
    badge = h("span", f"{passed:,} of {of:,}", class_="badge good" if passed == of else "badge bad")
    return h("tr", h("th", who, scope="row"), h("td", what), h("td", badge, class_="number"))


def transactions(story: Story) -> Html:
    """Every known transaction with its hash."""
    found = [one for epoch in story.epochs for one in epoch.transactions]
    names = ("epoch", "function", "sent by", "gas", "transaction")
    head = h("tr", [h("th", name, scope="col", class_="number" if name == "gas" else None) for name in names])
    rows = [
        h(
            "tr",
            h("td", one.epoch, data_label="epoch"),
            h("td", one.function.replace("_", " ")),
            h("td", h("bdi", label(story, one.party)), data_label="by"),
            h("td", f"{one.gas:,}", class_="number", data_label="gas"),
            h("td", _hash(story, one.hash)),
            id=f"tx-{one.hash}",
        )
        for one in found
    ]
    whose = "All parties'" if story.whole_ledger else "The acquirer's own"
    note = h("p", f"{whose} transactions. Anybody with access to the chain can look them up by hash.")
    table = h("table", h("thead", head), h("tbody", rows), class_="cards")
    title = h("summary", plural(len(found), "transaction"))
    return section("transactions", "Transactions", note, h("details", title, table))


def _hash(story: Story, key: str) -> Html:
    explorer = EXPLORERS.get(story.chain_id)
    if explorer is None:
        return h("code", key, class_="long")
    return h("a", h("code", short(key)), href=explorer + key, rel="noopener noreferrer", title=key)


def _sum(parts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for part in parts:
        for key, value in part.items():
            total[key] = total.get(key, 0) + value
    return total


def _largest(values: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(((key, value) for key, value in values.items() if value), key=lambda pair: -pair[1])
