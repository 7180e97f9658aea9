"""What a contract must say before anybody trades under it."""

from eth_utils.address import to_checksum_address

from martfl.chain.trading import Trading
from martfl.market.errors import MarketError
from martfl.market.settling import Settler
from martfl.market.terms import Terms


def check_contract(terms: Terms, trading: Trading, settler: Settler) -> None:
    """Raise unless the contract holds the hash of these terms *and* enforces the numbers that they state."""
    if trading.scheme != terms.settlement.scheme:
        raise MarketError(f"the terms state scheme = {terms.settlement.scheme}, the contract is {trading.scheme}")
    posted = trading.terms()
    if posted.terms_hash != terms.hash:
        raise MarketError("the terms on chain are not those of the file: join nothing that you have not read")
    for name, value in _enforced(terms).items():
        if getattr(posted, name) != value:
            raise MarketError(f"the terms state {name} = {value}, the contract enforces {getattr(posted, name)}")
    settler.check_market(trading)


def check_code(trading: Trading) -> None:
    """Raise unless the chain holds what these sources compile to: other code could promise and not keep its word."""
    if not trading.has_our_code():
        raise MarketError(f"the code at {trading.address} is not that of this program's {trading.scheme} contract")


def _enforced(terms: Terms) -> dict[str, object]:
    money, deadlines = terms.money, terms.deadlines
    return {
        "token": to_checksum_address(money.token),
        "commit_window": deadlines.commit,
        "buy_window": deadlines.buy,
        "key_window": deadlines.keys,
        "publish_window": deadlines.publish,
        "settle_window": deadlines.settle,
        "penalty_ratio": money.penalty_ratio,
        "minimum_deposit": money.minimum_deposit,
    }
