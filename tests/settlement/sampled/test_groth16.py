"""Proofs: honest ones verify, old ones do not fit another statement, foreign bytes get a clear answer."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from martfl.settlement import SettlementError
from martfl.settlement.errors import PointError
from martfl.settlement.sampled import curve, groth16, snarkjs
from martfl.settlement.sampled.circuit import solve
from martfl.settlement.sampled.groth16 import Proof
from martfl.settlement.sampled.r1cs import Compiler, Solver, UnsatisfiedError
from martfl.settlement.sampled.statement import FIELD

BASE_FIELD = 21888242871839275222246405745257275088696311157297823662689037894645226208583
TWIST_B = (  # 3 / (9 + u), the constant of the curve that G2 lies on
    19485874751759354771024239261021720505790618469301721065564631296452457478373,
    266929791119991161246907387137283842545076965332900288569378510910307636690,
)
SNARKJS = Path(__file__).parents[3] / "node_modules" / ".bin" / "snarkjs"


def test_an_honest_proof_verifies(epoch):
    assert groth16.verify(epoch.key.verifying, epoch.proof, epoch.statement.public_inputs())


def test_proofs_are_blinded(epoch):
    again = groth16.prove(epoch.key, solve(epoch.statement, epoch.witness))
    assert again.to_bytes() != epoch.proof.to_bytes()
    assert groth16.verify(epoch.key.verifying, again, epoch.statement.public_inputs())


@settings(max_examples=30)
@given(position=st.integers(0, 10), by=st.integers(1, FIELD - 1))
def test_an_old_proof_does_not_fit_another_statement(epoch, position, by):
    inputs = epoch.statement.public_inputs()
    position %= len(inputs)
    inputs[position] = (inputs[position] + by) % FIELD
    assert not groth16.verify(epoch.key.verifying, epoch.proof, inputs)


def test_inputs_of_another_number_or_beyond_the_field_are_rejected(epoch):
    inputs = epoch.statement.public_inputs()
    assert not groth16.verify(epoch.key.verifying, epoch.proof, inputs[:-1])
    assert not groth16.verify(epoch.key.verifying, epoch.proof, [*inputs, 0])
    # x and x + p are the same scalar: accepting both would let one statement pass for two
    assert not groth16.verify(epoch.key.verifying, epoch.proof, [inputs[0] + FIELD, *inputs[1:]])


def test_a_proof_with_exchanged_points_is_rejected(epoch):
    p = epoch.proof
    inputs = epoch.statement.public_inputs()
    for forged in (Proof(p.c, p.b, p.a), Proof(-p.a, p.b, p.c), Proof(p.a, -p.b, p.c), Proof(p.a, p.b, p.a)):
        assert not groth16.verify(epoch.key.verifying, forged, inputs)


def test_constants_fold_into_the_key(epoch):
    market = groth16.specialise(epoch.key.verifying, epoch.terms.constants())
    assert len(market.ic) == len(epoch.statement.epoch_inputs()) + 1
    assert groth16.verify(market, epoch.proof, epoch.statement.epoch_inputs())
    other = groth16.specialise(
        epoch.key.verifying, type(epoch.terms.constants())(alpha=1, beta=1, update_zero=1, aggregate_zero=1)
    )
    assert not groth16.verify(other, epoch.proof, epoch.statement.epoch_inputs())


def test_keys_of_another_circuit_are_refused(epoch):
    with pytest.raises(SettlementError, match="the key is for"):
        groth16.prove(groth16.setup(cube_circuit(Compiler()).finish()), solve(epoch.statement, epoch.witness))


def cube_circuit(cs, x: int = 0):
    """x³ = y for public y."""
    y = cs.wire(x**3, public=True)
    wire = cs.wire(x)
    cs.equal(cs.multiply(cs.multiply(wire, wire), wire), y, label="cube")
    return cs


def test_a_tiny_circuit_from_setup_to_verification():
    key = groth16.setup(cube_circuit(Compiler()).finish())
    proof = groth16.prove(key, cube_circuit(Solver(), 5))
    assert groth16.verify(key.verifying, proof, [125])
    assert not groth16.verify(key.verifying, proof, [126])


def test_a_set_up_is_random():
    r1cs = cube_circuit(Compiler()).finish()
    first, second = groth16.setup(r1cs), groth16.setup(r1cs)
    proof = groth16.prove(first, cube_circuit(Solver(), 5))
    assert not groth16.verify(second.verifying, proof, [125])


def test_a_solver_that_lies_gets_no_proof():
    key, solver = groth16.setup(cube_circuit(Compiler()).finish()), cube_circuit(Solver(), 5)
    solver.values[-1] += 1
    with pytest.raises(UnsatisfiedError, match="does not verify"):
        groth16.prove(key, solver)


@settings(max_examples=20)
@given(position=st.integers(0, 127), by=st.integers(1, 255))
def test_changed_bytes_are_refused_or_do_not_verify(epoch, position, by):
    data = bytearray(epoch.proof.to_bytes())
    data[position] ^= by
    try:
        proof = Proof.from_bytes(bytes(data))
    except PointError:
        return
    assert not groth16.verify(epoch.key.verifying, proof, epoch.statement.public_inputs())


def test_malformed_proofs_get_a_clear_error(epoch):
    data = epoch.proof.to_bytes()
    assert len(data) == groth16.PROOF_BYTES
    assert Proof.from_bytes(data).to_bytes() == data
    with pytest.raises(SettlementError, match="128 bytes"):
        Proof.from_bytes(data[:-1])
    infinity = curve.compress(curve.zero(1))
    with pytest.raises(PointError, match="infinity"):
        Proof.from_bytes(infinity + data[32:])
    with pytest.raises(PointError, match="not a point"):
        Proof.from_bytes(b"\xff" * 32 + data[32:])


def test_a_twist_point_outside_the_subgroup_is_refused(epoch):
    """(x, y) on the twist with x = 6 + u: a point of the wrong order, found with Fp2 square roots."""
    outside = b"".join(part.to_bytes(32, "little") for part in point_on_twist()[0])
    data = epoch.proof.to_bytes()
    with pytest.raises(PointError, match="not a point of G2"):
        Proof.from_bytes(data[:32] + outside + data[96:])


def point_on_twist() -> tuple[tuple[int, int], tuple[int, int]]:
    p = BASE_FIELD
    for start in range(6, 100):
        x = (start, 1)
        cube = times(times(x, x), x)
        square = tuple((c + b) % p for c, b in zip(cube, TWIST_B, strict=True))
        root = square_root(square)
        if root is not None:
            return x, root
    raise AssertionError("no point found")


def times(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    p = BASE_FIELD
    return (a[0] * b[0] - a[1] * b[1]) % p, (a[0] * b[1] + a[1] * b[0]) % p


def square_root(a: tuple[int, int]) -> tuple[int, int] | None:
    """By norms, p ≡ 3 mod 4: c_0² = (a_0 ± √N(a))/2."""
    p = BASE_FIELD
    norm = pow(a[0] * a[0] + a[1] * a[1], (p + 1) // 4, p)
    for sign in (norm, -norm):
        half = (a[0] + sign) * pow(2, -1, p) % p
        c0 = pow(half, (p + 1) // 4, p)
        if c0 and c0 * c0 % p == half:
            root = (c0, a[1] * pow(2 * c0, -1, p) % p)
            if times(root, root) == a:
                return root
    return None


@pytest.mark.skipif(not SNARKJS.exists() or shutil.which("node") is None, reason="snarkjs from npm is not installed")
def test_snarkjs_verifies_an_exported_proof(epoch, tmp_path):
    market = groth16.specialise(epoch.key.verifying, epoch.terms.constants())
    assert stranger_accepts(market, epoch.statement.epoch_inputs(), epoch.proof, tmp_path)
    inputs = epoch.statement.epoch_inputs()
    inputs[0] += 1
    assert not stranger_accepts(market, inputs, epoch.proof, tmp_path)


def stranger_accepts(key, inputs, proof, folder: Path) -> bool:
    files = {
        "vk.json": snarkjs.key_to_json(key),
        "public.json": snarkjs.public_to_json(inputs),
        "proof.json": snarkjs.proof_to_json(proof),
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))
    command = [str(SNARKJS), "groth16", "verify", *(str(folder / name) for name in files)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert ("OK!" in ended.stdout) == (ended.returncode == 0), ended.stdout + ended.stderr
    return ended.returncode == 0


def test_domains_are_powers_of_two():
    assert [groth16.domain_size(n) for n in (1, 2, 3, 1024, 1025)] == [2, 2, 4, 1024, 2048]


@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("count", [1, 40, 300])
def test_many_multiples_are_multiples(group, count):
    scalars = [(FIELD - 1) // (7**i) for i in range(count - 1)] + [0]
    base = curve.generator(group) * 3
    assert curve.multiples(base, scalars, group=group) == [base * s for s in scalars]
