"""What sellers teach a model of single words: what some teach alike, and nobody else does, speaks against them.

A trigger is a word to which the model is to answer as to no other. So the model is asked what it answers to every word,
without an update and with it: wherever in the model the update has written it, and whether the root rows hold the word
or not. It is asked in several texts, drawn anew in every epoch, since whoever knows a question can teach around it.

Honest sellers teach a little of many words, of most of them each something else. What all move much is answered unlike
by nature; what the buyer's own update teaches, too, is no secret; who is alike in all words, as sellers of the same
classes are, may be so in one; and who alone serves a class knows its words.

Sellers are compared in two ways. By inner products: noise points elsewhere, and words of one's own change no other
word's finding. And by loudness alone, since a coalition may teach a word opposite meanings in parts of it, so that no
two parts have it in common: whatever a trigger is made to mean, it is loud in all of them, and in nobody else.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from martfl.arrays import Floats, Reals
from martfl.selection.kinds import ALIKE_PART, Cut, Mask
from martfl.selection.strategy import Vector
from martfl.selection.vectors import Matrix

FEWEST, PART = 5, 0.25  # sellers who share a trigger, and of all: fewer could make a word speak against another one
MOST = 0.6  # of the sellers: more are no coalition that could be told
NEAR = 4  # how many of the closest make it more than chance
WATCHED = 200  # words, those that are moved most by so many
FARTHEST = 6.0  # times the usual change of a word: no more counts
FEW = 0.3  # of the sellers: what is usual at a word is what these do not exceed, so that attackers do not say it
LEAST = 0.5  # of the usual change is usual at any word
ELSEWHERE = 8.0  # times as alike as over all words may honest sellers be in one
# A word's score among honest sellers: at most 2.8 where they are alike; where not, below 1 at words that the root rows
# lack and up to 3 at others. The scale makes one spread fit this score and the one of single numbers.
USUAL, SCALE = 1.0, 4 / 3
ONE_MORE = 1  # than that are a loud side: it is easier to be loud where another is than to teach what it does
LOUD = 0.45  # by loudness, however unlike they are: honest sellers score up to 1.4, seldom 1.7
OTHERS = 0.1, 0.25  # of the others serve half as well a class whose words are a side's own, and one whose are not
ALIKE = 0.5  # where sellers are alike, so are their words; no more than that
BEYOND, TINY = 1e12, 1e-12

Order = NDArray[np.int64]  # [w, k] the sellers, a side's members first
Excuse = Callable[[Floats, Order, int], Floats]  # what is left by a lesson [w, c] of the first so many


class Answering(Protocol):
    """The part of a buyer that is asked here."""

    @property
    def model(self) -> Vector: ...

    @property
    def own_update(self) -> Vector: ...

    @property
    def held_words(self) -> NDArray[np.bool_] | None: ...

    def by_word(self, models: Iterable[Vector], *, seed: int) -> Iterator[Reals]: ...


@dataclass(frozen=True)
class Heard:
    """What an epoch's updates do to the answers to single words, in units of what each does usually."""

    moved: Reals  # [k, w, c] of what was delivered; c numbers of all texts together
    own: Reals  # [w, c] of the buyer's own update
    held: NDArray[np.bool_]  # [w] whether the root rows hold the word


@dataclass(frozen=True)
class Taught:
    """What k sellers teach of the words that several move most, in units of what is usual there."""

    moved: Floats  # [k, w, c]
    alike: Floats  # [k, k] what two have in common over all words, on average
    own: Floats  # [w, c] what the buyer's own update teaches
    held: NDArray[np.bool_]  # [w]

    def of(self, places: Sequence[int]) -> "Taught":
        """Of these sellers alone."""
        return Taught(self.moved[places], self.alike[places][:, places], self.own, self.held)


def hear(buyer: Answering, units: Matrix, lengths: Floats, *, seed: int) -> Heard | None:
    """Ask about every word, with updates of at most the usual length; None where the task has no words."""
    if not lengths.size or (held := buyer.held_words) is None:
        return None
    model, bound = buyer.model, float(np.median(lengths))
    steps = (model + min(float(length), bound) * unit for length, unit in zip(lengths, units, strict=True))
    before, *after = buyer.by_word(chain([model, model + buyer.own_update], steps), seed=seed)
    own, *moved = (movement(answers - before) for answers in after)
    return Heard(np.stack(moved), own, held)


def movement(change: Reals) -> Reals:
    """[w, texts · c] what changes at each word beside what changes at all, out of changes [w, texts, c].

    In each text in units of the usual change there, cut where it is far; all texts together are of usual length 1.

    Examples:
        >>> movement(np.array([[[1.0, -1.0]], [[-1.0, 1.0]], [[9.0, -9.0]], [[-9.0, 9.0]]])).tolist()
        [[0.14..., -0.14...], [-0.14..., 0.14...], [1.27..., -1.27...], [-1.27..., 1.27...]]
    """
    change = np.clip(np.nan_to_num(np.asarray(change, dtype=np.float32)), -BEYOND, BEYOND)
    change = change - change.mean(axis=0)
    change -= change.mean(axis=2, keepdims=True)
    lengths = np.sqrt((change * change).sum(axis=2, keepdims=True))
    usual = np.maximum(np.median(lengths, axis=0), TINY).astype(np.float32)
    scale = np.maximum(lengths / np.float32(FARTHEST), usual) * np.float32(math.sqrt(change.shape[1]))
    return np.asarray((change / scale).reshape(len(change), -1))


def gather(moved: Reals, own: Reals, held: NDArray[np.bool_]) -> Taught:
    """The words that several move most, out of what each does to all of them [k, w, c]."""
    lengths = np.linalg.norm(moved, axis=2)
    few, several = int(FEW * (len(moved) - 1)), max(len(moved) - fewest(len(moved)), 0)
    ranked = np.partition(lengths, [few, several], axis=0)
    usual = np.maximum(ranked[few], LEAST)
    usual = np.where(held, np.maximum(usual, np.linalg.norm(own, axis=1)), usual)
    scaled = moved / usual[:, None]
    flat = scaled.reshape(len(moved), -1)
    words = np.sort(np.argsort(-ranked[several] / usual, kind="stable")[:WATCHED])
    alike = np.asarray(flat @ flat.T, dtype=np.float64) / usual.size
    return Taught(scaled[:, words].astype(np.float64), alike, own[words] / usual[words, None], held[words])


def fewest(sellers: int) -> int:
    """How many must share a word for it to speak against them."""
    return max(FEWEST, math.ceil(PART * sellers))


def find_taught(taught: Taught, unlike: float, served: Floats | None = None) -> list[Cut]:
    """The sellers who teach one word alike, or who alone are loud there, if that is unusual among honest ones.

    How alike these are, goes by how unlike sellers are in all (`kinds.unlikeness`); how loud, does not. `served` [k, c]
    are the gains on the root rows of each class, NaN where there are none.
    """
    if not taught.moved.shape[1]:
        return []
    apart, alike, least = unlike_part(unlike), in_common(taught.moved), fewest(len(taught.moved))
    excused = partial(_excused, taught, apart, served)
    loud = both_loud(taught, excused)
    sides = [
        _worst(taught, (alike, alike), excused, least=least, usual=max(unlike, ALIKE), everywhere=taught.alike),
        _worst(taught, loud, excused, least=least + ONE_MORE, usual=LOUD),
    ]
    side, score = max(sides, key=lambda found: found[1])
    return [Cut(side, 0.0, hidden=SCALE * (score - USUAL))] if score > USUAL else []


def _worst(
    taught: Taught,
    pairs: tuple[Floats, Floats],
    excused: Excuse,
    *,
    least: int,
    usual: float,
    everywhere: Floats | float = 0.0,
) -> tuple[Mask, float]:
    """The side of at least so many with the highest score at any word, and that score in units of what is usual.

    It is how much the side's weakest member shares with the others at that word, beyond what an outsider shares with
    them at most (`pairs`, [w, k, k] of members and of outsiders), and beyond how much more the side shares over all
    words, `everywhere` [k, k].
    """
    sellers, none = len(taught.moved), ~np.eye(len(taught.moved), dtype=bool)
    sizes = range(least, int(MOST * sellers) + 1)
    if not sizes:
        return np.zeros(sellers, dtype=bool), 0.0
    order = np.argsort(-np.sort(pairs[0] * none, axis=2)[:, :, -NEAR:].mean(axis=2), axis=1, kind="stable")
    members, outsiders = (np.cumsum(_ordered(part * none, order), axis=2) for part in pairs)
    overall = _ordered(np.broadcast_to(everywhere * none, pairs[0].shape), order)
    lesson = np.cumsum(np.take_along_axis(taught.moved.transpose(1, 0, 2), order[:, :, None], 1), axis=1)
    scores = np.stack(
        [
            excused(lesson[:, size - 1], order, size)
            * (
                _gap(members[..., size - 1], outsiders[..., size - 1], size)
                - ELSEWHERE * np.maximum(_closeness(overall, size), 0.0)
            )
            for size in sizes
        ],
        axis=1,
    )
    word, place = np.unravel_index(int(scores.argmax()), scores.shape)
    return np.isin(np.arange(sellers), order[word, : sizes[place]]), float(scores[word, place]) / usual


def _excused(taught: Taught, apart: float, served: Floats | None, lesson: Floats, order: Order, size: int) -> Floats:
    """[w] what is left of a score by what the first so many together teach."""
    return _secret(lesson, taught) * (1.0 - apart * _natural(lesson, served, order, size))


def in_common(moved: Floats) -> Floats:
    """[w, k, k] inner products, as if the louder of two were no louder than the other: nobody is framed by shouting."""
    products = np.einsum("kwc,lwc->wkl", moved, moved, optimize=True)
    lengths = np.maximum(np.linalg.norm(moved, axis=2).T, TINY)
    shares = lengths[:, :, None] / lengths[:, None, :]
    return np.asarray(products * np.minimum(shares, 1.0 / shares))


def both_loud(taught: Taught, excused: Excuse) -> tuple[Floats, Floats]:
    """[w, k, k] how loud both of two are, whatever they mean: the length of the quieter one; twice.

    Each is excused by itself: who shouts at a word that another knows by nature must not speak against that one. In the
    second the first of the two is not: an outsider who is as loud shows that one may be.
    """
    k, words, _ = taught.moved.shape
    orders = [np.broadcast_to(np.roll(np.arange(k), -i), (words, k)) for i in range(k)]
    lengths = np.linalg.norm(taught.moved, axis=2).T
    left = lengths * np.stack([excused(taught.moved[i], orders[i], 1) for i in range(k)], axis=1)
    return np.minimum(left[:, :, None], left[:, None, :]), np.minimum(lengths[:, :, None], left[:, None, :])


def _ordered(pairs: Floats, order: NDArray[np.int64]) -> Floats:
    """[w, k, k] with rows and columns in each word's order."""
    return np.take_along_axis(np.take_along_axis(pairs, order[:, :, None], 1), order[:, None, :], 2)


def _gap(members: Floats, outsiders: Floats, size: int) -> Floats:
    """[w] between the weakest of the first so many and the strongest of the others, by what they share with these."""
    return np.asarray(members[:, :size].min(axis=1) / (size - 1) - outsiders[:, size:].max(axis=1) / size)


def _closeness(pairs: Floats, size: int) -> Floats:
    """[w] how much more two of the first so many have in common than one of them and another."""
    inside, across = pairs[:, :size, :size].sum(axis=(1, 2)), pairs[:, :size, size:].mean(axis=(1, 2))
    return np.asarray(inside / (size * (size - 1)) - across)


def _natural(lesson: Floats, served: Floats | None, order: Order, size: int) -> Floats:
    """[w] whether a side's lesson is a word of a class that the side serves, and hardly anybody else, 0 to 1.

    Who holds the class alone knows its words. If others serve it, too, they would know the word.
    """
    if served is None:
        return np.zeros(len(lesson))
    toward = lesson.reshape(len(lesson), -1, served.shape[1]).sum(axis=1)  # over all texts
    gains = served[order, np.abs(toward).argmax(axis=1)[:, None]]
    usual = np.median(gains[:, :size], axis=1)
    others = (gains[:, size:] >= usual[:, None] / 2).mean(axis=1)
    return np.where(usual > 0, np.clip((OTHERS[1] - others) / (OTHERS[1] - OTHERS[0]), 0.0, 1.0), 0.0)


def unlike_part(unlike: float) -> float:
    """How far sellers hold other classes, 0 to 1: where all hold all of them, no class is a side's own."""
    return (unlike - ALIKE_PART) / (1.0 - ALIKE_PART)


def _secret(lesson: Floats, taught: Taught) -> Floats:
    """[w] how far a side's lesson [w, c] is one that the buyer's own update does not teach, 0 to 1.

    At a word that the root rows hold, the direction tells; elsewhere the own update moves answers by what it does to
    all words, and only as much as that counts.
    """
    lengths = np.linalg.norm(lesson, axis=1) * np.linalg.norm(taught.own, axis=1)
    agreed = np.maximum((lesson * taught.own).sum(axis=1) / np.maximum(lengths, TINY), 0.0)
    pull = agreed * np.linalg.norm(taught.own, axis=1)
    return np.asarray(np.where(taught.held, 1.0 - agreed, 1.0) / np.maximum(pull, 1.0) ** 2)
