"""The two settlement schemes as the roles use them: seal, open, refute, publish, prove, check."""

from martfl.market.settling.base import Acting, Delivery, SealedUpdate, Settler, Share, Shares
from martfl.market.settling.exact import ExactSettler
from martfl.market.terms import Terms

__all__ = ["Acting", "Delivery", "SealedUpdate", "Settler", "Share", "Shares", "make_settler", "settler_of"]


def make_settler(terms: Terms, *, parameters: int) -> Settler:
    """The settler of the market's scheme."""
    return settler_of(terms.settlement.scheme).load(terms, parameters=parameters)


def settler_of(scheme: str) -> type[Settler]:
    """The class that settles by a scheme."""
    if scheme == "exact":
        return ExactSettler
    from martfl.market.settling.sampled import SampledSettler  # its prover's libraries load slowly

    return SampledSettler
