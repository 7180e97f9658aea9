"""What a sampled market fixes when it is made, and who may tell it how a proof ended."""

from dataclasses import replace

import pytest
from sampled_market import model_tree

from martfl.chain.calls import put
from martfl.chain.events import RootPublished
from martfl.chain.open import open_trading
from martfl.chain.sampled import SampledTrading

FIELD = 21888242871839275222246405745257275088548364400416034343698204186575808495617


def test_sampling_and_first_root_are_readable(market):
    fixed = market.trading.sampling()
    assert replace(fixed, prover=market.sampling.prover) == market.sampling
    initial = market.trading.root(0)
    assert isinstance(initial, RootPublished)
    assert (initial.root, initial.content) == (model_tree(market.model).root, market.word("initial"))
    assert market.standing_digest() == initial.root
    assert isinstance(open_trading(market.chain, market.trading.address), SampledTrading)


def test_code_of_market_and_prover_is_recognised(market, make_market):
    assert market.trading.has_our_code()
    stranger = put(market.chain, "judge", (), account=market.acquirer).contract
    assert not make_market(sampling={"prover": stranger}).trading.has_our_code()


@pytest.mark.parametrize(
    ("sampling", "reason"),
    [
        ({"providers": 0}, "slots must be 1 to 128"),
        ({"providers": 129}, "slots must be 1 to 128"),
        ({"samples": 0}, "samples must be 1 to 126"),
        ({"samples": 127}, "samples must be 1 to 126"),
        ({"samples": 126, "parameters": 125}, "more samples than parameters"),
        ({"parameters": 10 * 2**20 + 1}, "model too large"),
        ({"vdf_steps": 263}, "steps must be 264 to 2^63 - 1"),
        ({"vdf_steps": 2**63}, "steps must be 264 to 2^63 - 1"),
        ({"empty_commitment": FIELD}, "empty commitment is not in the field"),
        ({"prover": "0x" + "11" * 20}, "no contract that proves"),
    ],
)
def test_contract_checks_the_sampling(make_market, market, sampling, reason):
    with market.refused(reason):
        make_market(sampling=sampling)
