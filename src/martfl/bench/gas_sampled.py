"""Gas of sampled settlement: the delay function under two price lists, and proofs by number of samples.

The gas of a Groth16 check depends on the number of public inputs alone, so keys here are made with a known trapdoor
and proofs simulated from it: no set-up, the same calls.
"""

import secrets
from dataclasses import dataclass

import numpy as np
from eth_account.signers.local import LocalAccount
from eth_utils.crypto import keccak
from web3.contract.contract import ContractFunction

from martfl.bench.gas_terms import ASK, DEPOSIT, LENET, WINDOW, even_weights, market_terms
from martfl.chain.deployment import SampledStart, Sampling
from martfl.chain.embedded import EmbeddedChain
from martfl.chain.events import SamplesDrawn
from martfl.chain.network import unsigned_call
from martfl.chain.sampled import SampledTrading, proof_words, wide
from martfl.chain.signing import sign_commit
from martfl.chain.state import Listing, Offer
from martfl.settlement import hash_tree
from martfl.settlement.sampled import curve
from martfl.settlement.sampled.groth16 import Proof, VerifyingKey
from martfl.settlement.sampled.keys import key_hash, key_words
from martfl.settlement.sampled.merkle import Tree, TreeShape, build_tree
from martfl.settlement.sampled.poseidon import constants_hash
from martfl.settlement.sampled.sealed import SampledRefutation, refutation, seal
from martfl.settlement.sampled.statement import CONSTANTS, FIELD, Shape
from martfl.settlement.sampled.update import blinding, empty_commitment, make_objection, update_tree
from martfl.settlement.sampled.vdf import CHALLENGE_BITS, evaluate

STEPS = 1 << 12  # gas does not depend on it
BASE = 21_000  # of every transaction
_L = -(-CHALLENGE_BITS // 8)
# MODEXP calls of one verification: (base, exponent, modulus bytes, bits of the exponent), how often
MODEXP = (
    ((_L, _L, _L, CHALLENGE_BITS - 1), 12),
    ((1, 8, _L, 13), 1),
    ((256, _L, 256, CHALLENGE_BITS), 2),
    ((288, 1, 256, 2), 1),
    ((256, 1, 256, 2), 1),
    ((288, 1, 256, 1), 1),
)


@dataclass(frozen=True)
class Sampled:
    """Gas at one number of providers; the last of `samples` is the one that `functions` are about."""

    parameters: int
    samples: tuple[int, ...]
    functions: dict[str, int]
    vdf_prague: int  # the check alone, within submit_randomness
    vdf_osaka: int  # the same with EIP-7883's price for MODEXP
    submit_optimistic: int
    groth16: int  # the check alone: inputs, additions, pairing
    by_samples: dict[int, dict[str, int]]  # the paper's Fig. 10
    codes: dict[str, int]  # bytes on chain


@dataclass(frozen=True)
class Trapdoor:
    """A key whose secrets are known: proofs for anything."""

    alpha: int
    beta: int
    gamma: int
    delta: int
    ic: tuple[int, ...]

    @classmethod
    def random(cls, inputs: int) -> "Trapdoor":
        """For a number of public inputs."""
        alpha, beta, gamma, delta, *ic = (1 + secrets.randbelow(FIELD - 1) for _ in range(5 + inputs))
        return cls(alpha, beta, gamma, delta, tuple(ic))

    def key(self) -> VerifyingKey:
        """The verifying key."""
        g1, g2 = curve.generator(1), curve.generator(2)
        ic = tuple(g1 * x for x in self.ic)
        return VerifyingKey(g1 * self.alpha, g2 * self.beta, g2 * self.gamma, g2 * self.delta, ic)

    def simulate(self, inputs: tuple[int, ...]) -> Proof:
        """C = (a·b − α·β − γ·(ic_0 + Σ x_i ic_i)) / δ."""
        a, b = (1 + secrets.randbelow(FIELD - 1) for _ in range(2))
        public = self.ic[0] + sum(x * y for x, y in zip(inputs, self.ic[1:], strict=True))
        c = (a * b - self.alpha * self.beta - self.gamma * public) * pow(self.delta, -1, FIELD) % FIELD
        return Proof(curve.generator(1) * a, curve.generator(2) * b, curve.generator(1) * c)


def bench_sampled(chain: EmbeddedChain, *, providers: int, samples: tuple[int, ...]) -> Sampled:
    """One epoch for every number of samples."""
    epochs = {count: _epoch(chain, providers=providers, samples=count) for count in samples}
    last = epochs[samples[-1]]
    optimistic = _epoch(chain, providers=2, samples=1, optimistic=True)["submit_randomness"]
    prague, groth16 = last.pop("vdf"), last.pop("groth16")
    codes = {name: last.pop(f"code {name}") for name in ("sampled", "prover")}
    figure = {
        count: {name: gas[name] for name in ("commit_inputs", "verify_aggregation")} for count, gas in epochs.items()
    }
    return Sampled(
        parameters=LENET,
        samples=samples,
        functions=last,
        vdf_prague=prague,
        vdf_osaka=prague - _modexp_price(osaka=False) + _modexp_price(osaka=True),
        submit_optimistic=optimistic,
        groth16=groth16,
        by_samples=figure,
        codes=codes,
    )


@dataclass(frozen=True)
class MeasuredMarket:
    """One market with all that its epoch needs."""

    chain: EmbeddedChain
    trading: SampledTrading
    acquirer: LocalAccount
    sellers: list[LocalAccount]
    false: "FalseSampledUpdate"  # what the first provider sells; the others sell random bytes
    offers: list[Offer]
    trapdoor: Trapdoor
    old: Tree
    new: Tree
    shape: Shape


def _epoch(chain: EmbeddedChain, *, providers: int, samples: int, optimistic: bool = False) -> dict[str, int]:
    before = chain.snapshot()
    acquirer, *sellers = chain.accounts[: providers + 1]
    shape = Shape(providers=providers, samples=samples)
    trapdoor = Trapdoor.random(shape.public_inputs - CONSTANTS)
    rng = np.random.default_rng(samples)
    old, new = (build_tree(rng.integers(0, 1 << 24, LENET), bits=24) for _ in range(2))
    start = _start(shape, trapdoor.key(), old, optimistic=optimistic)
    trading = SampledTrading.deploy(chain, terms=market_terms(acquirer, start), account=acquirer)
    false = FalseSampledUpdate.make(shape)
    offers = [false.offer(sellers[0].address), *(_random_offer(seller) for seller in sellers[1:])]
    measured = MeasuredMarket(chain, trading, acquirer, sellers, false, offers, trapdoor, old, new, shape)
    gas = _until_published(measured)
    gas |= _settle(measured)
    gas["code sampled"] = len(trading.code_at(trading.address))
    gas["code prover"] = len(trading.code_at(trading.prover.address))
    chain.revert(before)
    return gas


def _until_published(m: MeasuredMarket) -> dict[str, int]:
    gas = {"new_epoch": m.trading.new_epoch(amount=DEPOSIT, account=m.acquirer).gas}
    chain_id, market = m.chain.chain_id, m.trading.address
    digests = [offer.digest(chain_id=chain_id, market=market, epoch=1) for offer in m.offers]
    entries = [
        sign_commit(seller, chain_id=chain_id, market=market, epoch=1, digest=digest)
        for seller, digest in zip(m.sellers, digests, strict=True)
    ]
    gas["commit_models"] = m.trading.commit_models(1, entries=entries, account=m.acquirer).gas
    m.chain.travel(WINDOW + 1)
    gas["buy"] = m.trading.buy(1, offers=m.offers, account=m.acquirer).gas
    gas |= _refute(m)
    weights = even_weights(len(m.sellers))
    listings = [Listing(offer=offer, weight=weight) for offer, weight in zip(m.offers, weights, strict=True)]
    content = secrets.token_bytes(32)
    published = m.trading.publish_model(1, content=content, root=m.new.root, listings=listings, account=m.acquirer)
    return gas | {"publish_model": published.gas}


def _refute(m: MeasuredMarket) -> dict[str, int]:
    """The update with a false word is revealed and refuted; undone."""
    before, offer = m.chain.snapshot(), m.offers[0]
    gas = {"reveal": m.trading.reveal(1, offer=offer, secret=m.false.secret, account=m.sellers[0]).gas}
    gas["refute"] = m.trading.refute(1, offer=offer, refutation=m.false.refutation, account=m.acquirer).gas
    m.chain.revert(before)
    return gas


def _settle(m: MeasuredMarket) -> dict[str, int]:
    m.chain.travel(1)
    drawn = m.trading.draw_samples(1, account=m.sellers[0])
    delay = evaluate(drawn.event(SamplesDrawn).seed, squarings=STEPS)
    gas = {"draw_samples": drawn.gas}
    gas["submit_randomness"] = m.trading.submit_randomness(1, proof=delay, account=m.acquirer).gas
    commitments = {str(seller.address): secrets.randbelow(FIELD) for seller in m.sellers}
    done = m.trading.commit_inputs(1, commitments=commitments, old=m.old, new=m.new, account=m.acquirer)
    gas["commit_inputs"] = done.gas
    gas |= _refute_commitment(m)
    proof = m.trapdoor.simulate(m.trading.inputs(1).inputs)
    verified = m.trading.verify_aggregation(1, key_of_market=m.trapdoor.key(), proof=proof, account=m.sellers[0])
    gas["verify_aggregation"] = verified.gas
    prover, inputs = m.trading.prover.functions, list(m.trading.inputs(1).inputs)
    seed = drawn.event(SamplesDrawn).seed
    check = prover.delay_holds(seed, STEPS, wide(delay.y), wide(delay.pi), delay.nonce)
    gas["vdf"] = _inner_gas(m.trading, check, m.acquirer)
    check = prover.groth16_holds(key_words(m.trapdoor.key()), inputs, proof_words(proof))
    return gas | {"groth16": _inner_gas(m.trading, check, m.acquirer)}


def _refute_commitment(m: MeasuredMarket) -> dict[str, int]:
    """The first provider shows that the random number posted for it is not its commitment; undone."""
    before, secret = m.chain.snapshot(), m.false.secret
    tree = update_tree(np.zeros(LENET, np.uint16), secret=secret, shape=m.shape)
    shown = make_objection(tree, blinding=blinding(secret), indices=m.trading.indices(1))
    done = m.trading.refute_commitment(1, offer=m.offers[0], objection=shown, account=m.sellers[0])
    m.chain.revert(before)
    return {"refute_commitment": done.gas}


def _inner_gas(trading: SampledTrading, call: ContractFunction, account: LocalAccount) -> int:
    """Gas of a check alone: sent as a transaction of its own, less what every transaction costs."""
    data = bytes(unsigned_call(call, value=0).data)
    used = trading.chain.send(call, account=account).gas_used
    return used - BASE - sum(16 if byte else 4 for byte in data)


@dataclass(frozen=True)
class FalseSampledUpdate:
    """Zeros, sealed, then one word changed under the seal: ready to be sold, revealed and refuted."""

    secret: bytes
    commitment: bytes
    refutation: SampledRefutation
    root: bytes

    @classmethod
    def make(cls, shape: Shape) -> "FalseSampledUpdate":
        """For updates of LeNet's size."""
        tree, secret = TreeShape(parameters=LENET, bits=shape.update_bits), secrets.token_bytes(32)
        sealed = seal(np.zeros(LENET, np.uint16), tree, secret)
        body = sealed.body[:31] + bytes([sealed.body[31] ^ 1]) + sealed.body[32:]
        shown = refutation(body, secret, tree, 0)
        leaf = keccak(shown.sealed + shown.shown)
        root = hash_tree.climb(leaf, index=0, path=shown.path, leaves=tree.leaves + 1)
        return cls(secret, sealed.commitment, shown, root)

    def offer(self, provider: str) -> Offer:
        """What its seller shows."""
        key_hash = keccak(self.secret)
        return Offer(provider=provider, commitment=self.commitment, root=self.root, key_hash=key_hash, ask=ASK)


def _random_offer(seller: LocalAccount) -> Offer:
    commitment, root, key_hash = (secrets.token_bytes(32) for _ in range(3))
    return Offer(provider=seller.address, commitment=commitment, root=root, key_hash=key_hash, ask=ASK)


def _start(shape: Shape, key: VerifyingKey, old: Tree, *, optimistic: bool) -> SampledStart:
    sampling = Sampling(
        providers=shape.providers,
        samples=shape.samples,
        parameters=LENET,
        vdf_steps=STEPS,
        verifying_key=key_hash(key),
        empty_commitment=empty_commitment(shape),
        poseidon=constants_hash(shape.update_words + 2),
        optimistic=optimistic,
    )
    return SampledStart(sampling=sampling, root=old.root, content=bytes(32))


def _modexp_price(*, osaka: bool) -> int:
    return sum(times * _one_modexp(*sizes, osaka=osaka) for sizes, times in MODEXP)


def _one_modexp(base: int, exponent: int, modulus: int, bits: int, *, osaka: bool) -> int:
    """EIP-2565, or EIP-7883: bytes of an exponent beyond 32 count apart from its first 32."""
    words, beyond = -(-max(base, modulus) // 8), max(0, exponent - 32)
    rounds = max(1, (16 if osaka else 8) * beyond + bits - 8 * beyond - 1)
    if osaka:
        return max(500, (2 * words**2 if words > 4 else 16) * rounds)
    return max(200, words**2 * rounds // 3)
