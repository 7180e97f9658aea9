"""What sellers may try with scores, with many wallets, and with keys of elsewhere."""

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from eth_utils.crypto import keccak

from martfl.arrays import Reals
from martfl.bench.exchange.play import PlayOutcome, fair_income, of_sellers, strategy
from martfl.bench.exchange.sellers import Mute, Silent, play_all
from martfl.bench.exchange.world import REWARD, open_world
from martfl.chain.network import RevertedError
from martfl.chain.state import Offer
from martfl.market.conduct import Honest, Lesson
from martfl.market.provider import Provider


@dataclass(frozen=True)
class Forgery(Honest):
    """Commits to noise, and is scored by what it trained."""

    def update(self, lesson: Lesson) -> Reals:
        """Random signs on what was trained."""
        trained = super().update(lesson)
        return np.asarray(trained * np.random.default_rng(lesson.seed).choice([-1.0, 1.0], trained.size))

    def scored(self, lesson: Lesson, update: Reals) -> Reals:
        """A score that the committed update does not have."""
        return super().update(lesson)


@strategy("forgers of scores with fresh wallets")
def forgers_with_fresh_wallets() -> PlayOutcome:
    """Two epochs, each with new wallets: they are paid their asks at most, and share no bonus."""
    fair = fair_income(2, epochs=2)
    with open_world(others=4) as world:
        for i in range(2):
            world.rogue(i, conduct=Forgery())
        acquirer = world.acquirer()
        acquirer.run(1)
        for i in range(2, 4):
            world.rogue(i, conduct=Forgery())
        acquirer.link, acquirer.clock = world.link(), world.clock()
        acquirer.run(2)
        return of_sellers(world, fair=fair)


@strategy("forgers take all weight, idle wallets wait for the reward")
def forgers_and_idle_wallets() -> PlayOutcome:
    fair = fair_income(2)
    with open_world(others=6) as world:
        for i in range(2):
            world.rogue(i, conduct=Forgery())
        for i in range(2, 6):
            world.rogue(i, kind=Mute)
        world.acquirer().run(1)
        return of_sellers(world, fair=fair)


@strategy("a swarm of ask 0 that delivers nothing")
def swarm_of_ask_zero() -> PlayOutcome:
    return play_all(Silent, rogues=12, ask=0)


@strategy("a cartel of all sellers that asks for everything")
def cartel() -> PlayOutcome:
    """Together they never have more than the reward, which is what all sellers have anyway."""
    return play_all(Provider, rogues=3, honest=0, ask=REWARD // 2, fair=REWARD)


@strategy("one key in two markets")
def one_key_in_two_markets() -> PlayOutcome:
    """The key of another market opens nothing here: it is bound to the sealed form that was committed to."""
    fair = fair_income(1)
    with open_world(others=1) as world:
        seller = world.rogue(0)
        epoch, shop = world.begun()
        name = seller.account.address
        world.trading.buy(epoch.number, offers=[shop.offers[name]], account=world.buyer)
        offer: Offer = shop.offers[name]
        with suppress(RevertedError):
            other = keccak(b"the key of another market")
            world.trading.reveal(epoch.number, offer=offer, secret=other, account=seller.account)
        world.rogues.clear()
        return of_sellers(world, fair=fair)
