"""Who holds which rows: root data, validation rows and the providers' data, all apart from the test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from martfl.errors import InputError
from martfl.lab.attacks.base import Rows
from martfl.lab.config import RunConfig
from martfl.lab.data import Dataset
from martfl.lab.partition import choose_owners, dirichlet_parts
from martfl.lab.randomness import stream

POWER = 1.65911332899  # exponent of the power law F(x) = x^a on [0, 1] behind POW sizes, as in CFFL's and RFFL's set-up
VALIDATION_SHARE, VALIDATION_MOST = 0.05, 1000


@dataclass(frozen=True)
class Split:
    """Row numbers of the training set, and what each provider is."""

    root: np.ndarray  # rows of the acquirer
    validation: np.ndarray  # rows that only early stopping sees
    providers: tuple[np.ndarray, ...]  # rows of each provider
    malicious: np.ndarray  # [n] bool
    biased: np.ndarray  # [n] bool; never malicious
    root_classes: tuple[int, ...]  # the classes that dominate the root data; all of them when it is unbiased
    own_test: np.ndarray | None = None  # the test rows that are the buyer's own; natural splits only


def rows_of(dataset: Dataset, rows: np.ndarray) -> Rows:
    """Rows of the training set with their labels."""
    return Rows(dataset.train_x[rows], dataset.train_y[rows])


class Pool:
    """Rows by class, handed out in a shuffled order; a class that runs out starts again from its first row.

    Biased providers ask for more of some classes than there is, so that a few rows serve two providers.
    """

    def __init__(self, rows: np.ndarray, labels: np.ndarray, num_classes: int, rng: np.random.Generator) -> None:
        self.rows = [rng.permutation(rows[labels[rows] == number]) for number in range(num_classes)]
        self.next = [0] * num_classes
        self.sizes = np.array([len(part) for part in self.rows])

    def take(self, number: int, count: int) -> np.ndarray:
        if count > len(self.rows[number]):
            raise InputError(f"class {number} has {len(self.rows[number])} rows; one party asks for {count} of them")
        places = (self.next[number] + np.arange(count)) % max(1, len(self.rows[number]))
        self.next[number] += count
        taken: np.ndarray = self.rows[number][places]
        return taken


def apportion(total: int, shares: np.ndarray) -> np.ndarray:
    """Whole numbers in proportion to `shares` that sum to `total`, by largest remainder."""
    exact = total * shares / shares.sum()
    counts: np.ndarray = np.floor(exact).astype(np.int64)
    rest = np.argsort(-(exact - counts), kind="stable")[: total - int(counts.sum())]
    counts[rest] += 1
    return counts


def provider_sizes(total: int, providers: int, *, law: str, rng: np.random.Generator) -> np.ndarray:
    """UNI: all alike. POW: sizes from small to large under a power law, in random order. At least one row each."""
    if total < providers:
        raise InputError(f"{providers} providers need at least as many rows, got {total}")
    if law == "uni":
        return apportion(total, np.ones(providers))
    low, high = 0.01 ** (1 / POWER), 0.99 ** (1 / POWER)
    return rng.permutation(np.maximum(1, apportion(total, np.linspace(low, high, providers))))


def dominant_classes(num_classes: int, share: float, rng: np.random.Generator) -> tuple[int, ...]:
    """A random `share` of the classes, at least one and never all."""
    count = min(max(1, round(share * num_classes)), num_classes - 1)
    return tuple(sorted(int(number) for number in rng.choice(num_classes, count, replace=False)))


def class_mix(sizes: np.ndarray, classes: tuple[int, ...], dominance: float) -> np.ndarray:
    """Shares by class: `dominance` of the rows from `classes`, the rest from the others, in the data's proportions."""
    inside = np.zeros(len(sizes))
    inside[list(classes)] = sizes[list(classes)]
    outside = sizes - inside
    mix: np.ndarray = dominance * inside / inside.sum()
    if outside.sum() and dominance < 1:
        mix = mix + (1 - dominance) * outside / outside.sum()
    return mix


def _noniid_mix(sizes: np.ndarray, rows: int, rng: np.random.Generator) -> np.ndarray:
    """Random classes with random weights: at least two and enough to give that many rows, else not all of them."""
    number = len(sizes)
    order = rng.permutation(number)
    enough = 1 + int(np.searchsorted(np.cumsum(sizes[order]), rows))
    count = max(int(rng.integers(2, number)) if number > 2 else number, min(enough, number))
    mix = np.zeros(number)
    mix[order[:count]] = rng.dirichlet(np.ones(count))
    return mix


def _draw(pool: Pool, count: int, mix: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """`count` rows by the class shares of `mix`; no class gives a party more rows than it has."""
    wanted = apportion(count, mix)
    for _ in range(len(mix)):  # what a class cannot give, the others of the mix give
        short = np.maximum(wanted - pool.sizes, 0)
        open_mix = np.where(wanted < pool.sizes, mix, 0)
        if not short.sum():
            break
        if not open_mix.sum():
            raise InputError(
                f"a party of {count} rows wants classes {np.flatnonzero(mix).tolist()}, which have too few"
            )
        wanted = np.minimum(wanted, pool.sizes) + apportion(int(short.sum()), open_mix)
    return rng.permutation(np.concatenate([pool.take(c, int(k)) for c, k in enumerate(wanted) if k]))


def make_split(dataset: Dataset, config: RunConfig, *, providers: int, acquirer: bool = True) -> Split:
    """The whole division for one run; it depends on the seed and the setting, not on the rule's name."""
    rng = stream(config.seed, "split")
    rows = rng.permutation(len(dataset.train_y))
    held = min(VALIDATION_MOST, int(VALIDATION_SHARE * len(rows)))
    validation, rest = rows[:held], rows[held:]
    if config.classes == "natural":
        return _natural(dataset, config, validation, rest, providers, acquirer, rng)
    root_classes = _root_classes(dataset.num_classes, config, rng)
    root = _root_rows(dataset, rest, root_classes, config, rng)
    left = np.setdiff1d(rest, root)
    malicious, biased = _roles(providers, config, rng)
    if config.classes == "dirichlet":
        parts = dirichlet_parts(left, dataset.train_y, providers=providers, alpha=config.alpha, rng=rng)
    else:
        parts = _mixed_parts(dataset, left, biased, root_classes, config, rng)
    return Split(root, validation, parts, malicious, biased, root_classes)


def _mixed_parts(
    dataset: Dataset,
    left: np.ndarray,
    biased: np.ndarray,
    root_classes: tuple[int, ...],
    config: RunConfig,
    rng: np.random.Generator,
) -> tuple[np.ndarray, ...]:
    """Sizes first, then a mix of classes for everybody."""
    pool = Pool(left, dataset.train_y, dataset.num_classes, rng)
    if (pool.sizes == 0).any():
        raise InputError(f"class {np.flatnonzero(pool.sizes == 0).tolist()} has no rows left for the providers")
    sizes = provider_sizes(len(left), len(biased), law=config.sizes, rng=rng)
    return tuple(
        _draw(pool, int(size), _mix(pool.sizes, int(size), bool(biased[i]), root_classes, config, rng), rng)
        for i, size in enumerate(sizes)
    )


def _natural(
    dataset: Dataset,
    config: RunConfig,
    validation: np.ndarray,
    rows: np.ndarray,
    providers: int,
    acquirer: bool,
    rng: np.random.Generator,
) -> Split:
    """Everybody has its own rows; the root data are the buyer's, at most `root_rows` of them."""
    owners = choose_owners(dataset, rows, buyer=config.buyer, providers=providers, acquirer=acquirer, rng=rng)
    assert dataset.train_owner is not None
    whose = dataset.train_owner[rows]
    root = rows[whose == owners.buyer][: config.filled().root_rows]
    parts = tuple(rows[whose == owner] for owner in owners.providers)
    own = np.flatnonzero(dataset.test_owner == owners.buyer) if dataset.test_owner is not None else None
    held = tuple(int(label) for label in np.unique(dataset.train_y[root]))
    return Split(root, validation, parts, *_roles(providers, config, rng), held, own)


def wrong_labels(labels: np.ndarray, *, share: float, num_classes: int, rng: np.random.Generator) -> np.ndarray:
    """Labels with a random `share` of them turned into another class, any of the others with equal chance."""
    hit = rng.permutation(len(labels))[: round(share * len(labels))]
    wrong = np.array(labels)
    wrong[hit] = (wrong[hit] + rng.integers(1, num_classes, len(hit))) % num_classes
    return wrong


def _root_classes(number: int, config: RunConfig, rng: np.random.Generator) -> tuple[int, ...]:
    drawn = dominant_classes(number, config.root_share, rng)  # drawn always: the streams stay alike in both cases
    return drawn if config.root == "biased" else tuple(range(number))


def _root_rows(
    dataset: Dataset,
    rows: np.ndarray,
    classes: tuple[int, ...],
    config: RunConfig,
    rng: np.random.Generator,
) -> np.ndarray:
    count = config.filled().root_rows
    assert count is not None
    if count > len(rows) // 2:
        raise InputError(f"root_rows must leave at least half of the {len(rows)} rows to the providers, got {count}")
    pool = Pool(rows, dataset.train_y, dataset.num_classes, rng)
    dominance = config.dominance if config.root == "biased" else 1.0
    return _draw(pool, count, class_mix(pool.sizes, classes, dominance), rng)


def _roles(providers: int, config: RunConfig, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    attackers, biased = round(config.malicious * providers), round(config.biased * providers)
    if config.malicious > 0 and not 0 < attackers < providers:
        raise InputError(f"malicious = {config.malicious} of {providers} providers gives {attackers} attackers")
    biased = min(biased, providers - attackers)
    order = rng.permutation(providers)
    roles = np.zeros((2, providers), dtype=bool)
    roles[0, order[:attackers]] = True
    roles[1, order[attackers : attackers + biased]] = True
    return roles[0], roles[1]


def _mix(
    sizes: np.ndarray,
    rows: int,
    biased: bool,
    root_classes: tuple[int, ...],
    config: RunConfig,
    rng: np.random.Generator,
) -> np.ndarray:
    if biased:
        like_root = config.bias_type == "I" and config.root == "biased"
        classes = root_classes if like_root else dominant_classes(len(sizes), config.root_share, rng)
        return class_mix(sizes, classes, config.dominance)
    return _noniid_mix(sizes, rows, rng) if config.classes == "noniid" else sizes / sizes.sum()
