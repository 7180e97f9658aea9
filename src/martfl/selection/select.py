"""`select`: one door to every selection rule, with the checks that all of them need."""

from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from martfl.arrays import Floats
from martfl.errors import InputError
from martfl.selection.algorithm1 import Algorithm1
from martfl.selection.kmeans import finite_vector
from martfl.selection.result import Selection

RULES = {"martfl": Algorithm1}
# A cosine may leave [−1, 1] by rounding and by the error of the encrypted computation, not by more.
SCORE_TOLERANCE = 1e-4


def select(
    scores: ArrayLike,
    *,
    rule: str = "martfl",
    baseline: int | None = None,
    threshold: float = 0.05,
    candidate_share: float = 0.1,
    max_clusters: int = 4,
    rng: np.random.Generator,
) -> Selection:
    """Choose whom to buy, and at which weight, from one score per provider.

    `baseline` is the provider that the scores were taken against, if it was one of them: it gets weight 0.

    weight_i ∝ 1 in the best cluster, 1 − |s_i − C_best| / max_j |s_j − C_best| in the others that are kept, else 0.

    Examples:
        >>> import numpy as np
        >>> chosen = select([0.1, 0.12, 0.11, 0.8, 0.82, 0.81], candidate_share=0.0, rng=np.random.default_rng(0))
        >>> [role.value for role in chosen.roles]
        ['dropped', 'dropped', 'dropped', 'high quality', 'high quality', 'high quality']
        >>> chosen.weights.round(2).tolist()
        [0.0, 0.0, 0.0, 0.33, 0.33, 0.33]
    """
    if rule not in RULES:
        raise InputError(f"unknown selection rule {rule!r}; known: {', '.join(RULES)}")
    if not 0.0 <= threshold <= 2.0:
        raise InputError(f"threshold must lie in [0, 2], the widest range of cosines, got {threshold}")
    if not 0.0 <= candidate_share <= 1.0:
        raise InputError(f"candidate_share must lie in [0, 1], got {candidate_share}")
    if not isinstance(max_clusters, SupportsIndex) or max_clusters < 1:
        raise InputError(f"max_clusters must be a whole number of at least 1, got {max_clusters}")
    if not isinstance(rng, np.random.Generator):
        raise InputError(f"rng must be a numpy Generator, so that a decision can be repeated, got {rng!r}")
    checked = check_scores(scores)
    if baseline is not None and not (isinstance(baseline, SupportsIndex) and 0 <= baseline < checked.size):
        raise InputError(f"baseline must name one of {checked.size} providers by its index, got {baseline}")
    decide = RULES[rule](threshold=threshold, candidate_share=candidate_share, max_clusters=max_clusters)
    return decide(checked, baseline, rng)


def check_scores(scores: ArrayLike) -> Floats:
    """Scores as a vector of cosines, or an error that names the first offender.

    Examples:
        >>> check_scores([0.5, 1.00001]).tolist()
        [0.5, 1.0]
    """
    values = finite_vector(scores, "scores")
    offenders = np.flatnonzero(np.abs(values) > 1.0 + SCORE_TOLERANCE)
    if offenders.size:
        first = int(offenders[0])
        raise InputError(f"a score is a cosine in [−1, 1], but provider {first} has {values[first]}")
    return np.asarray(np.clip(values, -1.0, 1.0))
