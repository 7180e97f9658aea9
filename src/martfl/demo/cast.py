"""Who sells in a demo: names, behaviours, rows and asks. All of it follows from the options' seed."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from martfl.amounts import COIN
from martfl.demo.conducts import FORGED, HONEST
from martfl.errors import InputError
from martfl.lab.attacks import ATTACKS, Rows, make_attack
from martfl.lab.data import Dataset

MIXED = "mixed"
CAST = ("sign-randomizing", "label-flipping", FORGED, "free-rider")  # who appears under `mixed`, in turn
ROOT_ROWS = 100
ASKS = (8, 13)  # thousandths of a coin
NAMES = (
    *("Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Ginkgo", "Hazel", "Ivy"),
    *("Juniper", "Kapok", "Larch", "Maple", "Nutmeg", "Oak", "Pine", "Quince", "Rowan"),
)
Pairs = tuple[Any, Any]  # rows and labels


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """What may be chosen about a demo."""

    providers: int = 10
    epochs: int = 5
    attack: str = MIXED
    malicious: float = 0.3
    settlement: str = "exact"
    rule: str = "evidence"
    seed: int = 0

    def __post_init__(self) -> None:
        attacks = (*ATTACKS, FORGED, MIXED)
        if self.attack not in attacks:
            raise InputError(f"unknown attack {self.attack!r}; known: {', '.join(attacks)}")
        if not 1 <= self.providers <= 100 or self.epochs < 1:
            raise InputError(f"1 to 100 providers and at least 1 epoch, got {self.providers} and {self.epochs}")
        if not 0.0 <= self.malicious < 1.0:
            raise InputError(f"malicious must lie in [0, 1), got {self.malicious}")


@dataclass(frozen=True)
class Seller:
    """One provider of the demo."""

    name: str
    behaviour: str
    ask: int
    rows: Pairs


def make_cast(options: DemoOptions, dataset: Dataset) -> tuple[Pairs, list[Seller]]:
    """The acquirer's root rows, and the sellers."""
    behaviours = _behaviours(options)
    root, parts = _split(dataset, behaviours, options.seed)
    asks = np.random.default_rng([options.seed, 3]).integers(*ASKS, size=options.providers)
    poisoned = [_poisoned(part, kind, dataset, options.seed) for part, kind in zip(parts, behaviours, strict=True)]
    return root, [
        Seller(_name(i), behaviours[i], int(asks[i]) * COIN // 1000, poisoned[i]) for i in range(options.providers)
    ]


def remembered(options: DemoOptions, folder: Path) -> DemoOptions:
    """The options that a folder was made with; others are refused, because the market there follows the old ones."""
    path = folder / "demo.json"
    if not path.exists():
        path.write_text(json.dumps(asdict(options), indent=2), encoding="utf-8")
        return options
    known = remembered_options(folder)
    if replace(options, epochs=known.epochs) != known:
        raise InputError(f"{folder} holds a demo with other options: {known}")
    return options


def remembered_options(folder: Path) -> DemoOptions:
    """The options of an interrupted demo."""
    path = folder / "demo.json"
    if not path.is_file():
        raise InputError(f"{folder} holds no demo to resume")
    return DemoOptions(**json.loads(path.read_text(encoding="utf-8")))


def _name(i: int) -> str:
    return NAMES[i % len(NAMES)] + (f" {i // len(NAMES) + 1}" if i >= len(NAMES) else "")


def _behaviours(options: DemoOptions) -> list[str]:
    attackers = round(options.malicious * options.providers) if options.attack != "none" else 0
    kinds = CAST if options.attack == MIXED else (options.attack,)
    roles = [HONEST] * (options.providers - attackers) + [kinds[i % len(kinds)] for i in range(attackers)]
    order = np.random.default_rng([options.seed, 1]).permutation(options.providers)
    return [roles[i] for i in order]


def _split(dataset: Dataset, behaviours: list[str], seed: int) -> tuple[Pairs, list[Pairs]]:
    """Root rows for the acquirer, the rest in equal parts for the providers; Sybils share the first one's."""
    order = np.random.default_rng([seed, 2]).permutation(len(dataset.train_y))
    root, rest = order[:ROOT_ROWS], np.array_split(order[ROOT_ROWS:], len(behaviours))
    parts = [(dataset.train_x[rows], dataset.train_y[rows]) for rows in rest]
    sybils = [i for i, behaviour in enumerate(behaviours) if behaviour == "sybil"]
    return (dataset.train_x[root], dataset.train_y[root]), [
        parts[sybils[0]] if i in sybils else part for i, part in enumerate(parts)
    ]


def _poisoned(rows: Pairs, behaviour: str, dataset: Dataset, seed: int) -> Pairs:
    attack = make_attack(behaviour) if behaviour in ATTACKS else None
    if attack is None or attack.poison is None:
        return rows
    changed = attack.poison(dataset, Rows(*rows), np.random.default_rng(seed))
    return changed.x, changed.y
