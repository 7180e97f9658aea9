"""Exact settlement: additively homomorphic vector commitments on BLS12-381; every parameter is verifiable."""

from martfl.settlement.exact.aggregate import (
    INITIAL_BLINDING,
    aggregate,
    check_model,
    combine,
    combine_blindings,
    commit_initial,
    verify_model,
    verify_step,
)
from martfl.settlement.exact.commitment import (
    CommitmentKey,
    Opening,
    batch_verify_openings,
    check_opening,
    commit,
    commit_model,
    find_bad_openings,
    verify_opening,
)
from martfl.settlement.exact.false_leaf import ExactRefutation, refutation, refutes
from martfl.settlement.exact.generator_tree import generator_root
from martfl.settlement.exact.generators import Generators, Progress
from martfl.settlement.exact.layout import SlotLayout
from martfl.settlement.exact.plain import ORDER
from martfl.settlement.exact.point import Commitment
from martfl.settlement.exact.sealed import (
    ExactSealedUpdate,
    check_sealed,
    find_false_leaf,
    open_sealed,
    opening_of,
    seal,
)

__all__ = [
    "INITIAL_BLINDING",
    "ORDER",
    "Commitment",
    "CommitmentKey",
    "ExactRefutation",
    "ExactSealedUpdate",
    "Generators",
    "Opening",
    "Progress",
    "SlotLayout",
    "aggregate",
    "batch_verify_openings",
    "check_model",
    "check_opening",
    "check_sealed",
    "combine",
    "combine_blindings",
    "commit",
    "commit_initial",
    "commit_model",
    "find_bad_openings",
    "find_false_leaf",
    "generator_root",
    "open_sealed",
    "opening_of",
    "refutation",
    "refutes",
    "seal",
    "verify_model",
    "verify_opening",
    "verify_step",
]
