"""The client of markets that settle by sampling and Groth16: publish a root, draw samples, open them, prove.

The order after `prepare`: `publish_root`, whose event names the seed; `submit_randomness` with the delay function's
output; `commit_inputs`; `verify_aggregation`, by anybody. A provider that finds a wrong commitment to its update calls
`refute_commitment`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from eth_account.signers.local import LocalAccount

from martfl.chain import events as ev
from martfl.chain.compile import compiled
from martfl.chain.network import Chain
from martfl.chain.state import NO_TOKEN, Sampling, Terms
from martfl.chain.trading import Done, Trading, addresses, put
from martfl.errors import InputError
from martfl.settlement.sampled import curve
from martfl.settlement.sampled.groth16 import Proof, VerifyingKey
from martfl.settlement.sampled.keys import g2_words, key_words
from martfl.settlement.sampled.merkle import Path, Tree
from martfl.settlement.sampled.poseidon import constants_words
from martfl.settlement.sampled.sampling import indices
from martfl.settlement.sampled.update import Objection
from martfl.settlement.sampled.vdf import VdfProof

SAMPLES_PER_WORD = 21  # 12-bit values in the words that Poseidon takes


class SampledTrading(Trading):
    """A market's contract with sampled settlement."""

    @classmethod
    def deploy(cls, chain: Chain, *, terms: Terms, account: LocalAccount, key: str | None = None) -> "SampledTrading":
        """As `Trading.deploy`; where the terms name no contract for the proofs, one is deployed first."""
        sampling = terms.settlement
        if not isinstance(sampling, Sampling):
            raise InputError(f"sampled settlement needs Sampling in its terms, got {type(sampling).__name__}")
        if sampling.proofs == NO_TOKEN:
            receipt = put(chain, "proofs", (), account=account, key=None if key is None else f"{key}/proofs")
            terms = replace(terms, settlement=replace(sampling, proofs=str(receipt.contract)))
        trading = super().deploy(chain, terms=terms, account=account, key=key)
        assert isinstance(trading, SampledTrading)
        return trading

    def publish_root(
        self, epoch: int, *, content: bytes, root: bytes, nonce: bytes, account: LocalAccount, key: str | None = None
    ) -> Done:
        """Post the new model's root and file hash; the event names the seed of the delay function."""
        return self._send(self._f.publish_model(epoch, content, root, nonce), account, 0, key)

    def submit_randomness(self, epoch: int, *, proof: VdfProof, account: LocalAccount, key: str | None = None) -> Done:
        """Post the delay function's output."""
        call = self._f.submit_randomness(epoch, wide(proof.y), wide(proof.pi), proof.nonce)
        return self._send(call, account, 0, key)

    def challenge_randomness(
        self, epoch: int, *, proof: VdfProof, account: LocalAccount, key: str | None = None
    ) -> Done:
        """Optimistic markets: show that what was submitted does not verify."""
        call = self._f.challenge_randomness(epoch, wide(proof.y), wide(proof.pi), proof.nonce)
        return self._send(call, account, 0, key)

    def commit_inputs(
        self,
        epoch: int,
        *,
        commitments: Mapping[str, int],
        old: Tree,
        new: Tree,
        account: LocalAccount,
        key: str | None = None,
    ) -> Done:
        """Open the sampled values of both models and post each bought provider's Poseidon commitment."""
        named = sorted(commitments, key=lambda provider: int(provider, 16))
        values = [commitments[provider] for provider in named]
        openings = [_opening(old.open(j), new.open(j)) for j in self.indices()]
        caps = (b"".join(old.cap), b"".join(new.cap))
        return self._send(self._f.commit_inputs(epoch, addresses(named), values, *caps, openings), account, 0, key)

    def verify_aggregation(
        self, epoch: int, *, key_of_market: VerifyingKey, proof: Proof, account: LocalAccount, key: str | None = None
    ) -> Done:
        """Have the chain check the proof. Anybody may."""
        posted = self.inputs(epoch)
        call = self._f.verify_aggregation(
            epoch, list(posted.providers), list(posted.inputs), key_words(key_of_market), proof_words(proof)
        )
        return self._send(call, account, 0, key)

    def refute_commitment(
        self, epoch: int, *, provider: str, objection: Objection, account: LocalAccount, key: str | None = None
    ) -> Done:
        """Show that the commitment posted for `provider` is not about the update that it bound itself to."""
        posted = self.inputs(epoch)
        openings = [path.word + path.salt + b"".join(path.siblings) for path in objection.paths]
        width = -(-len(openings) // SAMPLES_PER_WORD) + 2
        call = self._f.refute_commitment(
            epoch,
            list(posted.providers),
            list(posted.inputs),
            posted.providers.index(provider),
            objection.blinding,
            b"".join(objection.cap),
            openings,
            constants_words(width),
        )
        return self._send(call, account, 0, key)

    def proofs(self) -> Any:
        """The functions of the contract that checks proofs."""
        address = self.sampling()["proofs"]
        return self.chain.web3.eth.contract(address=address, abi=list(compiled("proofs").abi)).functions

    def sampling(self) -> dict[str, Any]:
        """What the contract says about its sampling, by field; root and content are in the event of epoch 0."""
        names = list(Sampling.__dataclass_fields__)
        return dict(zip(names, self._f.sampling().call(), strict=True))

    def indices(self) -> list[int]:
        """The sampled parameters of the latest epoch."""
        fixed = self.sampling()
        randomness = bytes(self._f.randomness().call())
        return indices(randomness, parameters=fixed["parameters"], samples=fixed["samples"])

    def inputs(self, epoch: int) -> ev.InputsCommitted:
        """The slots and public inputs of an epoch's proof."""
        (posted,) = self.events(ev.InputsCommitted, epoch=epoch)
        return posted

    def root(self, epoch: int) -> ev.RootPublished:
        """The root that `epoch` published; 0 is the initial model."""
        (posted,) = self.events(ev.RootPublished, epoch=epoch)
        return posted

    def has_our_code(self) -> bool:
        """Whether market and proofs hold what these sources compile to."""
        proofs = self.code_at(self.sampling()["proofs"])
        return super().has_our_code() and proofs == compiled("proofs").runtime


def proof_words(proof: Proof) -> list[int]:
    """A, B, C as EIP-197 wants them: 2, 4 and 2 words."""
    return [*curve.coordinates(proof.a, group=1), *g2_words(proof.b), *curve.coordinates(proof.c, group=1)]


def _opening(old: Path, new: Path) -> bytes:
    return old.word + new.word + b"".join(old.siblings) + b"".join(new.siblings)


def wide(value: int) -> Sequence[int]:
    """2048 bits as eight words, the highest first."""
    data = value.to_bytes(256, "big")
    return [int.from_bytes(data[at : at + 32], "big") for at in range(0, 256, 32)]
