"""Two kinds among delivered updates, and which of them is the worse one.

Updates of one kind share what sets them apart from the other: flipped labels, a backdoor. That common part is the first
principal component of the updates' directions, and along it the kinds lie far apart even where their scores against
any single baseline do not. Which kind is the worse one three things say, and none needs a majority:

- the root data: of the two models that the kinds' mean updates make, one is surer of the true classes;
- the acquirer's own update: one kind has little of what it has. It comes from few rows, and what it errs in moves the
  whole kind, so that it counts for less than a verdict takes;
- a shared secret: honest updates have the task in common, with each other as with everybody; who pursues something else
  besides shares it with its own kind alone. Beside noise it is the task that shows, no secret. And whoever the model
  was not made from has more in common, since it wants the same change: of the smaller part of the model a secret says
  nothing, and of a kind that is known to be the worse one it says no more than that these are of it.

What one epoch says may be wrong, so that findings add up over the epochs, for each provider by itself.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtr

from martfl.selection.halves import directions, norm
from martfl.selection.kmeans import Floats, kmeans
from martfl.selection.noise import in_common
from martfl.selection.rows import rows_ahead

FEWEST = 4  # updates among which kinds can be told apart
EXPLAINED = 0.9  # of the scatter that two kinds must explain; two halves of a uniform spread explain 0.75
MOST = 8.0  # deviations; what is surer counts no more
OWN = 2.5  # the same for the own update: two epochs of it make a verdict, one does not
LITTLE = 0.7  # of the better kind's cosine with the own update, from which a kind has little of what it has
CONSPIRACY = 3  # the fewest that share a secret; two may be alike by chance
ALIKE = 2.0  # times as much in common, against what is each one's own, that a kind with a secret has
APART = 1.5  # the same against what it has in common with the others, of a worse kind that is not released
FAINT = 0.02  # a cosine below which being alike means nothing
OTHER = 0.8  # the most that two kinds have in common, as a correlation, where one of them has a secret …
NOTHING = 0.1  # … and the least that a kind is taken to have in common for it, as a share of what the other has
TASK = 4.0  # deviations from random signs by which the other kind has something in common, or it is noise
SECRET = 12.0  # deviations that a shared secret counts like
CONFIRMS = 4.0  # the same of a kind that is known to be the worse one

Sure = Callable[[Sequence[Any]], Floats]  # mean updates [k] -> how sure the models they make are of the truth [k, r]
Shares = Mapping[str, float]  # by provider: its weight in the model's last steps
Leans = Mapping[str, tuple[float, int]]  # by provider: the sum of what findings say for it, and how many they are


@dataclass(frozen=True)
class Contrast:
    """Two kinds, and how much speaks for the upper one."""

    lower: tuple[str, ...]
    upper: tuple[str, ...]
    lean: float  # in deviations


def find_contrast(
    delivered: Mapping[str, Any], own: Any, sure: Sure, *, shares: Shares, known: Collection[str]
) -> Contrast | None:
    """The two kinds of what was delivered; None where there are none, or there is nothing to judge them by.

    `known` are those known to be of the worse kind.
    """
    units = directions(delivered)
    if len(units) < FEWEST or not (own_length := norm(own)):
        return None
    names = list(units)
    gram = _gram([units[name] for name in names])
    upper = _split(gram)
    if upper is None:
        return None
    cosines = np.array([float(units[name] @ own) / own_length for name in names])
    low, high = (tuple(name for name, hit in zip(names, part, strict=True) if hit) for part in (~upper, upper))
    above, below = sure([sum(delivered[name] for name in kind) / len(kind) for kind in (high, low)])
    lean = float(np.clip(rows_ahead(above, below), -MOST, MOST)) + _by_own(cosines[upper], cosines[~upper])
    secret = _secret(gram, upper)
    close, others = (low, high) if secret > 0 else (high, low)
    if secret and in_common([units[name] for name in others]) > TASK:
        lean += secret * _worth(close, others, shares, known)
    return Contrast(low, high, lean)


def add_up(leans: Leans, found: Contrast) -> Leans:
    """What all findings say, after one more. Who was of the better kind has credit for one mistake, not for many."""
    added = dict(leans)
    for names, lean in ((found.lower, -found.lean), (found.upper, found.lean)):
        unknown = _of_its_kind([leans[name] for name in names if name in leans])
        for name in names:
            total, findings = leans.get(name, unknown)
            added[name] = (min(total + lean, SECRET), findings + 1)
    return added


def _of_its_kind(known: Sequence[tuple[float, int]]) -> tuple[float, int]:
    """What somebody new starts with: the middle of what is known of its kind."""
    return sorted(known, key=lambda lean: lean[0])[len(known) // 2] if len(known) >= CONSPIRACY else (0.0, 0)


def worse(leans: Leans, deviations: float) -> set[str]:
    """Against whom all findings together speak by this many deviations: the sum of k leans deviates by √k."""
    return {name for name, (total, findings) in leans.items() if total <= -deviations * math.sqrt(findings)}


def better(leans: Leans, deviations: float) -> set[str]:
    """For whom they speak as clearly."""
    return {name for name, (total, findings) in leans.items() if total >= deviations * math.sqrt(findings)}


def stand_apart(delivered: Mapping[str, Any], kind: Collection[str]) -> bool:
    """Whether members of a kind still have more in common with each other than with the others."""
    units = directions(delivered)
    names = np.array([name in kind for name in units])
    if names.sum() < 2 or names.all():
        return False
    gram = _gram(list(units.values()))
    return _odds(_pairs(gram, names, names).mean()) > APART * max(_odds(_pairs(gram, names, ~names).mean()), 0.0)


def _gram(units: Sequence[Any]) -> Floats:
    """All cosines [k, k]; each pair once."""
    gram = np.eye(len(units))
    for i, unit in enumerate(units):
        for j in range(i):
            gram[i, j] = gram[j, i] = float(unit @ units[j])
    return gram


def upper_group(values: Floats) -> NDArray[np.bool_] | None:
    """Who is in the upper one of two groups; None unless two groups explain nearly all of the scatter."""
    total = float(((values - values.mean()) ** 2).sum())
    if total <= 1e-12:
        return None
    found = kmeans(values, 2)
    return np.asarray(found.labels == 1) if found.cost <= (1 - EXPLAINED) * total else None


def _split(gram: Floats) -> NDArray[np.bool_] | None:
    """Who is of the upper kind along the first principal component; None unless two groups explain it."""
    centred = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
    values, vectors = np.linalg.eigh(centred)
    along = vectors[:, -1] * np.sqrt(max(values[-1], 0.0))
    upper = upper_group(along)
    return upper if upper is not None and 2 <= upper.sum() <= upper.size - 2 else None


def _by_own(a: Floats, b: Floats) -> float:
    """How much the own update speaks for `a`."""
    less, more = sorted((float(a.mean()), float(b.mean())))
    return float(np.clip(deviations_above(a, b), -OWN, OWN)) if more > 0 and less < LITTLE * more else 0.0


def _worth(kind: Sequence[str], others: Sequence[str], shares: Shares, known: Collection[str]) -> float:
    """How much a secret of a kind counts."""
    if sum(name in known for name in kind) >= CONSPIRACY:
        return CONFIRMS
    part, rest = (sum(shares.get(name, 0.0) for name in names) for names in (kind, others))
    return SECRET if part >= rest else 0.0  # in the first epoch both are 0


def _secret(gram: Floats, upper: NDArray[np.bool_]) -> int:
    """1 where the lower kind's members share what nobody else does, −1 where the upper kind's do, else 0.

    A cosine c of two updates says that they have  c / (1 − c)  times as much in common as each has of its own.
    """
    low, high, between = _pairs(gram, ~upper, ~upper), _pairs(gram, upper, upper), _pairs(gram, ~upper, upper)
    open_, close = sorted((low, high), key=np.mean)
    if close.size < CONSPIRACY * (CONSPIRACY - 1) or close.mean() < FAINT or close.min() <= open_.max():
        return 0
    in_common = max(float(open_.mean()), NOTHING * float(close.mean()))
    if _odds(close.min()) < ALIKE * _odds(open_.mean()) or between.mean() > OTHER * math.sqrt(in_common * close.mean()):
        return 0
    return 1 if close is low else -1


def _odds(cosine: float) -> float:
    return cosine / max(1.0 - cosine, 1e-9)


def _pairs(gram: Floats, a: NDArray[np.bool_], b: NDArray[np.bool_]) -> Floats:
    """The cosines of members of one kind with other updates of the other, or the same, kind."""
    return gram[np.outer(a, b) & ~np.eye(a.size, dtype=bool)]


def deviations_above(a: Floats, b: Floats) -> float:
    """By how many deviations the mean of `a` lies above that of `b` (Student's test, pooled variance)."""
    freedom = a.size + b.size - 2
    if freedom < 1:
        return 0.0
    pooled = (a.size * float(a.var()) + b.size * float(b.var())) / freedom
    gap, error = float(a.mean() - b.mean()), math.sqrt(pooled * (1 / a.size + 1 / b.size))
    if not error:
        return math.copysign(MOST, gap) if gap else 0.0
    return float(np.clip(ndtri(stdtr(freedom, gap / error)), -MOST, MOST))


def clearly_above(a: Floats, b: Floats, deviations: float) -> bool:
    """Whether the mean of `a` lies above that of `b` by this many deviations of single values.

    An error of what all are compared with moves a whole group, so that more members do not make its mean surer.
    """
    scatter = max(float(a.std()), float(b.std()))
    return a.size + b.size > 2 and bool(a.mean() - b.mean() > deviations * scatter)
