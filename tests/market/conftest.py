"""A whole market in one process, small enough to run many times: softmax regression on digits, a few providers.

Parties can be killed and started again, alone, at every point where something becomes permanent: before each write to
a journal, before each transaction, and inside training. What lies between two such points cannot be told apart
afterwards, so these are all the ways in which a process can die.
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
from martfl.federation.local import EmbeddedClock, LocalLink
from martfl.market.acquirer import Acquirer, deploy_market
from martfl.market.journal import Journal
from martfl.market.provider import Provider
from martfl.market.settling import make_settler
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


class Killed(BaseException):
    """The party's process is gone; nothing catches this but who starts it again."""


@dataclass
class Fuse:
    """Kills at points of its choice. `parties` are who may die; `choose` says of a point, new or not, whether to."""

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
        about = values[: 3 if "remarks" in query else 2]
        self.fuse.burn(self.folder.name, f"{query.partition('VALUES')[0]} {about}")
        super()._write(query, *values)

    def keep_all(self, epoch, blobs):
        self.fuse.burn(self.folder.name, f"keep {epoch} {list(blobs)}")
        super().keep_all(epoch, blobs)


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


@dataclass
class Setting:
    """What a market is made of before it is opened."""

    folder: Path
    providers: int = 4
    cheats: dict = field(default_factory=dict)
    terms: dict = field(default_factory=dict)
    rows: int = 80
    fuse: Fuse = field(default_factory=lambda: Fuse(parties=("nobody",)))
    chain: object = None
    clock: object = None
    link: object = None  # a kind of LocalLink
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
        parts = {"terms": self.terms, "settler": self.settler, "initial": first}
        self.trading = deploy_market(self.chain, **parts, account=self.buyer, key="deploy")
        self.journals = {}
        self.providers = [self._provider(i) for i in range(setting.providers)]
        handlers = {p.account.address: self._handler(i) for i, p in enumerate(self.providers)}
        self.link = (setting.link or LocalLink)(handlers)
        self.acquirer = self._acquirer()

    def _handler(self, i):
        return lambda data: self.providers[i].handle(data)

    def _journal(self, name):
        if name in self.journals:
            self.journals[name].close()
        self.journals[name] = FusedJournal(self.folder / name, self.fuse)
        return self.journals[name]

    def _provider(self, i):
        kind = self.setting.cheats.get(i, Provider)
        rows, (x, y) = self.setting.rows, small_digits()
        data = (x[i * rows : (i + 1) * rows], y[i * rows : (i + 1) * rows])
        task, journal = FusedTask(f"provider{i}", self.fuse), self._journal(f"provider{i}")
        return kind(self.terms, task, data, self.trading, self.settler, journal, self.sellers[i], name=f"p{i}")

    def _acquirer(self, kind=Acquirer):
        return kind(
            *(self.terms, FusedTask("acquirer", self.fuse), self.root, self.trading, self.settler, self.link),
            *(self.setting.clock or EmbeddedClock(self.chain), self._journal("acquirer"), self.buyer),
            seconds=self.setting.seconds,
        )

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

    def close(self):
        for journal in self.journals.values():
            journal.close()
        if self.setting.chain is None:
            self.chain.close()

    # --- what came of it ---

    def accuracy(self, epoch):
        model = self.settler.floats(self.acquirer.model_file(epoch))
        return float(np.mean(self.acquirer.task.logits(model, self.test).argmax(axis=1) == self.test[1]))

    def claimed(self):
        return sum(int(p.journal.recall(e, "claim").value) for p in self.providers for e in self.epochs_of(p))

    def epochs_of(self, provider):
        return [step.epoch for step in provider.journal.steps() if step.name == "claim"]

    def events(self, kind, epoch):
        return self.trading.events(kind, epoch=epoch)

    def outcome(self, epoch):
        """How an epoch ended, in everything that is not drawn at random."""
        state = self.trading.read_epoch(epoch)
        file = self.acquirer.journal.blob(epoch, "model")
        return {
            "phase": state.phase.name,
            "weights": [dict(zip(e.providers, e.weights, strict=True)) for e in self.events(ev.Prepared, epoch)],
            "advance": [e.providers for e in self.events(ev.AdvanceBought, epoch)],
            "dropped": sorted(name for e in self.events(ev.Dropped, epoch) for name in e.providers),
            "committed": len(self.events(ev.ModelCommitted, epoch)),
            "paid": sorted((e.party, e.amount) for e in self.events(ev.Claimed, epoch)),
            "opened": len(self.events(ev.EpochOpened, epoch)),
            "model": None if file is None else hashlib.sha256(file).hexdigest(),
        }

    def money_in(self, epochs):
        deposits = sum(e.amount for t in range(1, epochs + 1) for e in self.events(ev.Deposited, t))
        fee = self.terms.money.advance_fee
        return deposits + fee * sum(
            len(e.providers) for t in range(1, epochs + 1) for e in self.events(ev.AdvanceBought, t)
        )

    def money_out(self, epochs):
        return sum(e.amount for t in range(1, epochs + 1) for e in self.events(ev.Claimed, t))


class RevivingLink(LocalLink):
    """A provider that is killed is started again and finds its request waiting."""

    market = None

    def _one(self, request):
        while True:
            try:
                return super()._one(request)
            except Killed:
                self.market.restart_provider(list(self.handlers).index(request[0]))


class DeafLink(LocalLink):
    """A provider that is killed is started again, and its request is lost."""

    market = None

    def _one(self, request):
        try:
            return super()._one(request)
        except Killed:
            self.market.restart_provider(list(self.handlers).index(request[0]))
            return None


PLAIN = {"selection": {"scorer": "plain"}}  # scores without noise, so that two runs give the same weights


@pytest.fixture
def build(tmp_path):
    """`build(providers=4, cheats={1: Forger}, terms={...})`; building again on the same folder resumes."""
    opened = []

    def make(folder=tmp_path, **options):
        market = Market(Setting(folder, **options))
        if isinstance(market.link, RevivingLink | DeafLink):
            market.link.market = market
        opened.append(market)
        return market

    def close():
        while opened:
            opened.pop().close()

    make.close = close
    yield make
    close()


@pytest.fixture
def copy_folder(tmp_path):
    """A market's folder once more, to go on from there; nobody may have it open."""
    return lambda folder: shutil.copytree(folder, tmp_path / "copy")


@pytest.fixture(scope="session")
def kit():
    """What tests need from here by name: modules of tests cannot be imported."""
    return SimpleNamespace(
        Fuse=Fuse, Killed=Killed, Market=Market, Setting=Setting, Softmax=Softmax,
        RevivingLink=RevivingLink, DeafLink=DeafLink, PLAIN=PLAIN,
    )  # fmt: skip
