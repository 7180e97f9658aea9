"""Cost of sampled settlement: commitment, set-up, proof, verification, delay; the authors' circuit beside it.

`setup_s` is wall-clock on every core, `prove_s` and `commit_s` CPU seconds; the other of the two is in the details.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from martfl.bench.settlement_figures import SettlementFigures
from martfl.bench.settlement_sealed import bench_sealed_sampled
from martfl.measure import Timed, peak_mb, timed
from martfl.settlement import integer_weights
from martfl.settlement.sampled import groth16, keys, sampling, vdf
from martfl.settlement.sampled.circuit import Witness, compile_circuit, solve
from martfl.settlement.sampled.epoch import Update, aggregate_model, state_samples
from martfl.settlement.sampled.groth16 import Proof, ProvingKey
from martfl.settlement.sampled.merkle import build_tree
from martfl.settlement.sampled.quantise import Quantisation
from martfl.settlement.sampled.r1cs import R1CS
from martfl.settlement.sampled.statement import CONSTANTS, Shape, Statement
from martfl.settlement.sampled.update import blinding, update_root, update_tree
from martfl.settlement.seal import new_secret

DELAY = 20_000  # squarings measured; the time grows in proportion
# Constraints for each sampled parameter of the authors' circuit, which has no commitment in it, at n = 4 and n = 20.
AUTHORS = ((4, 1400), (20, 2700))


@dataclass(frozen=True)
class _Proved:
    key: ProvingKey
    r1cs: R1CS
    setup: Timed[ProvingKey]
    compile_s: float


def bench_sampled(*, parameters: int, providers: int, samples: int) -> SettlementFigures:
    """Measure one epoch of a market of this size."""
    shape = Shape(providers=providers, samples=samples)
    sampling.strata(parameters=parameters, samples=samples)  # refuses impossible sizes before anything slow
    made = _setup(shape)
    details: dict[str, float] = {"compile_s": made.compile_s, "setup_cpu_s": made.setup.cpu_s}
    statement, witness, commit_s = _epoch(shape, parameters, details)
    prove = timed(lambda: groth16.prove(made.key, solve(statement, witness)))
    details["prove_wall_s"] = prove.wall_s
    _from_disk(made.key, statement, witness, details)
    verify = _verify(made.key, statement, prove.value)
    _delay(details)
    details |= _circuit(shape, made.r1cs)
    return SettlementFigures(
        scheme="sampled",
        parameters=parameters,
        providers=providers,
        samples=samples,
        commit_s=commit_s,
        verify_s=verify,
        prove_s=prove.cpu_s,
        setup_s=made.setup.wall_s,
        constraints=made.r1cs.constraints,
        proof_bytes=len(prove.value.to_bytes()),
        peak_mb=peak_mb(),
        details=details,
    )


def authors_constraints(*, providers: int, samples: int) -> float:
    """The authors' circuit at this size: a line through their two sizes."""
    (n0, c0), (n1, c1) = AUTHORS
    return samples * (c0 + (providers - n0) * (c1 - c0) / (n1 - n0))


def _setup(shape: Shape) -> _Proved:
    compiled = timed(lambda: compile_circuit(shape))
    made = timed(lambda: groth16.setup(compiled.value))
    return _Proved(made.value, compiled.value, made, compiled.cpu_s)


def _epoch(shape: Shape, parameters: int, details: dict[str, float]) -> tuple[Statement, Witness, float]:
    """An honest epoch of random updates: statement, witness, CPU seconds of one provider's commitment."""
    terms = Quantisation.symmetric(shape, update_limit=0.25, model_limit=8.0, epsilon=1e-3)
    rng, n = np.random.default_rng(1), shape.providers
    updates: list[Update | None] = [
        terms.update.quantise(rng.normal(0, 0.02, parameters)).values.astype(np.uint16) for _ in range(n)
    ]
    before = terms.model.quantise(rng.normal(0, 0.3, parameters)).values
    seeds = [new_secret() for _ in range(n)]
    first = updates[0]
    assert first is not None
    commit = timed(lambda: update_root(update_tree(first, secret=seeds[0], shape=shape), blinding=blinding(seeds[0])))
    details |= bench_sealed_sampled(first, bits=shape.update_bits)
    weights = integer_weights([1.0 + i % 3 for i in range(n)])
    added = timed(lambda: aggregate_model(before=before, weights=weights, updates=updates, terms=terms))
    root = timed(lambda: build_tree(added.value.model, bits=shape.model_bits).root)
    details |= {"aggregate_s": added.cpu_s, "model_root_s": root.cpu_s}
    statement, witness = state_samples(
        added.value,
        shape=shape,
        terms=terms,
        weights=weights,
        updates=updates,
        blindings=[blinding(s) for s in seeds],
        indices=sampling.indices(root.value, parameters=parameters, samples=shape.samples),
    )
    return statement, witness, commit.cpu_s


def _from_disk(key: ProvingKey, statement: Statement, witness: Witness, details: dict[str, float]) -> None:
    """The first proof of a process that finds the keys on disk: it makes the points that it needs."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "key"
        keys.save(key, path, shape=statement.shape)
        loaded = timed(lambda: keys.load(path, shape=statement.shape))
        cold = timed(lambda: groth16.prove(loaded.value, solve(statement, witness)))
        details |= {"key_mb": path.stat().st_size / 2**20, "load_s": loaded.cpu_s, "first_prove_s": cold.cpu_s}


def _verify(key: ProvingKey, statement: Statement, proof: Proof) -> float:
    """CPU seconds of one verification, as the contract does it: constants folded, points decoded and checked."""
    market = groth16.specialise(key.verifying, statement.constants)
    data, inputs = proof.to_bytes(), statement.epoch_inputs()
    runs = [timed(lambda: groth16.verify(market, Proof.from_bytes(data), inputs)) for _ in range(5)]
    if not all(r.value for r in runs):
        raise AssertionError("an honest proof was rejected: this run's figures mean nothing")
    return sorted(r.cpu_s for r in runs)[2]


def _delay(details: dict[str, float]) -> None:
    seed = bytes(32)
    made = timed(lambda: vdf.evaluate(seed, squarings=DELAY))
    checked = timed(lambda: vdf.verify(seed, made.value, squarings=DELAY))
    if not checked.value:
        raise AssertionError("an honest delay was rejected: this run's figures mean nothing")
    details |= {"delay_us_per_squaring": made.cpu_s / DELAY * 1e6, "delay_verify_s": checked.cpu_s}


def _circuit(shape: Shape, r1cs: R1CS) -> dict[str, float]:
    authors = authors_constraints(providers=shape.providers, samples=shape.samples)
    return {
        "public_inputs": shape.public_inputs - CONSTANTS,
        "constraints_per_sample": r1cs.constraints / shape.samples,
        "authors_constraints_per_sample": authors / shape.samples,
        "factor_against_authors": authors / r1cs.constraints,
    }
