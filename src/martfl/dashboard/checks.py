"""Who checked what in an epoch, and what came of it."""

from collections.abc import Iterable, Sequence

from martfl.dashboard.steps import Steps
from martfl.dashboard.story import CheckCount, CheckKind, DeliveryState, Turn
from martfl.market.purchases import FORGED
from martfl.market.steps import BaselineScores, HandedOut, Invited, ModelPosted, Offers, Over, Selected

Found = Iterable[tuple[str, CheckKind, int, int]]  # who, what, passed, of
HERE = (DeliveryState.LISTED, DeliveryState.ACCEPTED, DeliveryState.REVEALED)


def find_checks(steps: Steps, turns: Sequence[Turn], *, needs_proof: bool) -> tuple[CheckCount, ...]:
    """The checks of an epoch, as far as there was something to check."""
    found = [*_before(steps), *_bought(steps, turns), *_after(steps, needs_proof=needs_proof)]
    return tuple(CheckCount(who=who, kind=kind, passed=passed, of=of) for who, kind, passed, of in found if of)


def _before(steps: Steps) -> Found:
    if (invited := steps.one(Invited)) is not None:
        yield "providers", CheckKind.BASE, len(invited.signed), len(invited.invited)
    if (offers := steps.one(Offers)) is not None:
        yield "acquirer", CheckKind.OFFER, len(offers.shown), len(offers.committed)
    given = [score for scores in steps.all(BaselineScores) for score in scores.scores]
    yield "acquirer", CheckKind.SCORE, sum(score is not None for score in given), len(given)


def _bought(steps: Steps, turns: Sequence[Turn]) -> Found:
    """Counted once the rule has decided: before that, keys may still be under way."""
    if steps.one(Selected) is None:
        return
    bought = [turn for turn in turns if turn.delivery is not DeliveryState.NONE]
    here = [turn for turn in bought if turn.delivery in HERE]
    yield "acquirer", CheckKind.KEY, len(here), len(bought)
    yield "acquirer", CheckKind.HONESTY, sum(turn.offence != FORGED for turn in here), len(here)


def _after(steps: Steps, *, needs_proof: bool) -> Found:
    posted, over, handed = steps.one(ModelPosted), steps.one(Over), steps.one(HandedOut)
    if posted and not needs_proof:
        yield "contract", CheckKind.SUM, 1, 1  # the chain adds up by itself, or refuses
    if posted and over and needs_proof:
        yield "contract", CheckKind.PROOF, int(over.phase == "SETTLED"), 1
    if handed:
        yield "providers", CheckKind.MODEL, len(handed.accepted), handed.asked
