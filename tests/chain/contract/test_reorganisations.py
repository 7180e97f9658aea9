"""Re-organisations around commitment, purchase, reveal and draw: what is not deep may be gone, and is sent again.

The node forgets its last blocks and makes new ones without what was in them. Sellers and buyers act on what is deep.
"""

import pytest
from exact_market import ExactMarket
from sampled_market import SampledMarket

from martfl.chain.events import SamplesDrawn
from martfl.chain.exact import ExactTrading
from martfl.chain.network import RevertedError
from martfl.chain.state import SaleState

pytestmark = pytest.mark.anvil
DEPTH = 3  # blocks until a transaction counts


@pytest.fixture
def node(start_anvil):
    """A node of the test's own: a re-organisation outlives a revert."""
    return start_anvil()


@pytest.fixture
def reorg_chain(node, connect, embedded):
    client = connect(node)
    client.accounts = embedded.accounts
    return client.prepare()


@pytest.fixture
def reorg_market(reorg_chain):
    return ExactMarket(reorg_chain)


@pytest.fixture
def deep(node, connect, reorg_market):
    """The market as seen by a party that counts only what is deep."""
    return ExactTrading(connect(node, confirmations=DEPTH), reorg_market.trading.address)


def forget(market, blocks: int) -> None:
    """The last blocks are replaced by empty ones."""
    market.chain.ask("anvil_reorg", blocks, [])


def test_commitment_that_is_gone_is_sent_again(reorg_market, deep):
    market, name = reorg_market, reorg_market.sellers[0].name
    market.open()
    market.chain.mine(DEPTH)
    market.commit(0, key="commit")
    assert market.standing(0).state == SaleState.COMMITTED
    assert deep.read_provider(1, name, deep=True).state == SaleState.ABSENT
    forget(market, 1)
    assert market.standing(0).state == SaleState.ABSENT
    market.commit(0, key="commit")  # the same step: signed once, sent again
    market.chain.mine(DEPTH)
    assert deep.read_provider(1, name, deep=True).state == SaleState.COMMITTED
    with market.refused("already committed"):
        market.commit(0)


def test_commitment_that_comes_back_too_late_is_refused(reorg_market):
    market = reorg_market
    market.open()
    market.commit(0, key="commit")
    forget(market, 1)
    market.past("commit")
    with pytest.raises(RevertedError, match="commitments are closed"):
        market.commit(0)


def test_who_saw_a_lost_commitment_can_do_nothing_with_it(reorg_market):
    """Its digest stood in a block that is gone; in another's name it opens nothing."""
    market = reorg_market
    market.open()
    market.commit(0)
    seen = market.trading.commitments(1)[market.sellers[0].name]
    forget(market, 1)
    market.commit(1, digest=seen)
    market.commit(0)
    market.past("commit")
    with market.refused("not the offer that was committed to"):
        market.buy(1)
    market.buy(0)


def test_purchase_is_no_purchase_before_it_is_deep(reorg_market, deep):
    market, name = reorg_market, reorg_market.sellers[0].name
    market.committed()
    market.chain.mine(DEPTH)
    market.buy(0)
    assert market.standing(0).state == SaleState.BOUGHT
    assert deep.read_provider(1, name, deep=True).state == SaleState.COMMITTED  # an honest seller keeps its key
    forget(market, 1)
    assert market.standing(0).state == SaleState.COMMITTED
    with market.refused("no key is due"):
        market.reveal(0)
    assert market.state().spent == 0
    market.buy(0)
    market.chain.mine(DEPTH)
    assert deep.read_provider(1, name, deep=True).state == SaleState.BOUGHT


def test_reveal_that_is_gone_is_sent_again_within_the_margin(reorg_market, deep):
    market, name = reorg_market, reorg_market.sellers[0].name
    market.bought()
    market.chain.travel_to(market.deadline("keys") - 60)
    market.chain.mine(DEPTH)
    market.reveal(0, key="reveal")
    forget(market, 1)
    assert market.standing(0).state == SaleState.BOUGHT
    market.reveal(0, key="reveal")
    market.chain.mine(DEPTH)
    assert deep.read_provider(1, name, deep=True).state == SaleState.REVEALED
    market.past("publish")
    assert market.claim(market.sellers[0].account) == market.price(0)


def test_reveal_that_comes_back_after_the_window_is_lost(reorg_market):
    """The limit that the margin is for: a key that everybody has seen, and a price that nobody pays."""
    market = reorg_market
    market.bought()
    market.chain.travel_to(market.deadline("keys") - 20)
    market.reveal(0)
    forget(market, 1)
    market.past("keys")
    with pytest.raises(RevertedError, match="too late"):
        market.reveal(0)


def test_publication_that_is_gone_is_sent_again(reorg_market):
    market = reorg_market
    market.bought()
    market.publish(key="publish")
    forget(market, 1)
    assert market.standing(0).state == SaleState.BOUGHT
    market.publish(key="publish")
    assert market.standing(0).state == SaleState.LISTED


def test_draw_follows_the_chain_that_is_left(reorg_chain):
    """Another block after publication draws other samples; what was computed for the lost one does not serve."""
    market = SampledMarket(reorg_chain)
    market.published()
    first = market.draw().event(SamplesDrawn).seed
    lost = market.delay
    forget(market, 3)  # the draw, and the blocks after publication
    market.chain.mine(2)
    second = market.trading.draw_samples(1, account=market.acquirer).event(SamplesDrawn).seed
    assert second != first
    with market.refused("delay function does not verify", by="prover"):
        market.randomise(proof=lost)
    market.delay = market.delay_at(1, market.trading)
    market.randomise()
