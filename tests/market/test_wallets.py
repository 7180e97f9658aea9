"""Forged scores, fresh wallets, swarms: what they take is bounded, and the honest have their prices."""

import pytest

from martfl.chain.state import Phase
from martfl.market import messages as ms
from martfl.market.errors import MarketError
from martfl.market.provider import Provider
from martfl.market.steps import Invited
from martfl.selection import make_strategy

# --- forged scores ---------------------------------------------------------------------------------------------------


class Forged:
    """Trains honestly and is scored by something else."""

    def update(self, lesson):
        return lesson.task.train(lesson.model, lesson.data, seed=lesson.seed)

    def scored(self, lesson, update):
        return -update


def test_who_forges_scores_has_its_price_no_weight_and_a_name_for_it(build):
    market = build(providers=3, terms={"reputation": {"exclude_after": 1}}, conducts={1: Forged()})
    market.run(2)
    bad = market.names[1]
    assert market.paid(1)[bad] == market.price(1) and bad not in market.weights(1)
    assert market.offences() == [(bad, "forged score")]
    market.check_honest((0, 2))
    assert bad not in market.outcome(2)["bought"]
    assert bad not in market.acquirer.journal.recall(2, Invited).invited


def test_who_is_excluded_and_commits_all_the_same_is_not_bought(build, kit):
    market = build(providers=3, terms={"reputation": {"exclude_after": 1}}, conducts={1: Forged()})
    market.run(1)
    bad = market.providers[1]
    market.acquirer._epoch(2).open()
    kit.Hand(market).say(ms.TrainRequest(epoch=2, body=market.acquirer.model_file(1)), 1)
    market.run(2)
    assert bad.account.address in market.outcome(2)["committed"]  # by itself, when the margin began
    assert bad.account.address not in market.outcome(2)["bought"]
    market.check_honest((0, 2), epoch=2)


@pytest.mark.parametrize("score", [float("nan"), float("inf"), 1.5, -7.0])
def test_numbers_that_are_no_cosine_are_no_answer(build, score):
    class Wild(Provider):
        def _score(self, epoch, request):
            body = bytearray(super()._score(epoch, request))
            from martfl.scoring.plain import _SCORE
            from martfl.scoring.wire import sealed

            payload = bytes(body[: -32 - _SCORE.size]) if len(body) > 40 else b""
            return b"".join(sealed([payload, _SCORE.pack(score)]))

    market = build(providers=3, cheats={1: Wild})
    market.run(1)
    assert market.names[1] not in market.outcome(1)["bought"]
    market.check_honest((0, 2))


# --- many wallets ----------------------------------------------------------------------------------------------------


def test_a_swarm_that_asks_for_nothing_takes_nobodys_price(build):
    """It may take weight, which is the rule's to give; prices are guaranteed."""
    asks = {**dict.fromkeys(range(2, 10), 0), 0: 10**17, 1: 2 * 10**17}
    market = build(providers=10, asks=asks, rows=50, terms={"reputation": {"dearest": 2.0}})
    market.run(1)
    paid = market.paid(1)
    assert paid[market.names[0]] >= 10**17 and paid[market.names[1]] >= 2 * 10**17
    market.check_honest(range(10))


def test_newcomers_share_a_part_of_the_reward_once_somebody_is_known(build):
    """Fresh wallets with forged scores cannot empty the reward at their asks: beyond their part they are not bought."""

    class Fresh(Provider):  # joins in the second epoch
        def train(self, request):
            if request.epoch == 1:
                raise MarketError("not there yet")
            return super().train(request)

    terms = {"reputation": {"newcomers": 0.3, "exclude_after": 0}}
    cheats, conducts = dict.fromkeys(range(2, 7), Fresh), dict.fromkeys(range(2, 7), Forged())
    asks = dict.fromkeys(range(2, 7), 10**17)
    market = build(providers=7, terms=terms, cheats=cheats, conducts=conducts, asks=asks, rows=50)
    market.run(2)
    fresh = [name for name in market.outcome(2)["bought"] if name in market.names[2:]]
    taken = sum(market.paid(2)[name] for name in fresh)
    assert len(fresh) == 1 and taken <= 3 * 10**17  # of three places, two belong to those who are known
    market.check_honest((0, 1), epoch=2)
    market.run(3)  # who forged is no better known than before
    fresh = [name for name in market.outcome(3)["bought"] if name in market.names[2:]]
    assert sum(market.paid(3)[name] for name in fresh) <= 3 * 10**17


def test_in_a_first_epoch_everybody_is_new(build):
    market = build(providers=3, terms={"reputation": {"newcomers": 0.01}}, asks=dict.fromkeys(range(3), 10**17))
    market.run(1)
    market.check_honest(range(3))


def test_fresh_wallets_in_every_epoch_do_not_starve_who_is_known(build):
    """However many come, and however long they have waited: known sellers are bought, and most of what is weighed."""

    class Fresh(Provider):  # in one epoch, and never again
        def train(self, request):
            if request.epoch != 2 + self.number % 2:
                raise MarketError("not there")
            return super().train(request)

    class Odd(Fresh):
        number = 1

    class Even(Fresh):
        number = 0

    cheats = {i: Odd if i % 2 else Even for i in range(2, 12)}
    market = build(providers=12, cheats=cheats, rows=50, rule=make_strategy("evidence"))
    market.run(3)
    for epoch in (2, 3):
        market.check_honest((0, 1), epoch=epoch)
        assert len(set(market.outcome(epoch)["bought"]) - set(market.names[:2])) <= 4


def test_nobody_is_dealt_with_who_asks_for_much_of_the_reward_alone(build):
    """Not though it is the best, and everybody is judged by it."""
    market = build(providers=5, asks={0: 10**18}, rule=make_strategy("martfl"))
    market.run(1)
    assert market.names[0] not in market.outcome(1)["bought"]
    assert market.outcome(1)["bought"] and market.trading.read_epoch(1).phase is Phase.SETTLED
