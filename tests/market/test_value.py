"""Paid by what an update adds, with the product's own roles: asks, riders, copies, noise, and what sellers are told."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from martfl.chain.state import WHOLE, Phase
from martfl.market import messages as ms
from martfl.market.codec import to_json
from martfl.market.conduct import Honest
from martfl.market.errors import MessageError
from martfl.market.paying import read_appraisal
from martfl.market.steps import Appraised, Selected
from martfl.valuation import Appraisal, ByValue, brief, statement

pytestmark = pytest.mark.xdist_group("value")  # one market for all

ROWS = 80
RIDER, NOISY, COPY = 7, 8, 9
ASKS = {0: 0, 1: 1, 2: 3 * 10**16, COPY: 5 * 10**16}


@dataclass(frozen=True)
class WrongLabels(Honest):
    """Six labels in ten are drawn at random."""

    def update(self, lesson):
        (x, y), rng = lesson.data, np.random.default_rng(1)
        wrong = np.where(rng.random(len(y)) < 0.6, rng.integers(0, 10, len(y)), y)
        return super().update(replace(lesson, data=(x, wrong)))


@dataclass(frozen=True)
class NearCopy(Honest):
    """The update of seller 0 once more, with a little noise."""

    rows: object

    def update(self, lesson):
        same = super().update(replace(lesson, data=self.rows))
        return same * (1 + 0.02 * np.random.default_rng(lesson.seed + 5).standard_normal(same.size))


@dataclass(frozen=True)
class FreeRider(Honest):
    """Has no data: the model's last step, which everybody knows, or noise, and a little noise in any case."""

    def update(self, lesson):
        rng = np.random.default_rng(lesson.seed)
        step = rng.standard_normal(lesson.model.size) if lesson.before is None else lesson.model - lesson.before
        noise = rng.standard_normal(step.size)
        return (step + 0.3 * np.linalg.norm(step) * noise / np.linalg.norm(noise)).astype(np.float32)


@pytest.fixture(scope="module")
def first_rows():
    from small_task import small_digits

    x, y = small_digits()
    return x[:ROWS], y[:ROWS]


@pytest.fixture(scope="module")
def open_market(kit, tmp_path_factory):
    opened = []

    def make(providers, **options):
        setting = kit.Setting(tmp_path_factory.mktemp("value"), providers=providers, terms=kit.PLAIN, **options)
        opened.append(kit.Market(setting))
        return opened[-1]

    yield make
    for market in opened:
        market.close()


@pytest.fixture(scope="module")
def market(open_market, first_rows):
    """Seven honest sellers, and three of whom each tries to be paid for nothing; under the terms' own rule."""
    conducts = {RIDER: FreeRider(), NOISY: WrongLabels(), COPY: NearCopy(first_rows)}
    made = open_market(10, conducts=conducts, asks=ASKS, rule=None)
    made.run(2)
    return made


def shares(market, epoch):
    found = market.weights(epoch)
    return np.array([found.get(name, 0) / WHOLE for name in market.names])


@pytest.mark.parametrize("epoch", [1, 2])
def test_nobody_gets_less_than_it_asked_and_all_get_the_reward_to_the_wei(market, epoch):
    state, paid = market.trading.read_epoch(epoch), market.paid(epoch)
    assert state.phase is Phase.SETTLED
    assert all(paid[name] >= market.price(market.names.index(name), epoch) for name in market.trading.bought(epoch))
    rest = state.reward - state.spent - sum(paid[n] - market.price(market.names.index(n), epoch) for n in paid)
    assert 0 <= rest < len(paid)  # of the bonus, what does not divide: it goes back to the buyer
    (refunded,) = market.outcome(epoch)["refunded"]
    assert sum(paid.values()) + refunded == state.deposit


@pytest.mark.parametrize("epoch", [1, 2])
def test_who_adds_nothing_has_no_part_of_the_bonus(market, epoch):
    found = shares(market, epoch)
    honest = found[:RIDER].mean()
    assert found[RIDER] < honest / 50
    assert found[NOISY] < honest / 5
    assert min(found[0], found[COPY]) == 0 or found[[0, COPY]].sum() < 1.5 * honest
    assert found.sum() == pytest.approx(1.0)


def test_a_rule_that_keeps_everybody_is_not_milked_either(open_market, kit, first_rows):
    """Here nobody is dropped: the valuation alone says who is paid what."""
    everybody = ByValue(inner=kit.Everybody())
    alone = open_market(7, rule=everybody)
    conducts = {7: NearCopy(first_rows), 8: FreeRider()}
    milked = open_market(9, rule=everybody, conducts=conducts)
    for one in (alone, milked):
        one.run(1)
    before, after = shares(alone, 1), shares(milked, 1)
    assert after[8] < after[:7].mean() / 50
    assert after[0] + after[7] <= 1.1 * before[0]


@pytest.mark.parametrize("epoch", [1, 2])
def test_a_seller_is_told_what_the_buyer_wrote_down(market, epoch):
    judged = market.acquirer.journal.recall(epoch, Selected).judged
    for name, provider in zip(market.names, market.providers, strict=True):
        told = provider.journal.recall(epoch, Appraised)
        if name not in market.weights(epoch):
            assert told is None
            continue
        assert told == Appraised(weight=market.weights(epoch)[name] / WHOLE, value=judged[name].value)
        assert f"your update added {brief(told.value)}" in statement(told.value, weight=told.weight)


SOUND = Appraised(weight=0.2, value=Appraisal(added=0.1, error=0.01, share=0.2, low=0.1, high=0.3, clarity=0.9))


@pytest.mark.parametrize(
    "body",
    [
        b"\xff",
        b"{}",
        b"[" * 400,
        b" " * 513,
        to_json(SOUND).replace("0.2", "NaN").encode(),
        to_json(replace(SOUND, weight=1.5)).encode(),
        to_json(replace(SOUND, value=replace(SOUND.value, high=3.0))).encode(),
    ],
)
def test_an_appraisal_that_makes_no_sense_is_refused(body):
    with pytest.raises(MessageError, match="appraisal"):
        read_appraisal(body)
    assert read_appraisal(to_json(SOUND).encode()) == SOUND


def test_a_senseless_appraisal_does_not_cost_the_pay(open_market):
    market = open_market(2)  # weighed alike: nobody is told anything
    market.run(1)
    provider = market.providers[0]
    with pytest.raises(MessageError, match="appraisal"):
        provider.collect(ms.Closed(epoch=1, body=b"much"))
    assert provider.journal.recall(1, Appraised) is None
    assert provider.claim(1) == market.paid(1)[market.names[0]] > 0
