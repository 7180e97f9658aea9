"""Parts of the tests of sampled markets: acquirers with settlers of their own, and what a fallen proof comes to."""

from martfl.chain.state import Phase


class Standing:
    """A clock that does not wait for windows: providers act first."""

    def __init__(self, chain):
        self.chain = chain

    def wait_until(self, timestamp):
        pass

    def wait_for_block(self, number):
        while self.chain.web3.eth.block_number < number:
            self.chain.travel(1)


def settler_of(kind, honest):
    return kind(honest.shape, honest.quantisation, honest.parameters, honest.squarings, honest.optimistic, honest.setup)


def proved_by(market, kind):
    """The acquirer runs the first epoch with a settler of its own up to its proof, and goes away."""
    market.acquirer.settler = settler_of(kind, market.settler)
    market.acquirer._close = lambda *_: None
    market.acquirer.run_epoch(1, seed=0)
    assert market.trading.read_epoch(1).phase is Phase.PROVED
    return market


def check_failed(market):
    """The proof fell: whoever delivered has its price, the penalty is nobody's, the rest returns."""
    market.travel_to(market.times().publish + 1)
    market.watch()
    state = market.trading.read_epoch(1)
    assert state.phase is Phase.FAILED
    assert market.paid(1) == {name: market.price(market.names.index(name)) for name in market.trading.bought(1)}
    market.trading.claim_reward(1, account=market.buyer)
    assert market.chain.balance(market.trading.address) == state.penalty
    assert market.money_in(1) == market.money_out(1) + state.penalty
