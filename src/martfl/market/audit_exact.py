"""What an audit of exact settlement computes again: the sum of commitments on the curve, from the points themselves."""

from dataclasses import dataclass

from eth_utils.crypto import keccak

from martfl.chain import events as ev
from martfl.market.audit_record import EpochRecord, Finding
from martfl.settlement import exact
from martfl.values import Settings

POINT, PAIR = 128, 160  # bytes: a point; a point and its scalar


@dataclass(frozen=True)
class ExactAudit:
    """One epoch of an exact market."""

    record: EpochRecord

    def aggregate(self) -> Finding:
        """C_W^t = C_W^{t−1} + Σ k_i C_i, with the points of the publishing transaction: each opens what was bought."""
        published = self.record.history.entries_of(ev.ModelPublished, self.record.epoch)
        if not published:
            return None
        posted, opened = published[0].event, self.record.opened.event
        assert isinstance(posted, ev.ModelPublished)
        assert isinstance(opened, ev.EpochOpened)
        base = self.record.history.of(ev.ModelPublished, opened.base)[0]
        given = self.record.call(published[0], "publish_model")
        points = self._points(given)
        if wrong := self._foreign(given, points):
            return False, f"not what was bought: {', '.join(wrong)}"
        weights = list(posted.weights)
        if list(given["providers"]) != list(posted.providers) or self._scalars(given) != [1, *weights]:
            return False, "the events name others, or other weights, than the publishing transaction"
        start = exact.Commitment.from_eip2537(base.point)
        total = exact.combine(start, weights, [exact.Commitment.from_eip2537(point) for point in points])
        blinding = (base.blinding + given["blinding"]) % exact.ORDER
        same = total.to_eip2537() == posted.point and blinding == posted.blinding
        word = "equals" if same else "differs from"
        return same, f"the model's commitment {word} that of epoch {opened.base} plus {len(points)} weighted updates"

    def _points(self, given: Settings) -> list[bytes]:
        pairs = bytes(given["pairs"])
        return [pairs[at : at + POINT] for at in range(PAIR, len(pairs), PAIR)]

    def _scalars(self, given: Settings) -> list[int]:
        pairs = bytes(given["pairs"])
        return [int.from_bytes(pairs[at + POINT : at + PAIR], "big") for at in range(0, len(pairs), PAIR)]

    def _foreign(self, given: Settings, points: list[bytes]) -> list[str]:
        """Who is listed with another commitment or seal than it was bought with."""
        bought, listed = self.record.bought, zip(given["providers"], points, given["seals"], strict=True)
        return [
            name
            for name, point, seal in listed
            if name not in bought or (bought[name].commitment, bought[name].seal) != (keccak(point), bytes(seal))
        ]
