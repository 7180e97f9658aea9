"""What a seller has to sell in each epoch: the update, its key, and the offer that both are bound to.

It is all in the journal. Update, key, sealed form and offer are written together, before anything is said about them: a
seller that is killed never seals two updates under one key, and never commits to something that it has lost.
"""

import hashlib
import logging
from dataclasses import dataclass

import numpy as np
from eth_utils.crypto import keccak

from martfl.arrays import Integers, Reals
from martfl.chain.state import Offer
from martfl.market.conduct import Conduct, Lesson
from martfl.market.errors import MarketError
from martfl.market.journal import Journal
from martfl.market.settling import Settler
from martfl.market.wire import MarketId
from martfl.settlement.fixed_point import Overflow
from martfl.settlement.integer_file import IntegerVector, from_bytes, to_bytes
from martfl.settlement.seal import new_secret
from martfl.tasks.layout import Vector
from martfl.tasks.protocol import Data, Task

log = logging.getLogger(__name__)
MODELS = 0  # the journal's epoch for what outlives its epoch


@dataclass
class Shelf:
    """The updates of one seller in one market."""

    settler: Settler
    journal: Journal
    market: MarketId
    seller: str
    ask: int
    overflow: Overflow = "clip"

    def holds(self, epoch: int) -> bool:
        """Whether the update of an epoch is made."""
        return self.journal.blob(epoch, "key") is not None

    def fill(self, epoch: int, file: bytes, conduct: Conduct, task: Task, data: Data) -> None:
        """Train, quantise, seal; all of it is kept, or nothing."""
        lesson = self._lesson(epoch, file, task, data)
        made = self.settler.numbers.quantise(np.asarray(conduct.update(lesson)), overflow=self.overflow)
        if made.clipped:
            log.warning("epoch %d: %d values were clipped to the market's range", epoch, made.clipped)
        values = self.settler.numbers.dequantise(made.values)
        scored = np.asarray(conduct.scored(lesson, values), dtype=np.float64)
        secret = new_secret()
        sealed = self.settler.seal(made.values, secret)
        kept = {
            "update": to_bytes(self._vector(made.values, epoch)),
            "body": sealed.body,
            "commitment": sealed.commitment,
            "root": sealed.root,
            "ask": self.ask.to_bytes(32, "big"),
            "key": secret,
        }
        if scored is not values:
            kept["scored"] = scored.tobytes()
        self.journal.keep_all(epoch, kept)
        self.journal.keep(MODELS, f"model {epoch}", file)
        self.journal.forget(MODELS, keep=frozenset({f"model {epoch}"}))

    def offer(self, epoch: int) -> Offer:
        """What opens the commitment of an epoch."""
        return Offer(
            provider=self.seller,
            commitment=self._blob(epoch, "commitment"),
            root=self._blob(epoch, "root"),
            key_hash=keccak(self.secret(epoch)),
            ask=int.from_bytes(self._blob(epoch, "ask"), "big"),
        )

    def digest(self, epoch: int) -> bytes:
        """What goes on chain before anybody has judged."""
        market = self.market
        return self.offer(epoch).digest(chain_id=market.chain_id, market=market.contract, epoch=epoch)

    def body(self, epoch: int) -> bytes:
        """The sealed update."""
        return self._blob(epoch, "body")

    def secret(self, epoch: int) -> bytes:
        """The key of the sealed update."""
        return self._blob(epoch, "key")

    def integers(self, epoch: int) -> Integers:
        """The update."""
        return from_bytes(self._blob(epoch, "update"), kind="update", parameters=self.settler.parameters).values

    def scored(self, epoch: int) -> Reals:
        """What scores are given of."""
        other = self.journal.blob(epoch, "scored")
        if other is not None:
            return np.frombuffer(other, dtype=np.float64)
        return np.asarray(self.settler.numbers.dequantise(self.integers(epoch)))

    def _lesson(self, epoch: int, file: bytes, task: Task, data: Data) -> Lesson:
        seed = int.from_bytes(hashlib.sha256(f"{epoch}/{self.seller}".encode()).digest()[:4], "big")
        before = self.journal.blob(MODELS, f"model {epoch - 1}")
        earlier = self._model(before) if before is not None else None
        return Lesson(task, data, self._model(file), earlier, seed)

    def _model(self, file: bytes) -> Vector:
        return np.asarray(self.settler.floats(file), np.float32)

    def _blob(self, epoch: int, name: str) -> bytes:
        kept = self.journal.blob(epoch, name)
        if kept is None:
            raise MarketError(f"there is no update of epoch {epoch}")
        return kept

    def _vector(self, values: Integers, epoch: int) -> IntegerVector:
        numbers = self.settler.numbers
        return IntegerVector(kind="update", values=values, scale=numbers.scale, epoch=epoch, bits=numbers.bits)
