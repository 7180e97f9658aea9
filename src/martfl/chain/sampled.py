"""The client of markets that settle by sampling and Groth16: publish a root, draw samples, open them, prove.

The order after `publish_model`: `draw_samples`, whose event names the seed; `submit_randomness` with the delay
function's output; `commit_inputs`; `verify_aggregation`, by anybody. A provider that finds a wrong commitment to its
update calls `refute_commitment`. All of these are calls of the prover, a contract that serves many markets.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import ClassVar, TypeVar

from eth_account.signers.local import LocalAccount
from eth_utils.address import to_checksum_address
from web3.contract import Contract
from web3.contract.contract import ContractFunction, ContractFunctions

from martfl.chain import events as ev
from martfl.chain.calls import addresses, ask, named, put_along, words
from martfl.chain.compile import compiled
from martfl.chain.deployment import NO_TOKEN, ContractTerms, SampledStart, Sampling
from martfl.chain.network import Chain, Receipt, RevertedError, receipt_of
from martfl.chain.state import Listing, Offer, ProofState, Publication
from martfl.chain.trading import Done, Trading
from martfl.errors import InputError
from martfl.settlement.sampled import curve
from martfl.settlement.sampled.groth16 import Proof, VerifyingKey
from martfl.settlement.sampled.keys import g2_words, key_words
from martfl.settlement.sampled.merkle import Path, Tree
from martfl.settlement.sampled.poseidon import constants_words
from martfl.settlement.sampled.sampling import indices
from martfl.settlement.sampled.sealed import SampledRefutation
from martfl.settlement.sampled.update import Objection
from martfl.settlement.sampled.vdf import VdfProof

SAMPLES_PER_WORD = 21  # 12-bit values in the words that Poseidon takes
P = TypeVar("P", bound=ev.ProverEvent)


class SampledTrading(Trading):
    """A market's contract with sampled settlement, and the prover that it names."""

    scheme: ClassVar[str] = "sampled"
    published: ClassVar[type[ev.RootPublished]] = ev.RootPublished
    needs_proof: ClassVar[bool] = True

    @classmethod
    def deploy(
        cls, chain: Chain, *, terms: ContractTerms, account: LocalAccount, key: str | None = None
    ) -> "SampledTrading":
        """Compile where needed and deploy; where the terms name no prover, one is deployed first."""
        start = terms.settlement
        if not isinstance(start, SampledStart):
            raise InputError(f"sampled settlement starts from a SampledStart, got {type(start).__name__}")
        sampling = start.sampling
        if sampling.prover == NO_TOKEN:
            sampling = replace(sampling, prover=put_along(chain, "prover", account=account, key=key))
        arguments = (terms.shared(), words(sampling), start.root, start.content)
        return cls._put(chain, arguments, account=account, key=key)

    # --- publication and proof --------------------------------------------------------------------------------

    def publish_model(
        self,
        epoch: int,
        *,
        content: bytes,
        root: bytes,
        listings: Sequence[Listing],
        account: LocalAccount,
        key: str | None = None,
    ) -> Done:
        """Post the new model's root and file hash; `listings` are in the order of the circuit's slots."""
        entries = [
            (to_checksum_address(x.offer.provider), x.offer.commitment_hash, x.offer.seal, x.weight) for x in listings
        ]
        return self.send(self._f.publish_model(epoch, content, root, entries), account, 0, key)

    # Anybody may draw, submit and verify. Where somebody was faster the step is done: its receipt is what comes back.

    def draw_samples(self, epoch: int, *, account: LocalAccount, key: str | None = None) -> Done:
        """Have the block after publication name the seed of the delay function.

        That block must be closed: a node tells what a call would do in its latest block, so there must be two of them.
        """
        call = self._p.draw_samples(self.address, epoch)
        return self._once(ev.SamplesDrawn, epoch, lambda: self._prove(call, account, key))

    def submit_randomness(self, epoch: int, *, proof: VdfProof, account: LocalAccount, key: str | None = None) -> Done:
        """Post the delay function's output."""
        call = self._p.submit_randomness(self.address, epoch, wide(proof.y), wide(proof.pi), proof.nonce)
        return self._once(ev.RandomnessSubmitted, epoch, lambda: self._prove(call, account, key))

    def challenge_randomness(
        self, epoch: int, *, proof: VdfProof, account: LocalAccount, key: str | None = None
    ) -> Done:
        """Optimistic markets: show that what was submitted does not verify."""
        call = self._p.challenge_randomness(self.address, epoch, wide(proof.y), wide(proof.pi), proof.nonce)
        return self._prove(call, account, key)

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
        """Open the sampled values of both models and post each listed provider's Poseidon commitment."""
        posted = self.root(epoch)
        values = [commitments[provider] for provider in posted.providers]
        openings = [_opening(old.open(j), new.open(j)) for j in self.indices(epoch)]
        caps = (b"".join(old.cap), b"".join(new.cap))
        listed = (addresses(posted.providers), list(posted.weights))
        return self._prove(self._p.commit_inputs(self.address, epoch, *listed, values, *caps, openings), account, key)

    def verify_aggregation(
        self, epoch: int, *, key_of_market: VerifyingKey, proof: Proof, account: LocalAccount, key: str | None = None
    ) -> Done:
        """Have the chain check the proof. Anybody may."""
        posted = self.inputs(epoch)
        call = self._p.verify_aggregation(
            self.address,
            epoch,
            list(posted.providers),
            list(posted.inputs),
            key_words(key_of_market),
            proof_words(proof),
        )
        return self._once(ev.EpochProved, epoch, lambda: self._prove(call, account, key))

    def refute_commitment(
        self, epoch: int, *, offer: Offer, objection: Objection, account: LocalAccount, key: str | None = None
    ) -> Done:
        """Show that the commitment posted for a provider is not about the update that it bound itself to."""
        posted = self.inputs(epoch)
        openings = [path.word + path.salt + b"".join(path.siblings) for path in objection.paths]
        width = -(-len(openings) // SAMPLES_PER_WORD) + 2
        call = self._p.refute_commitment(
            self.address,
            epoch,
            list(posted.providers),
            list(posted.inputs),
            posted.providers.index(offer.provider),
            offer.seal,
            objection.blinding,
            b"".join(objection.cap),
            openings,
            constants_words(width),
        )
        return self._prove(call, account, key)

    def refute(
        self, epoch: int, *, offer: Offer, refutation: SampledRefutation, account: LocalAccount, key: str | None = None
    ) -> Done:
        """Show that a leaf of a revealed update is not what it was committed to."""
        r = refutation
        leaf = (r.index, r.sealed, r.shown, list(r.path))
        provider = to_checksum_address(offer.provider)
        return self.send(self._f.refute(epoch, provider, offer.commitment_hash, r.secret, leaf), account, 0, key)

    # --- reading ----------------------------------------------------------------------------------------------

    @cached_property
    def prover(self) -> Contract:
        """The contract that proves."""
        address = to_checksum_address(self.sampling().prover)
        contract: Contract = self.chain.web3.eth.contract(address=address, abi=list(compiled("prover").abi))
        return contract

    def sampling(self) -> Sampling:
        """What the contract says about its sampling."""
        return Sampling(**named(ask(self._f.sampling()), Sampling))

    def publication(self, epoch: int) -> Publication:
        """What the proof of the latest epoch is about."""
        return Publication(**named(ask(self._f.publication(epoch)), Publication))

    def proof(self) -> ProofState:
        """How far the proof of the latest epoch is."""
        return ProofState(**named(ask(self._f.proof()), ProofState))

    def proof_events(self, kind: type[P], *, epoch: int) -> list[P]:
        """What the prover said about an epoch of this market, oldest first."""
        return self._events(self.prover, kind, market=self.address, epoch=epoch)

    def indices(self, epoch: int) -> list[int]:
        """The sampled parameters of an epoch."""
        fixed = self.sampling()
        (drawn,) = self.proof_events(ev.RandomnessSubmitted, epoch=epoch)
        return indices(drawn.randomness, parameters=fixed.parameters, samples=fixed.samples)

    def inputs(self, epoch: int) -> ev.InputsCommitted:
        """The slots and public inputs of an epoch's proof."""
        (posted,) = self.proof_events(ev.InputsCommitted, epoch=epoch)
        return posted

    def root(self, epoch: int) -> ev.RootPublished:
        """The root that `epoch` published; 0 is the initial model."""
        (posted,) = self.events(ev.RootPublished, epoch=epoch)
        return posted

    def has_our_code(self) -> bool:
        """Whether market and prover hold what these sources compile to."""
        prover = self.code_at(self.sampling().prover)
        return super().has_our_code() and prover == compiled("prover").runtime

    # --- plumbing ---------------------------------------------------------------------------------------------

    @property
    def _p(self) -> ContractFunctions:
        return self.prover.functions

    def _prove(self, call: ContractFunction, account: LocalAccount, key: str | None) -> Done:
        return self._done(self.chain.send(call, account=account, key=key))

    def _done(self, receipt: Receipt) -> Done:
        said = (*ev.decode(self.prover, receipt.logs), *ev.decode(self.contract, receipt.logs))
        return Done(receipt, said)

    def _once(self, kind: type[ev.Event], epoch: int, send: Callable[[], Done]) -> Done:
        """Send, unless the step is done already; a step that somebody else took is refused, and looked for."""
        try:
            return send()
        except RevertedError:
            ours = issubclass(kind, ev.ProverEvent)
            source = self.prover if ours else self.contract
            filters = {"epoch": epoch} | ({"market": self.address} if ours else {})
            event = getattr(source.events, kind.__name__)()
            found = event.get_logs(argument_filters=filters, from_block=self.since)
            if not found:
                raise
            receipt = self.chain.web3.eth.get_transaction_receipt(found[0]["transactionHash"])
            return self._done(receipt_of(receipt))


def proof_words(proof: Proof) -> list[int]:
    """A, B, C as EIP-197 wants them: 2, 4 and 2 words."""
    return [*curve.coordinates(proof.a, group=1), *g2_words(proof.b), *curve.coordinates(proof.c, group=1)]


def _opening(old: Path, new: Path) -> bytes:
    return old.word + new.word + b"".join(old.siblings) + b"".join(new.siblings)


def wide(value: int) -> Sequence[int]:
    """2048 bits as eight words, the highest first."""
    data = value.to_bytes(256, "big")
    return [int.from_bytes(data[at : at + 32], "big") for at in range(0, 256, 32)]
