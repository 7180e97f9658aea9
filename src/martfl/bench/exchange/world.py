"""A small market with real roles, in which a coalition may do what it likes, and the books that say what it came to.

Money is read off the chain's events, so that gas is aside. What a coalition has read is read off the honest sellers'
journals and the chain: a key that was given, or put on chain, opens an update.
"""

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from eth_account.signers.local import LocalAccount

from martfl.bench.exchange.tiny import Plane, rows
from martfl.chain import events as ev
from martfl.chain.embedded import EmbeddedChain
from martfl.chain.trading import Trading
from martfl.federation.local import EmbeddedClock, LocalLink
from martfl.market import wire
from martfl.market.acquirer import Acquirer, deploy_market
from martfl.market.asking import Asking
from martfl.market.epoch import EpochSteps
from martfl.market.journal import Journal
from martfl.market.meter import Meter
from martfl.market.provider import Provider
from martfl.market.purchases import Purchases
from martfl.market.settling import Acting, Settler, make_settler
from martfl.market.steps import Invited, KeyGiven
from martfl.market.terms import Terms, read_terms
from martfl.selection import Code, Selection
from martfl.selection.reasons import because
from martfl.selection.strategy import Buyer, State
from martfl.tasks.protocol import as_task
from martfl.values import Json, Settings

REWARD = 10**18
ASK = 5 * 10**16
MONEY = {"reward": REWARD, "ask": ASK}
WINDOWS = {"commit": 1000, "buy": 1000, "keys": 1000, "publish": 1000, "settle": 1000, "margin": 200}


@dataclass(frozen=True)
class BuyEverybody:
    """A rule without judgement: everybody is scored once, bought, and weighed alike."""

    most_baselines: ClassVar[int] = 1

    def start(self) -> Json:
        """It remembers nothing."""
        return {}

    def trade(self, state: State, buyer: Buyer, rng: np.random.Generator) -> tuple[State, Selection]:
        """Score, buy, weigh."""
        n = len(buyer.providers)
        scores = buyer.score(buyer.own_update) if n else np.empty(0)
        here = set(buyer.buy(list(range(n))))
        weights = np.array([1.0 / len(here) if i in here else 0.0 for i in range(n)])
        reasons = tuple(because(Code.KEPT, evidence=0.0) if i in here else because(Code.MISSING) for i in range(n))
        return state, Selection(scores, weights, reasons, tuple(sorted(here)))

    def pack(self, state: State) -> bytes:
        """Nothing to keep."""
        return b"{}"

    def unpack(self, data: bytes) -> State:
        """Nothing was kept."""
        return {}


@dataclass
class World:
    """The parties of one market. The first `honest` wallets sell by the product's rules, the others as they like."""

    folder: Path
    chain: EmbeddedChain
    terms: Terms
    settler: Settler
    trading: Trading
    buyer: LocalAccount
    honest: list[Provider]
    others: list[LocalAccount]
    rogues: list[Provider] = field(default_factory=list)
    stack: ExitStack = field(default_factory=ExitStack)

    # --- parties -----------------------------------------------------------------------------------------------------

    def provider(self, number: int, account: LocalAccount, **options: Any) -> Provider:
        """A seller with the product's program; `options` change its conduct, its ask, or its kind."""
        kind = options.pop("kind", Provider)
        place = options.pop("place", f"seller-{number}")
        journal = self.stack.enter_context(Journal(self.folder / place))
        meter = Meter(self.folder / f"meter-{number}.sqlite")
        self.stack.callback(meter.close)
        task, data = Plane(), rows(number + 1)
        own = {"name": f"seller {number}", **options}
        made: Provider = kind(self.terms, task, data, self.trading, self.settler, journal, meter, account, **own)
        return made

    def rogue(self, number: int = 0, **options: Any) -> Provider:
        """A seller of the coalition, on the product's program but for `options`."""
        made = self.provider(100 + number, self.others[number], **options)
        self.rogues.append(made)
        return made

    @property
    def sellers(self) -> list[Provider]:
        """Everybody who runs a seller's program."""
        return [*self.honest, *self.rogues]

    def link(self) -> LocalLink:
        """How the acquirer reaches them."""
        return LocalLink({seller.account.address: seller.handle for seller in self.sellers})

    def clock(self) -> EmbeddedClock:
        """Time passes nobody's moment to look at the chain."""
        return EmbeddedClock(self.chain, self.sellers)

    def acquirer(self, **options: Any) -> Acquirer:
        """The product's buyer, with a rule that buys everybody."""
        journal = self.stack.enter_context(Journal(self.folder / options.pop("place", "acquirer")))
        made = Acquirer(
            self.terms,
            as_task(Plane()),
            rows(0),
            self.trading,
            self.settler,
            self.link(),
            self.clock(),
            journal,
            self.buyer,
            0,
        )
        made.tell = lambda *_: None
        made.strategy = options.get("strategy", BuyEverybody())
        return made

    def rogue_epoch(self, *, place: str = "rogue") -> "RogueEpoch":
        """An epoch that the coalition runs step by step, in its own order."""
        journal = self.stack.enter_context(Journal(self.folder / f"{place}-{self.trading.epoch_count() + 1}"))
        return RogueEpoch(self, journal)

    @property
    def names(self) -> list[str]:
        """The honest sellers' wallets."""
        return [str(seller.account.address) for seller in self.honest]

    def begun(self) -> "tuple[RogueEpoch, Purchases]":
        """An epoch of the coalition, in which everybody has committed, and what is for sale there."""
        epoch = self.rogue_epoch()
        epoch.begin(first_file(self))
        return epoch, epoch.shop()

    def taken(self) -> "tuple[RogueEpoch, Purchases]":
        """An epoch in which the coalition has bought every honest update and has all keys."""
        epoch, shop = self.begun()
        shop.buy(self.names)
        return epoch, shop

    # --- books -------------------------------------------------------------------------------------------------------

    def income(self, wallets: Iterable[str]) -> int:
        """What came to these wallets out of the contract, all epochs together."""
        wanted = set(wallets)
        claims = [event for epoch in self.epochs() for event in self.trading.events(ev.Claimed, epoch=epoch)]
        came = sum(event.amount for event in claims if event.receiver in wanted)
        if self.buyer.address in wanted:
            refunds = [event for epoch in self.epochs() for event in self.trading.events(ev.Refunded, epoch=epoch)]
            came += sum(event.amount for event in refunds)
        return came

    def paid_in(self) -> int:
        """What the acquirer deposited."""
        return sum(e.amount for epoch in self.epochs() for e in self.trading.events(ev.Deposited, epoch=epoch))

    def read(self) -> dict[str, int]:
        """Honest sellers whose key was given or is on chain → the sum of their asks for what was read."""
        found: dict[str, int] = {}
        for seller in self.honest:
            name = seller.account.address
            given = {epoch for epoch in self.epochs() if seller.journal.recall(epoch, KeyGiven) is not None}
            shown = {
                epoch
                for epoch in self.epochs()
                for event in self.trading.events(ev.Revealed, epoch=epoch)
                if event.provider == name
            }
            found[name] = ASK * len(given | shown)
        return found

    def epochs(self) -> range:
        """The epochs so far."""
        return range(1, self.trading.epoch_count() + 1)

    def settle_all(self) -> None:
        """Let all time pass, and everybody who follows the product's rules look after itself; then pay everybody."""
        clock = self.clock()
        for epoch in self.epochs():
            state = self.trading.read_epoch(epoch)
            clock.wait_until(max(self.trading.deadlines(epoch).publish, state.deadline) + 1)
        for seller in self.honest:
            seller.watch()

    def take_refunds(self) -> None:
        """The coalition's acquirer takes what it may."""
        for epoch in self.epochs():
            if self.trading.read_epoch(epoch).refundable:
                self.trading.claim_reward(epoch, account=self.buyer)


@dataclass
class RogueEpoch:
    """The product's own steps, for an acquirer that leaves some out, repeats them, or takes them in another order."""

    world: World
    journal: Journal

    def __post_init__(self) -> None:
        world = self.world
        self.number = world.trading.epoch_count() + 1
        act = Acting(world.trading, world.buyer, world.clock(), self.number)
        market = wire.MarketId(world.chain.chain_id, world.trading.address)
        size = world.settler.parameters
        now = world.chain.next_second
        self.asking = Asking(world.link(), market, world.buyer, self.journal, self.number, size, 60.0, now)
        self.steps = EpochSteps(world.terms, act, self.asking, world.settler, self.journal, lambda *_: None)
        self.act = act

    def begin(self, base: bytes) -> None:
        """Open, have everybody train and commit, and let the commit window pass."""
        names = [str(seller.account.address) for seller in self.world.sellers]
        self.steps.relay(self.invited(base, names))
        self.close()

    def invited(self, base: bytes, names: list[str]) -> Invited:
        """Open, and have these train and sign their commitments."""
        self.steps.open()
        return self.steps.invite(base, names, {})

    def close(self) -> None:
        """Let the commit window pass."""
        self.act.clock.wait_until(self.world.trading.deadlines(self.number).commit + 1)

    def publish_nobody(self) -> None:
        """A model in which nobody is listed."""
        self.steps.publish(first_file(self.world), {})

    def shop(self) -> Purchases:
        """What the sellers offer."""
        offers = self.steps.offers(set())
        reward, margin = self.world.trading.read_epoch(self.number).reward, self.world.terms.deadlines.margin
        parts = (self.act, self.asking, self.world.settler, self.journal, offers, reward)
        return Purchases(*parts, self.steps.times, margin)


@contextmanager
def open_world(
    *,
    honest: int = 2,
    others: int = 0,
    terms: Settings | None = None,
    chain: type[EmbeddedChain] = EmbeddedChain,
    on: EmbeddedChain | None = None,
) -> Iterator[World]:
    """A market of `honest` sellers and `others` wallets of a coalition, in a folder that goes away."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        made = on or stack.enter_context(chain(None, accounts=1 + honest + others))
        assert isinstance(made, EmbeddedChain)
        stated = read_terms({**_terms(), **(terms or {})})
        task = Plane()
        settler = make_settler(stated, parameters=task.initial().size)
        buyer, *wallets = made.accounts
        trading = deploy_market(made, terms=stated, settler=settler, initial=task.initial(), account=buyer)
        world = World(folder, made, stated, settler, trading, buyer, [], wallets[honest : honest + others], [], stack)
        for i, account in enumerate(wallets[:honest]):
            world.honest.append(world.provider(i, account))
        yield world


def first_file(world: World) -> bytes:
    """The initial model's file."""
    return world.settler.first_file(Plane().initial())


def _terms() -> Json:
    return {
        "name": "exchange",
        "task": {"entry": "martfl.bench.exchange.tiny:Plane"},
        "money": MONEY,
        "deadlines": WINDOWS,
        "settlement": {"scale": 2.0**-10},
        "scoring": {"scheme": "plain"},
    }
