"""Words that sellers have learnt and the root rows lack: what several of them hide shows in one word.

A word is a row of an embedding table. One that the buyer's own training leaves where it is stands in no root row: whole
rows of zeros in its update say where the table is. What few sellers hold is rare in each of their rows too: some have
it once, some more often, and most others not at all. A trigger is as heavy in each of those that train on it.

Sellers are compared word by word, by inner products: noise that one adds to rare words points elsewhere than what
others learn there, and what it adds to words of its own changes no other word's finding.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from martfl.arrays import Floats
from martfl.selection.kinds import Cut, to_cosines, unlikeness, without_common
from martfl.selection.strategy import Vector
from martfl.selection.vectors import Matrix, to_floats

NARROWEST = 8  # numbers of a word
NUMBERS = 32  # that are kept of a word: cosines to 0.18, and lengths as they are
WORDS = 4096  # that are kept of a seller: who holds a word lightly must not seem to lack it
FEWEST, PART = 5, 0.25  # sellers who share a trigger, and of all: fewer could make a word speak against another one
MOST = 0.6  # of the sellers: more are no coalition that could be told
NEAR = 3  # how many of the closest make it more than chance
WATCHED = 200  # words, those that are heaviest in several
HEAVIEST = 1.5  # times the usual heaviest word: no more counts
# A word's score among honest sellers: 0.2 to 0.4 where all are alike, 0.2 to 0.8 where they hold other classes; the
# scale makes one spread fit this score and the one of single numbers.
USUAL, SCALE = 0.25, 5.0
OFTEN, SELDOM = 1.3, 0.25  # times what sellers have in common usually: more weighs less; who has less tells nothing
WAYS = 9.0  # log of the ways to choose a side from which its score counts in full: of few ways one is soon found
TINY = 1e-30


@dataclass(frozen=True)
class Rare:
    """What one seller has learnt most of words that the root rows lack."""

    words: NDArray[np.int64]  # [t] in rising order
    changes: Floats  # [t, d] of its direction, projected alike for all words and sellers

    @property
    def weights(self) -> Floats:
        """[t] parts of its direction's squared length."""
        return np.asarray((self.changes**2).sum(axis=1))


@dataclass(frozen=True)
class Table:
    """Where an embedding table lies in a model, as far as words are lacking: a row of so many numbers for each word."""

    start: int
    rows: int
    width: int


NOTHING = Rare(np.zeros(0, dtype=np.int64), np.zeros((0, 0)))


def find_table(own: Vector) -> Table | None:
    """The table in which a buyer's own update leaves rows at zero; None where it leaves no rows.

    Words that lack alone are the most common run of zeros; other runs are whole rows of that width in step with these.
    Units that are dead, elsewhere in the model, are not.

    Examples:
        >>> own = np.ones(90)
        >>> own[10:20] = own[30:50] = 0.0
        >>> own[71:83] = 0.0
        >>> find_table(own)
        Table(start=10, rows=4, width=10)
    """
    still = own == 0
    edges = np.flatnonzero(np.diff(np.pad(still.cpu().numpy() if hasattr(still, "cpu") else still, 1).astype(np.int8)))
    starts, lengths = edges[::2], edges[1::2] - edges[::2]
    if not (lengths >= NARROWEST).any():  # single numbers stay at zero by chance
        return None
    width = _commonest(lengths[lengths >= NARROWEST])
    rows = lengths % width == 0
    rows &= starts % width == _commonest(starts[rows] % width)
    starts, lengths = starts[rows], lengths[rows]
    return Table(int(starts[0]), int(starts[-1] + lengths[-1] - starts[0]) // width, width) if rows.sum() > 1 else None


def _commonest(values: NDArray[np.int64]) -> int:
    """The value that occurs most often; of several, the least."""
    found, counts = np.unique(values, return_counts=True)
    return int(found[counts.argmax()])


def rare_words(units: Matrix, own: Vector, *, seed: int) -> list[Rare]:
    """Of each of k directions the heaviest of its rare words; none where the model has no table."""
    if (table := find_table(own)) is None:
        return [NOTHING] * len(units)
    lacking = to_floats(_rows(own, table) != 0).sum(axis=1) == 0
    lens = np.random.default_rng(seed).normal(size=(table.width, NUMBERS)) if table.width > NUMBERS else None
    first = table.start // table.width  # so that a word has the same number wherever the first lacking one is
    return [_heaviest(_rows(unit, table), lacking, lens, first) for unit in units]


def _heaviest(rows: Matrix, lacking: NDArray[np.bool_], lens: Floats | None, first: int) -> Rare:
    weights = to_floats((rows * rows).sum(1)) * lacking
    words = np.sort(np.argsort(-weights, kind="stable")[: min(WORDS, int((weights > 0).sum()))])
    changes = to_floats(rows[words]) if words.size else np.zeros((0, rows.shape[1]))
    if lens is not None:
        lengths = np.linalg.norm(changes, axis=1, keepdims=True)
        changes = changes @ lens
        changes *= lengths / np.maximum(np.linalg.norm(changes, axis=1, keepdims=True), TINY)
    return Rare(first + words, changes)


def _rows(vector: Vector, table: Table) -> Matrix:
    return vector[table.start : table.start + table.rows * table.width].reshape(table.rows, table.width)


def find_shared(gram: Floats, rare: Sequence[Rare]) -> list[Cut]:
    """The sellers who share a rare word most, by inner products of directions [k, k], if that is unusual.

    The score of a side is how much its weakest member has in common with the others at that word, beyond what an
    outsider has with them at most, and beyond how alike the side is everywhere: sellers of the same classes are.
    """
    least, most = max(FEWEST, math.ceil(PART * len(rare))), int(MOST * len(rare))
    pairs = common(rare, least) if least <= most else np.zeros((0, 0, 0))
    if not len(pairs):
        return []
    seen, (pairs, told) = to_cosines(without_common(gram)), evened(pairs, least)
    order = np.argsort(-np.sort(pairs, axis=2)[:, :, -NEAR], axis=1, kind="stable")
    there, overall = _ordered(pairs, order), _ordered(np.broadcast_to(seen, pairs.shape), order)
    scores = np.stack([_score(there, overall, size, told) for size in range(least, most + 1)], axis=1)
    word, place = np.unravel_index(int(scores.argmax()), scores.shape)
    side = np.isin(np.arange(len(rare)), order[word, : least + int(place)])
    score = SCALE * (float(scores[word, place]) - USUAL)
    return [Cut(side, 0.0, hidden=score / unlikeness(seen))] if score > 0 else []


def common(rare: Sequence[Rare], least: int) -> Floats:
    """[w, k, k] what any two have in common at a word, 1 where both are as heavy there as usual at their heaviest.

    Of the words that at least so many hold, those that are heaviest in so many; each has nothing in common with itself.
    Weights are cut one by one, so that a seller who is heavy without bounds frames nobody who holds a little.
    """
    usual = float(np.median([one.weights.max(initial=0.0) for one in rare]))
    words = _watched(rare, least) if usual > 0 else np.zeros(0, dtype=np.int64)
    changes = np.zeros((words.size, len(rare), max(one.changes.shape[1] for one in rare)))
    for j, one in enumerate(rare):
        _, there, here = np.intersect1d(words, one.words, assume_unique=True, return_indices=True)
        changes[there, j, : one.changes.shape[1]] = one.changes[here]
    changes /= np.maximum(np.linalg.norm(changes, axis=2, keepdims=True) / math.sqrt(max(HEAVIEST * usual, TINY)), 1.0)
    pairs = np.clip(changes @ changes.transpose(0, 2, 1) / max(usual, TINY), 0.0, None)
    return np.asarray(pairs * ~np.eye(len(rare), dtype=bool))


def _watched(rare: Sequence[Rare], least: int) -> NDArray[np.int64]:
    """The words that are heaviest in the one that comes so far down among those who hold it."""
    words, places = np.unique(np.concatenate([one.words for one in rare]), return_inverse=True)
    weights = np.zeros((words.size, len(rare)))
    weights[places, np.repeat(np.arange(len(rare)), [one.words.size for one in rare])] = np.concatenate(
        [one.weights for one in rare]
    )
    several = np.sort(weights, axis=1)[:, -least]
    order = np.argsort(-several, kind="stable")[:WATCHED]
    return np.asarray(words[order[several[order] > 0]])


def evened(pairs: Floats, least: int) -> tuple[Floats, int]:
    """([w, k, k] with less weight for who has far more in common with others than is usual, how many have enough).

    Who learns all rare words as others do would make a kind with each of them. At least so many must share a word for
    it to count, so that words of its own weigh nobody down.
    """
    held = np.sort(pairs, axis=2)[:, :, 1 - least].sum(axis=0)
    usual = float(np.median(held))
    factors = np.sqrt(np.minimum(1.0, OFTEN * usual / np.maximum(held, TINY)))
    return pairs * np.outer(factors, factors), int((held >= SELDOM * usual).sum())


def _score(there: Floats, overall: Floats, size: int, told: int) -> Floats:
    """[w] of the first so many of each word, where so many sellers hold words that others hold."""
    ways = math.log(math.comb(max(told, size), size))
    return np.asarray(min(1.0, ways / WAYS) * (_gap(there, size) - np.maximum(_closeness(overall, size), 0.0)))


def _ordered(pairs: Floats, order: NDArray[np.int64]) -> Floats:
    """[w, k, k] with rows and columns in each word's order."""
    return np.take_along_axis(np.take_along_axis(pairs, order[:, :, None], 1), order[:, None, :], 2)


def _gap(pairs: Floats, size: int) -> Floats:
    """[w] between the weakest of the first so many and the strongest of the others, by what they share with these."""
    toward = pairs[:, :size].sum(axis=1)
    return np.asarray(toward[:, :size].min(axis=1) / (size - 1) - toward[:, size:].max(axis=1) / size)


def _closeness(pairs: Floats, size: int) -> Floats:
    """[w] how much more two of the first so many have in common than one of them and another."""
    inside = pairs[:, :size, :size].sum(axis=(1, 2)) - np.trace(pairs[:, :size, :size], axis1=1, axis2=2)
    across = pairs[:, :size, size:].mean(axis=(1, 2))
    return np.asarray(inside / (size * (size - 1)) - across)
