"""Cosine similarity of updates, in the clear and under CKKS (design section 4, paper section 4.3).

`ScoringKey` and `score_under_encryption` load TenSEAL on first use; all else needs NumPy only.
"""

from typing import TYPE_CHECKING, Any

from martfl.scoring.cosine import SCORE_ERROR, SCORE_TOLERANCE, ScoreCheck, check_score, cosine
from martfl.scoring.errors import MessageError, ReplyError, ScoringError, UpdateError
from martfl.scoring.interface import Key, Scorer, scorer
from martfl.scoring.plain import PlainKey, score_in_the_clear

if TYPE_CHECKING:
    from martfl.scoring.ckks import ScoringKey, score_under_encryption

__all__ = [
    "SCORE_ERROR",
    "SCORE_TOLERANCE",
    "Key",
    "MessageError",
    "PlainKey",
    "ReplyError",
    "ScoreCheck",
    "Scorer",
    "ScoringError",
    "ScoringKey",
    "UpdateError",
    "check_score",
    "cosine",
    "score_in_the_clear",
    "score_under_encryption",
    "scorer",
]


def __getattr__(name: str) -> Any:
    if name in ("ScoringKey", "score_under_encryption"):
        from martfl.scoring import ckks

        return getattr(ckks, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
