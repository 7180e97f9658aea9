"""What an audit computes again of an epoch's end: its phase, who is owed what, and that no unit is lost or made.

settled   price, and (reward − all prices)·weight / 65536 to those in the model; the rest and the penalty return
failed    prices; the rest of the reward returns, the penalty is nobody's
empty     all returns
"""

from dataclasses import dataclass
from functools import cached_property

from martfl.chain import events as ev
from martfl.chain.state import WHOLE, Phase
from martfl.market.audit_record import EpochRecord, Finding


@dataclass(frozen=True)
class MoneyAudit:
    """One epoch's end, as it stands in second `now`."""

    record: EpochRecord
    now: int

    @cached_property
    def end(self) -> Phase:
        """The phase by the rules."""
        return self.record.phase(self.now)

    def phase(self) -> Finding:
        """The phase that the events and the clock lead to is the one that the contract names."""
        said = self.record.trading.read_epoch(self.record.epoch).phase
        word = "it is" if said is self.end else f"the contract says {said.name.lower()}, by the rules it is"
        return said is self.end, f"{word} {self.end.name.lower()}"

    @cached_property
    def owed(self) -> dict[str, int]:
        """What each provider that was bought is owed in all, claimed or not."""
        record = self.record
        bonus = record.reward - sum(one.price for one in record.bought.values())
        owed = {name: record.bought[name].price if name in record.delivered else 0 for name in record.bought}
        if self.end is Phase.SETTLED:
            for name, weight in record.weights.items():
                owed[name] = owed.get(name, 0) + bonus * weight // WHOLE
        return owed

    @cached_property
    def forfeited(self) -> int:
        """What is nobody's any more."""
        return self.record.deposit - self.record.reward if self.end is Phase.FAILED else 0

    @cached_property
    def refund(self) -> int:
        """What is the acquirer's again, dust included."""
        return self.record.deposit - sum(self.owed.values()) - self.forfeited

    def shares(self) -> Finding:
        """Each party has claimed, or may claim, exactly its part, and nobody before the end."""
        if not self.end.final:
            return None
        history, epoch = self.record.history, self.record.epoch
        claims = history.of(ev.Claimed, epoch)
        wrong = [text for name, due in self.owed.items() if (text := self._wrong(name, due, claims))]
        wrong += [
            f"{event.provider} was paid and is owed nothing" for event in claims if event.provider not in self.owed
        ]
        wrong += self._wrong_refund()
        times = [*history.times(ev.Claimed, epoch), *history.times(ev.Refunded, epoch)]
        wrong += [f"a claim at {at}, before the end" for at in times if not self.record.phase(at).final]
        return not wrong, "; ".join(wrong) or f"{len(self.owed)} providers and the acquirer, each its part"

    def money(self) -> Finding:
        """What came in = what went out + what may still be claimed + what is nobody's."""
        came, went = self.record.deposit, self.paid()
        if not self.end.final:
            return went == 0, f"{came} units in, {went} out before the epoch is final"
        trading, epoch = self.record.trading, self.record.epoch
        still = sum(trading.read_provider(epoch, name).claimable for name in self.record.committed)
        still += trading.read_epoch(epoch).refundable
        lost = f" + {self.forfeited} forfeited" if self.forfeited else ""
        good = came == went + still + self.forfeited
        return good, f"{came} units in = {went} claimed and refunded + {still} still claimable{lost}"

    def paid(self) -> int:
        """What has left the contract."""
        history, epoch = self.record.history, self.record.epoch
        claimed = sum(event.amount for event in history.of(ev.Claimed, epoch))
        return claimed + sum(event.amount for event in history.of(ev.Refunded, epoch))

    def _wrong(self, name: str, due: int, claims: list[ev.Claimed]) -> str:
        paid = [event.amount for event in claims if event.provider == name]
        open_ = self.record.trading.read_provider(self.record.epoch, name).claimable
        if len(paid) <= 1 and sum(paid) + open_ == due:
            return ""
        return f"{name} is due {due}, was paid {sum(paid)} and may claim {open_}"

    def _wrong_refund(self) -> list[str]:
        paid = [event.amount for event in self.record.history.of(ev.Refunded, self.record.epoch)]
        open_ = self.record.trading.read_epoch(self.record.epoch).refundable
        if len(paid) <= 1 and sum(paid) + open_ == self.refund:
            return []
        return [f"the acquirer is due {self.refund}, was refunded {sum(paid)} and may claim {open_}"]
