"""What a seller does on its own: in time by any clock, whatever else it does, and as far as its wallet can pay."""

import threading

import pytest
from fuse import Fuse, FusedChain

from martfl.chain import events as ev
from martfl.chain.network import ChainError
from martfl.chain.state import SaleState
from martfl.market import guard
from martfl.market import messages as ms
from martfl.market.provider import Provider
from martfl.market.steps import Collected, KeyGiven


@pytest.fixture
def hand(build, kit):
    """The acquirer's wallet in a market of two sellers."""
    return kit.Hand(build(providers=2))


@pytest.mark.parametrize(("early", "given"), [(1, True), (0, False), (-5, False)])
def test_the_last_second_in_which_a_key_is_given(hand, early, given):
    """A transaction that is sent now runs in the next second, and must have the whole margin."""
    hand.begin()
    hand.buy(0)
    market = hand.market
    market.chain.travel_to(market.times().keys - market.terms.deadlines.margin - early)
    assert isinstance(hand.ask_key(0), bytes) == given
    hand.market.travel_to(market.times().publish + 1)
    assert market.paid(1)[market.names[0]] == market.price(0)


class Lagging(FusedChain):
    """A node whose newest block is old: our own clock knows better."""

    clock = 0

    def next_second(self):
        return max(super().next_second(), self.clock)


def test_a_node_that_lags_does_not_make_a_seller_give_its_key_too_late(build, kit, tmp_path):
    chain = Lagging(tmp_path / "chain.sqlite", 3, Fuse(parties=("nobody",)))
    hand = kit.Hand(build(providers=2, chain=chain)).begin()
    market = hand.market
    hand.buy(0)
    margin = market.terms.deadlines.margin
    chain.clock = market.times().keys - margin + 1
    assert isinstance(hand.ask_key(0), ms.Refusal)
    market.watch()  # and it knows that its margin has begun
    assert market.state(0) is SaleState.REVEALED
    chain.close()


def away_until(hand, second):
    """Nobody looks at the chain until this second."""
    hand.market.chain.travel_to(second)
    hand.market.watch()


def test_a_key_that_nobody_has_stays_where_it_is_when_little_of_the_margin_is_left(hand):
    """It would be seen on its way into the chain, and perhaps kept out. Who was away loses the sale, not the update."""
    hand.begin()
    hand.buy(0)
    market = hand.market
    away_until(hand, market.times().keys - market.terms.deadlines.margin // 2)
    assert market.state(0) is SaleState.BOUGHT and market.events(ev.Revealed, 1) == []
    assert market.providers[0].journal.recall(1, KeyGiven) is None
    hand.market.travel_to(market.times().publish + 1)
    assert market.paid(1) == {} and market.providers[0].journal.recall(1, Collected).amount == 0


def test_a_key_that_is_out_is_revealed_to_the_last_second(hand):
    hand.begin()
    hand.buy(0)
    assert isinstance(hand.ask_key(0), bytes)
    hand.market.restart_provider(0)  # between key and reveal
    away_until(hand, hand.market.times().keys - 1)
    assert hand.market.state(0) is SaleState.REVEALED


def test_who_is_a_little_late_reveals(hand):
    hand.begin()
    hand.buy(0)
    margin = hand.market.terms.deadlines.margin
    away_until(hand, hand.market.times().keys - margin + margin // 5)
    assert hand.market.state(0) is SaleState.REVEALED


# --- what takes long, and what fails ---------------------------------------------------------------------------------


def test_training_does_not_keep_a_seller_from_its_money(build, kit, monkeypatch):
    """The buyer denies a key, opens the next epoch and lets the seller train through the end of the key window."""
    market = build(providers=1)
    hand = kit.Hand(market).begin()
    hand.buy(0)
    assert isinstance(hand.ask_key(0), bytes)
    hand.publish({})
    assert hand.open() == 2
    started, go_on, train = threading.Event(), threading.Event(), kit.Softmax.train

    def slow(self, model, data, *, seed):
        started.set()
        assert go_on.wait(600)
        return train(self, model, data, seed=seed)

    monkeypatch.setattr(kit.Softmax, "train", slow)
    answer = []
    training = threading.Thread(target=lambda: answer.append(hand.say(ms.TrainRequest(epoch=2, body=hand.file(0)))))
    training.start()
    assert started.wait(600)
    market.travel_to(market.times(1).keys - market.terms.deadlines.margin)
    market.watch()
    assert market.state(0) is SaleState.REVEALED
    go_on.set()
    training.join(600)
    assert len(answer) == 1


def test_one_duty_that_fails_leaves_no_other_undone(hand, monkeypatch):
    hand.begin()
    hand.buy(0)
    market, seller = hand.market, hand.market.providers[0]
    broken = []

    def fail(*_):
        broken.append(1)
        raise RuntimeError("a defect")

    for duty in ("_commit_in_time", "_defend"):
        monkeypatch.setattr(seller.watching, duty, fail)
    fail.__name__ = "fail"
    market.chain.travel_to(market.times().keys - market.terms.deadlines.margin)
    with pytest.raises(RuntimeError, match="a defect"):
        seller.watch()
    assert broken and market.state(0) is SaleState.REVEALED
    market.chain.travel_to(market.times().publish + 1)
    with pytest.raises(RuntimeError, match="a defect"):
        seller.watch()
    assert market.paid(1) == {market.names[0]: market.price(0)}


class Censoring(FusedChain):
    """A chain into which one wallet brings nothing for a while."""

    victim, until = "", 0

    def _send(self, step, *, account, key):
        if account.address == self.victim and self.now() < self.until:
            raise ChainError("not confirmed; ask again later")
        return super()._send(step, account=account, key=key)


@pytest.mark.parametrize(("held_back", "paid"), [(-2, True), (0, False)])
def test_a_censor_must_hold_a_key_back_for_the_whole_margin(build, kit, tmp_path, held_back, paid):
    """For less, the seller is paid all the same. For as long as that, it is not: the terms' margin must be longer."""
    chain = Censoring(tmp_path / "chain.sqlite", 2, Fuse(parties=("nobody",)))
    market = build(providers=1, chain=chain)
    hand = kit.Hand(market).begin()
    hand.buy(0)
    assert isinstance(hand.ask_key(0), bytes)
    keys, margin = market.times().keys, market.terms.deadlines.margin
    chain.victim, chain.until = market.names[0], keys + held_back
    market.chain.travel_to(keys - margin)
    with pytest.raises(ChainError, match="not confirmed"):
        market.providers[0].watch()
    market.restart_provider(0)
    market.chain.travel_to(keys + held_back)
    market.providers[0].watch()
    market.travel_to(market.times().publish + 1)
    assert (market.names[0] in market.paid(1)) == paid
    chain.close()


# --- wallets without coins -------------------------------------------------------------------------------------------


def empty_wallet(market, i):
    """Send away everything that a wallet has."""
    account = market.sellers[i]
    fee = 30_000 * 2 * int(market.chain.web3.eth.get_block("latest")["baseFeePerGas"])
    market.chain.transfer(to=market.buyer.address, amount=market.chain.balance(account.address) - fee, account=account)


def test_a_wallet_that_could_not_reveal_gives_no_key_unless_it_is_told_to(hand):
    """Whoever buys can see an empty wallet, and could take its key for nothing."""
    market = hand.market
    empty_wallet(market, 0)
    hand.begin()
    hand.buy(0)
    assert "wei to reveal it with" in hand.ask_key(0).reason
    assert market.providers[0].journal.recall(1, KeyGiven) is None
    market.providers[0].guard = guard.Guard(
        market.terms, market.trading, market.sellers[0], market.providers[0].shelf, market.providers[0].windows, True
    )
    assert isinstance(hand.ask_key(0), bytes)


def test_a_seller_without_coins_that_trusts_its_buyer_is_served(build):
    """Its commitment is relayed, its key is taken, it is listed, and its pay is sent to it: it sends nothing itself."""

    class Trusting(Provider):
        def __post_init__(self):
            self.trusting = True
            super().__post_init__()

    market = build(providers=2, cheats={0: Trusting})
    empty_wallet(market, 0)
    before = market.chain.balance(market.names[0])
    market.run(1)
    market.check_honest((0, 1))
    assert market.chain.balance(market.names[0]) == before + market.paid(1)[market.names[0]]


class Slow(FusedChain):
    """Keeps the transactions of one wallet out for a while, and then lets them count late."""

    slow, before, after = None, 0, 0

    def _send(self, step, *, account, key):
        if account.address != self.slow:
            return super()._send(step, account=account, key=key)
        self.travel(self.before) if self.before else None
        done = super()._send(step, account=account, key=key)
        self.travel(self.after) if self.after else None
        return done


@pytest.mark.parametrize("asked", [False, True], ids=["on its own", "when the acquirer asks"])
@pytest.mark.parametrize(("kept_out", "deep"), [(898, 0), (0, 899), (898, 899)])
def test_a_claim_does_not_keep_a_younger_key_from_the_chain(build, kit, tmp_path, kept_out, deep, asked):
    """The older epoch becomes final just before the younger one's key is due; a wallet sends one after the other."""
    chain = Slow(tmp_path / "chain.sqlite", 2, Fuse(parties=("nobody",)))
    hand = kit.Hand(build(providers=1, chain=chain)).begin()
    market, times = hand.market, hand.market.terms.deadlines
    hand.buy(0)
    hand.publish({})
    final = market.times(1).publish + 1
    market.travel_to(final + times.margin + 3 - times.commit - times.buy - times.keys)
    hand.begin(2)
    hand.buy(0, epoch=2)
    assert isinstance(hand.ask_key(0, epoch=2), bytes)
    hand.publish({}, epoch=2)
    market.travel_to(final - 5)
    due = market.times(2).keys - times.margin
    assert final < due < final + 10
    chain.slow, chain.before, chain.after = market.names[0], kept_out, deep
    for second in (final, due, market.times(2).publish + 1):
        chain.travel_to(max(second, chain.now()))
        if asked:
            hand.say(ms.Closed(epoch=1), 0)
        market.watch()
    assert {epoch: market.paid(epoch)[market.names[0]] for epoch in (1, 2)} == dict.fromkeys((1, 2), market.price(0))
    chain.close()


@pytest.mark.parametrize(("kept_out", "deep"), [(898, 0), (0, 899), (898, 899)])
def test_a_commitment_does_not_keep_an_older_key_from_the_chain(build, kit, tmp_path, kept_out, deep):
    """The buyer relays nothing, and opens an epoch whose commitment is due just before the key that it denies."""
    chain = Slow(tmp_path / "chain.sqlite", 2, Fuse(parties=("nobody",)))
    hand = kit.Hand(build(providers=1, chain=chain)).begin()
    market, times = hand.market, hand.market.terms.deadlines
    hand.buy(0)
    assert isinstance(hand.ask_key(0), bytes)
    hand.publish({})
    last = market.times(1).keys
    market.travel_to(last - 5 - times.commit)
    assert hand.open() == 2
    hand.train(2)
    chain.slow, chain.before, chain.after = market.names[0], kept_out, deep
    for second in (last - times.margin - 5, last - times.margin, market.times(1).publish + 1):
        chain.travel_to(max(second, chain.now()))
        market.watch()
    assert market.paid(1) == {market.names[0]: market.price(0)}
    chain.close()
