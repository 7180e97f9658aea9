"""Shares by information: what an update adds to what is known, pooled over epochs and shrunk as far as it is unsure.

    share_i ∝ (information_i · scale_i² · alone_i)^(η·B) · alone_i^(1 − B),     B = 1 / (1 + error²)

Information goes with the square of a loading, and scale_i is what the root rows say of that. It differs between sellers
by about a factor e either way before anything is seen; B is how much of a measured difference is believed. What is not
believed falls back on equal shares. Those who hold the same noise have one of them together, and noise that has nothing
in common with anybody has none: no share grows because a seller is many wallets. η above 1 outweighs that optimisers
learn a little more from eight small data sets than from one eight times as large.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from martfl.arrays import Bools, Floats
from martfl.errors import InputError
from martfl.valuation.account import Account, Epoch, SellerRecord, enter, first_known, rates
from martfl.valuation.common import TINY, Common, find_common, median
from martfl.valuation.novelty import Novelty, beyond_public
from martfl.valuation.persistence import Stay, find_stay, remember
from martfl.valuation.root import read_rows, scale

DOUBT = 0.03  # of the mean: information that an epoch without any clarity cannot tell from none
SEEN = 400.0  # who was seen in so small a part of what the others were seen in is paid in full; for less, less
LATE = 0.5  # of what the others hold: all who came late hold no more together
NINETY = 1.645  # deviations either side of an interval that holds nine cases in ten


@dataclass(frozen=True)
class Sale:
    """What an epoch brought, of the sellers that are to be paid."""

    names: tuple[str, ...]  # [k]
    directions: Floats  # [k, d] of their updates, or sketches of these
    gains: Floats  # [k, r] what the model gains by row on a step of common length along each
    step: Floats | None = None  # [d] or [j, d] the model's last steps, which are public; None in the first epoch
    step_gains: Floats | None = None  # [r] or [j, r]
    even: bool = False  # whether the root rows stand for all classes alike

    def __post_init__(self) -> None:
        k = len(self.names)
        if self.directions.shape[:1] != (k,) or self.gains.shape[:1] != (k,) or self.gains.ndim != 2:
            shapes = f"{self.directions.shape} and {self.gains.shape}"
            raise InputError(f"a sale has directions [k, d] and gains [k, r] of {k} sellers, got {shapes}")
        if not (np.isfinite(self.directions).all() and np.isfinite(self.gains).all()):
            raise InputError("directions and gains of a sale must be finite")


@dataclass(frozen=True)
class Worth:
    """What the sellers' updates are worth, as shares."""

    shares: Floats  # [k] sum 1
    low: Floats  # [k] nine cases in ten lie between these
    high: Floats  # [k]
    clarity: float  # B: how much of the differences is believed


def nothing_sold() -> Worth:
    """Of an epoch in which nobody was kept."""
    return Worth(np.zeros(0), np.zeros(0), np.zeros(0), 0.0)


def no_more_than_usual(value: Floats, alone: Floats, *, late: Bools) -> Floats:
    """[k] the value: of who came late at most the usual value of the others, and of all of them LATE of the others'.

    Who comes when steps are public can have taken out of its noise what it pleases, under as many names as it pleases,
    and nobody could tell.

    Examples:
        >>> no_more_than_usual(np.array([1.0, 2.0, 3.0, 9.0]), np.ones(4), late=np.arange(4) > 2).tolist()
        [1.0, 2.0, 3.0, 2.0]
        >>> no_more_than_usual(np.ones(6), np.ones(6), late=np.arange(6) > 1).tolist()
        [1.0, 1.0, 0.25, 0.25, 0.25, 0.25]
    """
    if late.all() or not late.any():
        return value
    cut = np.minimum(value, median(value[~late], alone[~late]))
    theirs, ours = float(value[~late] @ alone[~late]), float(cut[late] @ alone[late])
    return np.where(late, cut * min(1.0, LATE * theirs / max(ours, TINY)), value)


@dataclass(frozen=True, kw_only=True)
class Information:
    """The rule's parameters.

    share_i ∝ (information_i · scale_i² · alone_i)^(η·B) · alone_i^(1 − B), B = 1 / (1 + error²)

    Examples:
        >>> rule, rng = Information(), np.random.default_rng(0)
        >>> signal = rng.normal(size=200)
        >>> noise = np.array([0.5] * 5 + [5.0])[:, None] * rng.normal(size=(6, 200))
        >>> directions = signal + noise
        >>> directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        >>> gains = directions @ signal[:, None] * np.ones((1, 30))
        >>> _, worth = rule.appraise(rule.start(), Sale(tuple('abcdef'), directions, gains))
        >>> int(worth.shares.argmin()), round(float(worth.shares.sum()), 6)
        (5, 1.0)
    """

    whole: float = 1.3  # η: above 1 a whole is worth a little more than its parts
    floor: float = 0.3  # relative error that no epoch is trusted to be below, by angles or by rows
    window: float = 8.0  # clear epochs that are remembered

    def __post_init__(self) -> None:
        for name in ("whole", "floor", "window"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise InputError(f"{name} must be positive, got {getattr(self, name)}")

    def start(self) -> Account:
        """Nothing is known."""
        return Account()

    def appraise(self, account: Account, sale: Sale) -> tuple[Account, Worth]:
        """What is known after the epoch, and the shares by it."""
        if not sale.names:
            return account, nothing_sold()
        novel = beyond_public(sale.directions, sale.gains, sale.step, sale.step_gains)
        common = find_common(novel.directions @ novel.directions.T, novel.gains.mean(axis=1))
        stay = find_stay(novel.directions, common, [account.traces.get(name) for name in sale.names])
        epoch = self._epoch(account, sale, novel, common, stay)
        most, most_rows = self.window * self.floor**-4, self.window * self.floor**-2
        records = enter(account.records, sale.names, epoch, most=most, most_rows=most_rows)
        worth = self.shares([records[name] for name in sale.names], today=common.tied)
        sold = zip(sale.names, remember(stay, rates(account.records, sale.names, epoch.weight)), strict=True)
        return replace(account, records=records, traces={**account.traces, **dict(sold)}), worth

    def _epoch(self, account: Account, sale: Sale, novel: Novelty, common: Common, stay: Stay) -> Epoch:
        """What noise was taken out counts, as far as the seller holds more than before a step was public.

        counted_i = max(held_i, min(information_i, first_i)), held_i = 1 / |x_i + taken_i·y_i|²

        Rows that are new in every epoch do not stay either, and cost nothing by that. Of those who came when a step
        was public nothing of the kind is known; they hold no more than is usual for their noise that is new.
        """
        found, held = common.information, stay.hold_back(common.information)
        known = [account.records.get(name) for name in sale.names]
        late = np.array([record is not None and not record.first > 0 for record in known])
        held = np.where(late, np.minimum(held, stay.fresh * found), held)
        first = first_known(account.records, sale.names, held, common.alone)
        return Epoch(
            np.maximum(held, np.minimum(found, first)),
            common.alone * common.tied,
            common.error,
            weight=(common.error**2 + self.floor**2) ** -2,
            rows=read_rows(sale.gains, novel.gains, common.alone * common.tied, floor=self.floor, even=sale.even),
            fresh=stay.fresh,
            first=sale.step is None,
        )

    def past_shares(self, account: Account, names: Sequence[str]) -> Floats:
        """[k] by what is known already; whoever is new counts as the mean of the others."""
        known = [account.records[name] for name in names if name in account.records]
        shares = iter(self.shares(known).shares) if known else iter(())
        usual = 1.0 / max(len(known), 1)
        raw = np.array([next(shares) if name in account.records else usual for name in names])
        return np.asarray(raw / raw.sum())

    def shares(self, records: Sequence[SellerRecord], *, today: Floats | None = None) -> Worth:
        """The shares of these sellers by their records; whoever sells noise `today` [k] lives on no record."""
        weight, information, alone, error, ratio, first, proven = (
            np.array([getattr(record, name) for record in records])
            for name in ("weight", "information", "alone", "error", "ratio", "first", "proven")
        )
        value = no_more_than_usual(information * proven * scale(ratio) ** 2, alone, late=first <= 0)
        believed = 1.0 / (1.0 + float((weight * error).sum() / weight.sum()))
        floor = DOUBT * (1.0 - believed)
        raw = np.maximum(value * alone, floor) ** (self.whole * believed) * alone ** (1.0 - believed)
        raw = raw * np.minimum(1.0, SEEN * weight / weight.max()) ** believed
        raw = raw if today is None else raw * today
        raw = raw if raw.any() else alone
        spread = np.exp(NINETY * self.whole * believed * np.sqrt(error))
        shares = raw / raw.sum()
        return Worth(shares, shares / spread, np.minimum(1.0, shares * spread), believed)
