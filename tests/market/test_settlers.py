"""One suite of laws for both settlement schemes, as the roles use them, on a real chain.

Honest work is accepted, and any single change of it is not.
"""

from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from martfl.bench.exchange.world import first_file, open_world
from martfl.chain.network import RevertedError
from martfl.chain.state import Phase
from martfl.errors import MartflError
from martfl.market import terms_rules
from martfl.market.errors import MarketError, MessageError
from martfl.market.settling import Share
from martfl.settlement.integer_file import from_bytes, to_bytes
from martfl.settlement.seal import new_secret
from martfl.settlement.weights import WEIGHT_TOTAL

EVERY = 26  # parameters of the task: the sampled scheme opens all of them, so that no change can hide
SCHEMES = {
    "exact": {"scale": 2.0**-10},
    "sampled": {
        "scheme": "sampled", "setup": "alone", "samples": EVERY, "providers": 3, "vdf_steps": 300, "update_limit": 4.0,
    },
}  # fmt: skip
positions = st.integers(0, EVERY - 1)


@contextmanager
def bought(scheme):
    """An epoch in which three honest sellers are bought and nothing is published yet."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(terms_rules, "LEAST_STEPS", 1)
        with open_world(honest=3, terms={"settlement": SCHEMES[scheme]}) as world:
            epoch = world.rogue_epoch()
            epoch.begin(first_file(world))
            shop = epoch.shop()
            shop.buy(sorted(str(seller.account.address) for seller in world.honest))
            yield Bought(world, epoch, dict(shop.here))


@dataclass(frozen=True)
class Bought:
    world: object
    epoch: object
    here: dict

    @property
    def settler(self):
        return self.world.settler

    @property
    def base(self):
        return first_file(self.world)

    def shares(self, weights=(32_768, 16_384, 16_384), **changes):
        deliveries = {**self.here, **changes}
        return {name: Share(deliveries[name], weight) for name, weight in zip(self.here, weights, strict=True)}

    def aggregate(self, shares):
        return self.settler.aggregate(self.base, shares, epoch=1)

    def publish(self, file, shares):
        return self.settler.publish(self.epoch.act, file, shares)

    def phase(self):
        return self.world.trading.read_epoch(1).phase


@pytest.fixture(params=SCHEMES)
def trade(request):
    with bought(request.param) as made:
        yield made


@pytest.fixture(scope="module", params=SCHEMES)
def settled(request):
    """An honest epoch, published and proved, with its file."""
    with bought(request.param) as made:
        shares = made.shares()
        file = made.aggregate(shares)
        made.publish(file, shares)
        made.settler.prove(made.epoch.act, made.base, file, shares)
        yield made, file


def bump(file, position):
    """One number of a model moved by one step."""
    vector = from_bytes(file, kind="model", parameters=EVERY)
    values = vector.values.copy()
    values[position] += 1 if values[position] <= 0 else -1
    return to_bytes(replace(vector, values=values))


def moved(delivery, position):
    """A delivery with one number moved."""
    values = delivery.values.copy()
    values[position] += 1 if values[position] <= 0 else -1
    return replace(delivery, values=values)


# --- sealing ---------------------------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), overflow=st.floats(0.01, 3.0))
def test_what_is_sealed_opens_to_the_same_numbers(settled, seed, overflow):
    settler, secret = settled[0].settler, new_secret()
    update = np.random.default_rng(seed).normal(0, overflow, EVERY)
    values = settler.numbers.quantise(update, overflow="clip").values
    sealed = settler.seal(values, secret)
    assert np.array_equal(settler.open_sealed(sealed.body, secret), values)
    assert settler.refutation(sealed.body, secret) is None
    assert len(sealed.body) > 2 * EVERY * settler.numbers.bits // 16


@settings(max_examples=15)
@given(data=st.data())
def test_a_changed_sealed_update_is_refused_before_it_is_paid(settled, data):
    made = settled[0]
    delivery = next(iter(made.here.values()))
    body = bytearray(delivery.body)
    body[data.draw(st.integers(0, len(body) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(MessageError, match="not the one offered"):
        made.settler.check_sealed(bytes(body), delivery.offer)
    made.settler.check_sealed(delivery.body, delivery.offer)


@settings(max_examples=15)
@given(position=positions, number=st.integers(0, 2))
def test_numbers_that_were_not_committed_to_are_found(settled, position, number):
    made = settled[0]
    name = list(made.here)[number]
    other = new_secret()
    wrong_key = replace(made.here[name], secret=other, values=made.settler.open_sealed(made.here[name].body, other))
    assert made.settler.find_false(made.here) == set()
    assert made.settler.find_false({**made.here, name: wrong_key}) == {name}
    assert made.settler.refutation(made.here[name].body, other) is not None


# --- models ----------------------------------------------------------------------------------------------------------


def test_the_model_is_the_old_one_plus_updates_by_weight(settled):
    made, file = settled
    weights = np.array([0.5, 0.25, 0.25])
    updates = np.stack([made.settler.numbers.dequantise(one.values) for one in made.here.values()])
    expected = made.settler.floats(made.base) + weights @ updates
    unit = max(made.settler.numbers.scale, abs(made.settler.floats(bump(file, 0)) - made.settler.floats(file)).max())
    assert np.allclose(made.settler.floats(file), expected, atol=2 * unit, rtol=0)
    assert made.phase() in (Phase.PROVED, Phase.STANDING, Phase.SETTLED)
    made.settler.check(made.world.trading, file, epoch=1)


def test_terms_and_contract_agree_on_whether_a_model_needs_a_proof(settled):
    made, _ = settled
    needed = made.world.terms.settlement.needs_proof
    assert made.world.trading.needs_proof is needed and (made.phase() is Phase.PROVED) is needed


@settings(max_examples=15)
@given(position=positions)
def test_a_changed_file_is_refused(settled, position):
    made, file = settled
    with pytest.raises(MarketError, match="the model file"):
        made.settler.check(made.world.trading, bump(file, position), epoch=1)


@settings(max_examples=10)
@given(units=st.integers(1, 5000), taken=st.integers(0, 2), given_=st.integers(0, 2))
def test_the_model_of_other_weights_is_refused(settled, units, taken, given_):
    made, _ = settled
    weights = [32_768, 16_384, 16_384]
    weights[taken] -= units
    weights[given_] += units
    file = made.aggregate(made.shares(weights))
    if taken == given_:
        made.settler.check(made.world.trading, file, epoch=1)
        return
    with pytest.raises(MarketError, match="the model file"):
        made.settler.check(made.world.trading, file, epoch=1)


@pytest.mark.parametrize("position", [0, 13, 25])
def test_a_model_of_updates_that_were_not_bought_never_stands(trade, position):
    name = next(iter(trade.here))
    honest = trade.shares()
    file = trade.aggregate(trade.shares(**{name: moved(trade.here[name], position)}))
    if file == trade.aggregate(honest):  # rounded away: the sampled model's step is wider than an update's
        file = bump(file, position)
    assert_never_stands(trade, file, honest)


@pytest.mark.parametrize("position", [0, 13, 25])
def test_a_false_model_never_stands(trade, position):
    shares = trade.shares()
    assert_never_stands(trade, bump(trade.aggregate(shares), position), shares)


def assert_never_stands(trade, file, shares):
    """Neither what the contract adds up nor what can be proved is this file."""
    try:
        trade.publish(file, shares)
        trade.settler.prove(trade.epoch.act, trade.base, file, shares)
        trade.settler.check(trade.world.trading, file, epoch=1)
    except (MartflError, RevertedError):
        return
    assert trade.phase() in (Phase.FAILING, Phase.FAILED, Phase.PUBLISHED)


@pytest.mark.parametrize("units", [-1, 1])
def test_weights_that_do_not_sum_are_refused(trade, units):
    shares = trade.shares((32_768, 16_384, 16_384 + units))
    assert sum(share.weight for share in shares.values()) != WEIGHT_TOTAL
    with pytest.raises((MartflError, RevertedError), match="sum"):
        trade.publish(trade.aggregate(shares), shares)
