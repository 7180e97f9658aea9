"""The circuit accepts what is true and nothing else; its size is stated and kept."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from martfl.settlement import SettlementError
from martfl.settlement.errors import RangeError, WeightError
from martfl.settlement.sampled.circuit import compile_circuit, solve
from martfl.settlement.sampled.epoch import aggregate_model
from martfl.settlement.sampled.groth16 import domain_size
from martfl.settlement.sampled.keys import CIRCUIT_VERSION
from martfl.settlement.sampled.poseidon import poseidon
from martfl.settlement.sampled.r1cs import Compiler, Solver, UnsatisfiedError
from martfl.settlement.sampled.statement import FIELD, Shape, Statement
from martfl.settlement.sampled.update import empty_commitment, update_commitment

DIGEST = "c2ad"  # of the small circuit; when it changes, raise CIRCUIT_VERSION


def put(values, position, value):
    return (*values[:position], value, *values[position + 1 :])


def test_the_size_that_is_promised():
    r1cs = compile_circuit(Shape(providers=20, samples=64))
    assert r1cs.constraints <= 40_000
    assert r1cs.public - 1 == 4 + 36
    assert domain_size(r1cs.constraints) == 1 << 15  # one doubling less than the promise would need


def test_keys_belong_to_this_circuit(small_shape):
    assert (CIRCUIT_VERSION, compile_circuit(small_shape).digest()[:4]) == (1, DIGEST)


def test_solved_wires_satisfy_the_compiled_matrices(epoch):
    """Compiler and solver agree, constraint by constraint."""
    r1cs, solved = compile_circuit(epoch.shape), solve(epoch.statement, epoch.witness)
    assert len(solved.values) == r1cs.wires
    for rows, side in ((r1cs.a, solved.left), (r1cs.b, solved.right), (r1cs.c, solved.result)):
        dots = [sum(c * solved.values[w] for w, c in row.items()) % FIELD for row in rows]
        assert dots == [x % FIELD for x in side]
    assert solved.values[1 : r1cs.public] == epoch.statement.public_inputs()


def test_providers_of_weight_zero_have_the_empty_commitment(epoch):
    assert epoch.statement.commitments[1] == empty_commitment(epoch.shape)


@settings(max_examples=25)
@given(
    name=st.sampled_from(["old", "new", "weights", "commitments"]), position=st.integers(0, 2), by=st.integers(1, 1000)
)
def test_a_false_statement_has_no_witness(epoch, name, position, by):
    values = getattr(epoch.statement, name)
    statement = replace(epoch.statement, **{name: put(values, position, values[position] + by)})
    with pytest.raises(UnsatisfiedError, match=r"do not satisfy the circuit: (aggregation|commitment|update)"):
        solve(statement, epoch.witness)


@settings(max_examples=25)
@given(provider=st.sampled_from([0, 2]), sample=st.integers(0, 3), by=st.sampled_from([-1, 1, 7]))
def test_a_changed_sample_has_no_witness(epoch, provider, sample, by):
    row = epoch.witness.updates[provider]
    updates = put(epoch.witness.updates, provider, put(row, sample, row[sample] + by))
    with pytest.raises(UnsatisfiedError, match=r"commitment of provider [02]"):
        solve(epoch.statement, replace(epoch.witness, updates=updates))


def test_swapped_providers_have_no_witness(epoch):
    a, b, c = epoch.witness.updates
    with pytest.raises(UnsatisfiedError, match="commitment of provider 0"):
        solve(epoch.statement, replace(epoch.witness, updates=(c, b, a)))


@pytest.mark.parametrize("name", ["aggregate_remainders", "update_remainders", "aggregate"])
def test_values_out_of_range_have_no_witness(epoch, name):
    """One unit of the quotient against 2^η of the remainder keeps the equation: only the range forbids it."""
    unit = 1 << epoch.shape.eta
    values = getattr(epoch.witness, name)
    for bad in (values[0] + unit, values[0] - unit, -1, FIELD - 1):
        with pytest.raises(RangeError, match=r"\[0\] lies in 0"):
            solve(epoch.statement, replace(epoch.witness, **{name: put(values, 0, bad)}))


def test_trading_quotient_against_remainder_is_caught(epoch):
    unit, w, s = 1 << epoch.shape.eta, epoch.witness, epoch.statement
    lowered = replace(s, new=put(s.new, 0, s.new[0] - 1))
    with pytest.raises(RangeError, match=r"Ru\[0\] lies in 0"):
        solve(lowered, replace(w, update_remainders=put(w.update_remainders, 0, w.update_remainders[0] + unit)))
    for change in (-1, 1):
        with pytest.raises(UnsatisfiedError, match="aggregation of sample 0"):
            solve(
                s, replace(w, aggregate_remainders=put(w.aggregate_remainders, 0, w.aggregate_remainders[0] + change))
            )


def test_the_constraints_themselves_forbid_values_out_of_range():
    """Not only the solver's own check: a wire that is no bit breaks its constraint."""
    solver = Solver()
    bit = solver.wire(2)
    with pytest.raises(UnsatisfiedError, match="do not satisfy the circuit: bit"):
        solver.require(bit, bit, bit, label="bit")


def test_poseidon_in_the_circuit_is_poseidon():
    from martfl.settlement.sampled.circuit import _poseidon

    solver = Solver()
    assert _poseidon(solver, [solver.wire(x) for x in (5, 6, 7)]) == poseidon([5, 6, 7])


def test_long_commitments_fit_too():
    """16 words: two chained permutations, in the circuit as outside it."""
    from martfl.settlement.sampled.circuit import _blank, _commitments

    shape, solver = Shape(providers=1, samples=330), Solver()
    row = tuple(range(330))
    witness = replace(_blank(shape)[1], updates=(row,), blindings=(9,))
    cm = solver.wire(update_commitment(row, blinding=9, shape=shape))
    assert shape.update_words == 16
    assert _commitments(solver, [cm], shape, witness) == [list(row)]


def test_public_wires_come_first():
    compiler = Compiler()
    compiler.wire(0)
    with pytest.raises(SettlementError, match="public wires"):
        compiler.wire(0, public=True)


def test_bad_shapes_and_sizes_are_refused(epoch):
    for bad in ({"providers": 0}, {"samples": 0}, {"eta": 21}, {"eta": 65}, {"update_bits": 33}):
        with pytest.raises(SettlementError, match=r"at least one provider and one sample|η is|update_bits lies in"):
            replace(epoch.shape, **bad)
    with pytest.raises(SettlementError, match="another size"):
        solve(epoch.statement, replace(epoch.witness, blindings=(1, 2)))
    with pytest.raises(RangeError, match="blindings"):
        solve(epoch.statement, replace(epoch.witness, blindings=(FIELD, 0, 0)))
    with pytest.raises(SettlementError, match="weights: 3 values"):
        replace(epoch.statement, weights=(1, 2))
    with pytest.raises(SettlementError, match="field elements"):
        replace(epoch.statement, commitments=(FIELD, 0, 0))
    assert isinstance(epoch.statement, Statement)


def test_weights_that_are_not_the_whole_are_not_aggregated(epoch):
    weights, updates = [epoch.weights[0], 0, 0], [epoch.updates[0], None, None]
    with pytest.raises(WeightError, match="must sum to 65536"):
        aggregate_model(before=epoch.before, weights=weights, updates=updates, terms=epoch.terms)
