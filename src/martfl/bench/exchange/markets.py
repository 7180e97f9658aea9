"""Strategies over several epochs, markets and chains: what one of them tells or takes from another."""

from dataclasses import replace

import numpy as np

from martfl.arrays import Reals
from martfl.bench.exchange.play import PlayOutcome, of_acquirer, of_sellers, second_market, strategy
from martfl.bench.exchange.tiny import rows
from martfl.bench.exchange.world import REWARD, open_world
from martfl.market.conduct import Honest, Lesson
from martfl.market.errors import MarketError
from martfl.selection import make_strategy

EPOCHS = 4


class Best(Honest):
    """Trains on rows like the buyer's own: whom the paper's rule judges everybody by."""

    def update(self, lesson: Lesson) -> Reals:
        """The buyer's rows."""
        return lesson.task.train(lesson.model, rows(0), seed=0)


class Noise(Honest):
    """Sells a direction at random."""

    def update(self, lesson: Lesson) -> Reals:
        """As long as an honest update."""
        made = np.asarray(super().update(lesson))
        drawn = np.random.default_rng(lesson.seed).normal(size=made.size)
        return np.asarray(drawn / np.linalg.norm(drawn) * np.linalg.norm(made), np.float32)


def _baseline_market(*, greedy: bool, fair: int = 0) -> PlayOutcome:
    with open_world(honest=3, others=1, terms={"selection": {"rule": "martfl", "value": "none"}}) as world:
        rogue = world.rogue(0, conduct=Best())
        buyer = world.acquirer(strategy=make_strategy("martfl"))
        for epoch in range(1, EPOCHS + 1):
            if greedy and epoch > 1:
                rogue.shelf.ask = REWARD
            buyer.run(epoch)
        return of_sellers(world, fair=fair)


@strategy("whom all are judged by asks for the whole reward")
def baseline_asks_for_everything() -> PlayOutcome:
    return _baseline_market(greedy=True, fair=_baseline_market(greedy=False).gain)


def _stranger_market(*, fresh: bool, fair: int = 0) -> PlayOutcome:
    """From the second epoch on: an honest newcomer, or a fresh wallet an epoch that asks for half the reward."""
    with open_world(honest=3, others=EPOCHS, terms={"selection": {"rule": "evidence"}}) as world:
        buyer = world.acquirer(strategy=make_strategy("evidence"))
        for epoch in range(1, EPOCHS + 1):
            if fresh and epoch > 1:
                world.rogues = []
                world.rogue(epoch - 1, conduct=Noise(), ask=REWARD // 2)
            elif epoch == 2:
                world.rogue(1)
            buyer.link, buyer.clock = world.link(), world.clock()
            buyer.run(epoch)
        return of_sellers(world, fair=fair)


@strategy("a fresh wallet in every epoch asks for half the reward, for noise")
def strangers_ask_for_half() -> PlayOutcome:
    return _stranger_market(fresh=True, fair=_stranger_market(fresh=False).gain)


@strategy("a seller's journal of one market on another")
def one_journal_for_two_markets() -> PlayOutcome:
    """What is on record as paid in a market must not blind the seller in the next one: it would be read for nothing."""
    with open_world(honest=1) as world:
        world.acquirer().run(1)
        world.settle_all()
        world.honest[0].journal.close()
        try:
            second = second_market(world, replace(world.terms, name="second"), place="seller-0")
        except MarketError as refusal:
            if "is of" not in str(refusal):
                raise
            return PlayOutcome(gain=0, short=0)
        epoch, _ = second.taken()
        epoch.publish_nobody()
        return of_acquirer(second)
