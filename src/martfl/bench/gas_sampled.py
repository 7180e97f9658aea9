"""Gas of sampled settlement: the delay function under two price lists, and proofs by number of samples.

The gas of a Groth16 check depends on the number of public inputs alone, so keys here are made with a known trapdoor
and proofs simulated from it: no set-up, the same calls.
"""

import secrets
from dataclasses import dataclass

import numpy as np
from eth_account.signers.local import LocalAccount
from web3.contract.contract import ContractFunction

from martfl.chain.embedded import EmbeddedChain
from martfl.chain.events import RootPublished
from martfl.chain.network import step_of
from martfl.chain.sampled import SampledTrading, proof_words, wide
from martfl.chain.state import WHOLE, ExactModel, Sampling, Terms
from martfl.settlement.sampled import curve
from martfl.settlement.sampled.groth16 import Proof, VerifyingKey
from martfl.settlement.sampled.keys import key_hash, key_words
from martfl.settlement.sampled.merkle import Tree, build_tree
from martfl.settlement.sampled.poseidon import constants_hash
from martfl.settlement.sampled.statement import CONSTANTS, FIELD, Shape
from martfl.settlement.sampled.update import empty_commitment
from martfl.settlement.sampled.vdf import evaluate

WINDOW = 3_600
PARAMETERS = 44_426
STEPS = 1 << 12  # gas does not depend on it
BASE = 21_000  # of every transaction
# MODEXP calls of one verification: (base, exponent, modulus bytes, bits of the exponent), how often
MODEXP = (
    ((33, 33, 33, 263), 12),
    ((1, 8, 33, 13), 1),
    ((256, 33, 256, 264), 2),
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
    prague = last.pop("vdf")
    for gas in epochs.values():
        gas.pop("vdf", None)
    figure = {
        count: {name: gas[name] for name in ("commit_inputs", "verify_aggregation")} for count, gas in epochs.items()
    }
    return Sampled(
        parameters=PARAMETERS,
        samples=samples,
        functions=last,
        vdf_prague=prague,
        vdf_osaka=prague - _modexp_price(osaka=False) + _modexp_price(osaka=True),
        submit_optimistic=optimistic,
        groth16=last.pop("groth16"),
        by_samples=figure,
    )


def _epoch(chain: EmbeddedChain, *, providers: int, samples: int, optimistic: bool = False) -> dict[str, int]:
    before = chain.snapshot()
    acquirer, *sellers = chain.accounts[: providers + 1]
    shape = Shape(providers=providers, samples=samples)
    trapdoor = Trapdoor.random(shape.public_inputs - CONSTANTS)
    rng = np.random.default_rng(samples)
    old, new = (build_tree(rng.integers(0, 1 << 24, PARAMETERS), bits=24) for _ in range(2))
    terms = market_terms(acquirer, _sampling(shape, trapdoor.key(), old, optimistic=optimistic))
    trading = SampledTrading.deploy(chain, terms=terms, account=acquirer)
    gas = _until_published(chain, trading, acquirer, sellers, new)
    gas |= _settle(trading, acquirer, sellers, trapdoor, old, new)
    chain.revert(before)
    return gas


def _until_published(
    chain: EmbeddedChain, trading: SampledTrading, acquirer: LocalAccount, sellers: list[LocalAccount], new: Tree
) -> dict[str, int]:
    gas = {"new_epoch": trading.new_epoch(nonce=bytes(32), amount=10**18, account=acquirer).gas}
    for seller in sellers:
        root, nonce = secrets.token_bytes(32), secrets.token_bytes(32)
        gas["commit_model"] = trading.commit_model(1, commitment=root, nonce=nonce, account=seller).gas
    chain.travel(WINDOW + 1)
    names, weights = [seller.address for seller in sellers], even_weights(len(sellers))
    gas["prepare"] = trading.prepare(1, providers=names, weights=weights, account=acquirer).gas
    content, nonce = secrets.token_bytes(32), secrets.token_bytes(32)
    published = trading.publish_root(1, content=content, root=new.root, nonce=nonce, account=acquirer)
    gas["publish_model"] = published.gas
    return gas


def _settle(
    trading: SampledTrading,
    acquirer: LocalAccount,
    sellers: list[LocalAccount],
    trapdoor: Trapdoor,
    old: Tree,
    new: Tree,
) -> dict[str, int]:
    (root,) = trading.events(RootPublished, epoch=1)
    delay = evaluate(root.seed, squarings=STEPS)
    gas = {"submit_randomness": trading.submit_randomness(1, proof=delay, account=acquirer).gas}
    commitments = {str(seller.address): secrets.randbelow(FIELD) for seller in sellers}
    done = trading.commit_inputs(1, commitments=commitments, old=old, new=new, account=acquirer)
    gas["commit_inputs"] = done.gas
    proof = trapdoor.simulate(trading.inputs(1).inputs)
    gas["verify_aggregation"] = trading.verify_aggregation(
        1, key_of_market=trapdoor.key(), proof=proof, account=sellers[0]
    ).gas
    proofs, inputs = trading.proofs(), list(trading.inputs(1).inputs)
    check = proofs.delay_holds(root.seed, STEPS, wide(delay.y), wide(delay.pi), delay.nonce)
    gas["vdf"] = _inner_gas(trading, check, acquirer)
    check = proofs.groth16_holds(key_words(trapdoor.key()), inputs, proof_words(proof))
    gas["groth16"] = _inner_gas(trading, check, acquirer)
    return gas


def _inner_gas(trading: SampledTrading, call: ContractFunction, account: LocalAccount) -> int:
    """Gas of a check alone: sent as a transaction of its own, less what every transaction costs."""
    data = bytes(step_of(call, value=0).data)
    used = trading.chain.send(call, account=account).gas_used
    return used - BASE - sum(16 if byte else 4 for byte in data)


def market_terms(acquirer: LocalAccount, settlement: ExactModel | Sampling) -> Terms:
    """The terms of a measured market, whatever its scheme."""
    return Terms(
        acquirer=acquirer.address,
        commit_window=WINDOW,
        prepare_window=WINDOW,
        publish_window=WINDOW,
        settle_window=WINDOW,
        advance_fee=10**15,
        penalty_ratio=5_000,
        minimum_deposit=10**16,
        settlement=settlement,
    )


def even_weights(count: int) -> list[int]:
    """The whole, in parts as equal as they can be."""
    weights = [WHOLE // count] * count
    weights[0] += WHOLE - sum(weights)
    return weights


def _sampling(shape: Shape, key: VerifyingKey, old: Tree, *, optimistic: bool) -> Sampling:
    return Sampling(
        providers=shape.providers,
        samples=shape.samples,
        parameters=PARAMETERS,
        vdf_steps=STEPS,
        verifying_key=key_hash(key),
        empty_commitment=empty_commitment(shape),
        poseidon=constants_hash(shape.update_words + 2),
        root=old.root,
        content=bytes(32),
        optimistic=optimistic,
    )


def _modexp_price(*, osaka: bool) -> int:
    return sum(times * _one_modexp(*sizes, osaka=osaka) for sizes, times in MODEXP)


def _one_modexp(base: int, exponent: int, modulus: int, bits: int, *, osaka: bool) -> int:
    """EIP-2565, or EIP-7883; both count whole bytes of an exponent behind its first 32."""
    words, behind = -(-max(base, modulus) // 8), max(0, exponent - 32)
    rounds = max(1, bits - 8 * behind - 1 + (16 if osaka else 8) * behind)
    if osaka:
        return max(500, (2 * words**2 if words > 4 else 16) * rounds)
    return max(200, words**2 * rounds // 3)
