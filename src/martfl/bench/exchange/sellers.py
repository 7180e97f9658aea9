"""What sellers may try, alone or together, against a buyer and beside sellers that follow the product's rules."""

from contextlib import suppress

from martfl.bench.exchange.play import PlayOutcome, fair_income, of_sellers, strategy
from martfl.bench.exchange.world import ASK, open_world
from martfl.chain.network import RevertedError
from martfl.market import messages as ms
from martfl.market.errors import MarketError
from martfl.market.provider import Provider
from martfl.market.settling.exact import ExactSettler
from martfl.settlement.exact.sealed import leaf_tree, split_body

MANY = 128


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


def _play(kind: type[Provider]) -> PlayOutcome:
    """Two of a kind, against what the same wallets earn by playing fair."""
    return play_all(kind, rogues=2, fair=fair_income(2))


def play_all(kind: type[Provider], *, rogues: int, fair: int = 0, honest: int = 2, **options: object) -> PlayOutcome:
    """One epoch with so many sellers of a kind beside the honest ones."""
    with open_world(honest=honest, others=rogues) as world:
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
    return play_all(Silent, rogues=3, honest=0)


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
    return play_all(Mute, rogues=3)


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
    return play_all(SpoiltAndSilent, rogues=MANY, honest=1, ask=ASK // MANY)
