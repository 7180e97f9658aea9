"""The sampled scheme behind the interface that both schemes share: everything off chain, one VDF in between.

On chain the contract supplies context and beacon and rules on objections; here they are settings, and a provider
checks its own commitment with `own_commitment_matches`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from martfl.settlement.errors import OpeningError, SettlementError
from martfl.settlement.sampled import groth16, sampling, vdf
from martfl.settlement.sampled.epoch import aggregate_model, prove_samples, sampled_values, state_samples
from martfl.settlement.sampled.groth16 import Proof, ProvingKey
from martfl.settlement.sampled.keys import cached_keys
from martfl.settlement.sampled.merkle import TreeShape, build_tree
from martfl.settlement.sampled.quantise import Ints, Quantisation, check_range
from martfl.settlement.sampled.sealed import seal
from martfl.settlement.sampled.statement import Shape, Statement, fill
from martfl.settlement.sampled.update import blinding, empty_commitment, update_commitment
from martfl.settlement.sampled.vdf import VdfProof
from martfl.settlement.scheme import SchemeName, Settlement
from martfl.settlement.seal import new_secret, seal_digest
from martfl.settlement.weights import check_weights

Update = npt.NDArray[Any]


@dataclass(frozen=True)
class Commitment:
    """What a provider binds itself to before it is judged."""

    root: bytes  # C
    seal: bytes


@dataclass(frozen=True)
class Opening:
    """What a bought provider hands over beside its update."""

    commitment: Commitment
    secret: bytes = field(repr=False)


@dataclass(frozen=True)
class Evidence:
    """What convinces a stranger: the delay, the commitments to sampled values, the proof."""

    delay: VdfProof
    commitments: tuple[int, ...]  # (n,) cm_i, EMPTY included
    proof: Proof


@dataclass(frozen=True, kw_only=True)
class SampledScheme:
    """Groth16 over c sampled parameters; models and updates are quantised vectors (`Quantisation`)."""

    shape: Shape
    terms: Quantisation
    parameters: int
    squarings: int
    key: ProvingKey
    context: bytes = bytes(32)
    beacon: bytes = bytes(32)

    @property
    def name(self) -> SchemeName:
        """The scheme's name in terms and commands."""
        return "sampled"

    def commit(self, update: Update) -> tuple[Commitment, Opening]:
        """The salted root of the whole update, and the seal of what is sent before it is bought."""
        secret = new_secret()
        commitment = self._commitment(update, secret)
        return commitment, Opening(commitment, secret)

    def verify_opening(self, update: Update, commitment: Commitment, opening: Opening) -> bool:
        """Whether the commitment opens to `update`, every value in range."""
        try:
            return self._commitment(update, opening.secret) == commitment
        except SettlementError:
            return False

    def settle(
        self,
        *,
        before: Update,
        weights: Sequence[int],
        updates: Sequence[Update | None],
        openings: Sequence[Opening],
    ) -> Settlement[Ints, Evidence]:
        """Aggregate, draw the samples through the VDF, prove."""
        check_weights(weights, providers=len(updates))
        self._check_openings(weights, updates, openings)
        aggregated = aggregate_model(before=before, weights=weights, updates=updates, terms=self.terms)
        seed = self._seed(before, aggregated.model, [o.commitment for o in openings])
        delay = vdf.evaluate(seed, squarings=self.squarings)
        statement, witness = state_samples(
            aggregated,
            shape=self.shape,
            terms=self.terms,
            weights=weights,
            updates=updates,
            blindings=[blinding(o.secret) for o in openings],
            indices=self.indices(delay),
        )
        proof = prove_samples(self.key, statement, witness)
        return Settlement(aggregated.model, Evidence(delay, statement.commitments, proof))

    def verify(
        self,
        *,
        before: Update,
        settlement: Settlement[Update, Evidence],
        weights: Sequence[int],
        commitments: Sequence[Commitment],
    ) -> bool:
        """Whether delay and proof are right for these models, weights and commitments."""
        try:
            statement = self.statement(before, settlement, weights, commitments)
        except SettlementError:
            return False
        return groth16.verify(self.key.verifying, settlement.evidence.proof, statement.public_inputs())

    def statement(
        self,
        before: Update,
        settlement: Settlement[Update, Evidence],
        weights: Sequence[int],
        commitments: Sequence[Commitment],
    ) -> Statement:
        """The statement as a verifier assembles it; raises where the evidence breaks a rule."""
        evidence, size = settlement.evidence, self.shape.providers
        units = fill(check_weights(weights, providers=len(commitments)), count=size, with_=0)
        seed = self._seed(before, settlement.model, commitments)
        if not vdf.verify(seed, evidence.delay, squarings=self.squarings):
            raise SettlementError("the delay function's output is not that of this seed")
        empty, chosen = empty_commitment(self.shape), self.indices(evidence.delay)
        if any(not k and cm != empty for k, cm in zip(units, evidence.commitments, strict=False)):
            raise SettlementError("a provider of weight 0 has the empty commitment")
        return Statement(
            shape=self.shape,
            constants=self.terms.constants(),
            weights=units,
            old=sampled_values(before, chosen),
            new=sampled_values(settlement.model, chosen),
            commitments=evidence.commitments,
        )

    def own_commitment_matches(self, update: Update, opening: Opening, evidence: Evidence, *, provider: int) -> bool:
        """A provider's check that the proof is about its update; if not, it objects."""
        own = sampled_values(update, self.indices(evidence.delay))
        expected = update_commitment(own, blinding=blinding(opening.secret), shape=self.shape)
        return expected == evidence.commitments[provider]

    def indices(self, delay: VdfProof) -> list[int]:
        """The sampled parameters."""
        drawn = vdf.randomness(delay)
        return sampling.indices(drawn, parameters=self.parameters, samples=self.shape.samples)

    def _commitment(self, update: Update, secret: bytes) -> Commitment:
        sealed = seal(update, TreeShape(parameters=self.parameters, bits=self.shape.update_bits), secret)
        return Commitment(sealed.commitment, seal_digest(sealed.root, secret))

    def _seed(self, before: Update, after: Update, commitments: Sequence[Commitment]) -> bytes:
        bits = self.shape.model_bits
        old, new = (
            build_tree(check_range(self._sized(m, "model"), bits=bits, name="model"), bits=bits)
            for m in (before, after)
        )
        return sampling.seed(
            context=self.context,
            rolled=sampling.roll([c.seal for c in commitments]),
            old_root=old.root,
            new_root=new.root,
            beacon=self.beacon,
        )

    def _check_openings(
        self, weights: Sequence[int], updates: Sequence[Update | None], openings: Sequence[Opening]
    ) -> None:
        if not len(weights) == len(updates) == len(openings):
            raise SettlementError(
                f"one weight, update and opening a provider, got {len(weights)}, {len(updates)}, {len(openings)}"
            )
        for i, (k, u, o) in enumerate(zip(weights, updates, openings, strict=True)):
            if k and (u is None or not self.verify_opening(u, o.commitment, o)):
                raise OpeningError(f"provider {i} has weight {k}, but its delivery does not open its commitment")

    def _sized(self, values: Update, name: str) -> Update:
        if len(values) != self.parameters:
            raise SettlementError(f"{name}: {self.parameters} parameters, got {len(values)}")
        return values


def make_scheme(
    *,
    parameters: int,
    providers: int,
    samples: int = 64,
    update_limit: float = 1.0,
    model_limit: float = 8.0,
    epsilon: float = 1e-3,
    squarings: int = 1 << 16,
) -> SampledScheme:
    """The sampled scheme for one market; its keys come from the cache."""
    shape = Shape(providers=providers, samples=samples)
    sampling.strata(parameters=parameters, samples=samples)
    terms = Quantisation.symmetric(shape, update_limit=update_limit, model_limit=model_limit, epsilon=epsilon)
    return SampledScheme(shape=shape, terms=terms, parameters=parameters, squarings=squarings, key=cached_keys(shape))
