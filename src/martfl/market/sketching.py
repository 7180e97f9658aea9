"""Which sketch an epoch's scores are over: drawn by the first block after its commitments were closed."""

from eth_typing import BlockNumber
from eth_utils.address import to_canonical_address

from martfl.chain.trading import Trading
from martfl.market.errors import MarketError
from martfl.market.terms_parts import ScoringTerms
from martfl.scoring import Scorer, Sketch, scorer, sketch_entries, sketch_seed


def entries_of(terms: ScoringTerms, *, parameters: int) -> int:
    """How many entries the terms mean for a model of this size; 0: none."""
    return sketch_entries(None if terms.sketch < 0 else terms.sketch, parameters=parameters)


def first_block_after(trading: Trading, second: int) -> int:
    """The number of the first block later than `second`; it must be deep in the chain."""
    web3, high = trading.chain.web3, int(trading.chain.web3.eth.get_block(trading.chain.deep_block())["number"])
    low = trading.since
    if _time_of(trading, high) <= second:
        raise MarketError(f"no block after second {second} is deep enough in the chain yet")
    while low < high:  # the first whose time is later lies in low … high
        middle = (low + high) // 2
        low, high = (low, middle) if _time_of(trading, middle) > second else (middle + 1, high)
    return int(web3.eth.get_block(BlockNumber(low))["number"])


def check_draw(trading: Trading, *, number: int, closed: int) -> None:
    """Raise unless block `number` is the first one after second `closed`, and deep."""
    deep = int(trading.chain.web3.eth.get_block(trading.chain.deep_block())["number"])
    if not trading.since < number <= deep:
        raise MarketError(f"the block that draws the sketch must lie in {trading.since + 1}..{deep}, got {number}")
    if not _time_of(trading, number - 1) <= closed < _time_of(trading, number):
        raise MarketError(f"block {number} is not the first one after commitments were closed at second {closed}")


def make_scorer(trading: Trading, terms: ScoringTerms, *, parameters: int, epoch: int, number: int) -> Scorer:
    """The scorer of an epoch whose sketch block `number` draws; without a sketch the block does not matter."""
    entries = entries_of(terms, parameters=parameters)
    if entries == 0:
        return scorer(terms.scheme)
    block = trading.chain.web3.eth.get_block(BlockNumber(number))
    seed = sketch_seed(
        block_hash=bytes(block["hash"]),
        chain_id=trading.chain.chain_id,
        market=to_canonical_address(trading.address),
        epoch=epoch,
    )
    return scorer(terms.scheme, sketch=Sketch(seed, entries))


def _time_of(trading: Trading, number: int) -> int:
    return int(trading.chain.web3.eth.get_block(BlockNumber(number))["timestamp"])
