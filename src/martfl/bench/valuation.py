"""Seconds to value a round's updates, beside the training of that round."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

import torch

from martfl.bench.payment import honest
from martfl.lab.config import make_config
from martfl.lab.payment.market import Market, Past, make_market, paid_round, train_round
from martfl.lab.randomness import stream
from martfl.lab.runtime import Runtime
from martfl.lab.valuers import make_valuer

T = TypeVar("T")


@dataclass(frozen=True)
class ValuationTiming:
    """Medians over rounds; the first warms up."""

    dataset: str
    device: str
    sellers: int
    parameters: int
    train_s: float
    value_s: float
    share: float  # value_s / train_s


def bench_valuation(
    *, datasets: Iterable[str] = ("digits",), participants: int = 31, rounds: int = 5, runtime: Runtime = Runtime()
) -> list[ValuationTiming]:
    """One timing per dataset."""
    return [_one(name, participants, rounds, runtime) for name in datasets]


def _one(dataset: str, participants: int, rounds: int, runtime: Runtime) -> ValuationTiming:
    config = make_config({"dataset": dataset, "rule": "evidence", "participants": participants})
    market = make_market(config, honest, runtime)
    model = market.model.start(stream(0, "model")).to(market.device)
    valuer = make_valuer("information")
    state, trained, valued = valuer.start(), [], []
    for index in range(rounds + 1):
        updates, seconds = _timed(market, lambda m=model, i=index: train_round(market, m, i))  # type: ignore[misc]
        trained.append(seconds)
        paid = paid_round(market, model, updates, Past(), index)
        (state, weights), seconds = _timed(market, lambda s=state, o=paid: valuer.value(s, o))  # type: ignore[misc]
        valued.append(seconds)
        model = model + (paid.updates * paid.updates.new_tensor(weights)[:, None]).sum(dim=0)
    name = torch.cuda.get_device_name() if market.device.type == "cuda" else f"cpu, {torch.get_num_threads()} threads"
    train_s, value_s = median(trained[1:]), median(valued[1:])
    sizes = (len(market.wallets), market.model.size)
    return ValuationTiming(dataset, name, *sizes, train_s, value_s, value_s / train_s)


def _timed(market: Market, work: Callable[[], T]) -> tuple[T, float]:
    _wait(market)
    began = time.perf_counter()
    found = work()
    _wait(market)
    return found, time.perf_counter() - began


def _wait(market: Market) -> None:
    if market.device.type == "cuda":
        torch.cuda.synchronize(market.device)
