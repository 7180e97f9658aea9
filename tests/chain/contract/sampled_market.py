"""A market with sampled settlement: 3 slots, 4 samples of 3000 parameters, a short delay; real openings and proofs."""

import functools
from dataclasses import replace

import numpy as np
from markets import Market, Seller, offer_of, word

from martfl.chain.deployment import SampledStart, Sampling
from martfl.chain.embedded import EmbeddedChain
from martfl.chain.events import SamplesDrawn
from martfl.chain.sampled import SampledTrading
from martfl.settlement.keccak import keccak
from martfl.settlement.sampled import Quantisation, Shape, cached_keys, key_hash, specialise
from martfl.settlement.sampled.epoch import aggregate_model, prove_samples, state_samples
from martfl.settlement.sampled.merkle import Tree, TreeShape, build_tree
from martfl.settlement.sampled.poseidon import constants_hash
from martfl.settlement.sampled.sealed import SampledSealedUpdate, find_false_leaf, refutation, seal
from martfl.settlement.sampled.sealed import _tree as sealed_tree
from martfl.settlement.sampled.update import blinding, empty_commitment, make_objection, update_tree
from martfl.settlement.sampled.vdf import VdfProof, evaluate

PARAMETERS, STEPS = 3000, 300
SHAPE = Shape(providers=3, samples=4)
QUANTISATION = Quantisation.symmetric(SHAPE, update_limit=0.5, model_limit=4.0, epsilon=1e-3)


@functools.cache
def keys():
    """The proving key, and the market's own verifying key."""
    proving = cached_keys(SHAPE)
    return proving, specialise(proving.verifying, QUANTISATION.constants())


@functools.cache
def sealed_update(parameters: int, index: int) -> tuple[np.ndarray, bytes, SampledSealedUpdate]:
    """Values, K and the sealed update of seller number `index`."""
    drawn = np.random.default_rng(100 + index).normal(0, 0.1, parameters)
    values, secret = QUANTISATION.update.quantise(drawn).values, word(f"secret {index}")
    return values, secret, seal(values, tree_shape(parameters), secret)


@functools.cache
def delay_of(seed: bytes, steps: int = STEPS) -> VdfProof:
    return evaluate(seed, squarings=steps)


def tree_shape(parameters: int) -> TreeShape:
    return TreeShape(parameters=parameters, bits=SHAPE.update_bits)


def model_tree(values) -> Tree:
    return build_tree(values, bits=SHAPE.model_bits)


def garbled(body: bytes, shape: TreeShape, leaf: int = 0) -> bytes:
    """One sealed word is another, its node in the salted tree stays; or, in the last leaf, the hash of the blinding."""
    at = 64 * shape.leaves + 31 if leaf == shape.leaves else 32 * leaf + 31
    return body[:at] + bytes([body[at] ^ 0x55]) + body[at + 1 :]


class SampledMarket(Market):
    """Sellers of whole, if small, updates; samples of the sum are proved."""

    deploy = staticmethod(SampledTrading.deploy)
    steps, shape, quantisation = STEPS, SHAPE, QUANTISATION

    def __init__(
        self, chain, *, optimistic: bool = False, parameters: int = PARAMETERS, sampling: dict | None = None, **changes
    ) -> None:
        self.parameters, self.optimistic, self.fixed = parameters, optimistic, sampling or {}
        self.model = QUANTISATION.model.quantise(np.random.default_rng(5).normal(0, 0.5, parameters)).values
        super().__init__(chain, **changes)

    def start(self) -> SampledStart:
        sampling = Sampling(
            providers=SHAPE.providers,
            samples=SHAPE.samples,
            parameters=self.parameters,
            vdf_steps=STEPS,
            verifying_key=key_hash(keys()[1]),
            empty_commitment=empty_commitment(SHAPE),
            poseidon=constants_hash(SHAPE.update_words + 2),
            optimistic=self.optimistic,
        )
        self.sampling = replace(sampling, **self.fixed)
        return SampledStart(sampling=self.sampling, root=model_tree(self.model).root, content=word("initial"))

    def seller(self, account, index: int, ask: int) -> Seller:
        values, secret, sealed = sealed_update(self.parameters, index)
        return Seller(
            account, values, secret, sealed.body, offer_of(account, sealed.commitment, sealed.root, secret, ask)
        )

    def lies(self, index: int, leaf: int = 0) -> None:
        """Seller number `index` commits to a body that its key does not open; its nodes are still those of C."""
        seller, shape = self.sellers[index], tree_shape(self.parameters)
        body, offer = garbled(seller.body, shape, leaf), seller.offer
        if leaf == shape.leaves:  # another blinding than that of K
            salted = update_tree(seller.update, secret=seller.secret, shape=SHAPE).root
            offer = replace(offer, commitment=keccak(salted + body[-32:]))
        self.sellers[index] = replace(seller, body=body, offer=replace(offer, root=sealed_tree(body, shape).root))

    def false_leaf(self, index: int) -> int | None:
        return find_false_leaf(self.sellers[index].body, self.sellers[index].secret, tree_shape(self.parameters))

    def refutation(self, index: int, leaf: int = 0):
        seller = self.sellers[index]
        return refutation(seller.body, seller.secret, tree_shape(self.parameters), leaf)

    # --- after publication ------------------------------------------------------------------------------------

    def aggregate(self, weights: dict[int, int]) -> None:
        self.slots = dict(weights)
        self.old = self.new = model_tree(self.model)
        if weights:
            updates = [self.sellers[i].update for i in weights]
            self.aggregated = aggregate_model(
                before=self.model, weights=list(weights.values()), updates=updates, terms=QUANTISATION
            )
            self.new = model_tree(self.aggregated.model)

    def publish(self, weights: dict[int, int] | None = None, **changes):
        weights = self.weights() if weights is None else weights
        self.aggregate(weights)
        values = {"content": word("file"), "root": self.new.root, "listings": self.listings(weights)}
        return self.trading.publish_model(self.epoch, **({"account": self.acquirer} | values | changes))

    def draw(self, **changes):
        """The block after publication is closed, then anybody draws; the delay is computed."""
        published = self.trading.publication(self.epoch).number
        while self.chain.web3.eth.block_number < published + (1 if isinstance(self.chain, EmbeddedChain) else 2):
            self.chain.travel(1)
        done = self.trading.draw_samples(self.epoch, **({"account": self.stranger} | changes))
        self.delay = delay_of(done.event(SamplesDrawn).seed)
        return done

    def at_prover(self, name: str, *arguments, account):
        """A call of the prover for this market as it is: the client would find out who was faster."""
        call = self.trading.prover.functions[name](self.trading.address, *arguments)
        return self.chain.send(call, account=account)

    def delay_at(self, epoch: int, trading) -> VdfProof:
        """The delay function's output for an epoch whose samples are drawn."""
        (drawn,) = trading.proof_events(SamplesDrawn, epoch=epoch)
        return delay_of(drawn.seed)

    def randomise(self, **changes):
        values = {"proof": self.delay, "account": self.acquirer}
        return self.trading.submit_randomness(self.epoch, **(values | changes))

    def state_samples(self) -> None:
        self.statement, self.witness = state_samples(
            self.aggregated,
            shape=SHAPE,
            terms=QUANTISATION,
            weights=list(self.slots.values()),
            updates=[self.sellers[i].update for i in self.slots],
            blindings=[blinding(self.sellers[i].secret) for i in self.slots],
            indices=self.trading.indices(self.epoch),
        )
        pairs = zip(self.slots, self.statement.commitments, strict=False)
        self.commitments = {self.sellers[i].name: value for i, value in pairs}

    def commit_inputs(self, **changes):
        self.state_samples()
        values = {"commitments": self.commitments, "old": self.old, "new": self.new, "account": self.acquirer}
        return self.trading.commit_inputs(self.epoch, **(values | changes))

    def prove(self):
        return prove_samples(keys()[0], self.statement, self.witness)

    def verify(self, **changes):
        values = {"key_of_market": keys()[1], "account": self.stranger}
        if "proof" not in changes:
            values["proof"] = self.prove()
        return self.trading.verify_aggregation(self.epoch, **(values | changes))

    def objection(self, index: int):
        seller = self.sellers[index]
        tree = update_tree(seller.update, secret=seller.secret, shape=SHAPE)
        return make_objection(tree, blinding=blinding(seller.secret), indices=self.trading.indices(self.epoch))

    def refute_commitment(self, index: int, **changes):
        values = {"offer": self.sellers[index].offer, "account": self.sellers[index].account}
        if "objection" not in changes:
            values["objection"] = self.objection(index)
        return self.trading.refute_commitment(self.epoch, **(values | changes))

    # --- so far -----------------------------------------------------------------------------------------------

    def drawn(self, weights: dict[int, int] | None = None) -> int:
        self.published(weights)
        self.draw()
        return self.epoch

    def randomised(self, weights: dict[int, int] | None = None) -> int:
        self.drawn(weights)
        self.randomise()
        return self.epoch

    def with_inputs(self, weights: dict[int, int] | None = None, **changes) -> int:
        self.randomised(weights)
        self.commit_inputs(**changes)
        return self.epoch

    def proved(self, weights: dict[int, int] | None = None) -> int:
        self.with_inputs(weights)
        self.verify()
        return self.epoch

    def settled(self, weights: dict[int, int] | None = None) -> int:
        self.proved(weights)
        self.pass_deadline()
        self.model = self.aggregated.model
        return self.epoch

    def pass_deadline(self) -> None:
        """The step that is due is too late, for who reads as well."""
        self.chain.travel_to(max(self.state().deadline, self.chain.now()) + 1)
