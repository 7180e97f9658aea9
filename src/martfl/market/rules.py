"""What a contract must say before anybody trades under it, and when each phase is over."""

from eth_utils.address import to_checksum_address

from martfl.chain.state import EpochState, Phase
from martfl.chain.trading import Trading
from martfl.market.errors import MarketError
from martfl.market.terms import Terms


def check_contract(terms: Terms, trading: Trading, *, parameters: int) -> None:
    """Raise unless the contract holds the hash of these terms *and* enforces the numbers that they state."""
    posted = trading.terms()
    if posted.terms_hash != terms.hash:
        raise MarketError("the terms on chain are not those of the file: join nothing that you have not read")
    _compare(_enforced(terms), vars(posted))
    if terms.settlement.scheme == "sampled":
        _compare(_sampled(terms, parameters), _sampling_of(trading))


def _compare(stated: dict[str, object], found: dict[str, object]) -> None:
    for name, value in stated.items():
        if found[name] != value:
            raise MarketError(f"the terms state {name} = {value}, the contract enforces {found[name]}")


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
        "token": to_checksum_address(money.token),
        "commit_window": deadlines.commit,
        "prepare_window": deadlines.prepare,
        "publish_window": deadlines.publish,
        "settle_window": deadlines.settle,
        "advance_fee": money.advance_fee,
        "penalty_ratio": money.penalty_ratio,
        "minimum_deposit": money.minimum_deposit,
    }


def _sampled(terms: Terms, parameters: int) -> dict[str, object]:
    """What the terms mean for the samples. The verifying key is the settler's matter."""
    from martfl.settlement.sampled import Shape  # its prover's libraries load slowly
    from martfl.settlement.sampled.poseidon import constants_hash
    from martfl.settlement.sampled.update import empty_commitment

    stated = terms.settlement
    shape = Shape(providers=stated.providers, samples=stated.samples)
    return {
        "providers": stated.providers,
        "samples": stated.samples,
        "parameters": parameters,
        "vdf_steps": stated.vdf_steps,
        "optimistic": stated.optimistic,
        "empty_commitment": empty_commitment(shape),
        "poseidon": constants_hash(shape.update_words + 2),
    }


def _sampling_of(trading: Trading) -> dict[str, object]:
    from martfl.chain.sampled import SampledTrading

    client = SampledTrading(trading.chain, trading.address, scheme="sampled", since=trading.since)
    return client.sampling()
