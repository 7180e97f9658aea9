"""The exact scheme behind the interface that both schemes share."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from martfl.settlement.errors import SettlementError
from martfl.settlement.exact.aggregate import INITIAL_BLINDING, aggregate, combine_blindings, verify_step
from martfl.settlement.exact.commitment import CommitmentKey, Opening, check_scalar, commit, verify_opening
from martfl.settlement.exact.generators import Progress
from martfl.settlement.exact.layout import SlotLayout
from martfl.settlement.exact.plain import ORDER
from martfl.settlement.exact.point import Commitment
from martfl.settlement.fixed_point import Integers
from martfl.settlement.scheme import SchemeName, Settlement


@dataclass(frozen=True, eq=False)
class BlindedModel:
    """A published integer model and the revealed blinding of its commitment."""

    values: npt.NDArray[np.int64]  # (m,)
    blinding: int = INITIAL_BLINDING


@dataclass(frozen=True, kw_only=True)
class ExactScheme:
    """Vector commitments: every parameter is checked, nothing is sampled; the evidence is the blinding alone."""

    key: CommitmentKey

    @property
    def name(self) -> SchemeName:
        """The scheme's name in terms and commands."""
        return "exact"

    def commit(self, update: Integers) -> tuple[Commitment, Opening]:
        """Commit with a fresh blinding."""
        return commit(update, self.key)

    def verify_opening(self, update: Integers, commitment: Commitment, opening: Opening) -> bool:
        """Whether the commitment opens, every value in range."""
        return verify_opening(update, commitment, opening, self.key)

    def settle(
        self,
        *,
        before: BlindedModel,
        weights: Sequence[int],
        updates: Sequence[Integers],
        openings: Sequence[Opening],
    ) -> Settlement[BlindedModel, None]:
        """The new model with its blinding."""
        values = aggregate(before.values, weights, updates, layout=self.key.layout)
        blinding = combine_blindings(before.blinding, weights, openings)
        return Settlement(BlindedModel(values, blinding), None)

    def verify(
        self,
        *,
        before: BlindedModel,
        settlement: Settlement[BlindedModel, None],
        weights: Sequence[int],
        commitments: Sequence[Commitment],
    ) -> bool:
        """C(W^t − W^{t−1}, ρ^t − ρ^{t−1}) = Σ k_i C_i."""
        after = settlement.model
        try:
            check_scalar(before.blinding)
            check_scalar(after.blinding)
        except SettlementError:
            return False
        blinding = (after.blinding - before.blinding) % ORDER
        return verify_step(before.values, after.values, blinding, weights, commitments, self.key)


def make_scheme(*, parameters: int, layout: SlotLayout | None = None, progress: Progress | None = None) -> ExactScheme:
    """The exact scheme for `parameters` values."""
    return ExactScheme(key=CommitmentKey.load(parameters=parameters, layout=layout, progress=progress))
