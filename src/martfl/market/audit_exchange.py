"""What an audit computes again of the exchange: commitments, purchases, keys, refutations, and their windows."""

from dataclasses import dataclass

from eth_utils.crypto import keccak

from martfl.chain import events as ev
from martfl.chain.state import WHOLE, offer_digest
from martfl.market.audit_record import EpochRecord, Finding, OpaqueCallError, Purchase
from martfl.market.settling import Settler


@dataclass(frozen=True)
class ExchangeAudit:
    """One epoch up to its published model; `before` is the epoch before it, where there is one."""

    record: EpochRecord
    before: EpochRecord | None
    settler: Settler | None

    def base(self) -> Finding:
        """The epoch starts from the newest model that stood when it was opened."""
        event, at = self.record.opened.event, self.record.opened.at
        assert isinstance(event, ev.EpochOpened)
        expected = 0
        if self.before is not None:
            earlier = self.before.opened.event
            assert isinstance(earlier, ev.EpochOpened)
            expected = self.before.epoch if self.before.phase(at).stands else earlier.base
        return event.base == expected, f"it starts from the model of epoch {event.base}, and that of {expected} stood"

    def commitments(self) -> Finding:
        """Everybody committed once, and only those who committed were bought."""
        committed, bought = self.record.committed, self.record.history.bought(self.record.epoch)
        twice = len(self.record.history.of(ev.ModelCommitted, self.record.epoch)) - len(committed)
        good = not twice and len(bought) == len(set(bought)) and set(bought) <= set(committed)
        return good, f"{len(committed)} committed, {len(bought)} bought"

    def purchases(self) -> Finding:
        """Every purchase opens the commitment on chain, and all prices fit into the reward."""
        record, named = self.record, self.record.history.bought(self.record.epoch)
        if not named:
            return None
        if list(record.bought) != named:
            return False, "the events name others than the buying transactions"
        wrong = [name for name, one in record.bought.items() if self._digest(one) != record.committed.get(name)]
        spent = sum(one.price for one in record.bought.values())
        if wrong:
            return False, f"not what was committed to: {', '.join(wrong)}"
        return spent <= record.reward, f"{len(named)} bought at their asks for {spent} of {record.reward}"

    def deliveries(self) -> Finding:
        """Keys on chain open what was bought; who was accepted was bought, and who was refuted was neither."""
        record = self.record
        if not record.bought:
            return None
        said = [name for event in record.history.of(ev.Accepted, record.epoch) for name in event.providers]
        wrong = [name for name in record.revealed if not self._key_opens(name)]
        good = len(said) == len(set(said)) and {*said, *record.revealed} <= set(record.bought) and not wrong
        silent = set(record.bought) - record.delivered - set(record.refuted)
        counts = f"{len(record.accepted)} accepted, {len(record.revealed)} keys on chain, {len(silent)} silent"
        return good, f"{counts}; keys of others: {', '.join(wrong)}" if wrong else counts

    def refutations(self) -> Finding:
        """Whoever was refuted had revealed, was neither accepted nor listed before, and its leaf is false."""
        record = self.record
        if not record.refuted:
            return None
        unknown = {n for n in record.refuted if n not in record.revealed}
        wrong = [n for n in record.refuted if n in unknown or self._was_out(n) or not self._leaf_is_false(n)]
        return not wrong, f"wrongly: {', '.join(wrong)}" if wrong else f"{len(record.refuted)} refuted by a false leaf"

    def weights(self) -> Finding:
        """Published once; weights are positive and sum to the whole, or nobody is listed."""
        record, published = self.record, self.record.history.published(self.record.epoch)
        if not published:
            return None
        values = [weight for event in published for weight in event.weights]
        good = len(published) == 1 and sum(values) == (WHOLE if values else 0) and all(w > 0 for w in values)
        good = good and len(values) == len(record.weights) and set(record.weights) <= set(record.bought)
        return good, f"{len(values)} of {len(record.bought)} bought are in the model, weights sum to {sum(values)}"

    def deadlines(self) -> Finding:
        """Every step comes after the one that it follows, and not after its window."""
        record, times, first = self.record, self.record.times, self.record.times.commit + 1
        late = [
            *self._outside(ev.Deposited, record.opened.at, times.commit),
            *self._outside(ev.ModelCommitted, record.opened.at, times.commit),
            *self._outside(ev.Bought, first, times.buy),
            *self._outside(ev.Revealed, first, times.keys),
            *self._outside(ev.Accepted, first, times.publish),
            *self._outside(ev.Refuted, first, times.publish),
            *self._outside(ev.ModelPublished, first, times.publish),
            *self._outside(ev.RootPublished, first, times.publish),
            *self._accepted_late(),
        ]
        for published in record.history.times(ev.RootPublished, record.epoch):
            proof = published + record.trading.terms().settle_window
            for kind in (ev.SamplesDrawn, ev.RandomnessSubmitted, ev.InputsCommitted, ev.EpochProved):
                late += self._outside(kind, published, proof)
            late += self._outside(ev.EpochFailed, published, record.proof_deadline)
        return not late, "; ".join(late) or "every step in its window"

    # --- parts -----------------------------------------------------------------------------------------------------

    def _digest(self, one: Purchase) -> bytes:
        place = (self.record.trading.chain.chain_id, self.record.trading.address, self.record.epoch)
        return offer_digest(*place, one.provider, one.commitment, one.seal, one.ask)

    def _key_opens(self, name: str) -> bool:
        entry, bought = self.record.revealed[name], self.record.bought.get(name)
        try:
            given = self.record.call(entry, "reveal")
        except OpaqueCallError:
            return bought is not None
        assert isinstance(entry.event, ev.Revealed)
        seal = keccak(bytes(given["root"]) + keccak(bytes(given["key"])))
        return bought is not None and seal == bought.seal and bytes(given["key"]) == entry.event.key

    def _leaf_is_false(self, name: str) -> bool:
        if self.settler is None:
            return True
        try:
            root = bytes(self.record.call(self.record.revealed[name], "reveal")["root"])
            given = self.record.call(self.record.refuted[name], "refute")
        except OpaqueCallError:
            return True
        return self.settler.is_false(given["leaf"], secret=given["key"], seal=self.record.bought[name].seal, root=root)

    def _was_out(self, name: str) -> bool:
        """Whether it was accepted or listed before it was refuted; a refuted one may still be listed."""
        said = [
            entry.block
            for kind in (ev.Accepted, ev.ModelPublished, ev.RootPublished)
            for entry in self.record.history.entries_of(kind, self.record.epoch)
            if name in getattr(entry.event, "providers", ())
        ]
        return any(block < self.record.refuted[name].block for block in said)

    def _accepted_late(self) -> list[str]:
        """Without a key on chain, nobody is accepted when the key window is over."""
        late = []
        for entry in self.record.history.entries_of(ev.Accepted, self.record.epoch):
            assert isinstance(entry.event, ev.Accepted)
            if entry.at > self.record.times.keys:
                late += [f"{n} accepted at {entry.at}" for n in entry.event.providers if n not in self.record.revealed]
        return late

    def _outside(self, kind: type[ev.Event], first: int, last: int) -> list[str]:
        times = self.record.history.times(kind, self.record.epoch)
        return [f"{kind.__name__} at {at}, its window is {first} to {last}" for at in times if not first <= at <= last]
