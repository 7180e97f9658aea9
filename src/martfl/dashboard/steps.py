"""An epoch's steps, as an acquirer's journal holds them, and what can be read off them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from martfl.dashboard.story import DeliveryState, Stage, Transaction
from martfl.market.journal import Entry
from martfl.market.steps import (
    Acceptance,
    Aggregated,
    Answered,
    BaselineScores,
    Drawn,
    HandedOut,
    Invited,
    KeysTaken,
    ModelPosted,
    Offers,
    Opened,
    Ordered,
    Over,
    OwnUpdate,
    PaidOut,
    Proved,
    Purchased,
    Relayed,
    S,
    Selected,
    Sent,
    Step,
    Traffic,
)

NOW: Mapping[type[Step], Stage] = {  # a step that is done → what is going on now
    Opened: Stage.TRAINING,
    Invited: Stage.COMMITTING,
    Relayed: Stage.COMMITTING,
    Offers: Stage.SCORING,
    Drawn: Stage.SCORING,
    OwnUpdate: Stage.SCORING,
    BaselineScores: Stage.SCORING,
    Ordered: Stage.BUYING,
    Purchased: Stage.BUYING,
    KeysTaken: Stage.BUYING,
    Selected: Stage.AGGREGATION,
    Acceptance: Stage.AGGREGATION,
    Aggregated: Stage.AGGREGATION,
    ModelPosted: Stage.CHECKING,
    HandedOut: Stage.SETTLEMENT,
    Proved: Stage.SETTLEMENT,
    Answered: Stage.SETTLEMENT,
    PaidOut: Stage.PAYMENT,
    Over: Stage.OVER,
}
ORDER = list(Stage)


@dataclass(frozen=True)
class Steps:
    """What is done in one epoch, in the order of time."""

    entries: tuple[Entry, ...]

    def one(self, kind: type[S]) -> S | None:
        """The step of a kind that is done once."""
        return next(iter(self.all(kind)), None)

    def all(self, kind: type[S]) -> list[S]:
        """The steps of a kind that is done several times."""
        return [entry.value for entry in self.entries if isinstance(entry.value, kind)]

    def stage(self) -> Stage:
        """The furthest that the epoch has come: scores may be asked for after a purchase."""
        found = [NOW[type(entry.value)] for entry in self.entries if type(entry.value) in NOW]
        return max(found, key=ORDER.index, default=Stage.TRAINING)

    def prices(self) -> dict[str, int]:
        """Who was bought, at which price."""
        return {name: price for bought in self.all(Purchased) for name, price in bought.prices.items()}

    def deliveries(self) -> dict[str, DeliveryState]:
        """How each bought update came over, as far as the acquirer knows."""
        unanswered = DeliveryState.SILENT if self.one(Over) else DeliveryState.WAITING
        found = dict.fromkeys(self.prices(), unanswered)
        accepted, posted = self.one(Acceptance), self.one(ModelPosted)
        found |= dict.fromkeys(accepted.providers if accepted else (), DeliveryState.ACCEPTED)
        for answer in self.all(Answered):
            found[answer.provider] = DeliveryState.ACCEPTED if answer.refuted is None else DeliveryState.REFUTED
        return found | dict.fromkeys(posted.weights if posted else (), DeliveryState.LISTED)

    def traffic(self) -> tuple[dict[str, int], dict[str, int]]:
        """Bytes sent and received, by kind of request. Steps count on from each other: the largest is the whole."""
        sent: dict[str, int] = {}
        received: dict[str, int] = {}
        for counted in (_traffic(entry.value) for entry in self.entries):
            for total, part in ((sent, counted.sent), (received, counted.received)):
                total.update({kind: max(total.get(kind, 0), count) for kind, count in part.items()})
        return sent, received

    def seconds(self) -> dict[str, float]:
        """Working time by kind of step."""
        spent: dict[str, float] = {}
        for entry in self.entries:
            spent[entry.value.step] = spent.get(entry.value.step, 0.0) + entry.seconds
        return spent

    def transactions(self, number: int, acquirer: str) -> tuple[Transaction, ...]:
        """What the acquirer itself sent; the others' transactions are on the chain only."""
        found = (sent for entry in self.entries for sent in _sent(entry.value))
        return tuple(
            Transaction(epoch=number, function=one.function, hash=one.transaction, gas=one.gas, party=acquirer)
            for one in found
        )


def by_epoch(entries: Iterable[Entry]) -> dict[int, Steps]:
    """A journal's entries, epoch by epoch."""
    found: dict[int, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.epoch, []).append(entry)
    return {epoch: Steps(tuple(parts)) for epoch, parts in found.items()}


def _traffic(step: Step) -> Traffic:
    match step:
        case Invited() | Offers() | Selected() | HandedOut() | PaidOut():
            return step.traffic
    return Traffic()


def _sent(step: Step) -> tuple[Sent, ...]:
    match step:
        case Relayed() | Proved() | PaidOut():
            return step.sent
        case Opened() | Purchased() | Acceptance() | ModelPosted() | Answered():
            return (step.sent,) if step.sent else ()
    return ()
