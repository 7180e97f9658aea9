"""What the Groth16 proof says: the public inputs, their order, and how the contract assembles them.

Shape of a market's circuit: n providers, c samples, and the widths below. BN254 scalars; `packing` puts
k = ⌊252/bits⌋ values into one scalar, the first value in the lowest bits.

    public inputs, in this order                                   n = 20, c = 64
    0  constants   α, β, z_u, z_a                                  4   (folded into the key, see below)
    1  weights     pack(K, 17 bits), 14 a scalar                   2
    2  old model   pack(W[samples], 24 bits), 10 a scalar          7
    3  new model   pack(W'[samples], 24 bits), 10 a scalar         7
    4  commitments cm_0 … cm_{n−1}                                 20

The constants are fixed for the life of a market, so `groth16.specialise` adds α·IC_1 + β·IC_2 + z_u·IC_3 + z_a·IC_4
into IC_0: the contract's key has IC_0 and one point for each scalar of groups 1–4, that is 36 public
inputs at n = 20, c = 64. The contract never handles the constants.

What the proof shows, for every sample j (K sums to 2^16; η = 28; integers, no wrap-around):

    cm_i = Poseidon(pack(q_i[samples], 12 bits) ‖ r_i)                                       for every provider i
    2^η U'_j + Ra_j = 2^η z_a + 2^(η−1) + α (Σ_i K_i q_ij − z_u Σ_i K_i),   0 ≤ Ra_j < 2^η   paper's equation (4)
    2^η W'_j + Ru_j = 2^η W_j + 2^(η−1) + β (U'_j − z_a),                   0 ≤ Ru_j < 2^η   paper's equation (6)

with every q in 12 bits, U' in 20, W and W' in 24, K in 17. K^z = 0, so M_3 = M_4 = 0; old and new model share one
quantisation, so N_1 and N_2 are W itself and z_w cancels.

Protocol. Updates are bought and paid for by the sealed exchange, as in the exact scheme (`sealed`). Particular here:

commit         Provider i binds itself to C and its seal before anyone has judged it. The samples are not known yet, so
               C is of the whole quantised update: T = Merkle root with salted leaves (`merkle`),
               C = keccak(T ‖ keccak(r_i)). Salts and r_i come from its secret key.
buy, reveal    The update goes over sealed; with its key the acquirer unseals it, and finds a false leaf if there is
               one. From here on it needs nothing more from anybody.
publish        The acquirer posts the Merkle root of the new quantised model (24 bits) and who is in it at which weight;
               weights sum to 2^16. The hash of a later block completes the seed (`sampling.seed`): roots and seals
               precede randomness.
commit_inputs  The acquirer posts the VDF's output and proof (`vdf`), cm_i for every listed provider, and for each
               sample the words and paths in the old and the new model's tree. The contract derives the indices
               itself (`sampling.indices`), checks the paths, packs the values, takes the weights as published, puts
               EMPTY (`empty_commitment`) for providers of weight 0 and for unused slots, and keeps the hash of the
               public inputs.
verify_aggregation  Anybody gives the proof; the contract checks it under its fixed key and those inputs.

Who could cheat with cm_i, and the rule that stops it:

- The acquirer computes every cm_i from what it unsealed, so no provider can block the proof or make it fail.
- Each listed provider recomputes its own cm_i (`update_commitment`). If the posted one differs, it calls
  `refute_commitment` within the objection window: it gives keccak cap, the words, salts and paths of its sampled
  parameters, r_i, and Poseidon's constants (checked by hash: `poseidon.constants_hash`). The contract checks the
  openings against C and r_i against keccak(r_i), packs the sampled values, computes Poseidon and compares.
  Different: the acquirer loses its penalty deposit, as if the proof were false. Equal: the objection reverts.
  An honest acquirer cannot lose, because it checked C when it had the key and Merkle openings are binding; an
  honest provider cannot be cheated, because its opening is at hand. Objecting shows the sampled words, nothing else.
- A provider that colludes with the acquirer will not object, so the two can choose that provider's sampled values
  after the draw. The circuit's range checks bound what this buys to K_i times the update range: what the pair could
  have committed to beforehand, but adapted to the other updates. The payments of others do not depend on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from martfl.settlement.errors import SettlementError
from martfl.settlement.sampled.packing import pack, words_needed

FIELD = 21888242871839275222246405745257275088548364400416034343698204186575808495617  # BN254's scalar field
WEIGHT_SLOT_BITS = 17  # a single bought provider has weight 2^16 itself
CONSTANTS = 4


@dataclass(frozen=True, kw_only=True)
class Shape:
    """One circuit: its size and the widths of everything that is range-checked.

    Examples:
        >>> shape = Shape(providers=20, samples=64)
        >>> shape.weight_words, shape.model_words, shape.public_inputs, shape.tag
        (2, 7, 40, 'n20c64-u12a20w24e28')
    """

    providers: int
    samples: int
    update_bits: int = 12
    aggregate_bits: int = 20
    model_bits: int = 24
    eta: int = 28

    def __post_init__(self) -> None:
        if self.providers < 1 or self.samples < 1:
            raise SettlementError(f"at least one provider and one sample, got {self.providers} and {self.samples}")
        if self.eta < 22:
            raise SettlementError(f"η is 22 or more, got {self.eta}")
        for name in ("update_bits", "aggregate_bits", "model_bits"):
            if not 2 <= getattr(self, name) <= 32:
                raise SettlementError(f"{name} lies in 2..32, got {getattr(self, name)}")
        if self.eta > 64:  # 2^η · 2^32 and α·Σ stay far below the field
            raise SettlementError(f"η is at most 64, got {self.eta}")

    @property
    def weight_words(self) -> int:
        """Scalars that hold the weights."""
        return words_needed(self.providers, bits=WEIGHT_SLOT_BITS)

    @property
    def model_words(self) -> int:
        """Scalars that hold the sampled values of one model."""
        return words_needed(self.samples, bits=self.model_bits)

    @property
    def update_words(self) -> int:
        """Scalars that hold one provider's sampled update."""
        return words_needed(self.samples, bits=self.update_bits)

    @property
    def public_inputs(self) -> int:
        """All of them, constants included."""
        return CONSTANTS + self.weight_words + 2 * self.model_words + self.providers

    @property
    def tag(self) -> str:
        """A name for files and tables."""
        widths = f"u{self.update_bits}a{self.aggregate_bits}w{self.model_bits}e{self.eta}"
        return f"n{self.providers}c{self.samples}-{widths}"


@dataclass(frozen=True, kw_only=True)
class Constants:
    """The market's fixed quantisation as the circuit sees it.

    Examples:
        >>> Constants(alpha=4096, beta=5, update_zero=2048, aggregate_zero=524288).words()
        [4096, 5, 2048, 524288]
    """

    alpha: int  # round(2^η K^s U^s / U^s')
    beta: int  # round(2^η U^s' / W^s)
    update_zero: int  # z_u
    aggregate_zero: int  # z_a

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "update_zero", "aggregate_zero"):
            if not 0 <= getattr(self, name) < 1 << 96:
                raise SettlementError(f"{name} lies in 0..2^96 − 1, got {getattr(self, name)}")

    def words(self) -> list[int]:
        """In the order of the public inputs."""
        return [self.alpha, self.beta, self.update_zero, self.aggregate_zero]


@dataclass(frozen=True, kw_only=True)
class Statement:
    """Everything public about one epoch's proof, before packing.

    Examples:
        >>> constants = Constants(alpha=4096, beta=5, update_zero=2048, aggregate_zero=524288)
        >>> values = {'weights': (2**16,), 'old': (3, 4), 'new': (3, 5), 'commitments': (9,)}
        >>> statement = Statement(shape=Shape(providers=1, samples=2), constants=constants, **values)
        >>> len(statement.epoch_inputs()), statement.public_inputs()[:4] == constants.words()
        (4, True)
    """

    shape: Shape
    constants: Constants
    weights: tuple[int, ...]  # (n,)
    old: tuple[int, ...]  # (c,) W[samples]
    new: tuple[int, ...]  # (c,) W'[samples]
    commitments: tuple[int, ...]  # (n,) cm_i

    def __post_init__(self) -> None:
        expected = {"weights": self.shape.providers, "commitments": self.shape.providers}
        expected |= {"old": self.shape.samples, "new": self.shape.samples}
        for name, count in expected.items():
            if len(getattr(self, name)) != count:
                raise SettlementError(f"{name}: {count} values for this shape, got {len(getattr(self, name))}")
        for i, cm in enumerate(self.commitments):
            if not 0 <= cm < FIELD:
                raise SettlementError(f"commitments are field elements, number {i} is {cm}")

    def epoch_inputs(self) -> list[int]:
        """Groups 1–4: what the contract assembles."""
        return [
            *pack(self.weights, bits=WEIGHT_SLOT_BITS),
            *pack(self.old, bits=self.shape.model_bits),
            *pack(self.new, bits=self.shape.model_bits),
            *self.commitments,
        ]

    def public_inputs(self) -> list[int]:
        """All public inputs, constants first."""
        return self.constants.words() + self.epoch_inputs()


def fill(values: Sequence[int], *, count: int, with_: int) -> tuple[int, ...]:
    """Pad an epoch's providers to the market's number of slots."""
    if len(values) > count:
        raise SettlementError(f"the market has {count} provider slots, got {len(values)}")
    return (*values, *([with_] * (count - len(values))))
