"""Strategies over several epochs, markets and chains: what one of them tells or takes from another."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from martfl.arrays import Reals
from martfl.bench.exchange.play import PlayOutcome, claim_for, of_acquirer, of_sellers, strategy
from martfl.bench.exchange.tiny import rows
from martfl.bench.exchange.world import ASK, REWARD, World, first_file, open_world
from martfl.market.acquirer import deploy_market
from martfl.market.conduct import Honest, Lesson
from martfl.market.errors import MarketError
from martfl.market.journal import Journal
from martfl.market.provider import Provider
from martfl.market.terms import Terms
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


def _baseline_market(*, greedy: bool) -> PlayOutcome:
    with open_world(honest=3, others=1, terms={"selection": {"rule": "martfl", "value": "none"}}) as world:
        rogue = world.rogue(0, conduct=Best())
        buyer = world.acquirer(strategy=make_strategy("martfl"))
        for epoch in range(1, EPOCHS + 1):
            if greedy and epoch > 1:
                rogue.shelf.ask = REWARD
            buyer.run(epoch)
        return of_sellers(world, fair=0)


@strategy("whom all are judged by asks for the whole reward")
def baseline_asks_for_everything() -> PlayOutcome:
    fair, greedy = _baseline_market(greedy=False), _baseline_market(greedy=True)
    return PlayOutcome(gain=greedy.gain - fair.gain, short=greedy.short)


def _stranger_market(*, fresh: bool) -> PlayOutcome:
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
        return of_sellers(world, fair=0)


@strategy("a fresh wallet in every epoch asks for half the reward, for noise")
def strangers_ask_for_half() -> PlayOutcome:
    fair, fresh = _stranger_market(fresh=False), _stranger_market(fresh=True)
    return PlayOutcome(gain=fresh.gain - fair.gain, short=fresh.short)


@contextmanager
def _again(world: World, terms: Terms, place: str) -> Iterator[Provider]:
    """The first seller in a second market of the same buyer."""
    seller = world.honest[0]
    task, settler = seller.task, world.settler
    trading = deploy_market(world.chain, terms=terms, settler=settler, initial=task.initial(), account=world.buyer)
    with Journal(world.folder / place) as journal:
        yield Provider(terms, task, seller.data, trading, settler, journal, seller.meter, seller.account)


@strategy("a second market whose terms allow as many scores as there are parameters")
def terms_set_the_meter() -> PlayOutcome:
    """The seller does not join it; if it did, every parameter could be asked for."""
    with open_world(honest=1) as world:
        size = world.settler.parameters
        scoring = replace(world.terms.scoring, baselines=size, answers=size)
        epoch = world.rogue_epoch()
        epoch.begin(first_file(world))
        try:
            with _again(world, replace(world.terms, name="second", scoring=scoring), "second") as seller:
                read = ASK if min(seller.answers, size) == size else 0
        except MarketError:
            read = 0
        outcome = of_acquirer(world)
        return PlayOutcome(gain=outcome.gain + read, short=outcome.short)


@strategy("a seller's journal of one market on another")
def one_journal_for_two_markets() -> PlayOutcome:
    """What is on record as paid in a market must not blind the seller in the next one: it refuses."""
    with open_world(honest=1) as world:
        world.acquirer().run(1)
        seller = world.honest[0]
        terms = replace(world.terms, name="second")
        trading = deploy_market(
            world.chain, terms=terms, settler=world.settler, initial=seller.task.initial(), account=world.buyer
        )
        try:
            parts = (terms, seller.task, seller.data, trading, world.settler, seller.journal, seller.meter)
            Provider(*parts, seller.account)
            blind = ASK
        except MarketError:
            blind = 0
        claim_for(world, world.names)
        outcome = of_acquirer(world)
        return PlayOutcome(gain=outcome.gain + blind, short=outcome.short)
