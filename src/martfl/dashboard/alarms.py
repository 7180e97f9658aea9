"""What somebody should look at: offences, silence, lateness, ends that nobody wanted, models that nobody confirms."""

from collections.abc import Iterable, Sequence

from martfl.dashboard.story import Alarm, CheckKind, DeliveryState, EpochStory, Node, Stage, Story
from martfl.market.journal import Remark
from martfl.market.purchases import FALSE, FORGED, MISSING, OFFENCES

LATE = "late"
FORFEITED = "what was delivered is paid its price, and the acquirer's penalty is forfeited: it goes to nobody"
ENDS = {
    "FAILED": f"no valid model was published in time: {FORFEITED}",
    "EMPTY": "nothing was bought; the deposit went back",
}
OVERDUE = {  # stages that the acquirer must end in time
    Stage.SCORING: "the window for purchases is over: nobody can be bought in this epoch any more",
    Stage.BUYING: "the window for purchases is over; what was bought before can still be published",
    Stage.AGGREGATION: f"the acquirer is past its deadline for publishing: {FORFEITED}",
}


def find_alarms(story: Story, remarks: Sequence[Remark]) -> tuple[Alarm, ...]:
    """All of them, the latest epoch first; what is overdue now comes before everything else."""
    found = [_remarked(remark) for remark in remarks]
    for epoch in story.epochs:
        found += [*_silent(epoch), *_ended(epoch), *_doubted(epoch)]
    return (*_overdue(story.epochs, story.node), *sorted(found, key=lambda alarm: -alarm.epoch))


def _remarked(remark: Remark) -> Alarm:
    grave = remark.kind in OFFENCES or remark.kind == LATE
    return Alarm(epoch=remark.epoch, kind=remark.kind, subject=remark.subject, text=_text(remark), grave=grave)


def _text(remark: Remark) -> str:
    return remark.detail if remark.kind not in OFFENCES else _SEEN[remark.kind]


_SEEN = {
    FORGED: "the update does not have the score that was given for it",
    MISSING: "was bought and gave no key",
    FALSE: "the key opens something else than was committed to",
}


def _silent(epoch: EpochStory) -> Iterable[Alarm]:
    if epoch.stage in (Stage.TRAINING, Stage.COMMITTING):
        return
    for turn in epoch.turns:
        if not turn.committed:
            text = "was invited and did not commit in time"
            yield Alarm(epoch=epoch.number, kind=LATE, subject=turn.provider, text=text, grave=False)
        if turn.delivery is DeliveryState.REFUTED:
            text = "its key was refuted on chain: it is paid nothing, and its price went back"
            yield Alarm(epoch=epoch.number, kind="refuted", subject=turn.provider, text=text)


def _ended(epoch: EpochStory) -> Iterable[Alarm]:
    if epoch.outcome in ENDS:
        grave = epoch.outcome != "EMPTY"
        kind = f"epoch {epoch.outcome.lower()}"
        yield Alarm(epoch=epoch.number, kind=kind, text=ENDS[epoch.outcome], grave=grave)


def _doubted(epoch: EpochStory) -> Iterable[Alarm]:
    for check in epoch.checks:
        if check.kind is CheckKind.MODEL and check.passed < check.of:
            text = f"{check.of - check.passed} of {check.of} providers did not confirm the published model"
            yield Alarm(epoch=epoch.number, kind="doubted", text=text, grave=False)


def _overdue(epochs: Sequence[EpochStory], node: Node | None) -> Iterable[Alarm]:
    """Deadlines that the acquirer is missing now; only the chain's own clock counts."""
    for epoch in epochs:
        if node is not None and epoch.stage in OVERDUE and 0 < epoch.deadline < node.time:
            yield Alarm(epoch=epoch.number, kind=LATE, text=OVERDUE[epoch.stage])
