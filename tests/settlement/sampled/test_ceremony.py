"""A set-up among many: its key proves, contains every contribution, and any tampering is refused."""

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from martfl.settlement.errors import CeremonyError
from martfl.settlement.sampled import ceremony, curve, groth16, snarkjs
from martfl.settlement.sampled.ceremony import transcript as records
from martfl.settlement.sampled.ceremony.circuit_key import derive_key
from martfl.settlement.sampled.curve import PointTable
from martfl.settlement.sampled.r1cs import Compiler, Solver

SNARKJS = Path(__file__).parents[3] / "node_modules" / ".bin" / "snarkjs"


def cube(cs, x: int = 0):
    """x³ = y for public y, and some more wires, so that the domain has eight points."""
    y = cs.wire(x**3, public=True)
    wire = cs.wire(x)
    square = cs.multiply(wire, wire)
    cs.equal(cs.multiply(square, wire), y, label="cube")
    cs.multiply(cs.combine([(3, square), (-1, wire)], 5), wire)
    cs.multiply(square, square)
    return cs


R1CS = cube(Compiler()).finish()


@pytest.fixture(scope="module")
def powers():
    """Two contributions to phase 1."""
    return ceremony.contribute(ceremony.contribute(ceremony.start(R1CS), by="Ann"), by="Ben")


@pytest.fixture(scope="module")
def finished(powers):
    """Two more to phase 2."""
    return ceremony.contribute(ceremony.contribute(ceremony.prepare(powers, R1CS), by="Ann"), by="Cleo")


def test_the_key_of_a_ceremony_proves_and_verifies(finished):
    key = ceremony.check(finished, R1CS)
    proof = groth16.prove(key, cube(Solver(), 5))
    assert groth16.verify(key.verifying, proof, [125])
    assert not groth16.verify(key.verifying, proof, [126])
    assert [(c.phase, c.by) for c in finished.transcript.contributions] == [
        (1, "Ann"), (1, "Ben"), (2, "Ann"), (2, "Cleo"),
    ]  # fmt: skip


@pytest.mark.skipif(not SNARKJS.exists() or shutil.which("node") is None, reason="snarkjs from npm is not installed")
def test_snarkjs_verifies_a_proof_under_the_ceremonys_key(finished, tmp_path):
    key = ceremony.check(finished, R1CS)
    contents = {
        "vk.json": snarkjs.key_to_json(key.verifying),
        "public.json": snarkjs.public_to_json([125]),
        "proof.json": snarkjs.proof_to_json(groth16.prove(key, cube(Solver(), 5))),
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(json.dumps(content))
    command = [str(SNARKJS), "groth16", "verify", *(str(tmp_path / name) for name in contents)]
    assert "OK!" in subprocess.run(command, capture_output=True, text=True, check=True, timeout=600).stdout


def test_every_contribution_changes_the_key(powers, finished):
    before = ceremony.prepare(powers, R1CS)
    one, two = (ceremony.contribute(before, by="Ann").key for _ in range(2))
    proof = groth16.prove(one, cube(Solver(), 5))
    assert not groth16.verify(two.verifying, proof, [125])
    assert not groth16.verify(finished.key.verifying, proof, [125])


def test_who_knows_all_secrets_would_get_the_same_key():
    """The ceremony's points are those of a set-up with the product of the contributed secrets."""
    tau, alpha, beta = 5, 7, 11
    start = ceremony.start(R1CS)
    key = derive_key(R1CS, start.powers.times(tau, alpha, beta))
    size, one = groth16.domain_size(R1CS.constraints), curve.generator(1)
    vanishing = pow(tau, size) - 1
    assert key.quotient.points() == [one * (tau**i * vanishing) for i in range(size - 1)]
    lagrange = groth16.polynomials.evaluate_lagrange_coefficients(size, tau)
    assert key.lagrange_1.points() == [one * x for x in lagrange[: R1CS.constraints]]
    assert key.lagrange_2.points() == [curve.generator(2) * x for x in lagrange[: R1CS.constraints]]


def shifted(points, at):
    return [*points[:at], points[at] + points[0], *points[at + 1 :]]


@given(st.sampled_from(["tau_1", "tau_2", "alpha_1", "beta_1"]), st.data())
def test_a_changed_point_of_phase_1_is_refused(powers, name, data):
    table = getattr(powers.powers, name)
    at = data.draw(st.integers(0, len(table) - 1))
    changed = replace(powers, powers=replace(powers.powers, **{name: shifted(table, at)}))
    with pytest.raises(CeremonyError, match=r"do not fit together|than its record|zeroth powers"):
        ceremony.prepare(changed, R1CS)


def test_another_beta_in_the_second_group_is_refused(powers):
    changed = replace(powers, powers=replace(powers.powers, beta_2=powers.powers.beta_2 * 2))
    with pytest.raises(CeremonyError, match="β in both groups"):
        ceremony.prepare(changed, R1CS)


@given(st.sampled_from(["lagrange_1", "lagrange_2", "quotient", "private"]), st.data())
def test_a_changed_point_of_the_key_is_refused(finished, name, data):
    table = getattr(finished.key, name)
    at = data.draw(st.integers(0, len(table) - 1))
    changed = PointTable(group=table.group, points=shifted(table.points(), at))
    with pytest.raises(CeremonyError, match=r"do not fit together|does not follow from phase 1"):
        ceremony.check(replace(finished, key=replace(finished.key, **{name: changed})), R1CS)


@pytest.mark.parametrize("name", ["alpha_1", "beta_2", "gamma_2", "delta_2", "ic"])
def test_a_changed_verifying_key_is_refused(finished, name):
    vk = finished.key.verifying
    value = getattr(vk, name)
    changed = (value[0], value[1] * 2, *value[2:]) if name == "ic" else value * 2
    with pytest.raises(CeremonyError, match=r"not those of|do not fit together|do not follow from"):
        ceremony.check(replace(finished, key=replace(finished.key, verifying=replace(vk, **{name: changed}))), R1CS)


def test_the_key_must_hold_every_contribution_of_the_record(powers, finished):
    """The last contributor hands on its record, but a key without the others' parts."""
    alone = ceremony.contribute(ceremony.prepare(powers, R1CS), by="Cleo")
    with pytest.raises(CeremonyError, match="α, β, γ or δ"):
        ceremony.check(replace(finished, key=alone.key), R1CS)
    with pytest.raises(CeremonyError, match="another tau"):
        ceremony.check(replace(finished, powers=ceremony.start(R1CS).powers), R1CS)


@pytest.mark.parametrize("field", ["point", "nonce", "response"])
@pytest.mark.parametrize("which", range(4))
def test_a_tampered_record_is_refused(finished, which, field):
    contributions = list(finished.transcript.contributions)
    name, step = next(iter(contributions[which].steps.items()))
    changed = replace(step, **{field: getattr(step, field) + (1 if field == "response" else curve.generator(1))})
    contributions[which] = replace(contributions[which], steps={**contributions[which].steps, name: changed})
    record = replace(finished.transcript, contributions=tuple(contributions))
    with pytest.raises(CeremonyError, match="the proof of knowing its part of"):
        ceremony.check(replace(finished, transcript=record), R1CS)


def test_a_contribution_cannot_be_moved_renamed_or_left_out(finished):
    ann, ben, _, cleo = finished.transcript.contributions
    delta = finished.transcript.contributions[2]
    for contributions in (
        (ben, ann, delta, cleo), (ben, delta, cleo), (ann, ben, cleo), (ann, delta, ben, cleo),
        (replace(ann, by="Eve"), ben, delta, cleo), (ann, ben, replace(delta, phase=3), cleo),
    ):  # fmt: skip
        record = replace(finished.transcript, contributions=contributions)
        with pytest.raises(CeremonyError, match=r"proof of knowing its part|not a contribution of phase"):
            ceremony.check(replace(finished, transcript=record), R1CS)


def test_a_ceremony_for_another_circuit_or_half_a_one_is_refused(powers, finished):
    other = cube_again()
    with pytest.raises(CeremonyError, match="the ceremony is for circuit"):
        ceremony.check(finished, other)
    with pytest.raises(CeremonyError, match="nobody has contributed to phase 1"):
        ceremony.prepare(ceremony.start(R1CS), R1CS)
    with pytest.raises(CeremonyError, match="nobody has contributed to phase 2"):
        ceremony.check(ceremony.prepare(powers, R1CS), R1CS)
    with pytest.raises(CeremonyError, match="in phase 2 already"):
        ceremony.prepare(finished, R1CS)
    with pytest.raises(CeremonyError, match="1 to 100 printable characters"):
        ceremony.contribute(powers, by=" ")


def cube_again():
    compiler = cube(Compiler())
    compiler.multiply({1: 1}, {1: 1})
    return compiler.finish()


def test_the_record_as_json_and_back(finished):
    data = records.to_json(finished.transcript)
    assert records.from_json(data).hash() == finished.transcript.hash()
    for broken in ({}, {"circuit": "x"}, {"circuit": "x", "contributions": [{"phase": 1}]}, [], None):
        with pytest.raises(CeremonyError, match="malformed"):
            records.from_json(broken)
