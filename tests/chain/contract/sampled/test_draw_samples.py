"""draw_samples: the hash of the block after publication names the seed; whoever calls changes nothing."""

import pytest

from martfl.chain.events import SamplesDrawn
from martfl.chain.state import ProofState
from martfl.settlement.keccak import keccak, word

DOMAIN = b"martfl/sampling/v2"


def expected_seed(market) -> bytes:
    about, web3 = market.trading.publication(market.epoch), market.chain.web3
    contract = bytes.fromhex(market.trading.address[2:]).rjust(32, b"\0")
    context = keccak(word(market.chain.chain_id) + contract + word(market.epoch))
    after = bytes(web3.eth.get_block(about.number + 1)["hash"])
    return keccak(DOMAIN + context + about.nonces + about.base + about.next + after)


def test_seed_names_chain_market_epoch_roots_secrets_and_the_next_block(market):
    market.published()
    done = market.draw()
    drawn = done.event(SamplesDrawn)
    assert (drawn.market, drawn.epoch, drawn.seed) == (market.trading.address, 1, expected_seed(market))
    empty = bytes(32)
    expected = ProofState(epoch=1, seed=drawn.seed, randomness=empty, output=empty, inputs=empty)
    assert market.trading.proof() == expected


def test_not_before_the_next_block_is_closed(market):
    market.published()
    with market.refused("the block that draws is not there yet", by="prover"):
        market.trading.draw_samples(1, account=market.acquirer)


def test_in_the_second_block_after_publication(market):
    market.published()
    market.chain.travel(1)
    market.trading.draw_samples(1, account=market.stranger)


@pytest.mark.parametrize("blocks", [256, 257])
def test_while_the_chain_knows_the_block(market, blocks, to_the_second):
    market.published()
    for _ in range(blocks):
        market.chain.travel(1)
    if blocks == 256:
        market.trading.draw_samples(1, account=market.stranger)
    else:
        with market.refused("the block that draws is out of reach", by="prover"):
            market.trading.draw_samples(1, account=market.stranger)


def test_once(market):
    market.drawn()
    with market.refused("samples are drawn", by="prover"):
        market.at_prover("draw_samples", 1, account=market.acquirer)
    market.randomise()
    market.commit_inputs()
    with market.refused("samples are drawn", by="prover"):
        market.at_prover("draw_samples", 1, account=market.acquirer)


def test_client_takes_the_step_as_done_where_somebody_was_faster(market):
    """Else whoever draws first could stop an acquirer's program, which would then lose its penalty."""
    market.published()
    theirs = market.draw(account=market.stranger)
    mine = market.trading.draw_samples(1, account=market.acquirer, key="draw")
    assert mine.event(SamplesDrawn) == theirs.event(SamplesDrawn)
    assert mine.receipt.transaction == theirs.receipt.transaction


def test_not_before_publication_and_not_after_the_window(market):
    market.bought()
    with market.refused("wrong phase"):
        market.trading.draw_samples(1, account=market.stranger)
    market.publish()
    market.pass_deadline()
    with market.refused("wrong phase"):
        market.trading.draw_samples(1, account=market.stranger)


def test_each_epoch_draws_anew(market):
    market.settled()
    first = market.trading.proof_events(SamplesDrawn, epoch=1)[0].seed
    with market.refused("not the latest epoch"):
        market.open() and market.at_prover("draw_samples", 1, account=market.stranger)
    market.relay()
    market.after("commit")
    market.buy(0)
    market.publish({0: 65_536})
    second = market.draw().event(SamplesDrawn).seed
    assert second != first
    empty = bytes(32)
    assert market.trading.proof() == ProofState(epoch=2, seed=second, randomness=empty, output=empty, inputs=empty)
