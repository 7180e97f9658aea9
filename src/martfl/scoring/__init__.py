"""Cosine similarity of updates or of their sketches, in the clear and under CKKS (paper section 4.3).

`ScoringKey` and `score_under_encryption` load TenSEAL on first use; all else needs NumPy only.
"""

from typing import TYPE_CHECKING, Any

from martfl.scoring.cosine import (
    CHEAT_TOLERANCE,
    SCORE_ERROR,
    ScoreCheck,
    ScoreError,
    check_score,
    cosine,
    score_error,
)
from martfl.scoring.errors import ReplyError, ScoreMessageError, ScoringError, UpdateError
from martfl.scoring.interface import Key, Scorer, scorer
from martfl.scoring.plain import PlainKey, score_in_the_clear
from martfl.scoring.sketch import Sketch, sketch_seed
from martfl.scoring.terms import DEFAULT_ENTRIES, sketch_entries

if TYPE_CHECKING:
    from martfl.scoring.ckks import ScoringKey, score_under_encryption

__all__ = [
    "CHEAT_TOLERANCE",
    "DEFAULT_ENTRIES",
    "SCORE_ERROR",
    "Key",
    "PlainKey",
    "ReplyError",
    "ScoreCheck",
    "ScoreError",
    "ScoreMessageError",
    "Scorer",
    "ScoringError",
    "ScoringKey",
    "Sketch",
    "UpdateError",
    "check_score",
    "cosine",
    "score_error",
    "score_in_the_clear",
    "score_under_encryption",
    "scorer",
    "sketch_entries",
    "sketch_seed",
]


def __getattr__(name: str) -> Any:
    if name in ("ScoringKey", "score_under_encryption"):
        from martfl.scoring import ckks

        return getattr(ckks, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
