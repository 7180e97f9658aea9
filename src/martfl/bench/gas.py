"""Gas of every function of the trading contracts, measured on the embedded chain (Prague rules)."""

import secrets
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from eth_account.signers.local import LocalAccount
from eth_utils.address import to_checksum_address
from py_arkworks_bls12381 import G1Point, Scalar

from martfl.bench.gas_sampled import WINDOW, Sampled, bench_sampled, even_weights, market_terms
from martfl.chain.compile import compiled
from martfl.chain.embedded import EmbeddedChain
from martfl.chain.state import ExactModel
from martfl.chain.trading import Trading
from martfl.errors import InputError
from martfl.settlement.exact.point import Commitment

ETHER = 10**18
LENET = 44_426  # parameters of LeNet on 28 × 28 images
LANES = 10
PAPER = {  # the paper's Table 5
    "new_epoch": 163_076,
    "deposit": 46_643,
    "commit_model": 127_731,
    "prepare": 222_018,
    "claim_reward (acquirer)": 38_036,
    "claim_reward (provider)": 42_632,
}


@dataclass(frozen=True)
class OnChain:
    """What summing the updates themselves costs, against a whole epoch of ours at LeNet's size."""

    parameters_measured: int
    plain_per_parameter: float  # and provider
    packed_per_parameter: float
    plain_ratio: float
    packed_ratio: float


@dataclass(frozen=True)
class GasReport:
    """Gas by function; the epoch's total counts every provider's commitment and claim."""

    providers: int
    exact: dict[str, int]
    paper: dict[str, int]
    deployment: int
    epoch: int
    per_provider: int  # what one provider sends: commitment and claim
    dollars: dict[str, float]
    on_chain: OnChain
    sampled: Sampled | None = field(default=None)


def bench_gas(*, providers: int, samples: tuple[int, ...], gwei: float, coin: float) -> GasReport:
    """Run one epoch of each scheme with `providers` bought providers."""
    if not 2 <= providers <= 128:
        raise InputError(f"between 2 and 128 providers in one transaction, got {providers}")
    with EmbeddedChain(accounts=providers + 2) as chain:
        deployment, exact = _exact_epochs(chain, providers)
        epoch = _total(exact, providers)
        own = exact["commit_model"] + exact["claim_reward (provider)"]
        on_chain = _on_chain(chain, epoch=epoch, providers=providers)
        sampled = bench_sampled(chain, providers=providers, samples=samples) if samples else None
    price = gwei * 1e-9 * coin
    dollars = {"gas_price_gwei": gwei, "coin": coin, "epoch": epoch * price, "provider": own * price}
    return GasReport(providers, exact, PAPER, deployment, epoch, own, dollars, on_chain, sampled)


def _total(gas: dict[str, int], providers: int) -> int:
    once = ("new_epoch", "deposit", "buy_advance", "prepare", "publish_model", "claim_reward (acquirer)")
    each = ("commit_model", "claim_reward (provider)")
    return sum(gas[name] for name in once) + providers * sum(gas[name] for name in each)


def _exact_epochs(chain: EmbeddedChain, providers: int) -> tuple[int, dict[str, int]]:
    """Two epochs, of which the second counts: the first one's fresh storage costs more."""
    acquirer, *sellers = chain.accounts[: providers + 1]
    start = ExactModel(content=secrets.token_bytes(32), blinding=0, point=_point())
    trading = Trading.deploy(chain, terms=market_terms(acquirer, start), account=acquirer)
    assert trading.deployment is not None
    gas: dict[str, int] = {}
    for _ in range(2):
        gas = _exact_epoch(chain, trading, acquirer, sellers)
    chain.travel(2 * WINDOW + 60)
    epoch = trading.new_epoch(nonce=bytes(32), account=acquirer).epoch
    chain.travel(2 * WINDOW + 60)
    gas["expire"] = trading.expire(epoch, account=sellers[0]).gas
    return trading.deployment.gas_used, gas


def _exact_epoch(
    chain: EmbeddedChain, trading: Trading, acquirer: LocalAccount, sellers: list[LocalAccount]
) -> dict[str, int]:
    names, weights = [seller.address for seller in sellers], even_weights(len(sellers))
    opened = trading.new_epoch(nonce=secrets.token_bytes(32), account=acquirer)
    epoch, gas = opened.epoch, {"new_epoch": opened.gas}
    gas["deposit"] = trading.deposit(epoch, amount=ETHER, account=acquirer).gas
    for seller in sellers:
        done = trading.commit_model(epoch, commitment=_point(), nonce=secrets.token_bytes(32), account=seller)
        gas["commit_model"] = max(gas.get("commit_model", 0), done.gas)
    chain.travel(WINDOW + 1)
    gas["buy_advance"] = trading.buy_advance(epoch, providers=names[:1], account=acquirer).gas
    gas["prepare"] = trading.prepare(epoch, providers=names, weights=weights, account=acquirer).gas
    before = chain.snapshot()
    gas["drop"] = trading.drop(epoch, providers=names[:1], account=acquirer).gas
    chain.revert(before)
    content, blinding = secrets.token_bytes(32), secrets.randbelow(1 << 250)
    gas["publish_model"] = trading.publish_model(epoch, content=content, blinding=blinding, account=acquirer).gas
    gas["object"] = trading.object(epoch, account=sellers[-1]).gas
    chain.travel(WINDOW + 1)
    gas["claim_reward (acquirer)"] = trading.claim_reward(epoch, account=acquirer).gas
    gas["claim_reward (provider)"] = max(trading.claim_reward(epoch, account=seller).gas for seller in sellers[:2])
    return gas


def _point() -> bytes:
    return Commitment.from_point(G1Point() * Scalar(1 + secrets.randbelow(1 << 250))).to_eip2537()


def _on_chain(chain: EmbeddedChain, *, epoch: int, providers: int, parameters: int = 400) -> OnChain:
    """Gas for each parameter and provider once the sums exist; 16-bit updates as in our own quantisation."""
    code = compiled("onchain_sum", sources=Path(__file__).parent)
    factory = chain.web3.eth.contract(abi=list(code.abi), bytecode=code.bytecode)
    account = chain.accounts[0]
    address = to_checksum_address(str(chain.send(factory.constructor(), account=account).contract))
    calls = chain.web3.eth.contract(address=address, abi=list(code.abi)).functions
    update = np.random.default_rng(0).integers(-(2**15), 2**15, parameters)
    lanes = (update + 2**15).reshape(-1, LANES)
    words = [sum(int(v) << (24 * t) for t, v in enumerate(row)) for row in lanes]
    gas = [
        [chain.send(call, account=account).gas_used for _ in range(2)][1] / parameters
        for call in (calls.add(0, [int(v) for v in update]), calls.add_packed(0, words))
    ]
    ratios = [each * LENET * providers / epoch for each in gas]
    return OnChain(parameters, gas[0], gas[1], ratios[0], ratios[1])
