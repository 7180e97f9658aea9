"""Shares as money: whole wei that sum to the reward, whatever the shares are."""

import math
from collections.abc import Sequence
from fractions import Fraction

from martfl.errors import InputError


def pay(reward: int, shares: Sequence[float]) -> tuple[int, ...]:
    """The reward in proportion to the shares, by largest remainder; equal fractions go to the first.

    pay_i = ⌊reward · share_i / Σ share⌋, and one unit more for the largest fractions until the sum is the reward.

    Examples:
        >>> pay(100, [1, 1, 1])
        (34, 33, 33)
    """
    if reward < 0:
        raise InputError(f"a reward must not be negative, got {reward}")
    if any(not math.isfinite(share) or share < 0 for share in shares):
        raise InputError(f"shares must be finite and not negative, got {list(shares)}")
    exact = [Fraction(share) for share in shares]
    total = sum(exact)
    if not total:
        raise InputError("at least one share must be positive")
    ideal = [reward * share / total for share in exact]
    wei = [math.floor(value) for value in ideal]
    by_rest = sorted(range(len(wei)), key=lambda i: (wei[i] - ideal[i], i))
    for i in by_rest[: reward - sum(wei)]:
        wei[i] += 1
    return tuple(wei)
