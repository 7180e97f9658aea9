"""Settlement by sampling and Groth16, as in the paper (§5.1); `statement` is the specification."""

from martfl.settlement.sampled.epoch import Aggregation, aggregate_model, prove_samples, state_samples
from martfl.settlement.sampled.groth16 import Proof, ProvingKey, VerifyingKey, prove, setup, specialise, verify
from martfl.settlement.sampled.keys import cached_keys, key_hash, key_words
from martfl.settlement.sampled.quantise import Affine, Quantisation
from martfl.settlement.sampled.statement import Constants, Shape, Statement

__all__ = [
    "Affine",
    "Aggregation",
    "Constants",
    "Proof",
    "ProvingKey",
    "Quantisation",
    "Shape",
    "Statement",
    "VerifyingKey",
    "aggregate_model",
    "cached_keys",
    "key_hash",
    "key_words",
    "prove",
    "prove_samples",
    "setup",
    "specialise",
    "state_samples",
    "verify",
]
