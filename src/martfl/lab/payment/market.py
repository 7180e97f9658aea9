"""A market of wallets: rounds of training in which every way to pay sees the same updates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from martfl.lab.attacks import Attack, Rows
from martfl.lab.clients import ACQUIRER, Client, Clients, make_clients
from martfl.lab.config import RunConfig
from martfl.lab.data import Dataset, load_dataset
from martfl.lab.evaluate import RowJudge, logits_many, make_rowset
from martfl.lab.exam import Exam, make_exam
from martfl.lab.models import Model, make_model
from martfl.lab.payment.sellers import Trained, Wallet
from martfl.lab.randomness import device_stream, stream
from martfl.lab.rules import RoundView
from martfl.lab.rules.strategy import LabBuyer
from martfl.lab.runtime import Runtime
from martfl.lab.splits import Split, make_split, rows_of
from martfl.lab.trainer import prepare_device
from martfl.lab.valuers import PaidRound, Valuer
from martfl.valuation.strategy import stand_for_all

Make = Callable[[Dataset, Split, Sequence[Rows], np.random.Generator], list[Wallet]]


@dataclass(frozen=True)
class Paid:
    """What a market paid."""

    wallets: tuple[Wallet, ...]
    pay: Mapping[str, np.ndarray]  # by way to pay: [rounds, wallets], each row sums to 1 or 0
    accuracy: float  # on test rows, after the last round

    def by_owner(self, name: str) -> np.ndarray:
        """[owners] mean share of a round."""
        owners = np.array([wallet.owner for wallet in self.wallets])
        mean = self.pay[name].mean(axis=0)
        return np.array([mean[owners == owner].sum() for owner in np.unique(owners)])


@dataclass(frozen=True)
class Market:
    """A market made ready; the data's division depends on the seed alone."""

    config: RunConfig
    device: torch.device
    dataset: Dataset
    model: Model
    split: Split
    wallets: tuple[Wallet, ...]
    clients: Clients  # wallets that train, and the buyer last
    judge: RowJudge
    exam: Exam

    @property
    def sizes(self) -> np.ndarray:
        """[n] rows."""
        return np.array([len(wallet.rows.y) for wallet in self.wallets])


def make_market(config: RunConfig, make: Make, runtime: Runtime) -> Market:
    """Divide the data, let `make` turn the parts into wallets, and lay everything out."""
    device = prepare_device(runtime.device, precision=config.precision)
    dataset = load_dataset(config.dataset, folder=runtime.data)
    model = make_model(config.filled().model or "", dataset)
    participants = config.filled().participants
    assert participants is not None
    split = make_split(dataset, config, providers=participants - 1, acquirer=True)
    root = rows_of(dataset, split.root)
    parts = [rows_of(dataset, part) for part in split.providers]
    wallets = tuple(make(dataset, split, parts, stream(config.seed, "wallets")))
    who = [Client(i + 1, wallet.rows) for i, wallet in enumerate(wallets)] + [Client(ACQUIRER, root)]
    clients = make_clients(who, model, config, device=device, runtime=runtime)
    judge = RowJudge(make_rowset(model, root.x, root.y, device), dataset.num_classes)
    exam = make_exam(dataset, split, [Attack("none", "")], model, device)
    return Market(config, device, dataset, model, split, wallets, clients, judge, exam)


@dataclass(frozen=True)
class Past:
    """What the sellers know of the round before."""

    step: Tensor | None = None  # [m] of the model, which is public
    trained: Tensor | None = None  # [n, m] each its own


def run_market(market: Market, valuers: Mapping[str, Valuer], *, driver: str) -> Paid:
    """Rounds of training; the model follows the weights of `driver`, and everybody else only pays."""
    model = market.model.start(stream(market.config.seed, "model")).to(market.device)
    states = {name: valuer.start() for name, valuer in valuers.items()}
    pay: dict[str, list[np.ndarray]] = {name: [] for name in valuers}
    past = Past()
    for index in range(market.config.rounds):
        trained = train_round(market, model, index)
        paid = paid_round(market, model, trained, past, index)
        for name, valuer in valuers.items():
            states[name], weights = valuer.value(states[name], paid)
            pay[name].append(weights)
        step = (paid.updates * paid.updates.new_tensor(pay[driver][-1])[:, None]).sum(dim=0)
        model, past = model + step, Past(step, trained[:-1])
    accuracy = market.exam.test_figures(model)["mta"] or 0.0
    return Paid(market.wallets, {name: np.stack(rows) for name, rows in pay.items()}, accuracy)


def train_round(market: Market, model: Tensor, index: int) -> Tensor:
    """[n + 1, m] what the wallets and, last, the buyer have learnt."""
    _parrot(market, model)
    return market.clients.train(model, seed=market.config.seed, index=index)


def paid_round(market: Market, model: Tensor, trained: Tensor, past: Past, index: int) -> PaidRound:
    """What is sold of it."""
    seed = market.config.seed
    updates, own = _crafted(market, trained[:-1], past, index), trained[-1]
    sizes = torch.as_tensor(market.sizes, device=market.device)
    honest = torch.ones(len(updates), dtype=torch.bool, device=market.device)
    rng = stream(seed, "pay", index)
    view = RoundView(index, model, updates, own, sizes, honest, market.judge, rng)
    names = tuple(str(i) for i in range(len(updates)))
    buyer = LabBuyer(view, market.judge)
    even = stand_for_all(buyer)
    return PaidRound(names, updates, model, own, market.sizes, buyer.goodness, rng, even, buyer.focus, view)


def _parrot(market: Market, model: Tensor) -> None:
    """New labels for wallets that train on the model's own predictions."""
    shards = market.clients.shards
    for i, wallet in enumerate(market.wallets):
        if wallet.parrots:
            span = slice(int(shards.offsets[i]), int(shards.offsets[i + 1]))
            shards.y[span] = logits_many(market.model, model[None], shards.x[span])[0].argmax(dim=1)


def _crafted(market: Market, trained: Tensor, past: Past, index: int) -> Tensor:
    """What the wallets hand in."""
    found = []
    for i, wallet in enumerate(market.wallets):
        source = i if wallet.follows is None else wallet.follows
        generator = device_stream(market.device, market.config.seed, "craft", index, i)
        before = None if past.trained is None else past.trained[source]
        own = trained[source]
        friends = trained[list(wallet.friends)].mean(dim=0) if wallet.friends else None
        seen = Trained(own, past.step, before, generator, friends)
        found.append(own if wallet.craft is None else wallet.craft(seen))
    return torch.stack(found)
