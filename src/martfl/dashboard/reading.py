"""From an acquirer's journal (and, where there is one, its chain) to a `Story`. Reads only; a market may be running.

Scores and reasons are taken over when the epoch is over, and to two decimals: more would tell about the epoch's key.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from martfl.chain.state import WHOLE
from martfl.dashboard.alarms import find_alarms
from martfl.dashboard.checks import find_checks
from martfl.dashboard.ledger import Ledger
from martfl.dashboard.steps import Steps, by_epoch
from martfl.dashboard.story import DeliveryState, EpochStory, Party, Stage, Story, Turn
from martfl.errors import InputError
from martfl.market.asking import NO_ANSWER
from martfl.market.journal import NAME, Journal, Remark
from martfl.market.purchases import OFFENCES
from martfl.market.steps import (
    Aggregated,
    BaselineScores,
    HandedOut,
    Invited,
    MarketOpened,
    ModelPosted,
    Offers,
    Opened,
    Over,
    PaidOut,
    Selected,
)
from martfl.market.terms import read_terms

RESULT = "result.json"  # beside the journals: what a demo knows and an acquirer cannot
LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")


@dataclass(frozen=True, kw_only=True)
class Beside:
    """What a demo knows and no acquirer can: accuracy on test data, and what providers really did."""

    start: float | None = None
    tested: Mapping[int, float] = field(default_factory=dict)  # by epoch
    behaviours: Mapping[str, str] = field(default_factory=dict)  # by name


def journal_folder(folder: Path) -> Path:
    """The acquirer's journal in or under `folder`."""
    for place in (folder, folder / "acquirer"):
        if (place / NAME).is_file():
            return place
    raise InputError(f"no acquirer's journal in {folder}: it would be {NAME}, there or in its folder 'acquirer'")


def read_story(folder: Path, *, ledger: Ledger | None = None, beside: Beside | None = None) -> Story:
    """The story so far."""
    place = journal_folder(folder)
    with Journal(place, read_only=True) as journal:
        epochs, found = by_epoch(journal.entries()), journal.remarks()
    known = _beside(place) if beside is None else beside
    remarks = [_discreet(remark, epochs.get(remark.epoch, Steps(()))) for remark in found]
    market = epochs.pop(0, Steps(())).one(MarketOpened)
    if epochs and not any(steps.one(Opened) for steps in epochs.values()):
        raise InputError(f"the journal in {place} is not an acquirer's: no epoch was opened in it")
    frame = replace(_frame(market, known), parties=_parties(epochs, known))
    told = [_epoch(number, steps, frame, remarks, known) for number, steps in sorted(epochs.items())]
    if ledger is None:
        story = replace(frame, epochs=tuple(told))
    else:
        told = [_with_ledger(epoch, ledger) for epoch in told]
        story = replace(frame, epochs=tuple(told), node=ledger.node, whole_ledger=True)
    return replace(story, alarms=find_alarms(story, remarks))


def _beside(place: Path) -> Beside:
    path = place.parent / RESULT
    if not path.is_file():
        return Beside()
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        tested = {int(one["epoch"]): float(one["mta"]) for one in found["epochs"]}
        return Beside(start=found["mta_start"], tested=tested, behaviours=dict(found["providers"]))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not a demo's result: {error}") from error


def _frame(market: MarketOpened | None, known: Beside) -> Story:
    if market is None:
        return Story(name="market", parties={}, epochs=(), start_tested=known.start)
    terms = read_terms(tomllib.loads(market.terms))
    return Story(
        name=terms.name,
        parties={},
        epochs=(),
        contract=market.contract,
        since=market.since,
        chain_id=market.chain,
        acquirer=market.acquirer,
        rule=terms.selection.rule,
        value=terms.selection.value,
        scheme=terms.settlement.scheme,
        needs_proof=terms.settlement.needs_proof,
        parameters=market.parameters,
        token=terms.money.token,
        ask=terms.money.ask,
        measure=market.quality.measure,
        start_accuracy=market.quality.value,
        start_tested=known.start,
    )


def _parties(epochs: Mapping[int, Steps], known: Beside) -> dict[str, Party]:
    names: dict[str, str] = {}
    for _, steps in sorted(epochs.items()):
        invited, offers = steps.one(Invited), steps.one(Offers)
        met = [*(invited.invited if invited else ()), *(offers.committed if offers else ())]
        names |= {address: names.get(address, "") for address in met}
        names |= {address: name for address, name in (invited.names if invited else {}).items() if name}
    return {a: Party(address=a, name=name, behaviour=known.behaviours.get(name, "")) for a, name in names.items()}


def _epoch(number: int, steps: Steps, frame: Story, remarks: Sequence[Remark], known: Beside) -> EpochStory:
    opened, over, paid = steps.one(Opened), steps.one(Over), steps.one(PaidOut)
    aggregated = steps.one(Aggregated)
    stage, (sent, received) = steps.stage(), steps.traffic()
    turns = _turns(steps, {r.subject: r for r in remarks if r.epoch == number and r.kind in OFFENCES})
    return EpochStory(
        number=number,
        stage=stage,
        outcome=over.phase if over else "",
        opened=min(entry.at - entry.seconds for entry in steps.entries),
        latest=max(entry.at for entry in steps.entries),
        deadline=_deadline(stage, opened),
        turns=turns,
        baselines=len(steps.all(BaselineScores)),
        deposit=opened.deposit if opened else 0,
        reward=opened.reward if opened else 0,
        refunded=paid.refunded if paid else 0,
        accuracy=over.quality.value if over else None,
        tested=known.tested.get(number),
        sent=sent,
        received=received,
        seconds=steps.seconds(),
        checks=find_checks(steps, turns, needs_proof=frame.needs_proof),
        transactions=steps.transactions(number, frame.acquirer),
        model=aggregated.digest if aggregated else "",
    )


def _deadline(stage: Stage, opened: Opened | None) -> int:
    """The last second for what is going on; afterwards nothing is due."""
    if opened is None:
        return 0
    ends = {
        Stage.TRAINING: opened.commit,
        Stage.COMMITTING: opened.commit,
        Stage.SCORING: opened.buy,
        Stage.BUYING: opened.buy,
        Stage.AGGREGATION: opened.publish,
    }
    return ends.get(stage, 0)


def _turns(steps: Steps, offences: Mapping[str, Remark]) -> tuple[Turn, ...]:
    invited, offers, over = steps.one(Invited), steps.one(Offers), steps.one(Over)
    prices, deliveries = steps.prices(), steps.deliveries()
    posted, paid, checked = steps.one(ModelPosted), steps.one(PaidOut), steps.one(HandedOut)

    def turn(name: str) -> Turn:
        caught = offences.get(name)
        shown = offers.shown.get(name) if offers else None
        bare = Turn(
            provider=name,
            committed=name in offers.committed if offers else name in invited.signed if invited else False,
            ask=shown.ask if shown else None,
            price=prices.get(name),
            delivery=deliveries.get(name, DeliveryState.NONE),
            weight=posted.weights.get(name, 0) / WHOLE if posted else 0.0,
            checked=name in checked.accepted if checked else False,
            paid=paid.paid.get(name, 0) if paid else None,
            offence=caught.kind if caught else "",
            evidence=caught.detail if caught else "",
        )
        return _judged(bare, steps.one(Selected), whole=over is not None)

    met = [*(invited.invited if invited else ()), *(offers.committed if offers else ())]
    return tuple(turn(name) for name in dict.fromkeys(met))


def _judged(turn: Turn, selected: Selected | None, *, whole: bool) -> Turn:
    """The turn with what the rule decided; `whole`: with score and reason."""
    judged = selected.judged.get(turn.provider) if selected else None
    if judged is None:
        return turn
    if not whole:
        return replace(turn, role=judged.role)
    score = None if judged.score is None else round(judged.score, 2)
    value = judged.value if turn.weight else None
    return replace(turn, role=judged.role, score=score, reason=_two_decimals(judged.words), value=value)


def _discreet(remark: Remark, steps: Steps) -> Remark:
    """A remark without what it says about scores, until the epoch is over."""
    if steps.one(Over):
        return replace(remark, detail=_two_decimals(remark.detail))
    if remark.kind in OFFENCES:
        return replace(remark, detail="")
    return replace(remark, detail=remark.detail.partition(":")[0]) if remark.kind == NO_ANSWER else remark


def _two_decimals(text: str) -> str:
    return LONG_NUMBER.sub(lambda found: f"{float(found[0]):.2f}", text)


def _with_ledger(epoch: EpochStory, ledger: Ledger) -> EpochStory:
    """The epoch as the chain tells it, where the chain knows better than the journal."""
    claims, deliveries = ledger.paid(epoch.number), ledger.deliveries(epoch.number)
    state = ledger.states.get(epoch.number)

    def told(turn: Turn) -> Turn:
        paid = claims.get(turn.provider, 0 if epoch.over else turn.paid)
        delivery = deliveries.get(turn.provider, turn.delivery)
        silent = epoch.over and delivery is DeliveryState.WAITING
        return replace(turn, paid=paid, delivery=DeliveryState.SILENT if silent else delivery)

    return replace(
        epoch,
        turns=tuple(told(turn) for turn in epoch.turns),
        transactions=tuple(one for one in ledger.transactions if one.epoch == epoch.number),
        deposit=state.deposit if state else epoch.deposit,
        reward=state.reward if state else epoch.reward,
        refunded=ledger.refunded(epoch.number) or epoch.refunded,
    )
