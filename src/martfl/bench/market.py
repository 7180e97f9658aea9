"""What a market costs beside the training that it trades: seconds and bytes of one epoch, step by step.

All parties and the chain share one process and one core of it, so seconds are sums over the parties, not what any of
them would wait. Training is what providers would do anyway; everything else is the market.
"""

import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from eth_account.signers.local import LocalAccount

from martfl.chain.embedded import EmbeddedChain
from martfl.chain.network import Receipt
from martfl.chain.network import Step as Transaction
from martfl.federation.local import EmbeddedClock, LocalLink
from martfl.lab.data import load_dataset
from martfl.lab.task import Rows, make_task
from martfl.market.acquirer import Acquirer, deploy_market
from martfl.market.journal import Journal
from martfl.market.meter import Meter
from martfl.market.provider import Provider
from martfl.market.settling import make_settler
from martfl.market.steps import (
    Accepted,
    Aggregated,
    Answered,
    HandedOut,
    Invited,
    KeysTaken,
    ModelPosted,
    Offers,
    Ordered,
    Over,
    Paid,
    Proved,
    Purchased,
    Relayed,
    Scores,
    Selected,
    Step,
    Traffic,
)
from martfl.market.task import Floats, Task
from martfl.market.terms import Terms, read_terms
from martfl.selection import Buyer, Selection, Strategy
from martfl.selection.strategy import State

ROOT_ROWS = 200
LARGE = 40_000  # parameters from which padding to whole ciphertexts no longer counts
STEPS: dict[str, tuple[type[Step], ...]] = {
    "commit": (Invited, Relayed, Offers),
    "score": (Scores,),
    "deliver": (Ordered, Purchased, KeysTaken),
    "aggregate": (Aggregated,),
    "settle": (Accepted, ModelPosted, HandedOut, Proved, Answered, Paid, Over),
}
MESSAGES = {
    "commit": ("train", "offer"),
    "score": ("score",),
    "deliver": ("sealed", "key"),
    "settle": ("published", "closed"),
}


@dataclass(frozen=True, kw_only=True)
class MarketBench:
    """One epoch's figures."""

    dataset: str
    parameters: int
    providers: int
    bought: int
    training_s: float
    steps_s: dict[str, float]  # commit, score, select, deliver, aggregate, settle; training apart
    steps_bytes: dict[str, int]  # both ways, all providers
    chain_s: float  # the part of the steps that the in-process chain took
    market_s: float
    market_share_of_training: float
    score_request_bytes_per_parameter: float
    delivery_bytes_per_parameter: float
    score_request_within: bool | None  # ≤ 6.2; not judged for small models, whose ciphertexts are mostly padding
    delivery_within: bool | None  # ≤ 2.2


@dataclass
class Stopwatch:
    """Seconds that threads spend in one kind of work, added up."""

    seconds: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count what happens inside."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            with self._lock:
                self.seconds += time.perf_counter() - begun


@dataclass(frozen=True)
class TimedTask:
    """A task whose training is timed."""

    inner: Task
    watch: Stopwatch

    def initial(self) -> Floats:
        """As the task says."""
        return self.inner.initial()

    def train(self, model: Floats, data: Any, *, seed: int) -> Floats:
        """Timed."""
        with self.watch.running():
            return self.inner.train(model, data, seed=seed)

    def logits(self, model: Floats, data: Any) -> Floats:
        """As the task says."""
        return self.inner.logits(model, data)

    def labels(self, data: Any) -> Any:
        """As the task says."""
        return self.inner.labels(data)


@dataclass(frozen=True)
class TimedRule:
    """A rule whose trading is timed: scoring, buying and weighing."""

    most_baselines: ClassVar[int] = 4

    inner: Strategy
    watch: Stopwatch = field(default_factory=Stopwatch)

    def start(self) -> State:
        """As the rule says."""
        return self.inner.start()

    def trade(self, state: State, buyer: Buyer, rng: np.random.Generator) -> tuple[State, Selection]:
        """Timed."""
        with self.watch.running():
            return self.inner.trade(state, buyer, rng)

    def pack(self, state: State) -> bytes:
        """As the rule says."""
        return self.inner.pack(state)

    def unpack(self, data: bytes) -> State:
        """As the rule says."""
        return self.inner.unpack(data)


class TimedChain(EmbeddedChain):
    """An embedded chain whose transactions are timed."""

    def __init__(self, path: Path, accounts: int) -> None:
        super().__init__(path, accounts=accounts)
        self.watch = Stopwatch()

    def _send(self, step: Transaction, *, account: LocalAccount, key: str | None) -> Receipt:
        with self.watch.running():
            return super()._send(step, account=account, key=key)


def bench_market(*, dataset: str = "", providers: int = 10) -> MarketBench:
    """Run one epoch; LeNet on Fashion-MNIST where `MARTFL_DATA` is set, else the digits."""
    name = dataset or ("fmnist" if os.environ.get("MARTFL_DATA") else "digits")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        return _measure(name, providers, Path(folder), stack)


def _measure(name: str, providers: int, folder: Path, stack: ExitStack) -> MarketBench:
    task, training, own = make_task(name), Stopwatch(), Stopwatch()
    terms = _terms(name)
    settler = make_settler(terms, parameters=task.model.size)
    chain = TimedChain(folder / "chain.sqlite", providers + 1)
    stack.callback(chain.close)
    buyer, *sellers = chain.accounts
    trading = deploy_market(chain, terms=terms, settler=settler, initial=task.initial(), account=buyer)
    root, shares = _split(name, providers)
    journals = [stack.enter_context(Journal(folder / str(i))) for i in range(providers + 1)]
    meters = [stack.enter_context(closing(Meter(folder / f"meter-{i}.sqlite"))) for i in range(providers)]
    parties = [
        Provider(terms, TimedTask(task, training), shares[i], trading, settler, journals[i + 1], meters[i], account)
        for i, account in enumerate(sellers)
    ]
    link = LocalLink({party.account.address: party.handle for party in parties}, workers=1)
    clock = EmbeddedClock(chain, parties)
    acquirer = Acquirer(terms, TimedTask(task, own), root, trading, settler, link, clock, journals[0], buyer)
    acquirer.tell = lambda *_: None
    before = chain.watch.seconds
    acquirer.strategy = rule = TimedRule(acquirer.strategy)
    acquirer.run(1)
    sums = _Sums(acquirer.journal, training.seconds, rule.watch.seconds - own.seconds)
    return _result(name, task.model.size, providers, sums, chain.watch.seconds - before)


@dataclass(frozen=True)
class _Sums:
    """The epoch's journal and times, as steps."""

    journal: Journal
    training: float
    trade: float  # scoring, buying and weighing, without the acquirer's own training

    def seconds(self) -> dict[str, float]:
        """Steps without training; what the rule itself takes is what scoring and buying leave."""
        took = {name: sum(self._took(kind) for kind in kinds) for name, kinds in STEPS.items()}
        took["commit"] -= self.training
        select = self.trade - took["score"] - took["deliver"]
        return {"commit": took.pop("commit"), "score": took.pop("score"), "select": select, **took}

    def bytes(self) -> dict[str, int]:
        """Both ways; counters of one epoch grow from step to step, so the last has all."""
        last = self.traffic()
        return {name: sum(last.sent[k] + last.received[k] for k in kinds) for name, kinds in MESSAGES.items()}

    def traffic(self) -> Traffic:
        """Of the whole epoch."""
        return self.journal.all_of(Paid)[0].traffic

    def _took(self, kind: type[Step]) -> float:
        return sum(entry.seconds for entry in self.journal.entries(1) if isinstance(entry.value, kind))


def _result(name: str, parameters: int, providers: int, sums: _Sums, chain_s: float) -> MarketBench:
    steps, traffic = sums.seconds(), sums.traffic()
    bought = sum(len(step.prices) for step in sums.journal.all_of(Purchased))
    baselines = sums.journal.all_of(Selected)[0].baselines
    request = traffic.sent["score"] / (providers * baselines * parameters)
    delivery = (traffic.received["sealed"] + traffic.received["key"]) / (bought * parameters)
    large = parameters >= LARGE
    return MarketBench(
        dataset=name,
        parameters=parameters,
        providers=providers,
        bought=bought,
        training_s=sums.training,
        steps_s=steps,
        steps_bytes=sums.bytes(),
        chain_s=chain_s,
        market_s=sum(steps.values()),
        market_share_of_training=sum(steps.values()) / sums.training,
        score_request_bytes_per_parameter=request,
        delivery_bytes_per_parameter=delivery,
        score_request_within=request <= 6.2 if large else None,
        delivery_within=delivery <= 2.2 if large else None,
    )


def _terms(name: str) -> Terms:
    return read_terms({"name": f"bench {name}", "task": {"entry": f"martfl.lab.task:{name}"}})


def _split(name: str, providers: int) -> tuple[Rows, list[Rows]]:
    data = load_dataset(name)
    order = np.random.default_rng(0).permutation(len(data.train_y))
    root, rest = order[:ROOT_ROWS], np.array_split(order[ROOT_ROWS:], providers)
    return (data.train_x[root], data.train_y[root]), [(data.train_x[rows], data.train_y[rows]) for rows in rest]
