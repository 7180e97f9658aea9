"""A whole market in one process, small enough to run many times: softmax regression on digits, a few providers.

Parties can be killed and started again, alone, at every point where something becomes permanent: before each write to
a journal or a count of answers, before each transaction, and inside training. What lies between two such points cannot
be told apart afterwards, so these are all the ways in which a process can die.

Unless a test names a rule, the acquirer buys everybody who answers, and weighs all who deliver alike.
"""

import hashlib
import shutil
import threading
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_digits

from martfl.chain import events as ev
from martfl.chain.embedded import EmbeddedChain
from martfl.chain.state import Listing, SignedCommit, price_of
from martfl.federation.local import EmbeddedClock, LocalLink
from martfl.market import messages as ms
from martfl.market import terms_rules, wire
from martfl.market.acquirer import Acquirer, deploy_market
from martfl.market.journal import Journal
from martfl.market.meter import Meter
from martfl.market.offers import offer_of
from martfl.market.provider import Provider
from martfl.market.sealing import SealingKey
from martfl.market.settling import Delivery, Share, make_settler
from martfl.market.steps import Shown
from martfl.market.terms import read_terms

PIXELS, CLASSES = 16, 10


class Softmax:
    """Softmax regression on digits shrunk to 4×4 pixels: 170 parameters, trained by plain gradient descent."""

    def initial(self):
        return np.zeros((PIXELS + 1) * CLASSES)

    def logits(self, model, data):
        table = model.reshape(PIXELS + 1, CLASSES)
        return data[0] @ table[:-1] + table[-1]

    def train(self, model, data, *, seed):
        (x, y), start = data, model.copy()
        model, target = model.copy(), np.eye(CLASSES)[data[1]]
        for _ in range(60):
            z = self.logits(model, data)
            p = np.exp(z - z.max(axis=1, keepdims=True))
            error = (p / p.sum(axis=1, keepdims=True) - target) / len(y)
            model -= 4.0 * np.concatenate([x.T @ error, error.sum(axis=0, keepdims=True)]).ravel()
        return model - start

    def labels(self, data):
        return data[1]


@cache
def small_digits():
    bunch = load_digits()
    x = bunch.images.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, PIXELS) / 16
    order = np.random.default_rng(0).permutation(len(x))
    return x[order], bunch.target[order]


def softmax_task():
    return Softmax()


# --- dying -----------------------------------------------------------------------------------------------------------


class Killed(BaseException):
    """The party's process is gone; nothing catches this but who starts it again."""


@dataclass
class Fuse:
    """Kills at points of its choice. `parties` are who may die; a point kills the first time that it is reached."""

    parties: tuple[str, ...] = ("acquirer", "provider")
    limit: int | None = None  # kill this many times at most
    at: int | None = None  # kill at the new point of this number only
    where: str = ""  # kill only where the point's name has this in it
    points: dict[str, int] = field(default_factory=dict)
    kills: int = 0
    armed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def burn(self, who, what):
        """A point is reached; the first time that it is, the party dies there."""
        with self._lock:
            name = f"{who}: {what}"
            if not self.armed or name in self.points or not who.startswith(self.parties):
                return
            self.points[name] = number = len(self.points)
            wanted = self.where in name and self.at in (None, number)
            if not wanted or (self.limit is not None and self.kills >= self.limit):
                return
            self.kills += 1
        raise Killed(name)


class FusedJournal(Journal):
    """A journal before whose writes its party may die."""

    def __init__(self, folder, fuse):
        self.fuse = None
        super().__init__(folder)
        self.fuse = fuse

    def _write(self, query, *values):
        about = values[: 2 if "blobs" in query else 3]
        self.fuse.burn(self.folder.name, f"{query.partition('VALUES')[0]} {about}")
        super()._write(query, *values)

    def keep_all(self, epoch, blobs):
        self.fuse.burn(self.folder.name, f"keep {epoch} {list(blobs)}")
        super().keep_all(epoch, blobs)


class FusedMeter(Meter):
    """A count of answers before whose changes its party may die."""

    def __init__(self, path, fuse):
        super().__init__(path)
        self.who, self.fuse = path.stem, fuse

    def spend(self, **about):
        self.fuse.burn(self.who, f"count {about}")
        super().spend(**about)

    def sold(self, **about):
        self.fuse.burn(self.who, f"sold {about}")
        super().sold(**about)


class FusedChain(EmbeddedChain):
    """A chain before whose transactions the sender may die."""

    def __init__(self, path, accounts, fuse):
        super().__init__(path, accounts=accounts)
        self.fuse = fuse

    def _send(self, step, *, account, key):
        index = [known.address for known in self.accounts].index(account.address)
        self.fuse.burn("acquirer" if index == 0 else f"provider{index - 1}", f"send {key}")
        return super()._send(step, account=account, key=key)


class FusedTask(Softmax):
    """Training in which its party may die."""

    def __init__(self, who, fuse):
        self.who, self.fuse = who, fuse

    def train(self, model, data, *, seed):
        trained = super().train(model, data, seed=seed)
        self.fuse.burn(self.who, f"train {seed}")
        return trained


# --- a rule of our own -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Everybody:
    """Buys who answered, in the order of addresses, and weighs who delivered alike; `unweighed` are only looked at."""

    unweighed: frozenset = frozenset()

    def start(self):
        return None

    def trade(self, state, buyer, rng):
        scores = buyer.score(buyer.own_update)
        bought = buyer.buy([i for i in range(len(scores)) if not np.isnan(scores[i])])
        weighed = [i for i in bought if buyer.providers[i] not in self.unweighed]
        weights = np.array([1.0 / len(weighed) if i in weighed else 0.0 for i in range(len(scores))])
        roles = ["listed" if weight else "dropped" for weight in weights]
        reason = dict.fromkeys(range(len(scores)), "").get
        return state, SimpleNamespace(scores=scores, weights=weights, roles=roles, reason=reason, distribution="")

    def pack(self, state):
        return b""

    def unpack(self, data):
        return None


# --- the market ------------------------------------------------------------------------------------------------------


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
    watched: bool = True  # providers look after their epochs while the acquirer waits
    seconds: float = 600.0


class Market:
    """The parties and what they stand on; each can be closed and opened again on its own."""

    def __init__(self, setting):
        self.setting, self.folder, self.fuse = setting, setting.folder, setting.fuse
        x, y = small_digits()
        self.test, self.root = (x[-200:], y[-200:]), (x[-300:-200], y[-300:-200])
        given = {"settlement": {"scale": 2.0**-12}, **setting.terms}
        self.terms = read_terms({"name": "digits", "task": {"entry": "conftest:softmax_task"}, **given})
        first = Softmax().initial()
        self.settler = make_settler(self.terms, parameters=first.size)
        path = self.folder / "chain.sqlite"
        self.chain = setting.chain or FusedChain(path, setting.providers + 1, self.fuse)
        self.buyer, *self.sellers = self.chain.accounts[: setting.providers + 1]
        self.names = [account.address for account in self.sellers]
        parts = {"terms": self.terms, "settler": self.settler, "initial": first}
        self.trading = deploy_market(self.chain, **parts, account=self.buyer, key="deploy")
        self.place = wire.Market(self.chain.chain_id, self.trading.address)
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
        meter = self._opened(f"meter{i}", lambda: FusedMeter(self.folder / f"provider{i}.meter", self.fuse))
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
        return float(np.mean(self.acquirer.task.logits(model, self.test).argmax(axis=1) == self.test[1]))

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


# --- an acquirer by hand ---------------------------------------------------------------------------------------------


class Hand:
    """The acquirer's wallet in the hand of a test: every message and every call that it could make, in any order."""

    def __init__(self, market):
        self.market, self.trading, self.account = market, market.trading, market.buyer
        self.sealing = SealingKey.generate()

    def say(self, message, i=0, *, account=None, place=None):
        """What provider `i` answers to a request."""
        place = place or self.market.place
        request = wire.encode(message, market=place, account=account or self.account)
        return wire.decode(self.market.link.handlers[self.market.names[i]](request), market=self.market.place)[0]

    def open(self, amount=None):
        """The next epoch; its number."""
        amount = self.market.terms.money.deposit if amount is None else amount
        return self.trading.new_epoch(amount=amount, account=self.account).epoch

    def train(self, epoch=1, *, providers=None, base=None):
        """Everybody trains on the model of epoch `base`; their signed commitments."""
        base = self.trading.read_epoch(epoch).base if base is None else base
        request = ms.TrainRequest(epoch=epoch, body=self.file(base))
        chosen = range(len(self.market.providers)) if providers is None else providers
        replies = {i: self.say(request, i) for i in chosen}
        parts = {i: (bytes.fromhex(r.digest), bytes.fromhex(r.signature)) for i, r in replies.items()}
        return [SignedCommit(provider=self.market.names[i], digest=d, signature=s) for i, (d, s) in parts.items()]

    def file(self, epoch):
        if epoch == 0:
            return self.market.settler.first_file(Softmax().initial())
        return self.files[epoch]

    files = property(lambda self: self.__dict__.setdefault("_files", {}))

    def relay(self, entries, epoch=1):
        return self.trading.commit_models(epoch, entries=entries, account=self.account)

    def close_commitments(self, epoch=1):
        self.market.travel_to(self.market.times(epoch).commit + 1)

    def begin(self, epoch=1, *, providers=None):
        """An epoch that takes no commitments any more, with everybody in it."""
        assert self.open() == epoch
        self.relay(self.train(epoch, providers=providers), epoch)
        self.close_commitments(epoch)
        return self

    def offer(self, i, epoch=1):
        answer = self.say(ms.OfferRequest(epoch=epoch), i)
        parts = {"commitment": answer.body.hex(), "root": answer.root, "key_hash": answer.key_hash}
        return offer_of(self.market.names[i], Shown(**parts, ask=int(answer.ask)))

    def sealed(self, i, epoch=1):
        answer = self.say(ms.SealedRequest(epoch=epoch, key=self.sealing.public.hex()), i)
        return self.sealing.open(answer.body, context=self._context(i, epoch, "update"))

    def buy(self, *numbers, epoch=1):
        self.bought = {i: (self.offer(i, epoch), self.sealed(i, epoch)) for i in numbers}
        offers = [offer for offer, _ in self.bought.values()]
        return self.trading.buy(epoch, offers=offers, account=self.account)

    def ask_key(self, i, epoch=1):
        """The reply to a request for a key: the key, or the refusal."""
        answer = self.say(ms.KeyRequest(epoch=epoch, key=self.sealing.public.hex()), i)
        if isinstance(answer, ms.Refusal):
            return answer
        return self.sealing.open(answer.body, context=self._context(i, epoch, "key"))

    def publish(self, weights, epoch=1):
        """Publish what `weights` (number → integer) make of what was bought; keys are asked for."""
        shares = {}
        for i, weight in weights.items():
            (offer, body), secret = self.bought[i], self.ask_key(i, epoch)
            values = self.market.settler.open_sealed(body, secret)
            shares[self.market.names[i]] = Share(Delivery(offer, body, secret, values), weight)
        base = self.file(self.trading.read_epoch(epoch).base)
        self.files[epoch] = self.market.settler.aggregate(base, shares, epoch=epoch)
        act = SimpleNamespace(trading=self.trading, account=self.account, epoch=epoch, key=lambda step: None)
        return self.market.settler.publish(act, self.files[epoch], shares)

    def _context(self, i, epoch, what):
        return self.market.place.context(epoch, self.market.names[i], what)


PLAIN = {"scoring": {"scheme": "plain", "sketch": 0}}  # scores without noise, so that two runs give the same weights
SAMPLED = {"scheme": "sampled", "samples": 4, "providers": 3, "vdf_steps": 200, "update_limit": 8.0, "setup": "alone"}


@pytest.fixture
def build(tmp_path):
    """`build(providers=4, cheats={1: Forger}, terms={...})`; building again on the same folder resumes."""
    opened = []

    def make(folder=tmp_path, **options):
        options["terms"] = {**PLAIN, **options.get("terms", {})}
        market = Market(Setting(folder, **options))
        opened.append(market)
        return market

    def close():
        while opened:
            opened.pop().close()

    make.close = close
    yield make
    close()


@pytest.fixture
def short_delay(monkeypatch):
    """Sampled markets for tests: a delay function of 200 squarings, which the rules of real terms forbid.

    With the least that they allow, 2^24, an epoch would take half a minute; what is tried here does not depend on it.
    """
    monkeypatch.setattr(terms_rules, "LEAST_STEPS", 1)


@pytest.fixture
def copy_folder(tmp_path):
    """A market's folder once more, to go on from there; nobody may have it open."""
    return lambda folder: shutil.copytree(folder, tmp_path / "copy")


@pytest.fixture(scope="session")
def kit():
    """What tests need from here by name: modules of tests cannot be imported."""
    return SimpleNamespace(
        Everybody=Everybody, Fuse=Fuse, Hand=Hand, Killed=Killed, Market=Market, Setting=Setting, Softmax=Softmax,
        Listing=Listing, PLAIN=PLAIN, SAMPLED=SAMPLED,
    )  # fmt: skip
