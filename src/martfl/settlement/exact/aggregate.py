"""The integer model and its running commitment, as the contract keeps it.

    W^t   = W^{t−1}   + Σ k_i q_i              exactly, in integers at scale δ/2^16
    ρ_W^t = ρ_W^{t−1} + Σ k_i ρ_i   mod r      revealed by the acquirer
    C_W^t = C_W^{t−1} + Σ k_i C_i              computed by the contract (EIP-2537 G1MSM), reproduced by `combine`

so C_W^t = C(W^t, ρ_W^t), which anybody who holds the model file can check. The first model's blinding is the public
constant 1: it hides nothing, and keeps C_W^0 away from infinity even where the model is all zero.

The weights are those that the model is published with: Σ k_i = 2^16 (`check_weights`, and the contract).
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from martfl.arrays import Integers
from martfl.settlement.errors import OpeningError, SettlementError
from martfl.settlement.exact.commitment import CommitmentKey, Opening, check_scalar, commit_model
from martfl.settlement.exact.layout import SlotLayout
from martfl.settlement.exact.plain import ORDER, multiexp
from martfl.settlement.exact.point import Commitment
from martfl.settlement.weights import check_weights

INITIAL_BLINDING = 1


def aggregate(
    model: Integers, weights: Sequence[int], updates: Sequence[Integers], *, layout: SlotLayout
) -> npt.NDArray[np.int64]:
    """W + Σ k_i q_i; refused where an input or the result leaves its proven range.

    Examples:
        >>> import numpy as np
        >>> updates = [np.array([2, 0], np.int16), np.array([0, -4], np.int16)]
        >>> aggregate(np.zeros(2, np.int64), [32_768, 32_768], updates, layout=SlotLayout()).tolist()
        [65536, -131072]
    """
    units = check_weights(weights, providers=len(updates))
    total = layout.check_model(model).copy()  # (m,)
    for weight, update in zip(units, updates, strict=True):
        values = layout.check_update(update, parameters=total.size)
        # |W| ≤ B and |Σ k q| ≤ A with B + A < 2^62: int64 cannot overflow before the check below.
        total += weight * values.astype(np.int64)
    return layout.check_model(total)


def combine(previous: Commitment, weights: Sequence[int], commitments: Sequence[Commitment]) -> Commitment:
    """C_W^t = C_W^{t−1} + Σ k_i C_i.

    Examples:
        >>> import numpy as np
        >>> from martfl.settlement.exact import commit
        >>> key = CommitmentKey.load(parameters=3)
        >>> first = commit_initial(np.zeros(3, np.int64), key)
        >>> sold, opening = commit(np.array([1, -2, 3], np.int16), key)
        >>> model = 65_536 * np.array([1, -2, 3])
        >>> blinding = combine_blindings(INITIAL_BLINDING, [65_536], [opening])
        >>> verify_model(model, blinding, combine(first, [65_536], [sold]), key)
        True
    """
    units = check_weights(weights, providers=len(commitments))
    points = [previous.to_point(), *(c.to_point() for c in commitments)]
    return Commitment.from_point(multiexp(points, [1, *units]))


def combine_blindings(previous: int, weights: Sequence[int], openings: Sequence[Opening]) -> int:
    """ρ_W^t = ρ_W^{t−1} + Σ k_i ρ_i mod r.

    Examples:
        >>> combine_blindings(1, [32_768, 32_768], [Opening(2), Opening(4)])
        196609
    """
    units = check_weights(weights, providers=len(openings))
    total = check_scalar(previous) + sum(k * o.blinding for k, o in zip(units, openings, strict=True))
    return total % ORDER


def commit_initial(model: Integers, key: CommitmentKey) -> Commitment:
    """C_W^0 of a public first model within its own bound.

    C_W^0 = Σ scalar_j(W)·G_j + 1·H

    Examples:
        >>> import numpy as np
        >>> key = CommitmentKey.load(parameters=3)
        >>> commit_initial(np.zeros(3, np.int64), key) == commit_model(np.zeros(3, np.int64), INITIAL_BLINDING, key)
        True
    """
    return commit_model(key.layout.check_initial(model), INITIAL_BLINDING, key)


def check_model(
    model: Integers, blinding: int, commitment: Commitment, key: CommitmentKey, *, threads: int | None = None
) -> None:
    """Raise unless `commitment` is that of `model` at the revealed `blinding`, every value in range.

    C_W = Σ scalar_j(W)·G_j + ρ_W·H

    Examples:
        >>> import numpy as np
        >>> key = CommitmentKey.load(parameters=3)
        >>> first = commit_initial(np.zeros(3, np.int64), key)
        >>> check_model(np.zeros(3, np.int64), INITIAL_BLINDING, first, key)  # raises where it is another model
    """
    expected = commit_model(model, blinding, key, threads=threads)
    if expected != commitment:
        raise OpeningError(f"the model commits to {expected}, the chain holds {commitment}")


def verify_model(
    model: Integers, blinding: int, commitment: Commitment, key: CommitmentKey, *, threads: int | None = None
) -> bool:
    """Whether the model file is the one that the chain's running commitment stands for.

    C_W = Σ scalar_j(W)·G_j + ρ_W·H

    Examples:
        >>> import numpy as np
        >>> key = CommitmentKey.load(parameters=3)
        >>> first = commit_initial(np.zeros(3, np.int64), key)
        >>> verify_model(np.zeros(3, np.int64), INITIAL_BLINDING, first, key)
        True
        >>> verify_model(np.ones(3, np.int64), INITIAL_BLINDING, first, key)
        False
    """
    try:
        check_model(model, blinding, commitment, key, threads=threads)
    except SettlementError:
        return False
    return True


def verify_step(
    before: Integers,
    after: Integers,
    blinding: int,
    weights: Sequence[int],
    commitments: Sequence[Commitment],
    key: CommitmentKey,
    *,
    threads: int | None = None,
) -> bool:
    """Whether `after` is `before` plus the committed updates, from the two models alone:

        C(W^t − W^{t−1}, ρ_W^t − ρ_W^{t−1}) = Σ k_i C_i,     |W^t − W^{t−1}| ≤ A

    `blinding` is the difference mod r. One multiplication with short scalars, for those who know W^{t−1} already.

    Examples:
        >>> import numpy as np
        >>> from martfl.settlement.exact import commit
        >>> key = CommitmentKey.load(parameters=3)
        >>> update, before = np.array([1, -2, 3], np.int16), np.zeros(3, np.int64)
        >>> sold, opening = commit(update, key)
        >>> blinding = combine_blindings(0, [65_536], [opening])
        >>> verify_step(before, before + 65_536 * update.astype(np.int64), blinding, [65_536], [sold], key)
        True
    """
    try:
        units = check_weights(weights, providers=len(commitments))
        old, new = (key.layout.check_model(m, parameters=key.parameters) for m in (before, after))
        step = key.layout.check_step(new - old, parameters=key.parameters)
        changed = commit_model(step, blinding, key, threads=threads)
    except SettlementError:
        return False
    return bool(multiexp([c.to_point() for c in commitments], units) == changed.to_point())
