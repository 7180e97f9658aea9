"""Another implementation of the chain's rules agrees: settled, refuted, failed and proved epochs on anvil, same gas."""

from dataclasses import replace

import pytest
from exact_market import ExactMarket
from sampled_market import SampledMarket

from martfl.chain.events import SamplesDrawn
from martfl.chain.state import Phase, SaleState

pytestmark = pytest.mark.anvil
NEAR = 100  # addresses differ in their zero bytes


@pytest.fixture
def anvil_chain(chain, request):
    """A node for one test, whatever the other tests run on."""
    client = request.getfixturevalue("connect")(request.getfixturevalue("start_anvil_once"))
    client.accounts = chain.accounts
    client.prepare()
    before = client.snapshot()
    yield client
    client.revert(before)


def test_settled_epoch(anvil_chain, embedded):
    gas = []
    for chain in (anvil_chain, embedded):
        market = ExactMarket(chain)
        market.bought()
        revealed = market.reveal(1).gas
        published = market.publish().gas
        gas.append((revealed, published, market.claim_for(0, 1, 2).gas))
        assert market.state().phase == Phase.SETTLED
        market.claim(market.acquirer)
        assert market.held() == 0
    assert all(abs(one - other) <= NEAR for one, other in zip(*gas, strict=True))


def test_refuted_leaf_of_256_scalars(anvil_chain, embedded):
    gas = []
    for chain in (anvil_chain, embedded):
        market = ExactMarket(chain, parameters=3000, providers=2)
        market.lies(0)
        market.bought()
        market.reveal(0)
        market.reveal(1)
        with market.refused("leaf is sound"):
            market.refute(1)
        gas.append(market.refute(0).gas)
        assert market.standing(0).state == SaleState.REFUTED
    assert abs(gas[0] - gas[1]) <= NEAR


def test_failed_epoch(anvil_chain):
    market = ExactMarket(anvil_chain)
    market.bought()
    market.accept(0)
    market.past("publish")
    assert market.state().phase == Phase.FAILED
    market.claim_all()
    assert market.held() == market.state().penalty


def test_commitment_that_is_no_point(anvil_chain):
    market = ExactMarket(anvil_chain)
    seller = market.sellers[0]
    market.sellers[0] = replace(seller, offer=replace(seller.offer, commitment=b"\1" * 128))
    market.bought()
    with market.refused("points do not add up"):
        market.publish({0: 65_536}, blinding=0)
    market.publish({1: 65_536})


def test_proved_epoch(anvil_chain):
    """Block hash, delay function, openings, Groth16 and Poseidon under another machine's precompiles."""
    market = SampledMarket(anvil_chain)
    market.published()
    drawn = market.draw().event(SamplesDrawn)
    assert drawn.epoch == 1
    market.randomise()
    market.commit_inputs()
    with market.refused("commitment is right", by="prover"):
        market.refute_commitment(0)
    market.verify()
    market.pass_deadline()
    assert market.state().phase == Phase.SETTLED
    market.claim_all()
    assert market.held() == 0
