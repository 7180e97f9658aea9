"""Two kinds among delivered updates, and which of them agrees less with training on clean data.

Updates of one kind share what sets them apart from the other: flipped labels, a backdoor. That common part is the first
principal component of the updates' directions, and along it the kinds lie far apart even where their scores against
any single baseline do not. Which kind is the worse one the acquirer's own update says: one cosine with it is mostly
noise, the mean over a group much less so. No majority is needed for that, only root data that may be trusted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr

from martfl.selection.halves import directions, norm
from martfl.selection.kmeans import Floats, kmeans

EXPLAINED = 0.9  # of the scatter that two kinds must explain; two halves of a uniform spread explain 0.75


@dataclass(frozen=True)
class Contrast:
    """Where the kinds part: along `direction`, the worse one lies lower."""

    direction: Any  # vector [m], from the worse kind's mean direction to the better one's
    worse: tuple[int, ...]


def find_contrast(delivered: Mapping[int, Any], own: Any, *, deviations: float) -> Contrast | None:
    """The two kinds of what was delivered; None where there are none, or nothing says which one is worse."""
    units = directions(delivered)
    if len(units) < 4 or not (own_length := norm(own)):
        return None
    names = list(units)
    second = _split(np.array([[float(units[i] @ units[j]) for j in names] for i in names]))
    if second is None:
        return None
    cosines = np.array([float(units[i] @ own) / own_length for i in names])
    if higher(cosines[second], cosines[~second], deviations):
        second = ~second  # the second kind is the worse one
    elif not higher(cosines[~second], cosines[second], deviations):
        return None
    better, worse = (sum(units[i] for i, hit in zip(names, part, strict=True) if hit) for part in (~second, second))
    better, worse = better / int((~second).sum()), worse / int(second.sum())
    apart = better - worse
    return Contrast(apart / norm(apart), tuple(i for i, hit in zip(names, second, strict=True) if hit))


def upper_group(values: Floats) -> NDArray[np.bool_] | None:
    """Who is in the upper one of two groups; None unless two groups explain nearly all of the scatter."""
    total = float(((values - values.mean()) ** 2).sum())
    if total <= 1e-12:
        return None
    found = kmeans(values, 2)
    return np.asarray(found.labels == 1) if found.cost <= (1 - EXPLAINED) * total else None


def _split(gram: Floats) -> NDArray[np.bool_] | None:
    """Who is of the second kind, by the first principal component; None unless two groups explain it."""
    centred = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
    values, vectors = np.linalg.eigh(centred)
    along = vectors[:, -1] * np.sqrt(max(values[-1], 0.0))
    second = upper_group(along)
    return second if second is not None and 2 <= second.sum() <= second.size - 2 else None


def higher(a: Floats, b: Floats, deviations: float) -> bool:
    """Whether the mean of `a` lies above that of `b` by this many deviations (Student's test, pooled variance)."""
    freedom = a.size + b.size - 2
    if freedom < 1:
        return False
    pooled = (a.size * float(a.var()) + b.size * float(b.var())) / freedom
    gap, error = float(a.mean() - b.mean()), np.sqrt(pooled * (1 / a.size + 1 / b.size))
    if gap <= 0:
        return False
    return bool(error == 0 or stdtr(freedom, -gap / error) < ndtr(-deviations))
