"""Exact settlement in a market: homomorphic commitments, summed by the contract."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from martfl.arrays import Integers, Reals
from martfl.chain.deployment import ExactModel, ExactStart, PackingTerms
from martfl.chain.events import ModelPublished
from martfl.chain.exact import ExactTrading
from martfl.chain.state import MAX_PROVIDERS, Offer
from martfl.chain.trading import Done, Trading
from martfl.errors import InputError
from martfl.market.audit_exact import ExactAudit
from martfl.market.audit_record import EpochRecord, Question
from martfl.market.errors import MarketError, MessageError
from martfl.market.settling.base import Acting, Delivery, SealedUpdate, Shares, read_model
from martfl.market.terms import Terms
from martfl.settlement import exact
from martfl.settlement.fixed_point import FixedPoint
from martfl.settlement.integer_file import IntegerVector, content_hash, to_bytes
from martfl.values import Settings


@dataclass(frozen=True)
class ExactSettler:
    """The market's numbers and the key that everybody commits with."""

    numbers: FixedPoint
    key: exact.CommitmentKey
    parameters: int
    slots: int = MAX_PROVIDERS

    @classmethod
    def load(cls, terms: Terms, *, parameters: int) -> "ExactSettler":
        """From the terms; generators come from the cache or are made now."""
        numbers = FixedPoint(scale=terms.settlement.scale, bits=terms.settlement.bits)
        layout = exact.SlotLayout(bits=terms.settlement.bits, epochs=terms.settlement.epochs)
        return cls(numbers, exact.CommitmentKey.load(parameters=parameters, layout=layout), parameters)

    # --- providers ------------------------------------------------------------------------------------------------

    def seal(self, update: Integers, secret: bytes) -> SealedUpdate:
        """C = Σ P_l over the leaves, whose values and blindings come from the key."""
        sealed = exact.seal(update, self.key, secret)
        return SealedUpdate(sealed.commitment.to_eip2537(), sealed.root, sealed.body)

    def defend(self, act: Acting, offer: Offer, update: Integers, secret: bytes) -> Done | None:
        """Nothing to refute: the contract itself adds up what providers committed to."""
        return None

    # --- the acquirer ---------------------------------------------------------------------------------------------

    def check_sealed(self, body: bytes, offer: Offer) -> None:
        """Points, root, and Σ P_l = C."""
        try:
            commitment = exact.Commitment.from_eip2537(offer.commitment)
            exact.check_sealed(body, commitment=commitment, root=offer.root, key=self.key)
        except InputError as error:
            raise MessageError(f"the sealed update is not the one offered: {error}") from error

    def open_sealed(self, body: bytes, secret: bytes) -> Integers:
        """Every value, in range whatever was sealed."""
        return exact.open_sealed(body, secret, self.key)[0]

    def find_false(self, deliveries: Mapping[str, Delivery]) -> set[str]:
        """One batch where all are honest."""
        if not deliveries:
            return set()
        names = list(deliveries)
        points = [exact.Commitment.from_eip2537(deliveries[name].offer.commitment) for name in names]
        openings = [exact.opening_of(deliveries[name].secret, self.key) for name in names]
        bad = exact.find_bad_openings([deliveries[name].values for name in names], points, openings, self.key)
        return {names[i] for i in bad}

    def refutation(self, body: bytes, secret: bytes) -> exact.ExactRefutation | None:
        """The first leaf that is not what its part of the commitment says."""
        leaf = exact.find_false_leaf(body, secret, self.key)
        return None if leaf is None else exact.refutation(body, secret, self.key, leaf)

    def start(self, model: Reals) -> ExactStart:
        """C_W^0, at the public blinding, and the generators."""
        values = self.numbers.quantise_model(model)
        point = exact.commit_initial(values, self.key).to_eip2537()
        digest = content_hash(self._model(values, 0))
        return ExactStart(
            layout=self._layout(), model=ExactModel(content=digest, blinding=exact.INITIAL_BLINDING, point=point)
        )

    def first_file(self, model: Reals) -> bytes:
        """The initial model's file."""
        return to_bytes(self._model(self.numbers.quantise_model(model), 0))

    def aggregate(self, file: bytes, shares: Shares, *, epoch: int) -> bytes:
        """W + Σ k_i q_i."""
        if not shares:
            return file
        weights = [share.weight for share in shares.values()]
        updates = [share.delivery.values for share in shares.values()]
        values = exact.aggregate(self._read(file).values, weights, updates, layout=self.key.layout)
        return to_bytes(self._model(values, epoch))

    def publish(self, act: Acting, file: bytes, shares: Shares) -> Done:
        """Reveal Σ k_i ρ_i; the contract adds up the commitments itself."""
        openings = [exact.opening_of(share.delivery.secret, self.key) for share in shares.values()]
        weights = [share.weight for share in shares.values()]
        blinding = exact.combine_blindings(0, weights, openings) if shares else 0  # the contract adds the base's own
        return _client(act.trading).publish_model(
            act.epoch,
            content=content_hash(self._read(file)),
            blinding=blinding,
            listings=[share.listing() for share in shares.values()],
            account=act.account,
            key=act.key("publish"),
        )

    def prove(self, act: Acting, base: bytes, file: bytes, shares: Shares) -> dict[str, Done]:
        """The chain has proved the sum already."""
        return {}

    # --- anybody --------------------------------------------------------------------------------------------------

    @staticmethod
    def questions(record: EpochRecord) -> dict[str, Question]:
        """The sum of commitments."""
        return {"aggregate": ExactAudit(record).aggregate}

    def check_market(self, trading: Trading) -> None:
        """The packing and the generators."""
        posted = _client(trading).layout()
        if posted != self._layout():
            raise MarketError(f"the contract packs updates as {posted}, the terms mean {self._layout()}")

    def check(self, trading: Trading, file: bytes, *, epoch: int) -> None:
        """Content hash and commitment, both against the chain."""
        if not _client(trading).events(ModelPublished, epoch=epoch):
            raise MarketError(f"epoch {epoch} has published no model")
        posted = _client(trading).model(epoch)
        vector = self._read(file)
        if content_hash(vector) != posted.content:
            raise MarketError(f"the model file's hash is not the one that epoch {epoch} posted")
        commitment = exact.Commitment.from_eip2537(posted.point)
        if not exact.verify_model(vector.values, posted.blinding, commitment, self.key):
            raise MarketError(f"the model file does not open the commitment that epoch {epoch} settled")

    def is_false(self, leaf: Settings, *, secret: bytes, seal: bytes, root: bytes) -> bool:
        """The contract's ruling, computed here."""
        path, generators = tuple(leaf["path"]), tuple(leaf["generators"])
        shown = exact.ExactRefutation(
            secret, leaf["index"], leaf["sealed"], leaf["part"], path, leaf["pairs"], generators
        )
        place, layout = exact.generator_root(self.key), self.key.layout
        return exact.refutes(
            shown, seal=seal, root=root, generator_root=place, layout=layout, parameters=self.parameters
        )

    def floats(self, file: bytes) -> NDArray[np.float64]:
        """x = W·δ/2^16."""
        return self.numbers.dequantise_model(self._read(file).values)

    def reach(self, file: bytes) -> float:
        """A sum of integers has no range that training could come near."""
        return 0.0

    # --- parts ----------------------------------------------------------------------------------------------------

    def _layout(self) -> PackingTerms:
        layout = self.key.layout
        return PackingTerms(
            parameters=self.parameters,
            bits=layout.bits,
            width=layout.width,
            slots=layout.slots,
            generators=exact.generator_root(self.key),
        )

    def _read(self, file: bytes) -> IntegerVector:
        return read_model(file, parameters=self.parameters)

    def _model(self, values: Integers, epoch: int) -> IntegerVector:
        width = self.key.layout.width
        return IntegerVector(kind="model", values=values, scale=self.numbers.scale, epoch=epoch, bits=width)


def _client(trading: Trading) -> ExactTrading:
    if not isinstance(trading, ExactTrading):
        raise MarketError(f"exact terms need an exact contract, the one at {trading.address} is {trading.scheme}")
    return trading
