"""Phase 2: one circuit's key from the powers, and a secret δ multiplied into it by each contributor in turn.

The key starts with γ = δ = 1, which follows from phase 1 by public arithmetic; γ stays 1. `check_key` accepts a key
from whatever hand: it compares random combinations of the key's points with the same combinations of the powers, so
that it needs multi-scalar multiplications and transforms of numbers only, never one of points.
"""

from collections.abc import Sequence

from martfl.settlement.errors import CeremonyError
from martfl.settlement.sampled import curve
from martfl.settlement.sampled.ceremony.powers import Powers, challenges, require_equal
from martfl.settlement.sampled.ceremony.transcript import Transcript
from martfl.settlement.sampled.curve import Group, Point, PointTable, polynomials
from martfl.settlement.sampled.groth16 import ProvingKey, VerifyingKey, domain_size, powers_of
from martfl.settlement.sampled.r1cs import R1CS, SparseRow
from martfl.settlement.sampled.statement import FIELD


def derive_key(r1cs: R1CS, powers: Powers) -> ProvingKey:
    """The key with γ = δ = 1."""
    size, count = domain_size(r1cs.constraints), r1cs.constraints
    tau, alpha, beta = (_lagrange(points[:size], group=1) for points in (powers.tau_1, powers.alpha_1, powers.beta_1))
    columns = _columns(r1cs, beta, alpha, tau)
    one, two = curve.generator(1), curve.generator(2)
    ic, private = columns[: r1cs.public], columns[r1cs.public :]
    return ProvingKey(
        beta_1=powers.beta_1[0],
        delta_1=one,
        lagrange_1=PointTable(group=1, points=tau[:count]),
        lagrange_2=PointTable(group=2, points=_lagrange(powers.tau_2, group=2)[:count]),
        quotient=PointTable(group=1, points=[powers.tau_1[size + i] - powers.tau_1[i] for i in range(size - 1)]),
        private=PointTable(group=1, points=private),
        verifying=VerifyingKey(powers.alpha_1[0], powers.beta_2, two, two, tuple(ic)),
    )


def times_delta(key: ProvingKey, delta: int) -> ProvingKey:
    """The key with this factor in δ."""
    inverse, vk = pow(delta, -1, FIELD), key.verifying
    quotient, private = (
        PointTable(group=1, points=curve.products(t.points(), [inverse] * len(t), group=1))
        for t in (key.quotient, key.private)
    )
    verifying = VerifyingKey(vk.alpha_1, vk.beta_2, vk.gamma_2, vk.delta_2 * delta, vk.ic)
    return ProvingKey(key.beta_1, key.delta_1 * delta, key.lagrange_1, key.lagrange_2, quotient, private, verifying)


def check_key(key: ProvingKey, r1cs: R1CS, powers: Powers, transcript: Transcript) -> None:
    """Raise unless `key` is the circuit's key from these powers, with the δ of the record."""
    vk, two = key.verifying, curve.generator(2)
    lengths = [len(t) for t in (key.lagrange_1, key.lagrange_2, key.quotient, key.private, vk.ic)]
    size, count = domain_size(r1cs.constraints), r1cs.constraints
    if lengths != [count, count, size - 1, r1cs.wires - r1cs.public, r1cs.public]:
        raise CeremonyError(f"the key has other sizes than the circuit: {lengths}")
    fixed = [(vk.alpha_1, powers.alpha_1[0]), (key.beta_1, powers.beta_1[0]), (vk.beta_2, powers.beta_2)]
    if any(a != b for a, b in [*fixed, (vk.gamma_2, two), (key.delta_1, transcript.latest("delta"))]):
        raise CeremonyError("the key's α, β, γ or δ are not those of the ceremony")
    require_equal("δ in both groups", key.delta_1, two, curve.generator(1), vk.delta_2)
    _check_lagrange(key, powers, size)
    drawn = challenges(size - 1)
    lifted = _sum(powers.tau_1[size:], drawn) - _sum(powers.tau_1[: size - 1], drawn)
    require_equal("the quotient's table", _sum(key.quotient.points(), drawn), vk.delta_2, lifted, two)
    _check_columns(key, r1cs, powers, size)


def _check_lagrange(key: ProvingKey, powers: Powers, size: int) -> None:
    """Σ r_i L_i(τ) = Σ c_j τ^j, c the coefficients of the polynomial that takes the values r."""
    drawn = challenges(len(key.lagrange_1))
    coefficients = _interpolate(drawn, size)
    for group, table, base in ((1, key.lagrange_1, powers.tau_1), (2, key.lagrange_2, powers.tau_2)):
        g: Group = 1 if group == 1 else 2
        if _sum(table.points(), drawn, group=g) != _sum(base[:size], coefficients, group=g):
            raise CeremonyError(f"the key's Lagrange table in G{group} does not follow from phase 1")


def _check_columns(key: ProvingKey, r1cs: R1CS, powers: Powers, size: int) -> None:
    """Σ ρ_w (βA_w + αB_w + C_w)(τ), for the public wires and for the private ones."""
    drawn, nothing = challenges(r1cs.wires), [0] * r1cs.wires
    public = [*drawn[: r1cs.public], *nothing[r1cs.public :]]
    private = [*nothing[: r1cs.public], *drawn[r1cs.public :]]
    vk = key.verifying
    if _sum(vk.ic, drawn[: r1cs.public]) != _mixed(r1cs, public, powers, size):
        raise CeremonyError("the key's public inputs do not follow from the circuit and phase 1")
    found = _sum(key.private.points(), drawn[r1cs.public :])
    expected = _mixed(r1cs, private, powers, size)
    require_equal("the private wires' table", found, vk.delta_2, expected, curve.generator(2))


def _mixed(r1cs: R1CS, wires: Sequence[int], powers: Powers, size: int) -> Point:
    total = curve.zero(1)
    for rows, base in ((r1cs.a, powers.beta_1), (r1cs.b, powers.alpha_1), (r1cs.c, powers.tau_1)):
        values = [sum(c * wires[w] for w, c in row.items()) % FIELD for row in rows]
        total = total + _sum(base[:size], _interpolate(values, size))
    return total


def _interpolate(values: Sequence[int], size: int) -> list[int]:
    coefficients: list[int] = polynomials.ifft([*values, *[0] * (size - len(values))], size)
    return coefficients


def _sum(points: Sequence[Point], scalars: Sequence[int], *, group: Group = 1) -> Point:
    return curve.multiexp(points, scalars, group=group)


def _columns(r1cs: R1CS, beta: Sequence[Point], alpha: Sequence[Point], tau: Sequence[Point]) -> list[Point]:
    """(βA_w + αB_w + C_w)(τ) of every wire."""
    terms: list[tuple[list[Point], list[int]]] = [([], []) for _ in range(r1cs.wires)]
    sides: tuple[tuple[tuple[SparseRow, ...], Sequence[Point]], ...] = ((r1cs.a, beta), (r1cs.b, alpha), (r1cs.c, tau))
    for rows, table in sides:
        for row, point in zip(rows, table, strict=False):
            for wire, coefficient in row.items():
                terms[wire][0].append(point)
                terms[wire][1].append(coefficient)
    return [PointTable(group=1, points=points).combine(scalars) for points, scalars in terms]


def _lagrange(points: Sequence[Point], *, group: Group) -> list[Point]:
    """L_r(τ) = 1/N Σ_i ω^(−ri) τ^i: the inverse Fourier transform, on points."""
    size = len(points)
    root = pow(polynomials.fft([0, 1, *[0] * (size - 2)], size)[1], -1, FIELD)  # ω^−1
    bits = size.bit_length() - 1
    values = [points[int(f"{i:0{bits}b}"[::-1], 2)] for i in range(size)]
    half = 1
    while half < size:
        twiddles = powers_of(pow(root, size // (2 * half), FIELD), 1, half)
        odd = [start + j for start in range(0, size, 2 * half) for j in range(1, half)]  # ω^0 needs no product
        turned = curve.products([values[half + i] for i in odd], [twiddles[i % half] for i in odd], group=group)
        for i, point in zip(odd, turned, strict=True):
            values[half + i] = point
        for start in range(0, size, 2 * half):
            for i in range(start, start + half):
                values[i], values[half + i] = values[i] + values[half + i], values[i] - values[half + i]
        half *= 2
    return curve.products(values, [pow(size, -1, FIELD)] * size, group=group)
