"""Scores as an oracle about updates that nobody buys: what an acquirer may try to be given more of them."""

from dataclasses import replace

import numpy as np

from martfl.bench.exchange.play import PlayOutcome, of_acquirer, second_market, strategy
from martfl.bench.exchange.world import ASK, RogueEpoch, World, first_file, open_world
from martfl.market.desk import Desk
from martfl.market.errors import MarketError
from martfl.market.settling import Share


def _oracle(world: World, *, epochs: int, between: str = "nothing", first: int = 0) -> int:
    """Ask one-hot baselines without ever buying; how many coordinates of the first seller were learnt."""
    learnt: set[int] = set()
    for number in range(epochs):
        if between == "restart":
            seller = world.honest[0]
            seller.journal.close()
            world.honest[0] = world.provider(0, seller.account)
        epoch = world.rogue_epoch(place=f"oracle-{first + number}-{world.trading.address[:6]}")
        epoch.begin(first_file(world))
        learnt |= _one_hots(world, epoch, first=first + len(learnt))
        epoch.act.clock.wait_until(world.trading.deadlines(epoch.number).buy + 1)
    return len(learnt)


def _one_hots(world: World, epoch: RogueEpoch, *, first: int) -> set[int]:
    shop = epoch.shop()
    desk = Desk(
        terms=world.terms, task=world.honest[0].task, root=None, asking=epoch.asking, purchases=shop,
        settler=world.settler, journal=epoch.journal, file=first_file(world), offers=shop.offers, closed=0,
    )  # fmt: skip
    answered = set()
    for i in range(world.terms.scoring.baselines):
        baseline = np.zeros(world.settler.parameters)
        baseline[(first + i) % world.settler.parameters] = 1.0
        scores = desk.score(baseline)
        if np.isfinite(scores[desk.providers.index(world.honest[0].account.address)]):
            answered.add((first + i) % world.settler.parameters)
    return answered


def _from_oracle(world: World, learnt: int) -> PlayOutcome:
    """More answers than the terms allow would count as an update read for nothing."""
    outcome = of_acquirer(world)
    read = ASK if learnt > world.terms.scoring.answers else 0
    return PlayOutcome(gain=outcome.gain + read, short=outcome.short)


@strategy("score oracle by empty epochs")
def oracle_by_empty_epochs() -> PlayOutcome:
    with open_world(honest=1) as world:
        return _from_oracle(world, _oracle(world, epochs=7))


@strategy("score oracle by restarts of the seller")
def oracle_by_restarts() -> PlayOutcome:
    with open_world(honest=1) as world:
        return _from_oracle(world, _oracle(world, epochs=7, between="restart"))


@strategy("score oracle by an own wallet that moves the base")
def oracle_by_moving_the_base() -> PlayOutcome:
    with open_world(honest=1, others=1) as world:
        world.rogue(0, ask=0)
        learnt, base = 0, first_file(world)
        for number in range(7):
            epoch = world.rogue_epoch(place=f"moving-{number}")
            epoch.begin(base)
            learnt += len(_one_hots(world, epoch, first=learnt))
            shop, own = epoch.shop(), world.others[0].address
            shop.buy([own])
            base = epoch.steps.publish(base, {own: Share(shop.here[own], 65_536)})
        return _from_oracle(world, learnt)


def _at_ask(world: World, ask: int) -> World:
    """Another market of the same buyer, whose terms name this ask."""
    return second_market(world, replace(world.terms, money=replace(world.terms.money, ask=ask)))


@strategy("score oracle by a second market of the same buyer")
def oracle_by_a_second_market() -> PlayOutcome:
    with open_world(honest=1) as world:
        learnt = _oracle(world, epochs=4)
        return _from_oracle(world, learnt + _oracle(_at_ask(world, ASK), epochs=4))


@strategy("score oracle by cheap purchases in a second market")
def oracle_by_cheap_purchases() -> PlayOutcome:
    with open_world(honest=1) as world:
        cheap, seller = _at_ask(world, 1), world.honest[0].account.address
        learnt = _oracle(world, epochs=4)
        epoch = cheap.rogue_epoch(place="cheap")
        epoch.begin(first_file(cheap))
        epoch.shop().buy([seller])
        epoch.steps.publish(first_file(cheap), {})
        return _from_oracle(world, learnt + _oracle(world, epochs=3, first=learnt))


@strategy("a second market whose terms allow as many scores as there are parameters")
def terms_set_the_meter() -> PlayOutcome:
    """The seller does not join it; if it did, every parameter could be asked for."""
    with open_world(honest=1) as world:
        size = world.settler.parameters
        scoring = replace(world.terms.scoring, baselines=size, answers=size)
        try:
            second = second_market(world, replace(world.terms, name="second", scoring=scoring))
        except MarketError as refusal:
            if "allow more" not in str(refusal):
                raise
            return _from_oracle(world, 0)
        epoch = second.rogue_epoch(place="second")
        epoch.begin(first_file(second))
        return _from_oracle(world, len(_one_hots(second, epoch, first=0)))
