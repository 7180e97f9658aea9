"""The errors of settlement; each message states the rule and the value received."""

from martfl.errors import InputError


class SettlementError(InputError):
    """An input of settlement breaks a stated rule."""


class RangeError(SettlementError):
    """A number lies outside the range that the proofs rest on; it is refused, never wrapped."""


class WeightError(SettlementError):
    """Weights are not what the market may commit to."""


class PointError(SettlementError):
    """Bytes are not a usable point: off the curve, outside the subgroup, at infinity or not canonical."""


class FileError(SettlementError):
    """A file is truncated, corrupted or of another kind or version."""


class OpeningError(SettlementError):
    """A commitment does not open to what was handed over."""


class CeremonyError(SettlementError):
    """A key, or what was contributed to it, does not follow from the ceremony's record."""
