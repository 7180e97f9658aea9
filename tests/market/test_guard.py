"""When a seller answers, and what it does on its own: clocks, margins, re-organisations, restarts, empty wallets."""

import numpy as np
import pytest

from martfl.chain.network import ChainError
from martfl.chain.state import WHOLE
from martfl.market import messages as ms
from martfl.market import wire
from martfl.market.steps import Collected, KeyGiven
from martfl.scoring import scorer
from martfl.settlement.integer_file import from_bytes, to_bytes


def refused(hand, message, words, i=0, **options):
    answer = hand.say(message, i, **options)
    assert isinstance(answer, ms.Refusal) and words in answer.reason, answer
    return True


def baseline(size=170, seed=0):
    return scorer("plain").generate().encrypt_baseline(np.random.default_rng(seed).normal(size=size))


def before_the_purchase():
    """Everything that a buyer may ask for before it pays."""
    score = ms.ScoreRequest(epoch=1, body=baseline())
    return ms.OfferRequest(epoch=1), score, ms.SealedRequest(epoch=1, key="07" * 32)


def key_request(hand, epoch=1):
    return ms.KeyRequest(epoch=epoch, key=hand.sealing.public.hex())


@pytest.fixture
def hand(build, kit):
    """The acquirer's wallet in a market of two sellers."""
    return kit.Hand(build(providers=2))


# --- requests at the wrong time, about the wrong thing, by the wrong party -------------------------------------------


def test_nothing_is_shown_before_commitments_are_closed(hand):
    hand.open()
    hand.relay(hand.train())
    for message in before_the_purchase():
        assert refused(hand, message, "not closed yet")
    assert refused(hand, key_request(hand), "nothing was bought")
    hand.close_commitments()
    for message in before_the_purchase():
        assert not isinstance(hand.say(message), ms.Refusal)


def test_nothing_more_is_shown_when_purchases_are_over(hand):
    hand.begin()
    hand.buy(0)
    hand.publish({0: WHOLE})
    for message in before_the_purchase():
        assert refused(hand, message, "sells nothing any more", 1)


def test_a_seller_whose_commitment_is_not_on_chain_shows_nothing(hand):
    hand.open()
    hand.relay(hand.train()[:1])
    hand.market.chain.travel_to(hand.market.times().commit + 1)  # the second is not there to send its own
    for message in before_the_purchase():
        assert refused(hand, message, "no commitment", 1)
    hand.market.watch()
    assert hand.market.providers[1].journal.recall(1, Collected).amount == 0  # the epoch is over for it
    assert refused(hand, ms.OfferRequest(epoch=1), "no update", 1)


def test_scores_are_given_once_for_each_baseline(hand):
    hand.begin()
    market, bodies = hand.market, [baseline(seed=seed) for seed in range(2)]
    first = hand.say(ms.ScoreRequest(epoch=1, baseline=0, body=bodies[0]))
    assert isinstance(first, ms.Scored)
    assert refused(hand, ms.ScoreRequest(epoch=1, baseline=0, body=bodies[1]), "each is answered once")
    for number in (4, 2**40):
        assert refused(hand, ms.ScoreRequest(epoch=1, baseline=number, body=bodies[1]), "the terms allow 4 baselines")
    assert isinstance(hand.say(ms.ScoreRequest(epoch=1, baseline=1, body=b"rubbish")), ms.Refusal)
    market.restart_provider(0)  # a restart forgets nothing
    assert hand.say(ms.ScoreRequest(epoch=1, baseline=0, body=bodies[0])) == first
    assert refused(hand, ms.ScoreRequest(epoch=1, baseline=0, body=bodies[1]), "each is answered once")


def test_an_epoch_that_does_not_hold_the_promised_reward_gets_no_update(hand):
    hand.open(amount=10**17)
    assert refused(hand, ms.TrainRequest(epoch=1, body=hand.file(0)), "the terms promise")
    assert hand.market.providers[0].journal.entries(1) == []


def test_training_on_another_model_is_refused(hand):
    hand.open()
    vector = from_bytes(hand.file(0), kind="model", parameters=170)
    vector.values[0] += 1
    assert refused(hand, ms.TrainRequest(epoch=1, body=to_bytes(vector)), "hash is not the one")
    assert refused(hand, ms.TrainRequest(epoch=1, body=b"nothing"), "malformed")


def test_a_false_file_is_named_and_stops_nobody(hand):
    """The seller says so, and looks after its money as before."""
    hand.begin()
    assert refused(hand, ms.OfferRequest(epoch=0), "no epoch 0")
    hand.buy(0)
    hand.publish({0: WHOLE})
    vector = from_bytes(hand.files[1], kind="model", parameters=170)
    vector.values[3] += 1
    verdict = hand.say(ms.PublishedFile(epoch=1, body=to_bytes(vector)))
    assert isinstance(verdict, ms.FileVerdict) and not verdict.accepted
    assert [r.kind for r in hand.market.providers[0].journal.remarks()][-1:] == ["false model"]
    assert hand.say(ms.PublishedFile(epoch=1, body=hand.files[1])).accepted
    hand.market.watch()
    assert hand.market.paid(1) == {hand.market.names[0]: hand.market.terms.money.reward}


def test_epochs_that_do_not_exist_and_messages_that_are_no_requests(hand):
    hand.open()
    every = (ms.TrainRequest, ms.OfferRequest, ms.ScoreRequest, ms.Closed, ms.PublishedFile)
    for message in (*(kind(epoch=7) for kind in every), key_request(hand, 7), ms.SealedRequest(epoch=7, key="07" * 32)):
        assert isinstance(hand.say(message), ms.Refusal)
    assert refused(hand, ms.FileVerdict(epoch=1, accepted=True), "does not answer")


@pytest.mark.parametrize("key", ["zz", "00" * 5, "00" * 32])
def test_keys_are_sealed_to_usable_keys_only(hand, key):
    hand.begin()
    hand.buy(0)
    assert isinstance(hand.say(ms.KeyRequest(epoch=1, key=key)), ms.Refusal)


def test_requests_of_strangers_and_of_other_places_are_refused(hand):
    """A message that was made for another chain, another market or by another wallet is nobody's request."""
    hand.begin()
    hand.buy(0)
    market = hand.market
    elsewhere = wire.MarketId(market.place.chain_id + 1, market.place.contract)
    another = wire.MarketId(market.place.chain_id, "0x" + "33" * 20)
    for options in ({"place": elsewhere}, {"place": another}, {"account": market.sellers[1]}):
        assert isinstance(hand.say(key_request(hand), **options), ms.Refusal)
    assert market.providers[0].journal.recall(1, KeyGiven) is None
    assert isinstance(hand.ask_key(0), bytes)


def test_words_about_the_sellers_node_are_not_told(hand, monkeypatch):
    def away(*_):
        raise ChainError("node rpc.example.org with its secret path did not answer")

    monkeypatch.setattr(hand.market.providers[0].trading, "read_epoch", away)
    assert "rpc.example.org" not in hand.say(ms.TrainRequest(epoch=1)).reason
