"""Two kinds among delivered updates, and which of them agrees less with training on clean data.

Updates of one kind share what sets them apart from the other: flipped labels, a backdoor. That common part is the first
principal component of the updates' directions, and along it the kinds lie far apart even where their scores against
any single baseline do not. Which kind is the worse one two things say, and neither needs a majority. The acquirer's own
update: one cosine with it is mostly noise, the mean over a group much less so. And a shared secret: honest updates have
the task in common, with each other as with everybody; who pursues something else besides shares it with its own kind
alone. What one epoch says may be wrong, so that findings about the same kinds add up over the epochs.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtr

from martfl.selection.halves import directions, norm
from martfl.selection.kmeans import Floats, kmeans

FEWEST = 4  # updates among which kinds can be told apart
MOST = 8.0  # deviations; what is surer counts no more
EXPLAINED = 0.9  # of the scatter that two kinds must explain; two halves of a uniform spread explain 0.75
CONSPIRACY = 3  # the fewest that share a secret; two may be alike by chance
ALIKE = (1.5, 10.0)  # times as alike as the other kind that a kind with a secret is; beyond, the other one is noise
OTHER = 0.8  # the most that two kinds have in common, as a correlation, where one of them has a secret
SECRET = 12.0  # deviations that a shared secret counts like: more than any own update can say to the contrary
SAME_KINDS = 0.25  # cosine of two contrasts from which they part the same kinds


@dataclass(frozen=True)
class Contrast:
    """Where the kinds part, and how much speaks for the upper one."""

    direction: Any  # vector [m] of length 1, from the lower kind's mean direction to the upper one's
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    lean: float  # in deviations

    def worse(self, verdict: "Verdict") -> tuple[int, ...]:
        """The kind that lies lower by a verdict about these kinds."""
        return self.lower if verdict.direction @ self.direction > 0 else self.upper


@dataclass(frozen=True)
class Verdict:
    """What all findings about two kinds say together: along `direction`, the worse one lies lower."""

    direction: Any
    total: float  # of the leans, never negative
    findings: int

    @property
    def certainty(self) -> float:
        """In deviations: the sum of k leans deviates by √k."""
        return self.total / math.sqrt(self.findings)

    def carried(self, kinds: Mapping[str, bool], before: "Verdict | None") -> dict[str, bool]:
        """Who was of the worse kind before, as seen now: turned where the verdict was, forgotten with other kinds."""
        along = float(self.direction @ before.direction) if before else 0.0
        return {name: worse == (along > 0) for name, worse in kinds.items()} if abs(along) >= SAME_KINDS else {}


def find_contrast(delivered: Mapping[int, Any], own: Any) -> Contrast | None:
    """The two kinds of what was delivered; None where there are none, or there is nothing to judge them by."""
    units = directions(delivered)
    if len(units) < FEWEST or not (own_length := norm(own)):
        return None
    names = list(units)
    gram = np.array([[float(units[i] @ units[j]) for j in names] for i in names])
    upper = _split(gram)
    if upper is None:
        return None
    cosines = np.array([float(units[i] @ own) / own_length for i in names])
    low, high = (tuple(i for i, hit in zip(names, part, strict=True) if hit) for part in (~upper, upper))
    apart = sum(units[i] for i in high) / len(high) - sum(units[i] for i in low) / len(low)
    lean = deviations_above(cosines[upper], cosines[~upper]) + SECRET * _secret(gram, upper)
    return Contrast(apart / norm(apart), low, high, lean)


def weigh(known: Verdict | None, found: Contrast) -> Verdict:
    """The verdict after one more finding; one about other kinds replaces what is known only if it is clearer."""
    along = float(known.direction @ found.direction) if known else 0.0
    if known is None or abs(along) < SAME_KINDS:
        fresh = Verdict(found.direction if found.lean >= 0 else -found.direction, abs(found.lean), 1)
        return known if known and known.certainty >= fresh.certainty else fresh
    sign = 1.0 if along >= 0 else -1.0
    total = known.total + sign * found.lean
    return Verdict((sign if total >= 0 else -sign) * found.direction, abs(total), known.findings + 1)


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


def _secret(gram: Floats, upper: NDArray[np.bool_]) -> int:
    """1 where the lower kind's members share what nobody else does, −1 where the upper kind's do, else 0."""
    low, high, between = _pairs(gram, ~upper, ~upper), _pairs(gram, upper, upper), _pairs(gram, ~upper, upper)
    open_, close = sorted((low, high), key=np.mean)
    if close.size < CONSPIRACY * (CONSPIRACY - 1) or open_.mean() <= 0 or close.mean() > ALIKE[1] * open_.mean():
        return 0
    if close.min() < ALIKE[0] * open_.mean() or between.mean() > OTHER * math.sqrt(open_.mean() * close.mean()):
        return 0
    return 1 if close is low else -1


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
