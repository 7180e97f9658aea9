"""What a provider has just done, in words."""

from martfl.market import messages as ms


def describe(reply: bytes, *, market: str) -> str:
    """One line for a reply of our own."""
    message, _ = ms.decode(reply, market=market)
    return _words(message)


def _words(message: ms.Message) -> str:
    epoch = f"epoch {message.epoch}"
    match message:
        case ms.Identity():
            return "the acquirer asked who is at this node: answered with the wallet's signature"
        case ms.Committed(transaction=transaction):
            return f"{epoch}: checked the model against the chain, trained, committed to the update ({transaction})"
        case ms.ScoreReply():
            return f"{epoch}: gave the cosine with an encrypted baseline; the acquirer learns that number only"
        case ms.Delivery():
            return f"{epoch}: bought on chain, so the update is handed over, sealed to the acquirer"
        case ms.Verdict(accepted=True):
            return f"{epoch}: the published model is the one on chain"
        case ms.Verdict(reason=reason):
            return f"{epoch}: the published model is NOT the one on chain, objected: {reason}"
        case ms.Claimed(amount=amount):
            return f"{epoch}: over; {amount} wei claimed"
        case ms.Refusal(reason=reason):
            return f"{epoch}: refused a request: {reason}"
    return f"{epoch}: answered ({message.kind})"
