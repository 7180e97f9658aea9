"""What an audit of sampled settlement computes again: listing, seed, delay function, slots, and the proof's check."""

from collections.abc import Sequence
from dataclasses import dataclass

from eth_typing import BlockNumber
from eth_utils.address import to_canonical_address
from eth_utils.crypto import keccak

from martfl.chain import events as ev
from martfl.chain.deployment import Sampling
from martfl.chain.sampled import SampledTrading
from martfl.market.audit_record import EpochRecord, Finding, OpaqueCallError
from martfl.market.errors import MarketError
from martfl.settlement.keccak import word
from martfl.settlement.sampled import vdf
from martfl.settlement.sampled.packing import pack
from martfl.settlement.sampled.sampling import context, roll, seed
from martfl.settlement.sampled.statement import WEIGHT_SLOT_BITS, fill


@dataclass(frozen=True)
class SampledAudit:
    """One epoch of a sampled market."""

    record: EpochRecord

    def listing(self) -> Finding:
        """Everybody in the model is listed with the offer that was bought; the nonces are all their seals."""
        published = self.record.history.entries_of(ev.RootPublished, self.record.epoch)
        if not published:
            return None
        event, bought = published[0].event, self.record.bought
        assert isinstance(event, ev.RootPublished)
        listed = self.record.call(published[0], "publish_model")["listings"]
        named = [(one["provider"], bytes(one["commitment"]), bytes(one["seal"]), one["weight"]) for one in listed]
        wrong = [n for n, c, s, _ in named if n not in bought or (bought[n].commitment, bought[n].seal) != (c, s)]
        if wrong:
            return False, f"not what was bought: {', '.join(wrong)}"
        same = [(n, w) for n, _, _, w in named] == list(zip(event.providers, event.weights, strict=True))
        return same and roll([s for _, _, s, _ in named]) == event.nonces, f"{len(named)} listed as they were bought"

    def randomness(self) -> Finding:
        """The seed from seals, roots and the block after publication; the delay function's output and proof for it."""
        history, epoch = self.record.history, self.record.epoch
        submitted = history.of(ev.RandomnessSubmitted, epoch)
        if not submitted:
            return None
        expected = self._seed()
        if [event.seed for event in history.of(ev.SamplesDrawn, epoch)] != [expected]:
            return False, "the seed is not that of the seals, the roots and the block after publication"
        said, steps = submitted[0], self._fixed.vdf_steps
        proof = vdf.VdfProof(_wide(said.output), _wide(said.proof), said.counter)
        good = vdf.verify(expected, proof, squarings=steps) and vdf.randomness(proof) == said.randomness
        return good, f"delay function of {steps} squarings {'holds' if good else 'does not hold'}"

    def inputs(self) -> Finding:
        """The circuit's slots are who is in the model, at their weights."""
        posted = self.record.history.of(ev.InputsCommitted, self.record.epoch)
        if not posted:
            return None
        weights = self.record.weights
        slots = fill(list(weights.values()), count=self._fixed.providers, with_=0)
        words = pack(slots, bits=WEIGHT_SLOT_BITS)
        good = list(posted[0].providers) == list(weights) and list(posted[0].inputs[: len(words)]) == list(words)
        return good, f"{len(weights)} of {len(slots)} slots, {len(posted[0].inputs)} public inputs"

    def proof(self) -> Finding:
        """The proof in the transaction that settled, checked once more under the market's key."""
        proved = self.record.history.entries_of(ev.EpochProved, self.record.epoch)
        if not proved:
            return None
        prover = self._trading.prover
        try:
            given = self.record.call(proved[0], "verify_aggregation", prover)
        except OpaqueCallError:
            return True, "it came through another contract: the prover's word is taken, whose code is ours"
        posted = self.record.history.of(ev.InputsCommitted, self.record.epoch)[0]
        key, inputs = list(given["key"]), list(given["inputs"])
        if keccak(b"".join(word(w) for w in key)) != self._fixed.verifying_key or inputs != list(posted.inputs):
            return False, "key or inputs are not those of the market"
        good = bool(prover.functions.groth16_holds(key, inputs, list(given["proof"])).call())
        return good, f"Groth16 proof of {len(inputs)} inputs {'holds' if good else 'does not hold'}"

    @property
    def _trading(self) -> SampledTrading:
        if not isinstance(self.record.trading, SampledTrading):
            raise MarketError(f"the contract at {self.record.trading.address} does not sample")
        return self.record.trading

    @property
    def _fixed(self) -> Sampling:
        return self._trading.sampling()

    def _seed(self) -> bytes:
        record, opened = self.record, self.record.opened.event
        published = record.history.entries_of(ev.RootPublished, record.epoch)[0]
        assert isinstance(published.event, ev.RootPublished)
        assert isinstance(opened, ev.EpochOpened)
        chain, place = record.trading.chain, to_canonical_address(record.trading.address)
        return seed(
            context=context(chain_id=chain.chain_id, contract=place, epoch=record.epoch),
            rolled=published.event.nonces,
            old_root=record.history.of(ev.RootPublished, opened.base)[0].root,
            new_root=published.event.root,
            beacon=bytes(chain.web3.eth.get_block(BlockNumber(published.block + 1))["hash"]),
        )


def _wide(words: Sequence[int]) -> int:
    return int.from_bytes(b"".join(word(w) for w in words), "big")
