"""What an audit of sampled settlement computes again: seed, delay function, slots, weights, and the proof's check."""

from collections.abc import Sequence

from eth_utils.address import to_canonical_address

from martfl.chain import events as ev
from martfl.chain.sampled import SampledTrading
from martfl.chain.trading import Trading
from martfl.market.history import Entry, History
from martfl.settlement.sampled import vdf
from martfl.settlement.sampled.keccak import keccak, word
from martfl.settlement.sampled.packing import pack
from martfl.settlement.sampled.sampling import context, roll, seed
from martfl.settlement.sampled.statement import WEIGHT_SLOT_BITS, fill

Answer = tuple[bool, str] | None


class SampledAudit:
    """One epoch of a sampled market."""

    def __init__(self, trading: Trading, history: History, epoch: int, base: int) -> None:
        self.trading = SampledTrading(trading.chain, trading.address, scheme="sampled", since=trading.since)
        self.history, self.epoch, self.base = history, epoch, base
        self.fixed = self.trading.sampling()

    def randomness(self) -> Answer:
        """The seed from all nonces and the block's randomness; the delay function's output and proof for it."""
        submitted = self.history.of(ev.RandomnessSubmitted, self.epoch)
        if not submitted:
            return None
        expected = self._seed()
        if expected != self.history.of(ev.RootPublished, self.epoch)[0].seed:
            return False, "the seed is not that of the nonces, roots and the block's randomness"
        said = submitted[0]
        proof = vdf.VdfProof(_wide(said.output), _wide(said.proof), said.counter)
        steps = int(self.fixed["vdf_steps"])
        good = vdf.verify(expected, proof, squarings=steps) and vdf.randomness(proof) == said.randomness
        return good, f"delay function of {steps} squarings {'holds' if good else 'does not hold'}"

    def inputs(self) -> Answer:
        """The circuit's slots are who was bought and not dropped, at their weights."""
        posted = self.history.of(ev.InputsCommitted, self.epoch)
        if not posted:
            return None
        out, weights = self.history.dropped(self.epoch), self.history.weights(self.epoch)
        left = sorted((name for name in weights if name not in out), key=lambda name: int(name, 16))
        slots = fill([weights[name] for name in left], count=int(self.fixed["providers"]), with_=0)
        words = pack(slots, bits=WEIGHT_SLOT_BITS)
        good = list(posted[0].providers) == left and list(posted[0].inputs[: len(words)]) == list(words)
        return good, f"{len(left)} of {len(slots)} slots, {len(posted[0].inputs)} public inputs"

    def proof(self) -> Answer:
        """The proof in the transaction that settled, checked once more under the market's key."""
        proved = self.history.entries_of(ev.EpochProved, self.epoch)
        if not proved:
            return None
        given = self._arguments(proved[0])
        posted = self.trading.inputs(self.epoch)
        key, inputs = list(given["key"]), list(given["inputs"])
        if keccak(b"".join(word(w) for w in key)) != self.fixed["verifying_key"] or inputs != list(posted.inputs):
            return False, "key or inputs are not those of the market"
        good = bool(self.trading.proofs().groth16_holds(key, inputs, list(given["proof"])).call())
        return good, f"Groth16 proof of {len(inputs)} inputs {'holds' if good else 'does not hold'}"

    def _seed(self) -> bytes:
        published = self.history.entries_of(ev.RootPublished, self.epoch)[0]
        event = published.event
        assert isinstance(event, ev.RootPublished)
        commitments = [(e.commitment, e.nonce) for e in self.history.of(ev.ModelCommitted, self.epoch)]
        block = self.trading.chain.web3.eth.get_block(published.block)
        place = to_canonical_address(self.trading.address)
        return seed(
            context=context(chain_id=self.trading.chain.chain_id, contract=place, epoch=self.epoch),
            rolled=roll(commitments),
            old_root=self.history.of(ev.RootPublished, self.base)[0].root,
            new_root=event.root,
            acquirer_nonce=event.nonce,
            beacon=bytes(block["mixHash"]),
        )

    def _arguments(self, entry: Entry) -> dict[str, Sequence[int]]:
        sent = self.trading.chain.web3.eth.get_transaction(entry.transaction)
        return dict(self.trading.contract.decode_function_input(sent["input"])[1])


def _wide(words: Sequence[int]) -> int:
    return int.from_bytes(b"".join(word(w) for w in words), "big")
