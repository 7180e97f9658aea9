"""The two roles as long-running programs over Flower's deployment engine."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from flwr.app import Context
from flwr.serverapp import Grid

from martfl.amounts import coins
from martfl.errors import InputError, MartflError
from martfl.federation.compose import PartyView
from martfl.federation.flower.apps import make_client_app, make_server_app
from martfl.federation.flower.link import FlowerLink
from martfl.federation.flower.narrate import describe
from martfl.federation.flower.processes import Certificates, Child, start_superlink, start_supernode
from martfl.federation.flower.runs import start_run
from martfl.federation.flower.tasks import TaskRuntime, run_server_app, serve
from martfl.market import wire
from martfl.market.acquirer import Acquirer
from martfl.market.epoch import Tell
from martfl.market.link import ChainClock
from martfl.market.provider import Provider
from martfl.market.steps import Appraised, Collected
from martfl.market.watching import GRACE
from martfl.tasks.protocol import Data

log = logging.getLogger(__name__)
Say = Callable[[str], None]
LONGEST_PAUSE = 60.0  # seconds between attempts to connect
LONGEST_LOOK = 15.0  # seconds between looks at the chain
LOOKS = 2 * GRACE  # at least, in the margin that a provider has to bring a transaction into the chain
LINGER = 10.0  # seconds that a SuperNode is given to pass the last answer on


@dataclass(frozen=True)
class Listening:
    """Where the acquirer's SuperLink listens, and with which certificates (None: without TLS)."""

    host: str
    port: int
    certificates: Certificates | None


@dataclass(frozen=True)
class Connecting:
    """Where a provider finds the SuperLink, and whom it trusts to vouch for it (None: the system's authorities)."""

    superlink: str
    authority: Path | None = None
    insecure: bool = False


@dataclass
class Buying:
    """`martfl acquirer run`: a SuperLink as a child, the ServerApp in this process."""

    place: PartyView
    root: Data
    folder: Path
    listening: Listening
    epochs: int
    providers: int = 1  # how many to wait for before an epoch is opened
    seconds: float = 600.0  # how long to wait for answers
    say: Say = field(default=lambda text: log.info("%s", text))
    tell: Tell = field(default=lambda epoch, step, text: log.info("epoch %d, %s: %s", epoch, step, text))

    def run(self) -> None:
        """Trade until the epochs are over; started again, it goes on where it was."""
        where = self.listening
        self.say(f"starting a SuperLink on {where.host}:{where.port}, which providers connect to")
        child, runtime = start_superlink(
            folder=self.folder / "superlink", host=where.host, port=where.port, certificates=where.certificates
        )
        try:
            run_server_app(runtime, make_server_app(self._main), run_id=start_run(runtime))
        finally:
            child.stop()

    def _main(self, grid: Grid, context: Context) -> None:
        names: dict[str, str] = {}
        market = wire.MarketId(self.place.chain.chain_id, self.place.trading.address)
        link = FlowerLink(grid, market, self.place.account, joined=self._greet(names))
        acquirer = self._acquirer(link, names)
        if self.place.trading.epoch_count() == acquirer.finished():  # an open epoch cannot wait
            self._gather(link)
        acquirer.run(self.epochs)

    def _acquirer(self, link: FlowerLink, names: dict[str, str]) -> Acquirer:
        place = self.place
        return Acquirer(
            terms=place.terms,
            task=place.task,
            root=self.root,
            trading=place.trading,
            settler=place.settler,
            link=link,
            clock=ChainClock(place.chain),
            journal=place.journal,
            account=place.account,
            seconds=self.seconds,
            names=names,
            tell=self.tell,
        )

    def _gather(self, link: FlowerLink) -> None:
        self.say(f"waiting for {self.providers} provider(s): an epoch is opened, and paid for, when they are here")
        while len(link.members()) < self.providers:
            time.sleep(1.0)

    def _greet(self, names: dict[str, str]) -> Callable[[str, str], None]:
        def joined(address: str, name: str) -> None:
            names[address] = name
            self.say(f"{name or 'a provider'} joined and proved to be wallet {address[:10]}…")

        return joined


@dataclass
class Selling:
    """`martfl provider join`: a SuperNode as a child, the ClientApp in this process, an eye on the chain.

    The eye is a thread of its own: a buyer that keeps its seller busy must not make it miss a deadline.
    """

    provider: Provider
    folder: Path
    connecting: Connecting
    epochs: int | None = None  # leave when so many are over
    every: float | None = None  # seconds between looks at the chain; as the terms' margin allows where it is not named
    say: Say = field(default=lambda text: log.info("%s", text))
    stop: threading.Event = field(default_factory=threading.Event)
    _answered: float = field(default=0.0, repr=False)

    def __post_init__(self) -> None:
        margin = self.provider.terms.deadlines.margin
        self.pause = min(LONGEST_LOOK, margin / (2 * LOOKS)) if self.every is None else self.every
        if not 0 < self.pause <= margin / LOOKS:
            raise InputError(
                f"the market's margin is {margin} s: the chain must be looked at every {margin / LOOKS:g} s or more "
                f"often, got {self.pause:g} s"
            )

    def run(self) -> None:
        """Sell until stopped; a SuperNode that ends is started again."""
        eye = threading.Thread(target=self._watch, name="watch the chain", daemon=True)
        eye.start()
        try:
            self._sell()
        finally:
            self.stop.set()
            eye.join()

    def _sell(self) -> None:
        pause = 1.0
        while not self.stop.is_set():
            self.say(f"starting a SuperNode, which connects to the acquirer at {self.connecting.superlink}")
            child, runtime = self._start()
            begun = time.monotonic()
            try:
                self._serve(child, runtime)
            finally:
                child.stop()
            if self.stop.is_set():
                return
            pause = 1.0 if time.monotonic() - begun > LONGEST_PAUSE else min(2 * pause, LONGEST_PAUSE)
            self.say(f"the SuperNode ended; {child.log} ends with:\n{child.tail()}\nagain in {pause:.0f} s")
            self.stop.wait(pause)

    def _start(self) -> tuple[Child, TaskRuntime]:
        to = self.connecting
        return start_supernode(
            folder=self.folder / "supernode", superlink=to.superlink, authority=to.authority, insecure=to.insecure
        )

    def _serve(self, child: Child, runtime: TaskRuntime) -> None:
        app = make_client_app(self._answer)
        serve(runtime, app, alive=lambda: child.alive and not self.stop.is_set(), idle=self._leave_when_done)

    def _answer(self, request: bytes, context: Context) -> bytes:
        reply = self.provider.handle(request)
        said = describe(
            reply,
            market=self.provider.market,
            token=self.provider.terms.money.token,
            told=lambda epoch: self.provider.journal.recall(epoch, Appraised),
        )
        self.say(said)
        self._answered = time.monotonic()
        return reply

    def _watch(self) -> None:
        """Whatever must be on chain in time: commitment, key, refutation; and what is owed."""
        while not self.stop.wait(self.pause):
            try:
                for epoch, amount in self.provider.watch().items():
                    paid = coins(amount, token=self.provider.terms.money.token)
                    self.say(f"epoch {epoch}: final; it paid {paid}")
            except MartflError as error:  # a node that is away for a while
                log.warning("the chain could not be watched: %s", error)
            except Exception:  # a node's words that nobody foresaw: the next look may still be in time
                log.exception("the chain could not be watched")

    def _leave_when_done(self) -> None:
        if self.epochs is None or time.monotonic() - self._answered < LINGER:
            return
        over = len(self.provider.journal.all_of(Collected))
        if over >= self.epochs:
            self.say(f"{over} epoch(s) are over: leaving")
            self.stop.set()
