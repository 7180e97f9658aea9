"""The demo of digits: sellers with names, behaviours, rows and asks. All of it follows from the options' seed."""

import numpy as np

from martfl.amounts import COIN
from martfl.arrays import Array
from martfl.demo.conducts import FORGED, HONEST, make_conduct
from martfl.demo.options import MIXED, DemoOptions
from martfl.demo.scene import Scene, Seller
from martfl.lab.attacks import ATTACKS, Rows, make_attack
from martfl.lab.data import Dataset, load_dataset
from martfl.lab.task import digits as digits_task

CAST = ("sign-randomizing", "label-flipping", FORGED, "free-rider")  # who appears under `mixed`, in turn
ROOT_ROWS = 100
SAMPLES = 16  # of sampled settlement: the demo makes its circuit's key itself, which takes long for more
ASKS = (8, 13)  # thousandths of a coin
TRAINING = {"learning_rate": 0.1, "epochs": 4, "batch": 32}
NAMES = (
    *("Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Ginkgo", "Hazel", "Ivy"),
    *("Juniper", "Kapok", "Larch", "Maple", "Nutmeg", "Oak", "Pine", "Quince", "Rowan"),
)
Pairs = tuple[Array, Array]  # rows and labels


def digits_scene(options: DemoOptions) -> Scene:
    """Sellers of handwritten digits, some of which attack."""
    dataset = load_dataset("digits")
    root, sellers = make_cast(options, dataset)
    training = {**TRAINING, "seed": options.seed}
    return Scene(
        task=digits_task(**training),
        entry="martfl.lab.task:digits",
        options=training,
        root=root,
        test=(dataset.test_x, dataset.test_y),
        sellers=sellers,
        settlement={"scheme": options.settlement, "scale": 2.0**-14, "update_limit": 2.0, "samples": SAMPLES},
        rule=options.rule,
        value=options.value,
        seed=options.seed,
    )


def make_cast(options: DemoOptions, dataset: Dataset) -> tuple[Pairs, list[Seller]]:
    """The acquirer's root rows, and the sellers."""
    behaviours = _behaviours(options)
    root, parts = _split(dataset, behaviours, options.seed)
    asks = np.random.default_rng([options.seed, 3]).integers(*ASKS, size=options.providers)
    rows = [_poisoned(part, kind, dataset, options.seed) for part, kind in zip(parts, behaviours, strict=True)]
    conducts = [make_conduct(kind, sellers=options.providers) for kind in behaviours]
    return root, [
        Seller(_name(i), rows[i], behaviours[i], int(asks[i]) * COIN // 1000, conducts[i])
        for i in range(options.providers)
    ]


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
