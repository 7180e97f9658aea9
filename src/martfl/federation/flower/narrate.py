"""What a provider has just done, in words."""

from collections.abc import Callable

from martfl.amounts import coins
from martfl.market import messages as ms
from martfl.market import wire
from martfl.market.steps import Appraised
from martfl.valuation import statement

Told = Callable[[int], Appraised | None]  # epoch → what the buyer said of our update


def describe(reply: bytes, *, market: wire.MarketId, token: str = "", told: Told = lambda epoch: None) -> str:
    """One line for a reply of our own; at the end of an epoch with what our update added."""
    message, _ = wire.decode(reply, market=market)
    if isinstance(message, ms.Identity):
        return "the acquirer asked who is here: answered with the wallet's signature"
    line = f"epoch {message.epoch}: {_words(message, token)}"
    known = told(message.epoch) if isinstance(message, ms.ClaimPaid) else None
    return f"{line}. {statement(known.value, weight=known.weight)}" if known else line


def _words(message: ms.Message, token: str) -> str:
    match message:
        case ms.Committed():
            return "the model is the one on chain; trained on it, sealed the update, signed a commitment to it"
        case ms.Offered(ask=ask):
            return f"commitments are closed; showed the offer, {coins(int(ask), token=token)} for the update"
        case ms.Scored():
            return "gave the cosine with an encrypted baseline; the acquirer learns that number only"
        case ms.Sealed():
            return "sent the sealed update; it cannot be read without its key"
        case ms.KeyAnswer():
            return "bought on chain; gave the key of the update to the acquirer"
        case ms.FileVerdict(accepted=True):
            return "the published model is the one on chain"
        case ms.FileVerdict(reason=reason):
            return f"the published model is NOT the one on chain: {reason}"
        case ms.ClaimPaid(amount=amount):
            return f"over; it paid {coins(int(amount), token=token)}"
        case ms.Refusal(reason=reason):
            return f"refused a request: {reason}"
    return f"answered ({message.kind})"
