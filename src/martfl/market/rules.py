"""What a contract must say before anybody trades under it, and when each phase is over."""

from martfl.chain.state import EpochState, Phase, PostedTerms
from martfl.chain.trading import Trading
from martfl.market.errors import MarketError
from martfl.market.terms import Terms


def check_contract(terms: Terms, posted: PostedTerms) -> None:
    """Raise unless the contract holds the hash of these terms *and* enforces the numbers that they state."""
    if posted.terms_hash != terms.hash:
        raise MarketError("the terms on chain are not those of the file: join nothing that you have not read")
    for name, stated in _enforced(terms).items():
        found = getattr(posted, name)
        if found != stated:
            raise MarketError(f"the terms state {name} = {stated}, the contract enforces {found}")


def check_code(trading: Trading) -> None:
    """Raise unless the chain holds the contract that these sources compile to: another could promise and not keep."""
    if not trading.has_our_code():
        raise MarketError(f"the code at {trading.address} is not that of this program's {trading.scheme} contract")


def last_second(state: EpochState, terms: Terms) -> int:
    """The last moment for what the epoch waits for: a purchase while it is open, else its phase's own deadline."""
    return state.deadline + (terms.deadlines.prepare if state.phase is Phase.OPEN else 0)


def _enforced(terms: Terms) -> dict[str, object]:
    money, deadlines = terms.money, terms.deadlines
    return {
        "scheme": terms.settlement.scheme,
        "commit_window": deadlines.commit,
        "prepare_window": deadlines.prepare,
        "publish_window": deadlines.publish,
        "settle_window": deadlines.settle,
        "advance_fee": money.advance_fee,
        "penalty_ratio": money.penalty_ratio,
        "minimum_deposit": money.minimum_deposit,
    }
