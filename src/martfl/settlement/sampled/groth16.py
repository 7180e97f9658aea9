"""Groth16 (EUROCRYPT 2016) on BN254: set-up, proof, verification.

With L_r the Lagrange polynomials of the constraints' domain, Z its vanishing polynomial, and a_r · b_r = c_r the values
in constraint r under the witness w (the prover's tables are in this Lagrange basis, where most scalars are bits):

    A = α + Σ_r a_r L_r(τ) + rδ        B = β + Σ_r b_r L_r(τ) + sδ
    C = Σ_private w_i (β A_i(τ) + α B_i(τ) + C_i(τ))/δ + H(τ) Z(τ)/δ + sA + rB − rsδ
    verify: e(A, B) = e(α, β) · e(Σ_public w_i IC_i, γ) · e(C, δ)

The set-up knows τ, α, β, γ, δ; whoever runs it and keeps them can forge. They live in one function's local variables
and are never stored; a market that trusts nobody uses the exact scheme.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from martfl.settlement.errors import SettlementError
from martfl.settlement.sampled import curve
from martfl.settlement.sampled.curve import Point, PointTable, polynomials
from martfl.settlement.sampled.r1cs import R1CS, Solver, SparseRow, UnsatisfiedError
from martfl.settlement.sampled.statement import CONSTANTS, FIELD, Constants

PROOF_BYTES = 128
_SHIFT = 5  # generates the field's multiplicative group, so it lies in no domain


@dataclass(frozen=True)
class VerifyingKey:
    """What the contract holds: α in G1; β, γ, δ in G2; IC, one point for the constant one and each public input."""

    alpha_1: Point
    beta_2: Point
    gamma_2: Point
    delta_2: Point
    ic: tuple[Point, ...]


@dataclass(frozen=True)
class ProvingKey:
    """The prover's tables."""

    beta_1: Point
    delta_1: Point
    lagrange_1: PointTable  # L_r(τ)
    lagrange_2: PointTable
    quotient: PointTable  # τ^i Z(τ)/δ
    private: PointTable  # (β A_i + α B_i + C_i)(τ)/δ
    verifying: VerifyingKey


@dataclass(frozen=True)
class Proof:
    """Three points, 128 bytes compressed.

    Examples:
        >>> g1, g2 = curve.generator(1), curve.generator(2)
        >>> data = Proof(g1, g2, g1).to_bytes()
        >>> Proof.from_bytes(data).to_bytes() == data, len(data)
        (True, 128)
    """

    a: Point
    b: Point
    c: Point

    def to_bytes(self) -> bytes:
        """A, B, C compressed."""
        return curve.compress(self.a) + curve.compress(self.b) + curve.compress(self.c)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Proof":
        """A foreign proof; every point is checked."""
        if len(data) != PROOF_BYTES:
            raise SettlementError(f"a proof has {PROOF_BYTES} bytes, got {len(data)}")
        a, b, c = data[:32], data[32:96], data[96:]
        return cls(curve.decompress(a, group=1), curve.decompress(b, group=2), curve.decompress(c, group=1))


def setup(r1cs: R1CS) -> ProvingKey:
    """Keys for one circuit; the secrets die with this call.

    Examples:
        >>> from martfl.settlement.sampled.r1cs import Compiler
        >>> circuit = Compiler()  # I know two factors of a public number
        >>> number = circuit.wire(0, public=True)
        >>> circuit.require(circuit.wire(0), circuit.wire(0), number, label='factors')
        >>> key = setup(circuit.finish())
        >>> len(key.verifying.ic), len(key.private)
        (2, 2)
    """
    tau, alpha, beta, gamma, delta = (_secret() for _ in range(5))
    size = domain_size(r1cs.constraints)
    lagrange = polynomials.evaluate_lagrange_coefficients(size, tau)[: r1cs.constraints]
    mixed = _mixed_columns(r1cs, lagrange, alpha=alpha, beta=beta)  # (wires,)
    vanishing = (pow(tau, size, FIELD) - 1) * pow(delta, -1, FIELD) % FIELD
    g1, g2 = curve.generator(1), curve.generator(2)
    ic = _over(mixed[: r1cs.public], gamma)
    private = _over(mixed[r1cs.public :], delta)
    verifying = VerifyingKey(g1 * alpha, g2 * beta, g2 * gamma, g2 * delta, tuple(curve.multiples(g1, ic, group=1)))
    return ProvingKey(
        beta_1=g1 * beta,
        delta_1=g1 * delta,
        lagrange_1=PointTable(group=1, points=curve.multiples(g1, lagrange, group=1)),
        lagrange_2=PointTable(group=2, points=curve.multiples(g2, lagrange, group=2)),
        quotient=PointTable(group=1, points=curve.multiples(g1, powers_of(tau, vanishing, size - 1), group=1)),
        private=PointTable(group=1, points=curve.multiples(g1, private, group=1)),
        verifying=verifying,
    )


def prove(key: ProvingKey, solved: Solver) -> Proof:
    """A proof for solved constraints, verified before it is handed out.

    A = α + Σ a_r·L_r(τ) + rδ, B = β + Σ b_r·L_r(τ) + sδ, C as at the top of this module

    Examples:
        >>> from martfl.settlement.sampled.r1cs import Compiler
        >>> def factors(system, number, left, right):
        ...     public = system.wire(number, public=True)
        ...     system.require(system.wire(left), system.wire(right), public, label='factors')
        ...     return system
        >>> solved = factors(Solver(), 12, 3, 4)
        >>> proof = prove(setup(factors(Compiler(), 0, 0, 0).finish()), solved)
        >>> len(proof.to_bytes())
        128
    """
    public = len(key.verifying.ic)
    if len(solved.left) != len(key.lagrange_1) or len(solved.values) - public != len(key.private):
        raise SettlementError(
            f"the key is for {len(key.lagrange_1)} constraints and {len(key.private)} private wires, the circuit has "
            f"{len(solved.left)} and {len(solved.values) - public}"
        )
    r, s, vk = _secret(), _secret(), key.verifying
    a = vk.alpha_1 + key.lagrange_1.combine(solved.left) + key.delta_1 * r
    b_1 = key.beta_1 + key.lagrange_1.combine(solved.right) + key.delta_1 * s
    b_2 = vk.beta_2 + key.lagrange_2.combine(solved.right) + vk.delta_2 * s
    c = key.quotient.combine(_quotient(solved)) + key.private.combine(solved.values[public:])
    c = c + a * s + b_1 * r + key.delta_1 * (-r * s % FIELD)
    proof = Proof(a, b_2, c)
    if not verify(vk, proof, solved.values[1:public]):
        raise UnsatisfiedError("the proof does not verify: the keys belong to another circuit or are damaged")
    return proof


def verify(key: VerifyingKey, proof: Proof, public_inputs: Sequence[int]) -> bool:
    """Whether `proof` shows the statement with these public inputs.

    e(A, B) = e(α, β) · e(Σ w_i·IC_i, γ) · e(C, δ)

    Examples:
        >>> from martfl.settlement.sampled.r1cs import Compiler
        >>> def factors(system, number, left, right):
        ...     public = system.wire(number, public=True)
        ...     system.require(system.wire(left), system.wire(right), public, label='factors')
        ...     return system
        >>> key = setup(factors(Compiler(), 0, 0, 0).finish())
        >>> proof = prove(key, factors(Solver(), 12, 3, 4))
        >>> verify(key.verifying, proof, [12]), verify(key.verifying, proof, [13])
        (True, False)
    """
    if len(public_inputs) != len(key.ic) - 1 or any(not 0 <= x < FIELD for x in public_inputs):
        return False
    public = key.ic[0] + curve.multiexp(key.ic[1:], public_inputs, group=1)
    return curve.pairings_cancel(
        [-proof.a, key.alpha_1, public, proof.c], [proof.b, key.beta_2, key.gamma_2, key.delta_2]
    )


def specialise(key: VerifyingKey, constants: Constants) -> VerifyingKey:
    """The key of one market: its constants folded into IC_0, so that they are no longer public inputs.

    IC_0' = IC_0 + α·IC_1 + β·IC_2 + z_u·IC_3 + z_a·IC_4

    Examples:
        >>> g1, g2 = curve.generator(1), curve.generator(2)
        >>> key = VerifyingKey(g1, g2, g2, g2, tuple(g1 * i for i in range(1, 8)))
        >>> constants = Constants(alpha=1, beta=1, update_zero=1, aggregate_zero=1)
        >>> market = specialise(key, constants)
        >>> len(market.ic), market.ic[0] == g1 * (1 + 2 + 3 + 4 + 5)
        (3, True)
    """
    folded = key.ic[0] + curve.multiexp(key.ic[1 : 1 + CONSTANTS], constants.words(), group=1)
    return VerifyingKey(key.alpha_1, key.beta_2, key.gamma_2, key.delta_2, (folded, *key.ic[1 + CONSTANTS :]))


def domain_size(constraints: int) -> int:
    """The power of two that holds every constraint."""
    return max(2, 1 << (constraints - 1).bit_length())


def _quotient(solved: Solver) -> list[int]:
    """H = (A·B − C)/Z by evaluation on the coset g·⟨ω⟩, where Z is the constant g^N − 1."""
    size = domain_size(len(solved.left))
    a, b, c = (_to_coset(side, size) for side in (solved.left, solved.right, solved.result))
    inverse = pow(pow(_SHIFT, size, FIELD) - 1, -1, FIELD)
    quotient = [(x * y - z) * inverse % FIELD for x, y, z in zip(a, b, c, strict=True)]
    unshift = powers_of(pow(_SHIFT, -1, FIELD), 1, size)
    coefficients = polynomials.ifft(quotient, size)
    return [x * u % FIELD for x, u in zip(coefficients, unshift, strict=True)][: size - 1]


def _to_coset(values: Sequence[int], size: int) -> list[int]:
    # The binding's own coset transform shifts by ω, which stays in the domain.
    padded = [*values, *([0] * (size - len(values)))]
    shifted = [x * g % FIELD for x, g in zip(polynomials.ifft(padded, size), powers_of(_SHIFT, 1, size), strict=True)]
    evaluations: list[int] = polynomials.fft(shifted, size)
    return evaluations


def _mixed_columns(r1cs: R1CS, lagrange: Sequence[int], *, alpha: int, beta: int) -> list[int]:
    """β A_i(τ) + α B_i(τ) + C_i(τ) for every wire i."""
    columns = [0] * r1cs.wires
    for factor, rows in ((beta, r1cs.a), (alpha, r1cs.b), (1, r1cs.c)):
        _add_columns(columns, rows, [factor * x % FIELD for x in lagrange])
    return [x % FIELD for x in columns]


def _add_columns(columns: list[int], rows: Sequence[SparseRow], factors: Sequence[int]) -> None:
    for row, factor in zip(rows, factors, strict=True):
        for wire, coefficient in row.items():
            columns[wire] += coefficient * factor


def _over(values: Sequence[int], divisor: int) -> list[int]:
    inverse = pow(divisor, -1, FIELD)
    return [x * inverse % FIELD for x in values]


def powers_of(base: int, first: int, count: int) -> list[int]:
    """first · base^i for i < count."""
    powers, x = [], first
    for _ in range(count):
        powers.append(x)
        x = x * base % FIELD
    return powers


def _secret() -> int:
    return 1 + secrets.randbelow(FIELD - 1)
