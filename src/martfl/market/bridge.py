"""Rules of two steps (decide, learn) as rules of one (trade), until all rules are of one."""

from typing import Any

import numpy as np

from martfl.market.memory import pack_state, unpack_state
from martfl.selection import Selection, make_strategy


class Bridge:
    """A strategy that decides before it sees, run as one that buys what it decides and learns at once."""

    def __init__(self, rule: str, **options: Any) -> None:
        self.inner = make_strategy(rule, **options)

    def start(self) -> Any:
        return self.inner.start()

    def trade(self, state: Any, buyer: Any, rng: np.random.Generator) -> tuple[Any, Selection]:
        state, selection = self.inner.decide(state, buyer, rng)
        wanted = [int(i) for i in np.flatnonzero(selection.weights > 0)]
        delivered = dict(buyer.buy(wanted)) if wanted else {}
        weights = np.array([w if i in delivered else 0.0 for i, w in enumerate(selection.weights)])
        total = weights.sum()
        from dataclasses import replace

        selection = replace(selection, weights=weights / total if total else weights)
        seen = {buyer.providers.index(n): buyer.update_of(n) for n in buyer.purchases.here if n not in buyer.forgers()}
        return self.inner.learn(state, selection, buyer, seen), selection

    def pack(self, state: Any) -> bytes:
        return pack_state(state)

    def unpack(self, data: bytes) -> Any:
        return unpack_state(data)
