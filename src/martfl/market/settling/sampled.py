"""Sampled settlement in a market: Merkle roots, a delay function, and a Groth16 proof about the sampled parameters."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from eth_account.signers.local import LocalAccount
from numpy.typing import NDArray

from martfl.chain.events import RandomnessSubmitted, RootPublished
from martfl.chain.sampled import SampledTrading
from martfl.chain.state import Sampling
from martfl.chain.trading import Done, Trading
from martfl.errors import InputError
from martfl.market.errors import MarketError, MessageError
from martfl.market.settling.base import Acting, Delivered, Share, Shares
from martfl.market.terms import Terms
from martfl.settlement.fixed_point import Integers, Overflow, Quantised
from martfl.settlement.integer_file import IntegerVector, content_hash, from_bytes, to_bytes
from martfl.settlement.sampled import Affine, Aggregated, ProvingKey, Quantisation, Shape, VerifyingKey
from martfl.settlement.sampled import update as commitments
from martfl.settlement.sampled.epoch import aggregate_model, prove_samples, sampled_values, state_samples
from martfl.settlement.sampled.groth16 import specialise
from martfl.settlement.sampled.keys import cached_keys, ceremony_keys, key_hash
from martfl.settlement.sampled.merkle import Tree, build_tree
from martfl.settlement.sampled.poseidon import constants_hash
from martfl.settlement.sampled.vdf import VdfProof, evaluate

SECRET_BYTES = 32
EPSILON = 1e-3  # by which the ranges are widened, as the paper does


@dataclass(frozen=True)
class AffineNumbers:
    """The affine quantisation of updates, as the roles use numbers."""

    affine: Affine

    @property
    def scale(self) -> float:
        """The real value of one unit."""
        return float(self.affine.scale)

    @property
    def bits(self) -> int:
        """The width of the unsigned values with a sign bit, as files keep them."""
        return self.affine.bits + 1

    def quantise(self, update: NDArray[np.float64], *, overflow: Overflow) -> Quantised:
        """q of every value."""
        return self.affine.quantise(update, overflow=overflow)

    def dequantise(self, values: Integers) -> NDArray[np.float64]:
        """x = s (q − z)."""
        return self.affine.dequantise(values)


@dataclass(frozen=True)
class SampledSettler:
    """The market's circuit shape and quantisation. Only the acquirer needs the proving key's tables."""

    shape: Shape
    terms: Quantisation
    parameters: int
    squarings: int
    optimistic: bool = False
    setup: str = "ceremony"

    @classmethod
    def load(cls, terms: Terms, *, parameters: int) -> "SampledSettler":
        """From the terms."""
        stated = terms.settlement
        if stated.samples > parameters:
            raise MarketError(f"a market samples at most its {parameters} parameters, the terms say {stated.samples}")
        shape = Shape(providers=stated.providers, samples=stated.samples)
        limits = {"update_limit": stated.update_limit, "model_limit": stated.model_limit}
        numbers = Quantisation.symmetric(shape, epsilon=EPSILON, **limits)
        return cls(shape, numbers, parameters, stated.vdf_steps, stated.optimistic, stated.setup)

    @property
    def numbers(self) -> AffineNumbers:
        """How updates become integers."""
        return AffineNumbers(self.terms.update)

    # --- providers ------------------------------------------------------------------------------------------------

    def commit(self, update: Integers) -> tuple[bytes, bytes]:
        """The salted root of the whole update, and the seed behind salts and blinding."""
        seed = commitments.new_seed()
        return self._root(update, seed), seed

    def pack(self, update: Integers, secret: bytes, *, epoch: int) -> bytes:
        """The seed before the update's file."""
        vector = IntegerVector(
            kind="update", values=update, scale=self.numbers.scale, epoch=epoch, bits=self.numbers.bits
        )
        return secret + to_bytes(vector)

    def defend(
        self, trading: Trading, *, epoch: int, update: Integers, secret: bytes, account: LocalAccount, key: str
    ) -> Done | None:
        """Refute the acquirer's commitment to our sampled values where it is not about our update.

        In optimistic markets nobody has checked yet that the samples were drawn by the delay function; we do.
        """
        chain = _client(trading)
        if self.optimistic and (false := self._false_randomness(chain, epoch)):
            return chain.challenge_randomness(epoch, proof=false, account=account, key=key)
        posted = chain.inputs(epoch)
        if account.address not in posted.providers:
            return None
        blinding, chosen = commitments.blinding(secret), chain.indices()
        own = commitments.update_commitment(sampled_values(update, chosen), blinding=blinding, shape=self.shape)
        slots = posted.inputs[-self.shape.providers :]  # the commitments are the last group of inputs
        if slots[posted.providers.index(account.address)] == own:
            return None
        tree = commitments.update_tree(update, seed=secret, shape=self.shape)
        objection = commitments.make_objection(tree, blinding=blinding, indices=chosen)
        return chain.refute_commitment(epoch, provider=account.address, objection=objection, account=account, key=key)

    # --- the acquirer ---------------------------------------------------------------------------------------------

    def unpack(self, delivery: bytes, *, epoch: int) -> Delivered:
        """Check shape, epoch, scale and range."""
        try:
            vector = from_bytes(delivery[SECRET_BYTES:], kind="update", parameters=self.parameters)
            self._root(vector.values, delivery[:SECRET_BYTES])
        except InputError as error:
            raise MessageError(f"the delivery is malformed: {error}") from error
        if vector.epoch != epoch or vector.scale != self.numbers.scale:
            raise MessageError(f"the delivery must be of epoch {epoch} at scale {self.numbers.scale}")
        return Delivered(vector.values, delivery[:SECRET_BYTES])

    def find_false(self, delivered: Mapping[str, Delivered], commitments: Mapping[str, bytes]) -> set[str]:
        """Those whose root is another one."""
        return {name for name, d in delivered.items() if self._root(d.values, d.secret) != commitments[name]}

    def start(self, model: NDArray[np.float64]) -> Sampling:
        """The initial model's root, and the circuit that the market will be settled by."""
        values = self.terms.model.quantise(model).values
        return Sampling(
            providers=self.shape.providers,
            samples=self.shape.samples,
            parameters=self.parameters,
            vdf_steps=self.squarings,
            verifying_key=key_hash(self.market_key),
            empty_commitment=commitments.empty_commitment(self.shape),
            poseidon=constants_hash(self.shape.update_words + 2),
            root=self._tree(values).root,
            content=content_hash(self._vector(values, 0)),
            optimistic=self.optimistic,
        )

    def first_file(self, model: NDArray[np.float64]) -> bytes:
        """The initial model's file."""
        return to_bytes(self._vector(self.terms.model.quantise(model).values, 0))

    def aggregate(self, file: bytes, shares: Shares, *, epoch: int) -> bytes:
        """The paper's equations (4) and (6) over the whole model."""
        return to_bytes(self._vector(self._aggregated(file, shares).model, epoch))

    def publish(self, act: Acting, file: bytes, shares: Shares) -> Done:
        """Post root and file hash; the contract draws the seed."""
        if act.journal.blob(act.epoch, "publication nonce") is None:
            act.journal.keep(act.epoch, "publication nonce", secrets.token_bytes(32))
        nonce = act.journal.blob(act.epoch, "publication nonce") or b""
        vector = self._read(file)
        return _client(act.trading).publish_root(
            act.epoch,
            content=content_hash(vector),
            root=self._tree(vector.values).root,
            nonce=nonce,
            account=act.account,
            key=act.key("publish"),
        )

    def prove(self, act: Acting, base: bytes, file: bytes, shares: Shares) -> list[Done]:
        """Delay function, openings, proof; then wait out the window in which providers may refute."""
        chain, (slots, account) = _client(act.trading), (_in_slots(shares), act.account)
        if chain.sampling()["verifying_key"] != key_hash(self.market_key):
            raise MarketError("the proving key at hand is not the one that the contract was deployed with")
        seed = chain.events(RootPublished, epoch=act.epoch)[0].seed
        delay = evaluate(seed, squarings=self.squarings)
        done = [chain.submit_randomness(act.epoch, proof=delay, account=account, key=act.key("randomness"))]
        statement, witness = state_samples(
            self._aggregated(base, shares),
            shape=self.shape,
            terms=self.terms,
            weights=[share.weight for share in slots.values()],
            updates=[share.delivered.values for share in slots.values()],
            blindings=[commitments.blinding(share.delivered.secret) for share in slots.values()],
            indices=chain.indices(),
        )
        posted = dict(zip(slots, statement.commitments, strict=False))
        trees = {"old": self._tree(self._read(base).values), "new": self._tree(self._read(file).values)}
        done.append(chain.commit_inputs(act.epoch, commitments=posted, **trees, account=account, key=act.key("inputs")))
        proof = prove_samples(self.proving_key, statement, witness)
        key = act.key("proof")
        done.append(
            chain.verify_aggregation(act.epoch, key_of_market=self.market_key, proof=proof, account=account, key=key)
        )
        act.clock.wait_until(chain.read_epoch(act.epoch).deadline + 1)
        return done

    # --- anybody --------------------------------------------------------------------------------------------------

    def check(self, trading: Trading, file: bytes, *, epoch: int) -> None:
        """File hash, Merkle root and the proofs' key, against the chain and the ceremony."""
        self._check_key(trading)
        posted, vector = _client(trading).root(epoch), self._read(file)
        if content_hash(vector) != posted.content:
            raise MarketError(f"the model file's hash is not the one that epoch {epoch} posted")
        if self._tree(vector.values).root != posted.root:
            raise MarketError(f"the model file's Merkle root is not the one that epoch {epoch} posted")

    def floats(self, file: bytes) -> NDArray[np.float64]:
        """The model as numbers."""
        return self.terms.model.dequantise(self._read(file).values)

    # --- parts ----------------------------------------------------------------------------------------------------

    @cached_property
    def proving_key(self) -> ProvingKey:
        """The circuit's key: of the ceremony that is installed here, or made alone where the terms say so."""
        return ceremony_keys(self.shape) if self.setup == "ceremony" else cached_keys(self.shape)

    @cached_property
    def market_key(self) -> VerifyingKey:
        """The verifying key with the market's constants folded in: what the contract holds the hash of."""
        return specialise(self.proving_key.verifying, self.terms.constants())

    def _check_key(self, trading: Trading) -> None:
        """Raise where proofs could be forged by whoever made the contract's key; terms may waive that."""
        if self.setup == "ceremony" and _client(trading).sampling()["verifying_key"] != key_hash(self.market_key):
            raise MarketError("the contract's verifying key is not that of the ceremony which is installed here")

    def _aggregated(self, file: bytes, shares: Shares) -> Aggregated:
        slots = _in_slots(shares)
        return aggregate_model(
            before=self._read(file).values,
            weights=[share.weight for share in slots.values()],
            updates=[share.delivered.values for share in slots.values()],
            terms=self.terms,
        )

    def _false_randomness(self, chain: SampledTrading, epoch: int) -> VdfProof | None:
        (posted,) = chain.events(RandomnessSubmitted, epoch=epoch)
        y, pi = (int.from_bytes(b"".join(w.to_bytes(32, "big") for w in ws)) for ws in (posted.output, posted.proof))
        right = evaluate(chain.root(epoch).seed, squarings=self.squarings)
        return None if right.y == y else VdfProof(y, pi, posted.counter)

    def _root(self, update: Integers, seed: bytes) -> bytes:
        tree = commitments.update_tree(update, seed=seed, shape=self.shape)
        return commitments.update_root(tree, blinding=commitments.blinding(seed))

    def _tree(self, model: Integers) -> Tree:
        return build_tree(model, bits=self.shape.model_bits)

    def _read(self, file: bytes) -> IntegerVector:
        try:
            return from_bytes(file, kind="model", parameters=self.parameters)
        except InputError as error:
            raise MarketError(f"the model file is malformed: {error}") from error

    def _vector(self, values: Integers, epoch: int) -> IntegerVector:
        scale, bits = float(self.terms.model.scale), self.shape.model_bits + 1
        return IntegerVector(kind="model", values=values, scale=scale, epoch=epoch, bits=bits)


def _in_slots(shares: Shares) -> dict[str, Share]:
    """The order of the circuit's slots: rising addresses, as the contract fills them."""
    return {name: shares[name] for name in sorted(shares, key=lambda name: int(name, 16))}


def _client(trading: Trading) -> SampledTrading:
    if isinstance(trading, SampledTrading):
        return trading
    return SampledTrading(trading.chain, trading.address, scheme="sampled", since=trading.since)
