"""A demo from its options to its result: money, cheats, interruptions."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from martfl.demo import DemoOptions, run_demo
from martfl.demo.build import open_demo
from martfl.errors import InputError
from martfl.market.conduct import Honest
from martfl.market.steps import BaselineSeen

SMALL = DemoOptions(providers=3, epochs=2, attack="forged-score", malicious=0.34, seed=1)
OUTS = ("paid_out", "refunded", "unclaimable", "left_in_contract")
SAME = ("mta", "phase", "asks", "prices", "deliveries", "weights", "bonus", "paid", "dropped", "caught", "refunded")


class KilledError(BaseException):
    pass


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return run_demo(SMALL, tmp_path_factory.mktemp("demo") / "market")


def outline(result):
    return [{name: getattr(epoch, name) for name in SAME} for epoch in result.epochs]


def test_every_unit_is_accounted_for(finished):
    assert finished.deposited == sum(getattr(finished, name) for name in OUTS) == 3 * 10**18
    assert finished.unclaimable == finished.left_in_contract == 0
    for epoch in finished.epochs:
        assert epoch.phase == "SETTLED" and epoch.verified
        assert sum(epoch.paid.values()) + epoch.refunded == 15 * 10**17
        assert {name: epoch.prices[name] + epoch.bonus.get(name, 0) for name in epoch.paid} == epoch.paid


def test_who_hands_over_is_paid_what_it_asked_and_who_is_not_bought_nothing(finished):
    for epoch in finished.epochs:
        assert set(epoch.prices) == set(epoch.paid) == set(epoch.deliveries)
        assert all(epoch.paid[name] >= epoch.asks[name] for name in epoch.prices)
        assert set(epoch.weights) == {name for name, how in epoch.deliveries.items() if how == "listed"}
        assert sum(epoch.weights.values()) == pytest.approx(1.0)


def test_a_forged_score_earns_the_price_and_no_more(finished):
    (forger,) = [name for name, behaviour in finished.providers.items() if behaviour == "forged-score"]
    caught = [epoch for epoch in finished.epochs if forger in epoch.caught]
    assert caught
    for epoch in caught:
        assert epoch.caught[forger].startswith("forged score: reported ")
        assert epoch.deliveries[forger] == "accepted" and forger not in epoch.weights
        assert epoch.paid[forger] == epoch.prices[forger]


@pytest.mark.parametrize("step", ["open", "commit", "select", "publish"])
def test_an_interrupted_demo_goes_on_to_the_same_end(finished, tmp_path, step):
    def die(journal):
        def tell(epoch, at, text):
            if (epoch, at) == (2, step):
                raise KilledError(step)

        return tell

    with pytest.raises(KilledError, match=step):
        run_demo(SMALL, tmp_path, telling=die)
    resumed = run_demo(SMALL, tmp_path)
    assert outline(resumed) == outline(finished) and resumed.model_hash == finished.model_hash


def test_a_folder_belongs_to_its_options(finished):
    with (
        pytest.raises(InputError, match="holds a demo with other options"),
        open_demo(replace(SMALL, seed=2), Path(finished.folder)),
    ):
        pass
    again = run_demo(SMALL, Path(finished.folder))
    assert outline(again) == outline(finished)


def test_every_seller_counts_its_answers(finished, tmp_path):
    with open_demo(SMALL, tmp_path) as demo:
        demo.acquirer.run(1)
        sellers = [handler.__self__ for handler in demo.acquirer.link.handlers.values()]
        for seller in sellers:
            answers = len(seller.journal.all_of(BaselineSeen, 1))
            sold = demo.trading.read_provider(1, seller.account.address).state.bought
            count = seller.meter.count(buyer=demo.acquirer.account.address)
            assert answers > 0 and count == (0 if sold else answers)  # a sale starts the count anew


def test_a_lesson_knows_the_model_of_the_epoch_before(tmp_path):
    lessons = []

    class Recorder(Honest):
        def update(self, lesson):
            lessons.append(lesson)
            return super().update(lesson)

    with open_demo(replace(SMALL, providers=1, attack="none"), tmp_path) as demo:
        (handler,) = demo.acquirer.link.handlers.values()
        handler.__self__.conduct = Recorder()
        demo.acquirer.run(3)
    first, second, third = lessons
    assert first.before is None
    np.testing.assert_array_equal(second.before, first.model)
    np.testing.assert_array_equal(third.before, second.model)
    assert not np.array_equal(third.before, first.model)


@pytest.mark.long
def test_a_sampled_demo(tmp_path):
    """About two minutes: the circuit's key, the delay, the proof."""
    result = run_demo(replace(SMALL, settlement="sampled", epochs=1), tmp_path)
    (epoch,) = result.epochs
    assert epoch.phase == "SETTLED" and epoch.verified
    assert {"draw_samples", "submit_randomness", "commit_inputs", "verify_aggregation"} <= set(epoch.gas)
    assert result.deposited == sum(getattr(result, name) for name in OUTS)
    assert json.loads((tmp_path / "result.json").read_text())["epochs"][0]["phase"] == "SETTLED"
