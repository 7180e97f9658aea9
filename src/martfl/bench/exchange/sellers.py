"""What sellers may try, alone or together, against a buyer and beside sellers that follow the product's rules."""

from contextlib import suppress
from dataclasses import dataclass
from functools import cache

import numpy as np
from eth_utils.crypto import keccak

from martfl.arrays import Reals
from martfl.bench.exchange.play import PlayOutcome, fair_income, of_sellers, strategy
from martfl.bench.exchange.world import ASK, first_file, open_world
from martfl.chain.network import RevertedError
from martfl.chain.state import Offer
from martfl.market import messages as ms
from martfl.market.conduct import Honest, Lesson
from martfl.market.errors import MarketError
from martfl.market.provider import Provider
from martfl.market.settling.exact import ExactSettler
from martfl.settlement.exact.sealed import leaf_tree, split_body

MANY = 128


@cache
def _fair(rogues: int) -> int:
    return fair_income(rogues)


class Silent(Provider):
    """Is bought and gives no key, to nobody."""

    def key(self, request: ms.KeyRequest) -> ms.KeyAnswer:
        raise MarketError("no")

    def watch(self) -> dict[int, int]:
        return {}


class Late(Provider):
    """Gives no key when it is asked, and puts it on chain in the last second."""

    def key(self, request: ms.KeyRequest) -> ms.KeyAnswer:
        raise MarketError("later")

    def due(self) -> int | None:
        epoch = self.trading.epoch_count()
        return self.trading.deadlines(epoch).keys - 1 if epoch else None

    def watch(self) -> dict[int, int]:
        epoch = self.trading.epoch_count()
        if epoch and self.shelf.holds(epoch) and self.trading.chain.now() >= self.trading.deadlines(epoch).keys - 1:
            with suppress(RevertedError):
                offer, secret = self.shelf.offer(epoch), self.shelf.secret(epoch)
                self.trading.reveal(epoch, offer=offer, secret=secret, account=self.account)
        return {}


class TooLate(Late):
    """Puts its key on chain when the window has ended."""

    def due(self) -> int | None:
        epoch = self.trading.epoch_count()
        return self.trading.deadlines(epoch).keys + 1 if epoch else None

    def watch(self) -> dict[int, int]:
        epoch = self.trading.epoch_count()
        if epoch and self.trading.chain.now() > self.trading.deadlines(epoch).keys:
            super().watch()
        return {}


def _play(kind: type[Provider], *, rogues: int = 2, **options: object) -> PlayOutcome:
    fair = _fair(rogues)
    with open_world(others=rogues) as world:
        for i in range(rogues):
            world.rogue(i, kind=kind, **options)
        world.acquirer().run(1)
        return of_sellers(world, fair=fair)


@strategy("keys withheld")
def keys_withheld() -> PlayOutcome:
    return _play(Silent)


@strategy("keys late, after publication")
def keys_after_publication() -> PlayOutcome:
    return _play(Late)


@strategy("keys too late")
def keys_too_late() -> PlayOutcome:
    return _play(TooLate)


@strategy("all sellers silent")
def all_silent() -> PlayOutcome:
    with open_world(honest=0, others=3) as world:
        for i in range(3):
            world.rogue(i, kind=Silent)
        world.acquirer().run(1)
        return of_sellers(world, fair=0)


@strategy("not delivering among bystanders")
def silent_among_bystanders() -> PlayOutcome:
    """One is bought and silent, the others only commit: nobody shares anything."""
    with open_world(honest=1, others=4) as world:
        world.rogue(0, kind=Silent)
        for i in range(1, 4):
            world.rogue(i, kind=Mute)
        world.acquirer().run(1)
        return of_sellers(world, fair=0)


class Mute(Provider):
    """Commits, and answers nothing after that."""

    def offer(self, request: ms.OfferRequest) -> ms.Offered:
        raise MarketError("no")


@strategy("bystanders that only commit")
def bystanders() -> PlayOutcome:
    with open_world(others=3) as world:
        for i in range(3):
            world.rogue(i, kind=Mute)
        world.acquirer().run(1)
        return of_sellers(world, fair=0)


# --- updates that are not what they were committed to ----------------------------------------------------------------


class Spoilt(Provider):
    """Seals something else than it commits to, in one of several ways; reveals its key all the same."""

    how = "leaf"

    def train(self, request: ms.TrainRequest) -> ms.Committed:
        epoch = request.epoch
        if not self.shelf.holds(epoch):
            self.shelf.fill(epoch, request.body, self.conduct, self.task, self.data)
            self._spoil(epoch)
        signed = self.watching.signed_commit(epoch)
        return ms.Committed(epoch=epoch, digest=signed.digest.hex(), signature=signed.signature.hex())

    def _spoil(self, epoch: int) -> None:
        body = bytearray(self.shelf.body(epoch))
        body[0] ^= 1
        self._replace(epoch, "body", bytes(body))
        if self.how == "leaf":  # the root is made to fit, so that only the values are wrong
            self._replace(epoch, "root", spoilt_root(self, bytes(body)))

    def _replace(self, epoch: int, name: str, data: bytes) -> None:
        self.journal._write("DELETE FROM blobs WHERE epoch = ? AND name = ?", epoch, name)
        self.journal.keep(epoch, name, data)


def spoilt_root(seller: Provider, body: bytes) -> bytes:
    """The root of the tree over a sealed form that was tampered with."""
    settler = seller.settler
    assert isinstance(settler, ExactSettler)
    return bytes(leaf_tree(*split_body(body, settler.key), settler.key).root)


class SpoiltRoot(Spoilt):
    """The sealed form does not even have the root that was committed to."""

    how = "root"


class SpoiltPoint(Spoilt):
    """The commitment is no point of the group."""

    def _spoil(self, epoch: int) -> None:
        self._replace(epoch, "commitment", b"\1" * 128)


class CutShort(Spoilt):
    """The last bytes are missing."""

    def _spoil(self, epoch: int) -> None:
        self._replace(epoch, "body", self.shelf.body(epoch)[:-48])


@strategy("a garbage leaf")
def garbage_leaf() -> PlayOutcome:
    return _play(Spoilt)


@strategy("a garbage sum")
def garbage_sum() -> PlayOutcome:
    return _play(SpoiltRoot)


@strategy("a garbage point")
def garbage_point() -> PlayOutcome:
    return _play(SpoiltPoint)


@strategy("a missing leaf")
def missing_leaf() -> PlayOutcome:
    return _play(CutShort)


class SpoiltAndSilent(Spoilt):
    """A garbage leaf, and the key only on chain."""

    def key(self, request: ms.KeyRequest) -> ms.KeyAnswer:
        raise MarketError("look at the chain")


@strategy(f"{MANY} garbage reveals at once")
def many_garbage_reveals() -> PlayOutcome:
    with open_world(honest=1, others=MANY) as world:
        for i in range(MANY):
            world.rogue(i, kind=SpoiltAndSilent, ask=ASK // MANY)
        world.acquirer().run(1)
        return of_sellers(world, fair=0)


# --- forgers, swarms, cartels ----------------------------------------------------------------------------------------


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
    fair = _fair(2)
    with open_world(others=6) as world:
        for i in range(2):
            world.rogue(i, conduct=Forgery())
        for i in range(2, 6):
            world.rogue(i, kind=Mute)
        world.acquirer().run(1)
        return of_sellers(world, fair=fair)


@strategy("a swarm of ask 0 that delivers nothing")
def swarm_of_ask_zero() -> PlayOutcome:
    with open_world(others=12) as world:
        for i in range(12):
            world.rogue(i, kind=Silent, ask=0)
        world.acquirer().run(1)
        return of_sellers(world, fair=0)


@strategy("a cartel of all sellers that asks for everything")
def cartel() -> PlayOutcome:
    """Together they never have more than the reward, which is what all sellers have anyway."""
    with open_world(honest=0, others=3) as world:
        for i in range(3):
            world.rogue(i, ask=world.terms.money.reward // 2)
        world.acquirer().run(1)
        return of_sellers(world, fair=world.terms.money.reward)


@strategy("one key in two markets")
def one_key_in_two_markets() -> PlayOutcome:
    """The key of another market opens nothing here: it is bound to the sealed form that was committed to."""
    fair = _fair(1)
    with open_world(others=1) as world:
        seller = world.rogue(0)
        epoch = world.rogue_epoch()
        epoch.begin(first_file(world))
        shop = epoch.shop()
        name = seller.account.address
        world.trading.buy(epoch.number, offers=[shop.offers[name]], account=world.buyer)
        offer: Offer = shop.offers[name]
        with suppress(RevertedError):
            other = keccak(b"the key of another market")
            world.trading.reveal(epoch.number, offer=offer, secret=other, account=seller.account)
        world.rogues.clear()
        return of_sellers(world, fair=fair)
