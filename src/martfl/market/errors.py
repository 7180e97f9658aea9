"""What can go wrong in a market, beside a chain that fails."""

from martfl.errors import InputError, MartflError


class MarketError(MartflError):
    """A party cannot go on."""


class TermsError(InputError):
    """Terms break a rule, or are not those on chain."""


class MessageError(MarketError):
    """A message is malformed, forged, or not for this market, epoch or party."""


class JournalError(MarketError):
    """A journal cannot be read, written or shared."""
