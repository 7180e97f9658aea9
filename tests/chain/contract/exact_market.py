"""A market with exact settlement: updates of a few parameters, committed to on BLS12-381."""

import functools
from dataclasses import replace

import numpy as np
from eth_utils import keccak
from markets import Market, Seller, offer_of, word
from py_arkworks_bls12381 import G1Point, Scalar

from martfl.chain.deployment import ExactModel, ExactStart, PackingTerms
from martfl.chain.exact import ExactTrading
from martfl.settlement.exact import (
    INITIAL_BLINDING,
    ORDER,
    Commitment,
    CommitmentKey,
    ExactSealedUpdate,
    SlotLayout,
    commit_initial,
    find_false_leaf,
    generator_root,
    opening_of,
    refutation,
    seal,
)
from martfl.settlement.exact.leaves import code_bytes
from martfl.settlement.exact.sealed import leaf_shape, leaf_tree, split_body

PARAMETERS = 7  # two scalars, the second with one value


@functools.cache
def key_of(parameters: int, layout: SlotLayout | None = None) -> CommitmentKey:
    return CommitmentKey.load(parameters=parameters, layout=layout)


@functools.cache
def layout_of(key: CommitmentKey) -> PackingTerms:
    """The layout as the contract keeps it."""
    slots = key.layout
    root = generator_root(key)
    return PackingTerms(
        parameters=key.parameters, bits=slots.bits, width=slots.width, slots=slots.slots, generators=root
    )


@functools.cache
def sealed_update(key: CommitmentKey, index: int) -> tuple[np.ndarray, bytes, ExactSealedUpdate]:
    """Values, K and the sealed update of seller number `index`; both ends of the range are in it."""
    bound, rng = key.layout.update_bound, np.random.default_rng(index)
    values = rng.integers(-bound, bound, key.parameters, endpoint=True)
    values[rng.integers(key.parameters)] = rng.choice([-bound, bound])
    secret = word(f"secret {index}")
    return values, secret, seal(values, key, secret)


@functools.cache
def initial_model(key: CommitmentKey) -> ExactModel:
    point = commit_initial(np.zeros(key.parameters, np.int64), key).to_eip2537()
    return ExactModel(content=word("initial"), blinding=INITIAL_BLINDING, point=point)


def root_of(body: bytes, key: CommitmentKey) -> bytes:
    """The root that a seller shows who sends this body."""
    return leaf_tree(*split_body(body, key), key).root


def garbled(body: bytes, key: CommitmentKey, leaf: int = 0) -> bytes:
    """The low byte of a leaf's first value is sealed otherwise; its commitment stays."""
    at = leaf_shape(key).sealed(leaf).start + code_bytes(key.layout.bits) - 1
    return body[:at] + bytes([body[at] ^ 0x55]) + body[at + 1 :]


def shifted(body: bytes, key: CommitmentKey) -> bytes:
    """Two parts that are both false and add up to the right sum: P_0 + D and P_1 - D."""
    start, delta = leaf_shape(key).sealed_bytes, G1Point() * Scalar(77)
    first, second = (G1Point.from_compressed_bytes(body[start + 48 * i : start + 48 * i + 48]) for i in (0, 1))
    parts = bytes((first + delta).to_compressed_bytes()) + bytes((second - delta).to_compressed_bytes())
    return body[:start] + parts + body[start + 96 :]


def model_digest(model: ExactModel) -> bytes:
    """What the contract keeps of a model."""
    return keccak(model.content + model.blinding.to_bytes(32, "big") + keccak(model.point))


@functools.cache
def point(number: int) -> bytes:
    """number · G as EIP-2537 writes it."""
    return Commitment.from_point(G1Point() * Scalar(number % ORDER)).to_eip2537()


class ExactMarket(Market):
    """Sellers of small updates; the chain adds up what they committed to."""

    deploy = staticmethod(ExactTrading.deploy)
    order, point = ORDER, staticmethod(point)

    def __init__(self, chain, *, parameters: int = PARAMETERS, layout: SlotLayout | None = None, **changes) -> None:
        self.key = key_of(parameters, layout)
        self.initial = initial_model(self.key)
        super().__init__(chain, **changes)

    def start(self) -> ExactStart:
        return ExactStart(layout=layout_of(self.key), model=self.initial)

    def seller(self, account, index: int, ask: int) -> Seller:
        values, secret, sealed = sealed_update(self.key, index)
        offer = offer_of(account, sealed.commitment.to_eip2537(), sealed.root, secret, ask)
        return Seller(account, values, secret, sealed.body, offer)

    def lies(self, index: int, change=garbled, **options) -> None:
        """Seller number `index` commits to a body that is not what it says; P_l still add up to C."""
        seller = self.sellers[index]
        body = change(seller.body, self.key, **options)
        self.sellers[index] = replace(seller, body=body, offer=replace(seller.offer, root=root_of(body, self.key)))

    def false_leaf(self, index: int) -> int | None:
        seller = self.sellers[index]
        return find_false_leaf(seller.body, seller.secret, self.key)

    def refutation(self, index: int, leaf: int = 0):
        seller = self.sellers[index]
        return refutation(seller.body, seller.secret, self.key, leaf)

    def blinding(self, weights: dict[int, int]) -> int:
        """Sum of k_i·rho_i."""
        return sum(k * opening_of(self.sellers[i].secret, self.key).blinding for i, k in weights.items()) % ORDER

    def publish(self, weights: dict[int, int] | None = None, **changes):
        weights = self.weights() if weights is None else weights
        base = changes.pop("base", None) or self.base()
        content = word(f"model {self.epoch}") if weights else base.content
        values = {"content": content, "base": base, "listings": self.listings(weights), "account": self.acquirer}
        if "blinding" not in changes:
            values["blinding"] = self.blinding(weights)
        return self.trading.publish_model(self.epoch, **(values | changes))

    def base(self) -> ExactModel:
        return self.trading.model(self.state().base)
