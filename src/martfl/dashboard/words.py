"""Numbers and decisions in words."""

import time

from martfl.amounts import coins
from martfl.dashboard.markup import Html, h, name_text
from martfl.dashboard.story import DeliveryState, EpochStory, Party, Stage, Story, Turn
from martfl.valuation import statement

SHORT = 10  # characters of an address or hash that are shown
EXPLORERS = {
    1: "https://etherscan.io/tx/",
    11155111: "https://sepolia.etherscan.io/tx/",
    17000: "https://holesky.etherscan.io/tx/",
    560048: "https://hoodi.etherscan.io/tx/",
}
ROLE_WORDS = {
    "baseline": "the yardstick of the epoch",
    "high quality": "good, at full weight",
    "qualified": "good enough, at lower weight",
    "candidate": "looked at, without weight",
    "dropped": "judged and left out",
    "spared": "good enough, not chosen this time",
    "silent": "gave no valid score",
    "caught": "cheated, and was found out",
}
DELIVERY_WORDS = {
    DeliveryState.NONE: "",
    DeliveryState.WAITING: "its key is awaited",
    DeliveryState.LISTED: "in the model",
    DeliveryState.ACCEPTED: "accepted",
    DeliveryState.REVEALED: "key on chain",
    DeliveryState.REFUTED: "refuted",
    DeliveryState.SILENT: "no key came",
}
STAGE_WORDS = {
    Stage.TRAINING: "providers train and seal their updates",
    Stage.COMMITTING: "commitments go on chain",
    Stage.SCORING: "offers are shown, updates scored under encryption",
    Stage.BUYING: "sealed updates are bought, keys go over",
    Stage.AGGREGATION: "the new model is computed and published",
    Stage.CHECKING: "providers check the new model",
    Stage.SETTLEMENT: "the contract settles; keys on chain are answered",
    Stage.PAYMENT: "everybody is paid",
    Stage.OVER: "over",
}


def money(story: Story, amount: int) -> str:
    """An amount in the market's money."""
    return coins(amount, token=story.token)


def percent(share: float | None, digits: int = 1) -> str:
    """A share in percent."""
    return "–" if share is None else f"{100 * share:.{digits}f} %"


def size(count: float) -> str:
    """Bytes for people."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(count) < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError


def seconds(value: float) -> str:
    """A duration for people."""
    return f"{1000 * value:.0f} ms" if value < 1 else f"{value:.1f} s" if value < 120 else f"{value / 60:.0f} min"


def moment(timestamp: float) -> str:
    """A point in time, in UTC."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(timestamp)) if timestamp else "–"


def plural(count: int, word: str, many: str = "") -> str:
    """`1 epoch`, `2 epochs`."""
    return f"{count:,} {word if count == 1 else many or word + 's'}"


def short(text: str) -> str:
    """The beginning of an address or hash."""
    return text if len(text) <= SHORT + 1 else text[:SHORT] + "…"


def label(story: Story, address: str) -> str:
    """What to call a party, as plain text: its own name where it has one. Never trusted, always escaped later."""
    if address and address == story.acquirer:
        return "acquirer"
    name = name_text(story.parties[address].name) if address in story.parties else ""
    return name or short(address)


def anchor(address: str) -> str:
    """Where a provider's own section is."""
    return "provider-" + "".join(char for char in address if char.isalnum())


def party_link(story: Story, address: str) -> Html:
    """A provider's name, leading to its own section."""
    if address not in story.parties:
        return h("bdi", label(story, address))
    return h("a", h("bdi", label(story, address)), href="#" + anchor(address), title=address)


def transaction_link(story: Story, key: str) -> Html:
    """A hash: to a public explorer where the chain has one, else to its line in this document."""
    explorer = EXPLORERS.get(story.chain_id)
    where = explorer + key if explorer else f"#tx-{key}"
    relation = "noopener noreferrer" if explorer else None
    return h("a", h("code", short(key)), href=where, title=key, rel=relation)


def role_of(turn: Turn) -> str:
    """The role that is shown: of whoever was caught, that it was caught."""
    return "caught" if turn.offence else turn.role


def verdict(epoch: EpochStory) -> str:
    """How an epoch ended, or what it is doing."""
    return epoch.outcome.lower() if epoch.over else STAGE_WORDS[epoch.stage]


def really(party: Party) -> str:
    """What a demo's provider really did."""
    return party.behaviour.replace("-", " ")


# --- one provider's epoch in a few sentences -------------------------------------------------------------------------


def turn_sentence(story: Story, epoch: EpochStory, turn: Turn) -> str:
    """What happened, why, what it was paid."""
    parts = [_offered(story, turn), _bought(story, turn), _caught(turn), _judged(turn), _added(turn), _pay(story, turn)]
    return " ".join(part for part in parts if part)


def _offered(story: Story, turn: Turn) -> str:
    if not turn.committed:
        return "You were invited; no commitment of yours is known."
    if turn.ask is None:
        return "You committed to your update; what you ask for it is not known yet."
    return f"You committed to your update and asked {money(story, turn.ask)} for it."


def _bought(story: Story, turn: Turn) -> str:
    if turn.price is None:
        return "It was not bought, and nobody has seen it." if turn.role else ""
    after = {
        DeliveryState.WAITING: "your key is awaited",
        DeliveryState.LISTED: f"{percent(turn.weight)} of the new model is yours",
        DeliveryState.ACCEPTED: "the acquirer has it, and it is not part of the new model",
        DeliveryState.REVEALED: "your key is on chain, which counts as handing it over",
        DeliveryState.REFUTED: "your key was refuted on chain: it opens something else than you committed to",
        DeliveryState.SILENT: "no key of yours came in time",
    }
    return f"It was bought at {money(story, turn.price)}; {after.get(turn.delivery, 'it is paid for')}."


def _caught(turn: Turn) -> str:
    return f"You were caught: {turn.offence}{f' ({turn.evidence})' if turn.evidence else ''}." if turn.offence else ""


def _judged(turn: Turn) -> str:
    return f"Why: {turn.reason.rstrip('.')}." if turn.reason and not turn.offence else ""


def _added(turn: Turn) -> str:
    return statement(turn.value, weight=turn.weight) if turn.value else ""


def _pay(story: Story, turn: Turn) -> str:
    if turn.paid is None:
        return ""
    if not turn.paid:
        return "You were paid nothing."
    if not turn.bonus:
        return f"You were paid your price, {money(story, turn.paid)}."
    parts = f"your price of {money(story, turn.price or 0)} and a bonus of {money(story, turn.bonus)} by weight"
    return f"You were paid {money(story, turn.paid)}: {parts}."
