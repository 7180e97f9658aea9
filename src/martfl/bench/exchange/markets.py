"""Strategies over several epochs, markets and chains: what one of them tells or takes from another."""

from dataclasses import replace

import numpy as np

from martfl.arrays import Reals
from martfl.bench.exchange.play import PlayOutcome, of_acquirer, of_sellers, second_market, strategy
from martfl.bench.exchange.tiny import rows
from martfl.bench.exchange.world import REWARD, open_world
from martfl.market.conduct import Honest, Lesson
from martfl.market.errors import MarketError
from martfl.market.weighing import make_rule
from martfl.selection import make_strategy

EPOCHS = 4
SWARM = 6


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


def _swarm_market(*, ask: int, fair: int = 0) -> PlayOutcome:
    """One data set under many wallets that ask for nothing, beside two sellers with an ask.

    `short` is what those lack of their asks, bought or not.
    """
    with open_world(honest=0, others=2 + SWARM, terms={"money": {"reward": REWARD, "ask": REWARD // 100}}) as world:
        others = [world.rogue(i, ask=ask).account.address for i in range(2)]
        x, y = rows(999)
        for i in range(SWARM):
            part = np.random.default_rng(i).choice(len(y), 45, replace=False)
            world.rogue(2 + i, ask=0).data = (x[part], y[part])
        world.acquirer(strategy=make_rule(world.terms.selection)).run(2)
        taken = of_sellers(world, fair=fair).gain - world.income(others)
        return PlayOutcome(gain=taken, short=max(0, *(2 * ask - world.income([name]) for name in others)))


@strategy("a swarm of wallets that ask nothing prices the others out")
def swarm_prices_out() -> PlayOutcome:
    """Against the same swarm beside sellers at the terms' ask, who cannot be priced out."""
    return _swarm_market(ask=2 * REWARD // 10, fair=_swarm_market(ask=REWARD // 100).gain)


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
