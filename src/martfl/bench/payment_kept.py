"""Payments of larger markets, measured elsewhere and kept beside the results, as tables in Markdown.

Every market was run by each way to pay that is named as its driver: its weights make the model. *Fair* is the rank
correlation of pay with the rows of right labels that a seller holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from martfl.errors import InputError
from martfl.lab.tables import markdown_lines

OURS, EQUAL = "information", "equal"
ALIKE, SIZES, LABELS = "iid", "size", "noise"
RIVALS = {
    "size": "size, as sellers say",
    "cosine": "cosine",
    "leave-one-out": "leave-one-out",
    "cffl": "CFFL",
    "rffl": "RFFL",
}
TRICKS = {"split 4": "4 wallets", "near copies 4": "4 near-copies", "public step added": "public step added"}
MISSING = "–"


@dataclass(frozen=True)
class PaidMarket:
    """One market that was run."""

    dataset: str
    market: str
    driver: str
    seed: int
    rounds: int
    sellers: int
    machine: str
    accuracy: float
    fair: Mapping[str, float | None]  # by way to pay; None where all are paid alike
    first: Mapping[str, float]  # pay of the first seller, in all of its wallets
    cv: Mapping[str, float]  # of pay over rounds


class PaidMarkets(tuple[PaidMarket, ...]):
    """What was measured."""

    def of(self, dataset: str, market: str, driver: str) -> list[PaidMarket]:
        """The seeds of one market."""
        wanted = (dataset, market, driver)
        return [one for one in self if (one.dataset, one.market, one.driver) == wanted]

    @property
    def datasets(self) -> list[str]:
        """Their names in order."""
        return sorted({one.dataset for one in self})


def read_kept(path: Path) -> PaidMarkets:
    """The file's markets, a JSON object a line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        return PaidMarkets(PaidMarket(**json.loads(line)) for line in lines)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{path} holds no payments of markets: {error}") from error


def kept_tables(kept: PaidMarkets) -> Iterator[str]:
    """Ours by dataset, then fairness beside the rivals', then the conditions."""
    heads = ["", "fair: sizes", "fair: labels", "unsteady", "accuracy: alike", "sizes", "labels", *TRICKS.values()]
    yield _table(heads, [[name, *_ours(kept, name)] for name in kept.datasets])
    ways = {OURS: "by value", **RIVALS}
    heads = ["", *(f"{name}: {what}" for name in kept.datasets for what in ("sizes", "labels"))]
    places = [(name, market) for name in kept.datasets for market in (SIZES, LABELS)]
    yield _table(heads, [[words, *(_fair(kept, *place, way) for place in places)] for way, words in ways.items()])
    yield _conditions(kept)


def _ours(kept: PaidMarkets, name: str) -> list[str]:
    unsteady = _mean(kept, name, (SIZES, LABELS), lambda one: one.cv[OURS])
    tricks = [_gain(kept, name, trick) for trick in TRICKS]
    accuracy = [_better(kept, name, market) for market in (ALIKE, SIZES, LABELS)]
    return [_fair(kept, name, SIZES, OURS), _fair(kept, name, LABELS, OURS), unsteady, *accuracy, *tricks]


def _fair(kept: PaidMarkets, name: str, market: str, way: str) -> str:
    return _mean(kept, name, (market,), lambda one: one.fair[way] or 0.0)


def _mean(kept: PaidMarkets, name: str, markets: Sequence[str], value: Callable[[PaidMarket], float]) -> str:
    found = [value(one) for market in markets for one in kept.of(name, market, OURS)]
    return f"{sum(found) / len(found):.2f}" if found else MISSING


def _better(kept: PaidMarkets, name: str, market: str) -> str:
    """Points of accuracy above the model of equal weights, seed by seed."""
    ours, equal = ({one.seed: one.accuracy for one in kept.of(name, market, way)} for way in (OURS, EQUAL))
    found = [100 * (ours[seed] - equal[seed]) for seed in ours if seed in equal]
    return f"{sum(found) / len(found):+.1f}" if found else MISSING


def _gain(kept: PaidMarkets, name: str, trick: str) -> str:
    """The first seller's pay over its honest pay where all are alike; of the seeds that have both."""
    honest = {one.seed: one.first[OURS] for one in kept.of(name, ALIKE, OURS)}
    found = [one.first[OURS] / honest[one.seed] for one in kept.of(name, trick, "size") if one.seed in honest]
    return f"{sum(found) / len(found):.2f}" if found else MISSING


def _conditions(kept: PaidMarkets) -> str:
    sellers = ", ".join(f"{name} {min(one.sellers for one in kept if one.dataset == name)}" for name in kept.datasets)
    seeds = "; ".join(f"{name} {_seeds(kept, name)}" for name in kept.datasets)
    machines = " and ".join(sorted({one.machine for one in kept}))
    tricks = ", ".join(map(str, sorted({one.seed for one in kept if one.market in TRICKS}))) or MISSING
    return (
        f"Sellers: {sellers}. {max(one.rounds for one in kept)} rounds. Seeds of sizes and labels: {seeds}; of the "
        f"last columns: {tricks}. Made on {machines}."
    )


def _seeds(kept: PaidMarkets, name: str) -> str:
    found = sorted({one.seed for market in (SIZES, LABELS) for one in kept.of(name, market, OURS)})
    return ", ".join(map(str, found)) or MISSING


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return markdown_lines([heads, ["---"] * len(heads), *rows])
