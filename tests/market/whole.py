"""A whole market in one process: its parties can be closed and opened again, each on its own."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from fuse import Fuse, FusedChain, FusedJournal, FusedMeter, FusedTask, Killed
from small_task import Everybody, Softmax, small_digits

from martfl.chain import events as ev
from martfl.chain.state import WHOLE, Phase, price_of
from martfl.federation.local import EmbeddedClock, LocalLink
from martfl.market import wire
from martfl.market.acquirer import Acquirer, deploy_market
from martfl.market.asking import NO_ANSWER
from martfl.market.provider import Provider
from martfl.market.settling import make_settler
from martfl.market.terms import read_terms


@dataclass
class Setting:
    """What a market is made of before it is opened."""

    folder: Path
    providers: int = 4
    cheats: dict = field(default_factory=dict)  # number → a kind of Provider
    conducts: dict = field(default_factory=dict)  # number → Conduct
    asks: dict = field(default_factory=dict)  # number → what it asks
    terms: dict = field(default_factory=dict)
    rows: int = 80
    rule: object = field(default_factory=Everybody)  # None: the terms' own
    fuse: Fuse = field(default_factory=lambda: Fuse(parties=("nobody",)))
    chain: object = None
    clock: object = None
    link: object = None  # a kind of LocalLink
    deaf: bool = False  # who is killed while it answers has lost the request
    name: str = "deploy"  # of the contract, where a chain has several
    meters: Path | None = None  # where sellers count their answers, if not in the market's folder
    watched: bool = True  # providers look after their epochs while the acquirer waits
    seconds: float = 600.0


class Market:
    """The parties and what they stand on; each can be closed and opened again on its own."""

    def __init__(self, setting):
        self.setting, self.folder, self.fuse = setting, setting.folder, setting.fuse
        x, y = small_digits()
        self.test, self.root = (x[-200:], y[-200:]), (x[-300:-200], y[-300:-200])
        given = {"settlement": {"scale": 2.0**-12}, **setting.terms}
        self.terms = read_terms({"name": "digits", "task": {"entry": "small_task:softmax_task"}, **given})
        first = Softmax().initial()
        self.settler = make_settler(self.terms, parameters=first.size)
        path = self.folder / "chain.sqlite"
        self.chain = setting.chain or FusedChain(path, setting.providers + 1, self.fuse)
        self.buyer, *self.sellers = self.chain.accounts[: setting.providers + 1]
        self.names = [account.address for account in self.sellers]
        parts = {"terms": self.terms, "settler": self.settler, "initial": first}
        self.trading = deploy_market(self.chain, **parts, account=self.buyer, key=setting.name)
        self.place = wire.MarketId(self.chain.chain_id, self.trading.address)
        self.open_files = {}
        self.providers = [self._provider(i) for i in range(setting.providers)]
        handlers = {name: self._handler(i) for i, name in enumerate(self.names)}
        self.link = (setting.link or LocalLink)(handlers)
        self.watchers = [Watcher(self, i) for i in range(setting.providers)]
        self.clock = setting.clock or EmbeddedClock(self.chain, self.watchers if setting.watched else ())
        self.acquirer = self._acquirer()

    def _handler(self, i):
        def handle(data):
            while True:
                try:
                    return self.providers[i].handle(data)
                except Killed:
                    self.restart_provider(i)
                    if self.setting.deaf:
                        return None

        return handle

    def _opened(self, name, make):
        if name in self.open_files:
            self.open_files[name].close()
        self.open_files[name] = make()
        return self.open_files[name]

    def _journal(self, name):
        return self._opened(name, lambda: FusedJournal(self.folder / name, self.fuse))

    def _provider(self, i):
        kind = self.setting.cheats.get(i, Provider)
        rows, (x, y) = self.setting.rows, small_digits()
        data = (x[i * rows : (i + 1) * rows], y[i * rows : (i + 1) * rows])
        task, journal = FusedTask(f"provider{i}", self.fuse), self._journal(f"provider{i}")
        place = (self.setting.meters or self.folder) / f"provider{i}.meter"
        meter = self._opened(f"meter{i}", lambda: FusedMeter(place, self.fuse))
        options = {"name": f"p{i}", "ask": self.setting.asks.get(i)}
        if i in self.setting.conducts:
            options["conduct"] = self.setting.conducts[i]
        parts = (self.terms, task, data, self.trading, self.settler, journal, meter, self.sellers[i])
        return kind(*parts, **options)

    def _acquirer(self, kind=Acquirer):
        made = kind(
            *(self.terms, FusedTask("acquirer", self.fuse), self.root, self.trading, self.settler, self.link),
            *(self.clock, self._journal("acquirer"), self.buyer),
            seed=0,
            seconds=self.setting.seconds,
        )
        if self.setting.rule is not None:
            made.strategy = self.setting.rule
        return made

    def restart_acquirer(self, kind=Acquirer):
        self.acquirer = self._acquirer(kind)

    def restart_provider(self, i):
        self.providers[i] = self._provider(i)

    def run(self, epochs):
        """Run, starting the acquirer again whenever it is killed."""
        self.fuse.armed = True
        while True:
            try:
                return self.acquirer.run(epochs)
            except Killed:
                self.restart_acquirer()

    def watch(self):
        """Everybody looks at the chain, started again whenever it is killed."""
        for watcher in self.watchers:
            watcher.watch()

    def travel_to(self, second):
        """Let time pass, with everybody looking when they must."""
        EmbeddedClock(self.chain, self.watchers).wait_until(second)

    def close(self):
        for file in self.open_files.values():
            file.close()
        if self.setting.chain is None:
            self.chain.close()

    # --- what came of it ---

    def accuracy(self, epoch):
        model = self.settler.floats(self.acquirer.model_file(epoch))
        return self.acquirer.task.quality(model, self.test)["accuracy"]

    def events(self, kind, epoch):
        return self.trading.events(kind, epoch=epoch)

    def times(self, epoch=1):
        return self.trading.deadlines(epoch)

    def paid(self, epoch):
        """Address → what it was paid."""
        return {event.provider: event.amount for event in self.events(ev.Claimed, epoch)}

    def weights(self, epoch):
        pairs = [zip(e.providers, e.weights, strict=True) for e in self.events(self.trading.published, epoch)]
        return {name: weight for pair in pairs for name, weight in pair}

    def state(self, i, epoch=1):
        return self.trading.read_provider(epoch, self.names[i]).state

    def price(self, i, epoch=1):
        ask = self.terms.money.ask if self.setting.asks.get(i) is None else self.setting.asks[i]
        return price_of(ask, self.trading.read_epoch(epoch).reward)

    def outcome(self, epoch):
        """How an epoch ended, in everything that is not drawn at random."""
        state = self.trading.read_epoch(epoch)
        file = self.acquirer.journal.blob(epoch, "model")
        return {
            "phase": state.phase.name,
            "spent": state.spent,
            "weights": self.weights(epoch),
            "bought": self.trading.bought(epoch),
            "accepted": sorted(name for e in self.events(ev.Accepted, epoch) for name in e.providers),
            "revealed": sorted(e.provider for e in self.events(ev.Revealed, epoch)),
            "refuted": sorted(e.provider for e in self.events(ev.Refuted, epoch)),
            "committed": sorted(e.provider for e in self.events(ev.ModelCommitted, epoch)),
            "paid": sorted(self.paid(epoch).items()),
            "refunded": [e.amount for e in self.events(ev.Refunded, epoch)],
            "opened": len(self.events(ev.EpochOpened, epoch)),
            "model": None if file is None else hashlib.sha256(file).hexdigest(),
        }

    def check_honest(self, honest, *, epoch=1, listed=True):
        """These are in the model and have price and share, to the unit; and all the money is accounted for."""
        state, weights = self.trading.read_epoch(epoch), self.weights(epoch)
        assert state.phase is Phase.SETTLED
        bonus = state.reward - state.spent
        for i in honest:
            name = self.names[i]
            assert not listed or name in weights
            assert self.paid(epoch)[name] == self.price(i, epoch) + bonus * weights.get(name, 0) // WHOLE
        assert self.money_in(epoch) == self.money_out(epoch)
        assert self.chain.balance(self.trading.address) == 0

    def offences(self):
        """Who is on record for what, at the acquirer's."""
        return [(r.subject, r.kind) for r in self.acquirer.journal.remarks() if r.kind != NO_ANSWER]

    def money_in(self, epochs):
        return sum(e.amount for t in range(1, epochs + 1) for e in self.events(ev.Deposited, t))

    def money_out(self, epochs):
        claims = sum(e.amount for t in range(1, epochs + 1) for e in self.events(ev.Claimed, t))
        return claims + sum(e.amount for t in range(1, epochs + 1) for e in self.events(ev.Refunded, t))


@dataclass(frozen=True)
class Watcher:
    """A provider's eye on the chain, which opens again when the provider is killed."""

    market: Market
    number: int

    def due(self):
        return self.market.providers[self.number].due()

    def watch(self):
        while True:
            try:
                return self.market.providers[self.number].watch()
            except Killed:
                self.market.restart_provider(self.number)
