"""Numbers and decisions in words."""

import time

from martfl.dashboard.markup import Html, h, name_text
from martfl.dashboard.story import Epoch, Party, Story, Turn

ETHER = 10**18
SHORT = 10  # characters of an address or hash that are shown
EXPLORERS = {
    1: "https://etherscan.io/tx/",
    11155111: "https://sepolia.etherscan.io/tx/",
    17000: "https://holesky.etherscan.io/tx/",
    560048: "https://hoodi.etherscan.io/tx/",
}
ROLE_WORDS = {
    "baseline": "bought as the yardstick of the epoch",
    "high quality": "bought, full weight",
    "qualified": "bought, lower weight",
    "candidate": "bought for a look only",
    "dropped": "judged and not bought",
    "spared": "good enough, not drawn",
    "silent": "gave no valid score",
    "caught": "cheated, found out, dropped on chain",
}
STAGE_WORDS = {
    "training": "providers train and commit",
    "scoring": "updates are scored under encryption",
    "buying": "the purchase goes on chain",
    "delivery": "bought updates are handed over",
    "aggregation": "the new model is computed",
    "checking": "providers check the new model",
    "settlement": "the contract settles",
    "payment": "everybody claims",
    "over": "over",
}


def money(story: Story, amount: int) -> str:
    """The chain's coin with four digits; a token, whose decimals are not known here, in its smallest unit."""
    return f"{amount:,} units" if story.token else f"{amount / ETHER:,.4f} ETH"


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
    """The role that is shown: whoever was caught is that first."""
    return "caught" if turn.offence else turn.role


def verdict(epoch: Epoch) -> str:
    """How an epoch ended, or what it is doing."""
    return epoch.outcome.lower() if epoch.over else STAGE_WORDS[epoch.stage]


def turn_sentence(story: Story, epoch: Epoch, turn: Turn) -> str:
    """One provider's epoch in two or three sentences: what happened, why, what it was paid."""
    parts = [_what(epoch, turn)]
    if turn.reason and not turn.offence:
        parts.append(f"Why: {turn.reason.rstrip('.')}.")
    if turn.paid is not None:
        parts.append(_pay(story, epoch, turn))
    return " ".join(parts)


def _what(epoch: Epoch, turn: Turn) -> str:
    if not turn.committed:
        return "You were invited; no commitment of yours is known."
    if turn.offence:
        return f"You committed, and were caught: {turn.offence} ({turn.evidence}). Your share went to the others."
    if not turn.role:
        return "You committed to your update; it has not been judged yet."
    score = "no valid score" if turn.score is None else f"a score of {turn.score:.3f}"
    if turn.weight:
        return f"You committed, got {score}, and {percent(turn.weight)} of the new model is yours."
    return f"You committed, got {score}; your update is not part of the new model ({ROLE_WORDS[turn.role]})."


def _pay(story: Story, epoch: Epoch, turn: Turn) -> str:
    if not turn.paid:
        unseen = not (turn.advance or turn.weight or turn.offence)
        return "You were paid nothing" + (", and nobody has seen your update." if unseen else ".")
    share = round(epoch.reward * turn.weight)
    parts = [f"{money(story, share)} for the weight"] if share else []
    if turn.advance and story.fee:
        parts.append(f"{money(story, story.fee)} flat fee for an early look")
    rest = turn.paid - share - (story.fee if turn.advance else 0)
    if rest > epoch.reward // 10_000:
        parts.append(f"{money(story, rest)} from what others lost")
    return f"You were paid {money(story, turn.paid)}: " + ", ".join(parts) + "."


def really(party: Party) -> str:
    """What a demo's provider really did."""
    return party.behaviour.replace("-", " ")
