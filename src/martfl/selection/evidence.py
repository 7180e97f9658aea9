"""`evidence`: include by default, drop on evidence.

Everybody is bought in turn, and what is bought is judged before it is weighed. A provider is dropped only where an
honest one would look like this once in 1/`false_drop` cases: because its updates make the others' aggregate worse on
the root data, or because it belongs to a kind of which the evidence says that it is the bad one (`charges`). Weights
are equal, cut back for length, for the chance of being bad, and where the model gains nothing from the update now.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from martfl.selection.case import decide
from martfl.selection.memory import Memory, pack_memory, unpack_memory
from martfl.selection.parameters import Parameters
from martfl.selection.result import Selection, nobody
from martfl.selection.strategy import Buyer


@dataclass(frozen=True, kw_only=True)
class Evidence(Parameters):
    """The rule over epochs; what it decides in one is `case`.

    Examples:
        >>> rule = Evidence()
        >>> memory = rule.start()
        >>> rule.unpack(rule.pack(memory)) == memory
        True
    """

    most_baselines: ClassVar[int] = 2  # the own update, the last step

    def start(self) -> Memory:
        """Nothing is known."""
        return Memory()

    def trade(self, state: Memory, buyer: Buyer, rng: np.random.Generator) -> tuple[Memory, Selection]:
        """Buy in turn, judge, weigh."""
        return decide(self, state, buyer, rng) if buyer.providers else (state, nobody(()))

    def pack(self, state: Memory) -> bytes:
        """The memory as bytes."""
        return pack_memory(state)

    def unpack(self, data: bytes) -> Memory:
        """What `pack` was given."""
        return unpack_memory(data)
