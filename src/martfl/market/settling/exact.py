"""Exact settlement in a market: homomorphic commitments, summed by the contract."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from eth_account.signers.local import LocalAccount
from numpy.typing import NDArray

from martfl.chain.state import ExactModel
from martfl.chain.trading import Done, Trading
from martfl.errors import InputError
from martfl.market.errors import MarketError, MessageError
from martfl.market.settling.base import Acting, Delivered, Shares
from martfl.market.terms import Terms
from martfl.settlement import exact
from martfl.settlement.fixed_point import FixedPoint, Integers
from martfl.settlement.integer_file import IntegerVector, content_hash, from_bytes, to_bytes

SECRET_BYTES = 32


@dataclass(frozen=True)
class ExactSettler:
    """The market's numbers and the key that everybody commits with."""

    numbers: FixedPoint
    key: exact.CommitmentKey
    parameters: int

    @classmethod
    def load(cls, terms: Terms, *, parameters: int) -> "ExactSettler":
        """From the terms; generators come from the cache or are made now."""
        numbers = FixedPoint(scale=terms.settlement.scale, bits=terms.settlement.bits)
        layout = exact.SlotLayout(bits=terms.settlement.bits, epochs=terms.settlement.epochs)
        return cls(numbers, exact.CommitmentKey.load(parameters=parameters, layout=layout), parameters)

    def commit(self, update: Integers) -> tuple[bytes, bytes]:
        """C = Σ pack(q)·G + ρ·H, and ρ."""
        commitment, opening = exact.commit(update, self.key)
        return commitment.to_eip2537(), opening.to_bytes()

    def pack(self, update: Integers, secret: bytes, *, epoch: int) -> bytes:
        """ρ before the update's file."""
        return secret + to_bytes(self._vector("update", update, epoch, self.numbers.bits))

    def defend(
        self, trading: Trading, *, epoch: int, update: Integers, secret: bytes, account: LocalAccount, key: str
    ) -> Done | None:
        """Nothing to refute: the contract itself adds up what providers committed to."""
        return None

    def unpack(self, delivery: bytes, *, epoch: int) -> Delivered:
        """Check shape, epoch, scale and range."""
        try:
            vector = from_bytes(delivery[SECRET_BYTES:], kind="update", parameters=self.parameters)
            secret = exact.Opening.from_bytes(delivery[:SECRET_BYTES]).to_bytes()
            self.key.layout.check_update(vector.values, parameters=self.parameters)
        except InputError as error:
            raise MessageError(f"the delivery is malformed: {error}") from error
        if vector.epoch != epoch or vector.scale != self.numbers.scale:
            raise MessageError(f"the delivery must be of epoch {epoch} at scale {self.numbers.scale}")
        return Delivered(vector.values, secret)

    def find_false(self, delivered: Mapping[str, Delivered], commitments: Mapping[str, bytes]) -> set[str]:
        """One batch where all are honest."""
        if not delivered:
            return set()
        names = list(delivered)
        points = [exact.Commitment.from_eip2537(commitments[name]) for name in names]
        openings = [exact.Opening.from_bytes(delivered[name].secret) for name in names]
        bad = exact.find_bad_openings([delivered[name].values for name in names], points, openings, self.key)
        return {names[i] for i in bad}

    def start(self, model: NDArray[np.float64]) -> ExactModel:
        """C_W^0, at the public blinding."""
        values = self.numbers.quantise_model(model)
        point = exact.commit_initial(values, self.key).to_eip2537()
        digest = content_hash(self._model(values, 0))
        return ExactModel(content=digest, blinding=exact.INITIAL_BLINDING, point=point)

    def first_file(self, model: NDArray[np.float64]) -> bytes:
        """The initial model's file."""
        return to_bytes(self._model(self.numbers.quantise_model(model), 0))

    def aggregate(self, file: bytes, shares: Shares, *, epoch: int) -> bytes:
        """W + Σ k_i q_i over who is left."""
        weights = [share.weight for share in shares.values()]
        updates = [share.delivered.values for share in shares.values()]
        new = exact.aggregate(self._read(file).values, weights, updates, layout=self.key.layout)
        return to_bytes(self._model(new, epoch))

    def publish(self, act: Acting, file: bytes, shares: Shares) -> Done:
        """Reveal Σ k_i ρ_i; the contract adds up the commitments itself."""
        base = act.trading.model(act.trading.read_epoch(act.epoch).base)
        openings = [exact.Opening.from_bytes(share.delivered.secret) for share in shares.values()]
        weights = [share.weight for share in shares.values()]
        blinding = exact.combine_blindings(0, weights, openings)  # the contract adds the base's own
        return act.trading.publish_model(
            act.epoch,
            content=content_hash(self._read(file)),
            blinding=blinding,
            account=act.account,
            base=base,
            key=act.key("publish"),
        )

    def prove(self, act: Acting, base: bytes, file: bytes, shares: Shares) -> list[Done]:
        """The chain has proved the sum already; wait out the window for objections."""
        act.clock.wait_until(act.trading.read_epoch(act.epoch).deadline + 1)
        return []

    def check(self, trading: Trading, file: bytes, *, epoch: int) -> None:
        """Content hash and commitment, both against the chain."""
        posted = trading.model(epoch)
        vector = self._read(file)
        if content_hash(vector) != posted.content:
            raise MarketError(f"the model file's hash is not the one that epoch {epoch} posted")
        commitment = exact.Commitment.from_eip2537(posted.point)
        if not exact.verify_model(vector.values, posted.blinding, commitment, self.key):
            raise MarketError(f"the model file does not open the commitment that epoch {epoch} settled")

    def floats(self, file: bytes) -> NDArray[np.float64]:
        """x = W·δ/2^16."""
        return self.numbers.dequantise_model(self._read(file).values)

    def _read(self, file: bytes) -> IntegerVector:
        try:
            return from_bytes(file, kind="model", parameters=self.parameters)
        except InputError as error:
            raise MarketError(f"the model file is malformed: {error}") from error

    def _model(self, values: Integers, epoch: int) -> IntegerVector:
        return self._vector("model", values, epoch, self.key.layout.width)

    def _vector(self, kind: str, values: Integers, epoch: int, bits: int) -> IntegerVector:
        return IntegerVector(kind=kind, values=values, scale=self.numbers.scale, epoch=epoch, bits=bits)  # type: ignore[arg-type]
