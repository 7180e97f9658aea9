"""A buyer that picks its baselines to spy, and the seller that it spies on."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from martfl.arrays import Floats
from martfl.scoring import Sketch
from martfl.scoring.cosine import update_direction

Indices = NDArray[np.int64]

ROW = 64  # coordinates of a row
TOUCHED = 0.2  # share of the rows that are not zero
TARGETS = 400  # coordinates read, and rows asked for of each kind
TRIALS, CANDIDATES = 24, 64  # searches, and the rows that each is among
FLOOD = 2.0**-16  # of a score
LEAST = 4 * ROW * CANDIDATES  # parameters


class Victim:
    """An update with rows like an embedding table's, and what the buyer wants to know of it."""

    def __init__(self, parameters: int, rng: np.random.Generator) -> None:
        rows = parameters // ROW
        touched = rng.random(rows) < TOUCHED
        table = rng.standard_t(3, (rows, ROW)) * touched[:, None]  # heavy tails
        self.update: Floats = np.append(table.ravel(), np.zeros(parameters - rows * ROW))
        self.update /= np.linalg.norm(self.update)
        self.coordinates: Indices = rng.choice(rows * ROW, TARGETS, replace=False)
        yes, no = np.flatnonzero(touched), np.flatnonzero(~touched)
        self.used: Indices = rng.choice(yes, TARGETS)
        self.unused: Indices = rng.choice(no, TARGETS)
        self.searches = [
            (rng.permutation(np.append(rng.choice(no, CANDIDATES - 1, replace=False), secret)), int(secret))
            for secret in rng.choice(yes, TRIALS)
        ]


class ScoredEpoch:
    """One epoch's scores, for baselines of the buyer's choice in the space that is compared."""

    def __init__(self, update: Floats, entries: int, rng: np.random.Generator) -> None:
        self.sketch, self.rng = Sketch(rng.bytes(32), entries) if entries else None, rng
        mine = update_direction(update, self.sketch)
        (self.values,) = mine.blocks(mine.size)  # at length 1
        if self.sketch is not None:
            parts = [self.sketch.block(index) for index in range(-(-update.size // entries))]
            self.shifts = np.array([shift for shift, _ in parts])
            self.signs = np.array([signs for _, signs in parts], dtype=np.int8)
            self.inverse = np.argsort(self.sketch.order)

    def ask(self, coordinates: Indices, factors: Floats) -> float:
        """The score of a baseline that has these factors at these coordinates, and zeros elsewhere."""
        places, signs = self.places(coordinates)
        entries, where = np.unique(places, return_inverse=True)
        baseline = np.bincount(where, factors * signs)  # coordinates that meet add up
        length = float(np.linalg.norm(baseline))
        score = float(baseline @ self.values[entries]) / length if length else 0.0
        return score + self.rng.uniform(-FLOOD, FLOOD)

    def places(self, coordinates: Indices) -> tuple[Indices, Floats]:
        """Where coordinates are in that space, and with which signs."""
        if self.sketch is None:
            return coordinates, np.ones(coordinates.size)
        block, inside = np.divmod(coordinates, self.sketch.entries)
        position = self.inverse[inside]
        return (position + self.shifts[block]) % self.sketch.entries, self.signs[block, position].astype(np.float64)

    def energy(self, rows: Indices, questions: int) -> float:
        """How much of the update seems to lie in these rows: squared answers to sums of random signs over them."""
        coordinates = (rows[:, None] * ROW + np.arange(ROW)).ravel()
        signs = self.rng.choice([-1.0, 1.0], (questions, coordinates.size))
        return float(np.sum([self.ask(coordinates, row) ** 2 for row in signs]))


HALVING = ((2, 1),) * 6  # in each stage: groups that the rows left are dealt into, and how many of them are kept
ONE_BY_ONE = ((64, 16), (16, 4), (4, 1))


@dataclass
class Search:
    """Stage by stage groups are asked about in turn and the fullest are kept: answers choose the next questions."""

    rows: Indices
    secret: int
    plan: tuple[tuple[int, int], ...]
    turns: int  # epochs a stage

    def __post_init__(self) -> None:
        self.epochs = 0
        self._begin()

    def _begin(self) -> None:
        stage = self.epochs // self.turns
        self.groups = np.array_split(self.rows, self.plan[stage][0]) if stage < len(self.plan) else []
        self.asked, self.sums = 0, np.zeros(len(self.groups))

    @property
    def found(self) -> bool:
        """Whether one row is left, and it is the right one."""
        return self.rows.size == 1 and int(self.rows[0]) == self.secret

    def go_on(self, epoch: ScoredEpoch, baselines: int) -> None:
        """Spend one epoch's baselines."""
        if not self.groups:
            return
        for _ in range(baselines):
            place = self.asked % len(self.groups)
            self.sums[place] += epoch.energy(self.groups[place], 1)
            self.asked += 1
        self.epochs += 1
        if self.epochs % self.turns == 0:
            times = [-(-(self.asked - place) // len(self.groups)) for place in range(len(self.groups))]
            order = np.argsort(self.sums / np.maximum(times, 1))
            kept = self.plan[self.epochs // self.turns - 1][1]
            self.rows = np.concatenate([self.groups[place] for place in order[-kept:]])
            self._begin()


def read_coordinates(victim: Victim, epochs: Iterator[ScoredEpoch]) -> list[float]:
    """One-hot, one baseline a coordinate and epoch: the share of variance explained by the mean answer so far."""
    truth, total, shares = victim.update[victim.coordinates], np.zeros(TARGETS), []
    for epoch in epochs:
        places, signs = epoch.places(victim.coordinates)
        total += signs * epoch.values[places] + epoch.rng.uniform(-FLOOD, FLOOD, TARGETS)
        shares.append(float(np.corrcoef(total, truth)[0, 1] ** 2))
    return shares


def tell_rows(victim: Victim, epochs: Iterator[ScoredEpoch], baselines: int) -> list[float]:
    """Sparse, all baselines on one row: how well touched rows are told from others; 0.5 is a guess."""
    rows, sums, areas = np.append(victim.used, victim.unused), np.zeros(2 * TARGETS), []
    for epoch in epochs:
        sums += [epoch.energy(np.array([row]), baselines) for row in rows]
        ranks = np.argsort(np.argsort(sums))
        areas.append(float((ranks[:TARGETS].sum() - TARGETS * (TARGETS - 1) / 2) / TARGETS**2))
    return areas


def find_rows(
    victim: Victim, epochs: Iterator[ScoredEpoch], baselines: int, plan: tuple[tuple[int, int], ...], turns: int
) -> float:
    """Adaptive: the share of searches that end at the one row that was touched."""
    searches = [Search(rows, secret, plan, turns) for rows, secret in victim.searches]
    for epoch in epochs:
        for search in searches:
            search.go_on(epoch, baselines)
    return float(np.mean([search.found for search in searches]))
