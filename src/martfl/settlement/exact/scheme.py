"""The exact scheme behind the interface that both schemes share."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from martfl.settlement.errors import SettlementError
from martfl.settlement.exact.aggregate import INITIAL_BLINDING, aggregate, combine_blindings
from martfl.settlement.exact.commitment import CommitmentKey, Opening, commit, commit_model, scalar, verify_opening
from martfl.settlement.exact.generators import Progress
from martfl.settlement.exact.layout import SlotLayout
from martfl.settlement.exact.point import Commitment, multiexp
from martfl.settlement.fixed_point import Integers
from martfl.settlement.scheme import SchemeName, Settlement
from martfl.settlement.weights import check_weights


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
        """C(W^t, ρ^t) = C(W^{t−1}, ρ^{t−1}) + Σ k_i C_i."""
        after = settlement.model
        try:
            units = check_weights(weights, providers=len(commitments))
            old = commit_model(before.values, before.blinding, self.key)
            new = commit_model(after.values, after.blinding, self.key)
        except SettlementError:
            return False
        points = [old.to_point(), *(c.to_point() for c in commitments)]
        expected = multiexp(points, [scalar(1), *map(scalar, units)])
        return bool(expected == new.to_point())


def make_scheme(*, parameters: int, layout: SlotLayout | None = None, progress: Progress | None = None) -> ExactScheme:
    """The exact scheme for `parameters` values."""
    return ExactScheme(key=CommitmentKey.load(parameters=parameters, layout=layout, progress=progress))
