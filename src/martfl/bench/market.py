"""What a market costs beside the training that it trades: seconds and bytes of one epoch, step by step.

All parties and the chain share one process and one core of it, so seconds are sums over the parties, not what any of
them would wait. Training is what providers would do anyway; everything else is the market.
"""

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

from martfl.bench.resources import ResourceWatch
from martfl.bench.subjects import Subject, make_subject
from martfl.chain.embedded import EmbeddedChain
from martfl.chain.network import Receipt
from martfl.chain.network import UnsignedCall as Transaction
from martfl.federation.local import EmbeddedClock, LocalLink
from martfl.market.acquirer import Acquirer, deploy_market
from martfl.market.journal import Journal
from martfl.market.meter import Meter
from martfl.market.provider import Provider
from martfl.market.settling import make_settler
from martfl.market.steps import (
    Acceptance,
    Aggregated,
    Answered,
    BaselineScores,
    HandedOut,
    Invited,
    KeysTaken,
    ModelPosted,
    Offers,
    Ordered,
    Over,
    PaidOut,
    Proved,
    Purchased,
    Relayed,
    Selected,
    Step,
    Traffic,
)
from martfl.market.terms import read_terms
from martfl.selection import Buyer, Selection, Strategy
from martfl.selection.strategy import State
from martfl.tasks.layout import Vector
from martfl.tasks.protocol import Data, Task, as_task

AFTER = {
    "open": "commit",
    "commit": "trade",
    "select": "publish",
    "publish": "settle",
}  # what is being done once a step is told
LARGE = 40_000  # parameters from which padding to whole ciphertexts no longer counts
STEPS: dict[str, tuple[type[Step], ...]] = {
    "commit": (Invited, Relayed, Offers),
    "score": (BaselineScores,),
    "deliver": (Ordered, Purchased, KeysTaken),
    "aggregate": (Aggregated,),
    "settle": (Acceptance, ModelPosted, HandedOut, Proved, Answered, PaidOut, Over),
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
    cpu_s: dict[str, float]  # of the processor, all parties together: training, own, commit, trade, publish, settle
    cpu_share_of_training: float  # of all but training
    peak_mb: dict[str, float]  # of the whole process, all parties together
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
    """A task whose training is timed; all else is the task's own."""

    inner: Task
    watch: Stopwatch
    resources: ResourceWatch
    name: str

    def train(self, model: Vector, data: Data, *, seed: int) -> Vector:
        """Timed."""
        with self.watch.running(), self.resources.during(self.name):
            return self.inner.train(model, data, seed=seed)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


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


def bench_market(*, dataset: str = "", parameters: int = 0, providers: int = 10) -> MarketBench:
    """Run one epoch; without a name or a size, LeNet on Fashion-MNIST where `MARTFL_DATA` is set, else the digits."""
    subject = make_subject(dataset, parameters=parameters, providers=providers)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack, ResourceWatch().watching("set-up") as watch:
        return _measure(subject, Path(folder), stack, watch)


def _measure(subject: Subject, folder: Path, stack: ExitStack, watch: ResourceWatch) -> MarketBench:
    task, training, own, providers = subject.task, Stopwatch(), Stopwatch(), len(subject.shares)
    terms = read_terms({"name": f"bench {subject.name}", "task": {"entry": "martfl.bench:not-loaded"}})
    settler = make_settler(terms, parameters=task.layout.size)
    chain = TimedChain(folder / "chain.sqlite", providers + 1)
    stack.callback(chain.close)
    buyer, *sellers = chain.accounts
    trading = deploy_market(chain, terms=terms, settler=settler, initial=task.initial(), account=buyer)
    journals = [stack.enter_context(Journal(folder / str(i))) for i in range(providers + 1)]
    meters = [stack.enter_context(closing(Meter(folder / f"meter-{i}.sqlite"))) for i in range(providers)]
    selling = as_task(TimedTask(task, training, watch, "training"))
    buying = as_task(TimedTask(task, own, watch, "the acquirer's training"))
    parties = [
        Provider(terms, selling, subject.shares[i], trading, settler, journals[i + 1], meters[i], account)
        for i, account in enumerate(sellers)
    ]
    link = LocalLink({party.account.address: party.handle for party in parties}, workers=1)
    clock = EmbeddedClock(chain, parties)
    acquirer = Acquirer(terms, buying, subject.root, trading, settler, link, clock, journals[0], buyer)
    acquirer.tell = lambda epoch, step, text: setattr(watch, "doing", AFTER.get(step, watch.doing))
    before = chain.watch.seconds
    rule = TimedRule(acquirer.strategy)
    acquirer.strategy = rule
    acquirer.run(1)
    sums = _Sums(acquirer.journal, training.seconds, rule.watch.seconds - own.seconds)
    return _result(subject, sums, chain.watch.seconds - before, watch)


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
        return self.journal.all_of(PaidOut)[0].traffic

    def _took(self, kind: type[Step]) -> float:
        return sum(entry.seconds for entry in self.journal.entries(1) if isinstance(entry.value, kind))


def _market_cpu(watch: ResourceWatch) -> float:
    return sum(watch.cpu_s.get(name, 0.0) for name in AFTER.values())


def _result(subject: Subject, sums: _Sums, chain_s: float, watch: ResourceWatch) -> MarketBench:
    steps, traffic = sums.seconds(), sums.traffic()
    parameters, providers = subject.task.layout.size, len(subject.shares)
    bought = sum(len(step.prices) for step in sums.journal.all_of(Purchased))
    baselines = sums.journal.all_of(Selected)[0].baselines
    request = traffic.sent["score"] / (providers * baselines * parameters)
    delivery = (traffic.received["sealed"] + traffic.received["key"]) / (bought * parameters)
    large = parameters >= LARGE
    return MarketBench(
        dataset=subject.name,
        parameters=parameters,
        providers=providers,
        bought=bought,
        training_s=sums.training,
        steps_s=steps,
        steps_bytes=sums.bytes(),
        cpu_s=dict(watch.cpu_s),
        cpu_share_of_training=_market_cpu(watch) / watch.cpu_s["training"],
        peak_mb=dict(watch.peak_mb),
        chain_s=chain_s,
        market_s=sum(steps.values()),
        market_share_of_training=sum(steps.values()) / sums.training,
        score_request_bytes_per_parameter=request,
        delivery_bytes_per_parameter=delivery,
        score_request_within=request <= 6.2 if large else None,
        delivery_within=delivery <= 2.2 if large else None,
    )
