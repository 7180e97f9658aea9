"""What private scoring refuses, and why it says no more than it does."""

from martfl.errors import InputError


class ScoringError(InputError):
    """Base of every refusal of this room."""


class UpdateError(ScoringError):
    """The vector to be scored has no direction: empty, zero, not finite, not a vector."""


class ScoreMessageError(ScoringError):
    """A message is not what its reader expects: damaged, foreign, or made for another key or model."""


class ReplyError(ScoringError):
    """A well-formed reply does not hold a cosine.

    Never carries the decrypted value: it is a linear function of the secret key that the replying party chose.
    """
