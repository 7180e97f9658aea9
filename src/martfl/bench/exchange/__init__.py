"""What breaking the rules comes to: named strategies, each played with real roles on the embedded chain."""

from collections.abc import Callable
from dataclasses import dataclass

from martfl.amounts import COIN
from martfl.bench.exchange import acquirers, both, forgers, markets, oracles, relays, sellers, small
from martfl.bench.exchange.play import STRATEGIES, UnfairPlay

__all__ = [
    "ExchangeReport", "Played", "acquirers", "bench_exchange", "both", "forgers", "markets", "oracles", "relays",
    "sellers", "small",
]  # fmt: skip


@dataclass(frozen=True)
class Played:
    """A strategy and what it came to, in coins."""

    name: str
    gain: float  # the coalition's, against fair play
    short: float  # the most by which an honest seller is short of its ask
    limit: str = ""  # why, where it is a stated limit


@dataclass(frozen=True)
class ExchangeReport:
    """All strategies; the limits that are stated stand apart."""

    strategies: list[Played]
    limits: list[Played]


def bench_exchange(*, matching: str = "", tell: Callable[[str], None] = lambda name: None) -> ExchangeReport:
    """Play every strategy whose name has `matching` in it."""
    played = []
    for one in STRATEGIES:
        if matching in one.name:
            tell(one.name)
            played.append(_played(one))
    return ExchangeReport([p for p in played if not p.limit], [p for p in played if p.limit])


def _played(one: UnfairPlay) -> Played:
    outcome = one.play()
    return Played(one.name, outcome.gain / COIN, outcome.short / COIN, one.limit)
