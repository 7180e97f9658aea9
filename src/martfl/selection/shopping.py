"""Whom to buy: everybody in turn, as far as the money goes; now and then a few of those who were dropped."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from martfl.arrays import Floats
from martfl.selection.memory import Memory
from martfl.selection.parameters import Parameters
from martfl.selection.reasons import Code

ROUNDING = 1e-9
LOOKS_SHARE = 1 / 3  # of the budget, at most


def is_out(rule: Parameters, memory: Memory, name: str) -> bool:
    """Whether what is known of it keeps it out until it is looked at again."""
    record = memory.records.get(name)
    return record is not None and (record.evidence >= rule.limit or record.code is Code.COPY)


def choose(
    rule: Parameters,
    memory: Memory,
    providers: Sequence[str],
    asks: Floats,
    followers: NDArray[np.bool_],
    rng: np.random.Generator,
) -> tuple[list[int], bool]:
    """(whom to buy, whether dropped ones are looked at).

    Who was not bought for longest comes first, and who asks for more waits as much longer: for the same money the
    others bring more updates, and more evidence.
    """
    waiting = np.array([_waited(memory, name) for name in providers], dtype=np.float64)
    turn = np.argsort(-waiting / np.maximum(asks, ROUNDING) - rng.random(len(providers)) * ROUNDING, kind="stable")
    out = np.array([is_out(rule, memory, name) for name in providers], dtype=bool)
    inside = [int(i) for i in turn if not out[i] and not followers[i]]
    outside = [int(i) for i in turn if out[i] and not followers[i]]
    due = bool(outside) and (memory.epoch - memory.looked >= rule.every or not inside)
    share = LOOKS_SHARE if inside else 1.0
    looks = afford(outside[: rule.look], asks, share * rule.budget) if due else []
    return looks + afford(inside, asks, rule.budget - float(asks[looks].sum())), due


def afford(wanted: Iterable[int], asks: Floats, money: float) -> list[int]:
    """Those of them, in their order, that the money buys; who is too dear is passed over."""
    bought = []
    for i in wanted:
        if asks[i] <= money + ROUNDING:
            bought.append(i)
            money -= float(asks[i])
    return bought


def _waited(memory: Memory, name: str) -> int:
    record = memory.records.get(name)
    return memory.epoch + 1 if record is None else memory.epoch - record.bought
