"""Two divisions that are not drawn provider by provider: Dirichlet shares of every class, and the data's own owners."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from martfl.errors import InputError
from martfl.lab.data import Dataset

FEWEST = 10  # rows of a provider
DRAWS = 1000


def dirichlet_parts(
    rows: np.ndarray, labels: np.ndarray, *, providers: int, alpha: float, rng: np.random.Generator
) -> tuple[np.ndarray, ...]:
    """Every class is shared out by p ~ Dir(α, …, α), every row once (Yurochkin et al., ICML 2019).

    As is usual, whoever has its even share of all rows already gets none of a class, and a division that leaves
    somebody fewer than ten rows is drawn again.
    """
    fewest = min(FEWEST, len(rows) // (2 * providers))
    for _ in range(DRAWS):
        parts = _draw_parts(rows, labels, providers, alpha, rng)
        if min(map(len, parts)) >= max(1, fewest):
            return tuple(rng.permutation(part) for part in parts)
    raise InputError(
        f"alpha = {alpha} leaves some of {providers} providers fewer than {fewest} rows, {DRAWS} times in a row"
    )


def _draw_parts(
    rows: np.ndarray, labels: np.ndarray, providers: int, alpha: float, rng: np.random.Generator
) -> list[np.ndarray]:
    parts: list[list[np.ndarray]] = [[] for _ in range(providers)]
    held = np.zeros(providers)
    for number in rng.permutation(np.unique(labels[rows])):
        mine = rng.permutation(rows[labels[rows] == number])
        shares = rng.dirichlet(np.full(providers, alpha)) * (held < len(rows) / providers)
        if not shares.sum() > 0:  # a tiny α may give everything to one that is full
            shares = np.ones(providers)
        cuts = np.round(np.cumsum(shares / shares.sum())[:-1] * len(mine)).astype(np.int64)
        for provider, piece in enumerate(np.split(mine, cuts)):
            parts[provider].append(piece)
            held[provider] += len(piece)
    return [np.concatenate(pieces) for pieces in parts]


@dataclass(frozen=True)
class Owners:
    """Who takes part in a natural division."""

    buyer: int
    providers: list[int]


def choose_owners(
    dataset: Dataset, rows: np.ndarray, *, buyer: str, providers: int, acquirer: bool, rng: np.random.Generator
) -> Owners:
    """The buyer that was named, or a drawn one; providers are drawn among the others where there are too many.

    A rule without an acquirer counts the buyer among its providers.
    """
    if dataset.train_owner is None:
        raise InputError(f"dataset {dataset.name} has no owners: classes = natural needs rows that belong to somebody")
    if buyer and buyer not in dataset.owners:
        raise InputError(f"{dataset.name} has no owner {buyer!r}: choose one of {', '.join(dataset.owners)}")
    counts = np.bincount(dataset.train_owner[rows], minlength=len(dataset.owners))
    able = np.flatnonzero(counts > 0)
    chosen = dataset.owners.index(buyer) if buyer else int(rng.choice(able))
    others = rng.permutation(able[able != chosen])
    wanted = providers if acquirer else providers - 1
    if wanted > len(others):
        raise InputError(f"{dataset.name} has {len(able)} owners; {wanted + 1} participants were asked for")
    found = [int(owner) for owner in others[:wanted]]
    return Owners(chosen, found if acquirer else [chosen, *found])
