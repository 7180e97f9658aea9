"""Gas of every function of the trading contracts, measured on the embedded chain (Prague rules)."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from eth_utils.address import to_checksum_address

from martfl.bench.gas_exact import bench_exact
from martfl.bench.gas_sampled import Sampled, bench_sampled
from martfl.bench.gas_terms import LENET
from martfl.chain.compile import MAX_CODE_BYTES, compiled
from martfl.chain.embedded import EmbeddedChain
from martfl.errors import InputError

LANES = 10
PAPER = {  # the paper's Table 5
    "new_epoch": 163_076,
    "deposit": 46_643,
    "commit_model": 127_731,
    "prepare": 222_018,
    "claim_reward (acquirer)": 38_036,
    "claim_reward (provider)": 42_632,
}
OURS = {"prepare": "buy"}  # what the paper's function is called here


@dataclass(frozen=True)
class OnChain:
    """What summing the updates themselves costs, against a whole epoch of ours at LeNet's size."""

    parameters_measured: int
    plain_per_parameter: float  # and provider
    packed_per_parameter: float
    plain_ratio: float
    packed_ratio: float


@dataclass(frozen=True)
class CodeSize:
    """A contract's bytes on chain, and how many more the chain would take."""

    bytes: int
    room: int


@dataclass(frozen=True)
class GasReport:
    """Gas by function; an epoch's total counts everybody's transactions, with commitments and claims relayed."""

    providers: int
    exact: dict[str, int]  # in a later epoch
    exact_first: dict[str, int]  # in the contract's first
    paper: dict[str, int]
    deployment: int
    epoch: int
    epoch_first: int
    per_provider: int  # what one provider sends that does without relays: commitment and claim
    dollars: dict[str, float]
    code: dict[str, CodeSize]
    on_chain: OnChain
    sampled: Sampled | None = field(default=None)


def bench_gas(*, providers: int, samples: tuple[int, ...], gwei: float, coin: float) -> GasReport:
    """Run epochs of each scheme with `providers` bought providers."""
    if not 2 <= providers <= 128:
        raise InputError(f"between 2 and 128 providers in one transaction, got {providers}")
    with EmbeddedChain(accounts=providers + 2) as chain:
        exact = bench_exact(chain, providers=providers)
        on_chain = _on_chain(chain, epoch=exact.epoch(), providers=providers)
        sampled = bench_sampled(chain, providers=providers, samples=samples) if samples else None
    own, price = exact.functions["commit_model"] + exact.functions["claim_reward (provider)"], gwei * 1e-9 * coin
    dollars = {"gas_price_gwei": gwei, "coin": coin, "epoch": exact.epoch() * price, "provider": own * price}
    codes = exact.codes | (sampled.codes if sampled else {})
    return GasReport(
        providers=providers,
        exact=exact.functions,
        exact_first=exact.first,
        paper=PAPER,
        deployment=exact.deployments["exact"],
        epoch=exact.epoch(),
        epoch_first=exact.epoch(first=True),
        per_provider=own,
        dollars=dollars,
        code={name: CodeSize(size, MAX_CODE_BYTES - size) for name, size in codes.items()},
        on_chain=on_chain,
        sampled=sampled,
    )


def paper_gas(name: str) -> int | None:
    """What the paper's function of this kind takes, by our name."""
    theirs = next((paper for paper, ours in OURS.items() if ours == name), name)
    return PAPER.get(theirs)


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
