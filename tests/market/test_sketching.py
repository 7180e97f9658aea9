"""Which block draws a sketch: the first after commitments closed, deep in the chain; sellers accept no other."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from martfl.chain.embedded import EmbeddedChain
from martfl.market import messages as ms
from martfl.market.errors import MarketError
from martfl.market.sketching import check_draw, entries_of, first_block_after, make_scorer
from martfl.market.steps import Drawn
from martfl.market.terms_parts import ScoringTerms
from martfl.scoring import scorer

PLACE = "0x" + "11" * 20


class Buried(EmbeddedChain):
    """A chain of which the last two blocks do not count yet."""

    def deep_block(self):
        return max(0, self.web3.eth.block_number - 2)


def chain_with(gaps, kind=EmbeddedChain):
    """Blocks so many seconds apart."""
    chain = kind(accounts=1)
    for gap in gaps:
        chain.travel(gap)
    return chain


def times_of(chain):
    return [chain.web3.eth.get_block(number)["timestamp"] for number in range(chain.web3.eth.block_number + 1)]


def at(chain, since=0):
    return SimpleNamespace(chain=chain, since=since, address=PLACE)


@given(gaps=st.lists(st.integers(1, 9), min_size=2, max_size=12), data=st.data())
def test_the_first_block_after_a_second_is_found_and_nothing_else_is_accepted(gaps, data):
    chain = chain_with(gaps)
    times = times_of(chain)
    closed = data.draw(st.integers(times[1], times[-1] - 1))
    first = next(number for number, time in enumerate(times) if time > closed)
    assert first_block_after(at(chain), closed) == first
    for number in range(-1, len(times) + 2):
        if number == first:
            check_draw(at(chain), number=number, closed=closed)
            continue
        with pytest.raises(MarketError, match="block"):
            check_draw(at(chain), number=number, closed=closed)
    chain.close()


def test_a_block_that_does_not_count_yet_draws_nothing():
    chain = chain_with([1, 1, 10], Buried)
    closed = times_of(chain)[-2]
    for _ in range(2):
        with pytest.raises(MarketError, match="deep enough"):
            first_block_after(at(chain), closed)
        with pytest.raises(MarketError, match="must lie in"):
            check_draw(at(chain), number=3, closed=closed)
        chain.travel(1)
    assert first_block_after(at(chain), closed) == 3
    check_draw(at(chain), number=3, closed=closed)
    chain.close()


def test_the_sketch_is_bound_to_chain_block_market_and_epoch():
    chain = chain_with([1, 1, 1])
    terms, values = ScoringTerms(scheme="plain", sketch=1024), np.random.default_rng(0).normal(size=3000)

    def score(epoch=1, number=2, place=PLACE):
        trading = SimpleNamespace(chain=chain, since=0, address=place)
        made = make_scorer(trading, terms, parameters=3000, epoch=epoch, number=number)
        key = made.generate()
        return key.decrypt_score(made.score(key.encrypt_baseline(values), values[::-1].copy()))

    same, others = score(), [score(epoch=2), score(number=3), score(place="0x" + "22" * 20)]
    assert score() == same and len({same, *others}) == 4
    chain.close()


def test_small_models_are_compared_whole():
    assert entries_of(ScoringTerms(), parameters=170) == 0
    assert entries_of(ScoringTerms(sketch=0), parameters=10**6) == 0
    assert entries_of(ScoringTerms(), parameters=10**6) == 65_536
    assert entries_of(ScoringTerms(sketch=2048), parameters=10**6) == 2048


# --- in a market -----------------------------------------------------------------------------------------------------

SKETCHED = {"scoring": {"scheme": "plain", "sketch": 1024}}


class Wide:
    """A task whose model is long enough for a sketch: the digits' pixels through fixed random features."""

    def __init__(self, inner):
        self.inner = inner
        self.features = np.random.default_rng(0).normal(size=(16, 210))

    def initial(self):
        return np.zeros(211 * 10)

    def _table(self, data):
        return np.tanh(data[0] @ self.features), data[1]

    def logits(self, model, data):
        table = model.reshape(211, 10)
        return self._table(data)[0] @ table[:-1] + table[-1]

    def train(self, model, data, *, seed):
        (x, y), start = self._table(data), model
        for _ in range(5):
            z = x @ model.reshape(211, 10)[:-1] + model.reshape(211, 10)[-1]
            p = np.exp(z - z.max(axis=1, keepdims=True))
            error = (p / p.sum(axis=1, keepdims=True) - np.eye(10)[y]) / len(y)
            model = model - 0.5 * np.concatenate([x.T @ error, error.sum(axis=0, keepdims=True)]).ravel()
        return model - start

    def labels(self, data):
        return data[1]


@pytest.fixture
def sketched(build, monkeypatch, kit):
    """A market whose scores are over sketches."""
    wide = Wide(None)
    for name in ("initial", "logits", "train", "labels"):
        monkeypatch.setattr(kit.Softmax, name, getattr(wide, name).__func__.__get__(wide))
    return build(providers=2, terms=SKETCHED)


def test_an_epoch_with_sketched_scores(sketched):
    sketched.run(1)
    drawn = sketched.acquirer.journal.recall(1, Drawn)
    web3, closed = sketched.chain.web3, sketched.times(1).commit
    assert web3.eth.get_block(drawn.number - 1)["timestamp"] <= closed < web3.eth.get_block(drawn.number)["timestamp"]
    assert drawn.hash == bytes(web3.eth.get_block(drawn.number)["hash"]).hex()
    assert sorted(sketched.weights(1)) == sorted(sketched.names)
    assert not sketched.acquirer.journal.remarks()  # the scores hold: both sides drew the same sketch


def test_a_seller_answers_for_the_right_block_alone(sketched, kit):
    hand = kit.Hand(sketched).begin()
    sketched.chain.travel(5)
    sketched.chain.travel(5)
    right = first_block_after(sketched.trading, sketched.times(1).commit)
    made = make_scorer(sketched.trading, sketched.terms.scoring, parameters=2110, epoch=1, number=right)
    key = made.generate()
    body = key.encrypt_baseline(np.random.default_rng(0).normal(size=2110))
    for number in (0, right - 1, right + 1, sketched.chain.web3.eth.block_number + 1):
        answer = hand.say(ms.ScoreRequest(epoch=1, baseline=0, block=number, body=body))
        assert isinstance(answer, ms.Refusal) and "block" in answer.reason
    assert sketched.providers[0].meter.count(buyer=sketched.buyer.address) == 0  # a refusal is no answer
    assert isinstance(hand.say(ms.ScoreRequest(epoch=1, baseline=0, block=right, body=body)), ms.Scored)
    whole = scorer("plain").generate().encrypt_baseline(np.ones(2110))  # without the sketch that the terms state
    assert isinstance(hand.say(ms.ScoreRequest(epoch=1, baseline=1, block=right, body=whole)), ms.Refusal)
