"""Sellers: whose rows, under how many names, and what they do to an update before they sell it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from martfl.lab.attacks import Rows
from martfl.lab.splits import wrong_labels


@dataclass(frozen=True)
class Trained:
    """What a wallet has in hand when it sells."""

    update: Tensor  # [m] as it was trained
    last: Tensor | None  # [m] the model's last step, which is public; None in the first round
    before: Tensor | None  # [m] what it was trained to the last time
    generator: torch.Generator
    friends: Tensor | None = None  # [m] the mean of what those have trained with whom it mixes


Craft = Callable[[Trained], Tensor]


@dataclass(frozen=True)
class Wallet:
    """One name in the market."""

    rows: Rows
    owner: int
    good: int  # rows whose labels are right
    craft: Craft | None = None
    follows: int | None = None  # the wallet whose training it hands in instead of its own
    parrots: bool = False  # trains on the model's own predictions
    friends: tuple[int, ...] = ()  # wallets that show each other their updates


def honest(parts: Sequence[Rows]) -> list[Wallet]:
    """A wallet each."""
    return [Wallet(rows, i, len(rows.y)) for i, rows in enumerate(parts)]


def noisy(parts: Sequence[Rows], *, most: float, classes: int, rng: np.random.Generator) -> list[Wallet]:
    """Shares of wrong labels from 0 to `most`, in random order."""
    levels = rng.permutation(np.linspace(0.0, most, len(parts)))
    found = []
    for i, (rows, level) in enumerate(zip(parts, levels, strict=True)):
        labels = wrong_labels(rows.y, share=float(level), num_classes=classes, rng=rng)
        found.append(Wallet(Rows(rows.x, labels), i, int((labels == rows.y).sum())))
    return found


def split_first(parts: Sequence[Rows], *, wallets: int) -> list[Wallet]:
    """The first seller's rows in so many wallets."""
    pieces = zip(np.array_split(parts[0].x, wallets), np.array_split(parts[0].y, wallets), strict=True)
    return [*(Wallet(Rows(x, y), 0, len(y)) for x, y in pieces), *honest(parts)[1:]]


def copy_first(parts: Sequence[Rows], *, wallets: int, noise: float) -> list[Wallet]:
    """The first seller's update in so many wallets, each with noise of its own of that relative length."""
    whole, *others = honest(parts)
    copies = [replace(whole, craft=with_noise(noise) if noise else None, follows=0) for _ in range(wallets - 1)]
    first = replace(whole, craft=with_noise(noise)) if noise else whole
    return [first, *others, *copies]


def retrain_first(parts: Sequence[Rows], *, wallets: int) -> list[Wallet]:
    """The first seller trains on the same rows once for each of so many wallets, every time in another order."""
    whole, *others = honest(parts)
    return [whole, *others, *[whole] * (wallets - 1)]


def craft_first(parts: Sequence[Rows], craft: Craft) -> list[Wallet]:
    """The first seller does something to its update."""
    whole, *others = honest(parts)
    return [replace(whole, craft=craft), *others]


def mix_first(parts: Sequence[Rows], *, sellers: int) -> list[Wallet]:
    """The first sellers each hand in half their own update and half the mean of them all."""
    friends = tuple(range(sellers))
    mixed = [replace(wallet, craft=_half_the_mean, friends=friends) for wallet in honest(parts)[:sellers]]
    return [*mixed, *honest(parts)[sellers:]]


def _half_the_mean(seen: Trained) -> Tensor:
    return seen.update if seen.friends is None else (seen.update + seen.friends) / 2


def parrot_first(parts: Sequence[Rows]) -> list[Wallet]:
    """The first seller has no labels: it trains on what the model predicts."""
    whole, *others = honest(parts)
    return [replace(whole, parrots=True), *others]


def only_classes(parts: Sequence[Rows], classes: Sequence[int], *, others: float = 0.0) -> list[Wallet]:
    """The first seller sells what the root data hold, and of its other rows this share."""
    keep = np.isin(parts[0].y, classes)
    rest = np.flatnonzero(~keep)
    keep[rest[: round(others * len(rest))]] = True
    first = Rows(parts[0].x[keep], parts[0].y[keep]) if keep.any() else parts[0]
    return honest([first, *parts[1:]])


def paired_noise(parts: Sequence[Rows], *, pairs: int) -> list[Wallet]:
    """The first seller beside wallets of its own that know nothing: the public step with some noise, and less it."""
    row = Rows(parts[0].x[:1], parts[0].y[:1])
    both = [(key, sign) for key in range(pairs) for sign in (1.0, -1.0)]
    return [*honest(parts), *(Wallet(row, 0, 0, craft=_opposed(key, sign), follows=0) for key, sign in both)]


def secret_noise(parts: Sequence[Rows], *, wallets: int) -> list[Wallet]:
    """The first seller beside wallets of its own that know nothing: the public step, noise
    that all of them share, and some of each one's own.
    """
    row = Rows(parts[0].x[:1], parts[0].y[:1])
    return [*honest(parts), *(Wallet(row, 0, 0, craft=_sharing(0.5), follows=0) for _ in range(wallets))]


def _sharing(own: float) -> Craft:
    def craft(seen: Trained) -> Tensor:
        shared, noise = _opposed(0, 1.0)(seen), _normal(seen)
        return shared + own * _norm(seen.update) / _norm(noise) * noise

    return craft


def _opposed(key: int, sign: float) -> Craft:
    """Noise that its partner can make, too: the seller's update in an order of `key`."""

    def craft(seen: Trained) -> Tensor:
        order = torch.randperm(len(seen.update), generator=torch.Generator().manual_seed(key))
        noise = sign * seen.update[order.to(seen.update.device)]
        return noise if seen.last is None else noise + seen.last * (_norm(seen.update) / _norm(seen.last))

    return craft


def without_own(share: float = 1.0) -> Craft:
    """u_t − share·(u_{t−1} − s_{t−1}): less what set it apart from the others the last time."""

    def craft(seen: Trained) -> Tensor:
        if seen.before is None or seen.last is None:
            return seen.update
        return seen.update - share * (seen.before - seen.last)

    return craft


def with_noise(share: float) -> Craft:
    """u + share·‖u‖·z for a random unit z."""

    def craft(seen: Trained) -> Tensor:
        noise = _normal(seen)
        return seen.update + share * _norm(seen.update) / _norm(noise) * noise

    return craft


def scaled(factor: float) -> Craft:
    """factor·u."""
    return lambda seen: factor * seen.update


def aligned_noise(seen: Trained) -> Tensor:
    """u and noise of its length that has the signs of the public step (of u itself in the first round)."""
    signs = torch.sign(seen.update if seen.last is None else seen.last)
    noise = _normal(seen).abs() * signs
    return seen.update + _norm(seen.update) / _norm(noise) * noise


def with_public(seen: Trained) -> Tensor:
    """u and the public step at the same length."""
    if seen.last is None:
        return seen.update
    return seen.update + _norm(seen.update) / _norm(seen.last) * seen.last


def last_step(noise: float) -> Craft:
    """No training: the public step, with noise of that relative length; noise alone in the first round."""

    def craft(seen: Trained) -> Tensor:
        z = _normal(seen)
        if seen.last is None:
            return z * _norm(seen.update) / _norm(z)
        return seen.last + noise * _norm(seen.last) / _norm(z) * z

    return craft


def _normal(seen: Trained) -> Tensor:
    shape, device = seen.update.shape, seen.update.device
    return torch.randn(shape, generator=seen.generator, device=device, dtype=seen.update.dtype)


def _norm(vector: Tensor) -> Tensor:
    return torch.clamp_min(torch.linalg.vector_norm(vector), 1e-12)
