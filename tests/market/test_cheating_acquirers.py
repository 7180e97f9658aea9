"""Acquirers that break the rules or stop: whoever's key they had has its ask, and no key is given unbought."""

import pytest

from martfl.chain import events as ev
from martfl.chain.network import RevertedError
from martfl.chain.signing import sign_commit
from martfl.chain.state import WHOLE, Offer, Phase
from martfl.market import messages as ms
from martfl.market.steps import KeyGiven, KeyRevealed

ASKS = {0: 10**16, 1: 3 * 10**17, 2: 10**15}


@pytest.fixture
def traded(build, kit):
    """A market of three sellers in whose first epoch a test may buy."""
    market = build(providers=3, asks=ASKS)
    return kit.Hand(market).begin()


def finish(hand, epoch=1):
    """All windows end, everybody looks after itself, and the acquirer takes what it may."""
    market = hand.market
    market.travel_to(market.times(epoch).publish + 1)
    market.watch()
    state = market.trading.read_epoch(epoch)
    if state.refundable:
        market.trading.claim_reward(epoch, account=market.buyer)
    held = market.chain.balance(market.trading.address)
    assert market.money_in(epoch) == market.money_out(epoch) + held
    assert held == (state.penalty if state.phase is Phase.FAILED else 0)
    return state.phase


def key_is_out(market, i, epoch=1):
    """Whether anybody but seller `i` has its key."""
    journal, name = market.providers[i].journal, market.names[i]
    on_chain = [event for event in market.events(ev.Revealed, epoch) if event.provider == name]
    return bool(on_chain) or journal.recall(epoch, KeyGiven) is not None


def check_asks(market, epoch=1):
    """Whose key is out was bought and has its ask."""
    for i, name in enumerate(market.names):
        if key_is_out(market, i, epoch):
            assert name in market.trading.bought(epoch) and market.paid(epoch)[name] >= ASKS[i]


# --- purchases -------------------------------------------------------------------------------------------------------


def vanish_before_keys(hand):
    hand.buy(0, 1)
    return Phase.FAILED


def vanish_after_keys(hand):
    hand.buy(0, 1)
    assert all(isinstance(hand.ask_key(i), bytes) for i in (0, 1))
    return Phase.FAILED


def publish_nobody(hand):
    hand.buy(0, 1)
    assert isinstance(hand.ask_key(0), bytes)
    hand.publish({})
    return Phase.SETTLED


def publish_nobody_in_the_last_block(hand):
    hand.buy(0, 1)
    assert all(isinstance(hand.ask_key(i), bytes) for i in (0, 1))
    hand.market.travel_to(hand.market.times().publish - 1)
    hand.publish({})
    return Phase.SETTLED


def list_one_and_never_accept_the_other(hand):
    hand.buy(0, 1)
    assert isinstance(hand.ask_key(1), bytes)
    hand.publish({0: WHOLE})
    return Phase.SETTLED


def buy_in_the_last_second(hand):
    hand.sealed(0)
    hand.market.travel_to(hand.market.times().buy - 1)
    hand.buy(0, 1)
    assert hand.market.chain.now() == hand.market.times().buy
    assert isinstance(hand.ask_key(0), bytes)
    return Phase.FAILED


def own_wallet_takes_all_weight(hand):
    hand.buy(0, 2)  # seller 2 is the acquirer's own
    hand.publish({0: 1, 2: WHOLE - 1})
    return Phase.SETTLED


def look_at_all_and_weigh_none(hand):
    hand.buy(0, 1, 2)
    assert all(isinstance(hand.ask_key(i), bytes) for i in (0, 1, 2))
    hand.trading.accept(1, providers=hand.market.names, account=hand.account)
    hand.publish({})
    return Phase.SETTLED


def ask_for_keys_in_the_last_second_before_the_margin(hand):
    market = hand.market
    hand.buy(0)
    last = market.times().keys - market.terms.deadlines.margin
    market.chain.travel_to(last - 1)
    assert isinstance(hand.ask_key(0), bytes)
    return Phase.FAILED


def ask_for_keys_within_the_margin(hand):
    market = hand.market
    hand.buy(0)
    market.chain.travel_to(market.times().keys - market.terms.deadlines.margin)
    assert isinstance(hand.ask_key(0), ms.Refusal)
    assert not key_is_out(market, 0)
    return Phase.FAILED


def buy_nobody(hand):
    for i in range(3):
        hand.sealed(i)
        assert isinstance(hand.ask_key(i), ms.Refusal)
    return Phase.EMPTY


STRATEGIES = (
    vanish_before_keys, vanish_after_keys, publish_nobody, publish_nobody_in_the_last_block,
    list_one_and_never_accept_the_other, buy_in_the_last_second, own_wallet_takes_all_weight,
    look_at_all_and_weigh_none, ask_for_keys_in_the_last_second_before_the_margin, ask_for_keys_within_the_margin,
    buy_nobody,
)  # fmt: skip


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_whatever_an_acquirer_does_with_keys_they_are_paid(traded, strategy):
    expected = strategy(traded)
    market = traded.market
    assert finish(traded) is expected
    check_asks(market)
    for name in market.trading.bought(1):  # all of these sellers were there in time
        assert market.paid(1)[name] >= market.price(market.names.index(name)) >= ASKS[market.names.index(name)]


def test_a_seller_that_the_buyer_denies_reveals_once_and_in_time(traded):
    traded.buy(0)
    assert isinstance(traded.ask_key(0), bytes)
    finish(traded)
    market = traded.market
    margin = market.terms.deadlines.margin
    (at,) = read_times(market, ev.Revealed)
    assert market.times().keys - margin <= at <= market.times().keys - margin + 5
    assert market.providers[0].journal.recall(1, KeyRevealed) is not None


def read_times(market, kind, epoch=1):
    entries = getattr(market.trading.contract.events, kind.__name__)().get_logs(
        argument_filters={"epoch": epoch}, from_block=0
    )
    return [market.chain.web3.eth.get_block(entry["blockNumber"])["timestamp"] for entry in entries]


def test_a_seller_that_is_accepted_or_listed_reveals_nothing(traded):
    traded.buy(0, 1)
    traded.publish({0: WHOLE})
    traded.trading.accept(1, providers=[traded.market.names[1]], account=traded.account)
    finish(traded)
    assert traded.market.events(ev.Revealed, 1) == []
    check_asks(traded.market)


def test_who_asks_for_nothing_pays_no_gas_to_reveal(build, kit):
    """Its price is 0: there is nothing to be paid for."""
    market = build(providers=1, asks={0: 0})
    hand = kit.Hand(market).begin()
    hand.buy(0)
    finish(hand)
    assert market.events(ev.Revealed, 1) == []


# --- what the contract refuses to a clever acquirer ------------------------------------------------------------------


def changed(offer, **changes):
    return Offer(**{**{f: getattr(offer, f) for f in ("provider", "commitment", "root", "key_hash", "ask")}, **changes})


def test_prices_below_the_ask_twins_and_too_many_purchases_revert(traded):
    market, account = traded.market, traded.account
    offers = [traded.offer(i) for i in range(3)]
    for wrong in (changed(offers[0], ask=0), changed(offers[1], ask=1), changed(offers[0], provider=market.names[1])):
        with pytest.raises(RevertedError, match="not the offer"):
            market.trading.buy(1, offers=[wrong], account=account)
    with pytest.raises(RevertedError, match="not the offer"):
        market.trading.buy(1, offers=[offers[0], offers[0]], account=account)
    traded.buy(0)
    with pytest.raises(RevertedError, match="not the offer"):
        traded.buy(0)
    with pytest.raises(RevertedError, match="epoch is not final"):  # a refund before the key deadline
        market.trading.claim_reward(1, account=account)
    assert finish(traded) is Phase.FAILED
    check_asks(market)


def test_asks_beyond_the_reward_together_are_not_bought_together(build, kit):
    market = build(providers=2, asks={0: 6 * 10**17, 1: 5 * 10**17})
    hand = kit.Hand(market).begin()
    with pytest.raises(RevertedError, match="prices exceed the reward"):
        hand.buy(0, 1)
    assert isinstance(hand.ask_key(0), ms.Refusal)


def test_a_commitment_cannot_be_taken_over_by_another_wallet(build, kit):
    """In the same epoch it is not known in time; in a later one its digest is another; a signature is its signer's."""
    market = build(providers=2)
    hand = kit.Hand(market)
    hand.open()
    signed = hand.train(providers=[0])
    market.trading.commit_model(
        1, digest=signed[0].digest, account=market.sellers[1]
    )  # an own wallet copies the digest
    hand.relay(signed)
    stolen = sign_commit(market.sellers[1], **place(market), epoch=1, digest=signed[0].digest)
    hand.relay([stolen])
    hand.close_commitments()
    offer = hand.offer(0)
    with pytest.raises(RevertedError, match="not the offer"):
        market.trading.buy(1, offers=[changed(offer, provider=market.names[1])], account=hand.account)
    hand.buy(0)
    with pytest.raises(RevertedError, match="commitments are closed"):
        late = changed(offer, provider=market.names[1]).digest(**place(market), epoch=1)
        market.trading.commit_model(1, digest=late, account=market.sellers[1])
    hand.publish({0: WHOLE})
    assert finish(hand) is Phase.SETTLED and market.paid(1)[market.names[0]] == market.terms.money.reward


def place(market):
    return {"chain_id": market.chain.chain_id, "market": market.trading.address}


def test_a_sound_update_cannot_be_refuted(traded):
    """With any leaf of it, or with the leaf of another one."""
    market = traded.market
    traded.buy(0, 1)
    market.travel_to(market.times().keys)
    (first,) = [event for event in market.events(ev.Revealed, 1) if event.provider == market.names[0]]
    offer, body = traded.bought[0]
    assert market.settler.refutation(body, first.key) is None
    from martfl.settlement import exact

    for sealed in (body, traded.bought[1][1]):
        shown = exact.refutation(sealed, first.key, market.settler.key, 0)
        with pytest.raises(RevertedError, match=r"leaf is sound|not the provider's update"):
            market.trading.refute(1, offer=offer, refutation=shown, account=traded.account)
    finish(traded)
    check_asks(market)


# --- commitments -----------------------------------------------------------------------------------------------------


def test_who_is_not_relayed_sends_its_own_when_the_margin_begins(build, kit):
    market = build(providers=2)
    hand = kit.Hand(market)
    hand.open()
    signed = hand.train()
    hand.relay(signed[:1])
    hand.close_commitments()
    assert set(market.outcome(1)["committed"]) == set(market.names)
    first, second = read_times(market, ev.ModelCommitted)
    assert second >= market.times().commit - market.terms.deadlines.margin > first
    hand.buy(0, 1)
    assert isinstance(hand.ask_key(1), bytes)
