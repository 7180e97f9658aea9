"""The small interface that both settlement schemes satisfy, and the loader that imports them on demand.

A scheme answers one question: is the published model the old one plus the updates at the committed weights?

    provider   commit(update)                              → commitment (public), opening (secret until bought)
    acquirer   verify_opening(update, commitment, opening)
    acquirer   settle(before, weights, updates, openings)  → the new model and the evidence for it
    anybody    verify(before, settlement, weights, commitments)

`verify_*` never raise for bad input of the other side: whatever is malformed is simply not accepted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Generic, Literal, Protocol, TypeVar, get_args

from martfl.settlement.errors import SettlementError

SchemeName = Literal["exact", "sampled"]

Update = TypeVar("Update", contravariant=True)
Model = TypeVar("Model")
Commitment = TypeVar("Commitment")
Opening = TypeVar("Opening")
Evidence = TypeVar("Evidence")


@dataclass(frozen=True)
class Settlement(Generic[Model, Evidence]):
    """A published model with what convinces a stranger of it."""

    model: Model
    evidence: Evidence


class Scheme(Protocol[Update, Model, Commitment, Opening, Evidence]):
    """What the market needs of a settlement scheme."""

    @property
    def name(self) -> SchemeName:
        """The scheme's name in terms and commands."""
        ...

    def commit(self, update: Update) -> tuple[Commitment, Opening]:
        """Bind to `update` without revealing it."""
        ...

    def verify_opening(self, update: Update, commitment: Commitment, opening: Opening) -> bool:
        """Whether `commitment` opens to `update`."""
        ...

    def settle(
        self, *, before: Model, weights: Sequence[int], updates: Sequence[Update], openings: Sequence[Opening]
    ) -> Settlement[Model, Evidence]:
        """Aggregate at integer `weights` (they sum to 2^16) and make the evidence."""
        ...

    def verify(
        self,
        *,
        before: Model,
        settlement: Settlement[Model, Evidence],
        weights: Sequence[int],
        commitments: Sequence[Commitment],
    ) -> bool:
        """Whether the settlement's model is `before` plus the committed updates at `weights`."""
        ...


def load_scheme(name: str, **settings: Any) -> Scheme[Any, Any, Any, Any, Any]:
    """The scheme called `name`, built by its room's `make_scheme(**settings)`; its libraries load here, not before."""
    if name not in get_args(SchemeName):
        raise SettlementError(f"scheme must be one of {get_args(SchemeName)}, got {name!r}")
    room = import_module(f"martfl.settlement.{name}")
    made: Scheme[Any, Any, Any, Any, Any] = room.make_scheme(**settings)
    return made
