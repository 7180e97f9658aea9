"""A small market (3 providers, 4 samples of 50 parameters) with one honest epoch, made once for each worker."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from martfl.settlement import integer_weights
from martfl.settlement.sampled import Shape, cached_keys
from martfl.settlement.sampled.epoch import aggregate_model, prove_samples, state_samples
from martfl.settlement.sampled.quantise import Quantisation

PARAMETERS = 50


@dataclass(frozen=True)
class Epoch:
    """Everything about one honest epoch; provider 1 was not bought."""

    shape: Shape
    terms: Quantisation
    key: Any
    weights: list[int]
    updates: list[Any]
    before: Any
    aggregated: Any
    indices: list[int]
    statement: Any
    witness: Any
    proof: Any


@pytest.fixture(scope="session")
def small_shape() -> Shape:
    return Shape(providers=3, samples=4)


@pytest.fixture(scope="session")
def small_terms(small_shape) -> Quantisation:
    return Quantisation.symmetric(small_shape, update_limit=0.5, model_limit=4.0, epsilon=1e-3)


@pytest.fixture(scope="session")
def small_key(small_shape, settlement_cache):
    return cached_keys(small_shape)


@pytest.fixture(scope="session")
def epoch(small_shape, small_terms, small_key) -> Epoch:
    rng = np.random.default_rng(7)
    updates = [small_terms.update.quantise(rng.normal(0, 0.1, PARAMETERS)).values for _ in range(3)]
    before = small_terms.model.quantise(rng.normal(0, 0.5, PARAMETERS)).values
    weights = integer_weights([0.7, 0.0, 0.4])
    given = [updates[0], None, updates[2]]
    aggregated = aggregate_model(before=before, weights=weights, updates=given, terms=small_terms)
    indices = [3, 17, 30, 49]
    statement, witness = state_samples(
        aggregated,
        shape=small_shape,
        terms=small_terms,
        weights=weights,
        updates=given,
        blindings=[11, 22, 33],
        indices=indices,
    )
    proof = prove_samples(small_key, statement, witness)
    return Epoch(
        small_shape, small_terms, small_key, weights, updates, before, aggregated, indices, statement, witness, proof
    )
