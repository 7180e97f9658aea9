"""Sampled settlement in a market: Merkle roots, a delay function, and a Groth16 proof about the sampled parameters."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from martfl.arrays import Integers, Reals
from martfl.chain.deployment import NO_TOKEN, SampledStart, Sampling
from martfl.chain.events import EpochProved, InputsCommitted, RandomnessSubmitted, RootPublished, SamplesDrawn
from martfl.chain.sampled import SampledTrading
from martfl.chain.state import Offer
from martfl.chain.trading import Done, Trading
from martfl.errors import InputError
from martfl.market.audit_record import EpochRecord, Question
from martfl.market.audit_sampled import SampledAudit
from martfl.market.errors import MarketError, MessageError
from martfl.market.settling.affine import AffineNumbers
from martfl.market.settling.base import Acting, Delivery, SealedUpdate, Shares, read_model
from martfl.market.settling.drawing import draw, unless_said
from martfl.market.terms import Terms
from martfl.settlement.integer_file import IntegerVector, content_hash, to_bytes
from martfl.settlement.sampled import Aggregation, ProvingKey, Quantisation, Shape, VerifyingKey, sealed
from martfl.settlement.sampled import update as commitments
from martfl.settlement.sampled.epoch import aggregate_model, prove_samples, sampled_values, state_samples
from martfl.settlement.sampled.groth16 import specialise
from martfl.settlement.sampled.keys import cached_keys, ceremony_keys, key_hash
from martfl.settlement.sampled.merkle import Tree, TreeShape, build_tree
from martfl.settlement.sampled.poseidon import constants_hash
from martfl.settlement.sampled.vdf import VdfProof, verify
from martfl.values import Settings

EPSILON = 1e-3  # by which the ranges are widened, as the paper does


@dataclass(frozen=True)
class SampledSettler:
    """The market's circuit shape and quantisation. Only the acquirer needs the proving key's tables."""

    shape: Shape
    quantisation: Quantisation
    parameters: int
    squarings: int
    optimistic: bool = False
    setup: str = "ceremony"
    model_limit: float = math.inf  # of a parameter, as the terms state it; infinite: nobody is told of an edge

    @classmethod
    def load(cls, terms: Terms, *, parameters: int) -> "SampledSettler":
        """From the terms."""
        stated = terms.settlement
        if stated.samples > parameters:
            raise MarketError(f"a market samples at most its {parameters} parameters, the terms say {stated.samples}")
        shape = Shape(providers=stated.providers, samples=stated.samples)
        limits = {"update_limit": stated.update_limit, "model_limit": stated.model_limit}
        numbers = Quantisation.symmetric(shape, epsilon=EPSILON, **limits)
        options = (stated.optimistic, stated.setup, stated.model_limit)
        return cls(shape, numbers, parameters, stated.vdf_steps, *options)

    @property
    def numbers(self) -> AffineNumbers:
        """How updates become integers."""
        return AffineNumbers(self.quantisation.update)

    @property
    def slots(self) -> int:
        """The circuit's."""
        return self.shape.providers

    # --- providers ------------------------------------------------------------------------------------------------

    def seal(self, update: Integers, secret: bytes) -> SealedUpdate:
        """Salted tree, blinding and pad all come from the key."""
        made = sealed.seal(update, self._words, secret)
        return SealedUpdate(made.commitment, made.root, made.body)

    def defend(self, act: Acting, offer: Offer, update: Integers, secret: bytes) -> Done | None:
        """Refute the acquirer's commitment to our sampled values where it is not about our update.

        In optimistic markets nobody has checked yet that the samples were drawn by the delay function; we do.
        """
        chain, epoch = _client(act.trading), act.epoch
        account, key = act.account, act.key("refute")
        if self.optimistic and (false := self._false_randomness(chain, epoch)):
            return chain.challenge_randomness(epoch, proof=false, account=account, key=key)
        posted = chain.proof_events(InputsCommitted, epoch=epoch)
        if not posted or offer.provider not in posted[0].providers:
            return None
        blinding, chosen = commitments.blinding(secret), chain.indices(epoch)
        own = commitments.update_commitment(sampled_values(update, chosen), blinding=blinding, shape=self.shape)
        slots = posted[0].inputs[-self.shape.providers :]  # the commitments are the last group of inputs
        if slots[posted[0].providers.index(offer.provider)] == own:
            return None
        tree = commitments.update_tree(update, secret=secret, shape=self.shape)
        objection = commitments.make_objection(tree, blinding=blinding, indices=chosen)
        return chain.refute_commitment(epoch, offer=offer, objection=objection, account=account, key=key)

    # --- the acquirer ---------------------------------------------------------------------------------------------

    def check_sealed(self, body: bytes, offer: Offer) -> None:
        """Root and salted tree."""
        try:
            sealed.check_sealed(body, commitment=offer.commitment, root=offer.root, shape=self._words)
        except InputError as error:
            raise MessageError(f"the sealed update is not the one offered: {error}") from error

    def open_sealed(self, body: bytes, secret: bytes) -> Integers:
        """Every value, in range whatever was sealed."""
        values, _ = sealed.open_sealed(body, secret, self._words)
        return np.asarray(values).astype(np.int16)

    def find_false(self, deliveries: Mapping[str, Delivery]) -> set[str]:
        """Those with a false leaf."""
        return {n for n, d in deliveries.items() if sealed.find_false_leaf(d.body, d.secret, self._words) is not None}

    def refutation(self, body: bytes, secret: bytes) -> sealed.SampledRefutation | None:
        """The first leaf that is not what it was committed to."""
        leaf = sealed.find_false_leaf(body, secret, self._words)
        return None if leaf is None else sealed.refutation(body, secret, self._words, leaf)

    def start(self, model: Reals) -> SampledStart:
        """The initial model's root, and the circuit that the market will be settled by."""
        values = self.quantisation.model.quantise(model).values
        content = content_hash(self._vector(values, 0))
        return SampledStart(sampling=self._sampling(), root=self._tree(values).root, content=content)

    def first_file(self, model: Reals) -> bytes:
        """The initial model's file."""
        return to_bytes(self._vector(self.quantisation.model.quantise(model).values, 0))

    def aggregate(self, file: bytes, shares: Shares, *, epoch: int) -> bytes:
        """The paper's equations (4) and (6) over the whole model."""
        return to_bytes(self._vector(self._aggregated(file, shares).model, epoch)) if shares else file

    def publish(self, act: Acting, file: bytes, shares: Shares) -> Done:
        """Post root and file hash; a later block draws the samples."""
        vector = self._read(file)
        return _client(act.trading).publish_model(
            act.epoch,
            content=content_hash(vector),
            root=self._tree(vector.values).root,
            listings=[share.listing() for share in shares.values()],
            account=act.account,
            key=act.key("publish"),
        )

    def prove(self, act: Acting, base: bytes, file: bytes, shares: Shares) -> dict[str, Done]:
        """Draw, delay function, openings, proof."""
        if not shares:
            return {}
        chain = _client(act.trading)
        if chain.sampling().verifying_key != key_hash(self.market_key):
            raise MarketError("the proving key at hand is not the one that the contract was deployed with")
        return {**draw(chain, act, squarings=self.squarings), **self._prove(chain, act, base, file, shares)}

    def _prove(self, chain: SampledTrading, act: Acting, base: bytes, file: bytes, shares: Shares) -> dict[str, Done]:
        statement, witness = state_samples(
            self._aggregated(base, shares),
            shape=self.shape,
            terms=self.quantisation,
            weights=[share.weight for share in shares.values()],
            updates=[share.delivery.values for share in shares.values()],
            blindings=[commitments.blinding(share.delivery.secret) for share in shares.values()],
            indices=chain.indices(act.epoch),
        )
        posted = dict(zip(shares, statement.commitments, strict=False))
        trees = {"old": self._tree(self._read(base).values), "new": self._tree(self._read(file).values)}
        account, epoch = act.account, act.epoch
        opened = chain.commit_inputs(epoch, commitments=posted, **trees, account=account, key=act.key("inputs"))
        proof, key = prove_samples(self.proving_key, statement, witness), act.key("proof")
        return {"commit_inputs": opened} | unless_said(
            "verify_aggregation",
            lambda: chain.events(EpochProved, epoch=epoch),
            lambda: chain.verify_aggregation(
                epoch, key_of_market=self.market_key, proof=proof, account=account, key=key
            ),
        )

    # --- anybody --------------------------------------------------------------------------------------------------

    @staticmethod
    def questions(record: EpochRecord) -> dict[str, Question]:
        """Listing, samples and proof."""
        one = SampledAudit(record)
        return {"listing": one.listing, "randomness": one.randomness, "inputs": one.inputs, "proof": one.proof}

    def check_market(self, trading: Trading) -> None:
        """The sampling; the key as well, unless the terms waive that."""
        posted = _client(trading).sampling()
        key = key_hash(self.market_key) if self.setup == "ceremony" else posted.verifying_key
        meant = self._sampling(verifying_key=key, prover=posted.prover)
        if posted != meant:
            raise MarketError(f"the contract samples as {posted}, the terms mean {meant}")

    def check(self, trading: Trading, file: bytes, *, epoch: int) -> None:
        """File hash and Merkle root, against the chain."""
        if not _client(trading).events(RootPublished, epoch=epoch):
            raise MarketError(f"epoch {epoch} has published no model")
        posted, vector = _client(trading).root(epoch), self._read(file)
        if content_hash(vector) != posted.content:
            raise MarketError(f"the model file's hash is not the one that epoch {epoch} posted")
        if self._tree(vector.values).root != posted.root:
            raise MarketError(f"the model file's Merkle root is not the one that epoch {epoch} posted")

    def is_false(self, leaf: Settings, *, secret: bytes, seal: bytes, root: bytes) -> bool:
        """The contract's ruling, computed here."""
        shown = sealed.SampledRefutation(secret, leaf["index"], leaf["sealed"], leaf["digest"], tuple(leaf["path"]))
        return sealed.refutes(shown, seal=seal, root=root, shape=self._words)

    def floats(self, file: bytes) -> NDArray[np.float64]:
        """The model as numbers."""
        return self.quantisation.model.dequantise(self._read(file).values)

    def reach(self, file: bytes) -> float:
        """Of the parameter that is furthest from 0."""
        return float(np.max(np.abs(self.floats(file)), initial=0.0)) / self.model_limit

    # --- parts ----------------------------------------------------------------------------------------------------

    @cached_property
    def proving_key(self) -> ProvingKey:
        """The circuit's key: of the ceremony that is installed here, or made alone where the terms say so."""
        return ceremony_keys(self.shape) if self.setup == "ceremony" else cached_keys(self.shape)

    @cached_property
    def market_key(self) -> VerifyingKey:
        """The verifying key with the market's constants folded in: what the contract holds the hash of."""
        return specialise(self.proving_key.verifying, self.quantisation.constants())

    @cached_property
    def _words(self) -> TreeShape:
        return TreeShape(parameters=self.parameters, bits=self.shape.update_bits)

    def _sampling(self, *, verifying_key: bytes | None = None, prover: str = NO_TOKEN) -> Sampling:
        return Sampling(
            providers=self.shape.providers,
            samples=self.shape.samples,
            parameters=self.parameters,
            vdf_steps=self.squarings,
            verifying_key=key_hash(self.market_key) if verifying_key is None else verifying_key,
            empty_commitment=commitments.empty_commitment(self.shape),
            poseidon=constants_hash(self.shape.update_words + 2),
            optimistic=self.optimistic,
            prover=prover,
        )

    def _aggregated(self, file: bytes, shares: Shares) -> Aggregation:
        return aggregate_model(
            before=self._read(file).values,
            weights=[share.weight for share in shares.values()],
            updates=[share.delivery.values for share in shares.values()],
            terms=self.quantisation,
        )

    def _false_randomness(self, chain: SampledTrading, epoch: int) -> VdfProof | None:
        submitted = chain.proof_events(RandomnessSubmitted, epoch=epoch)
        if not submitted:
            return None
        words = (submitted[0].output, submitted[0].proof)
        y, pi = (int.from_bytes(b"".join(w.to_bytes(32, "big") for w in ws)) for ws in words)
        (drawn,) = chain.proof_events(SamplesDrawn, epoch=epoch)
        given = VdfProof(y, pi, submitted[0].counter)
        return None if verify(drawn.seed, given, squarings=self.squarings) else given

    def _tree(self, model: Integers) -> Tree:
        return build_tree(model, bits=self.shape.model_bits)

    def _read(self, file: bytes) -> IntegerVector:
        return read_model(file, parameters=self.parameters)

    def _vector(self, values: Integers, epoch: int) -> IntegerVector:
        scale, bits = float(self.quantisation.model.scale), self.shape.model_bits + 1
        return IntegerVector(kind="model", values=values, scale=scale, epoch=epoch, bits=bits)


def _client(trading: Trading) -> SampledTrading:
    if not isinstance(trading, SampledTrading):
        raise MarketError(f"sampled terms need a sampled contract, the one at {trading.address} is {trading.scheme}")
    return trading
