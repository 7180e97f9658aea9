"""The chain: is it the right one, under the right rules, with a clock like ours, and is there money on it."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from martfl.amounts import coins
from martfl.chain.network import Chain, ChainError
from martfl.doctor import Finding, weigh, well
from martfl.errors import MartflError

if TYPE_CHECKING:
    from martfl.market.terms import Terms

G1_ADD, G1_ADD_INPUT = "0x000000000000000000000000000000000000000b", bytes(256)  # EIP-2537: infinity + infinity
DRIFT = 60  # seconds that clocks may differ
GAS = 20_000_000  # units, for a deployment and some epochs
SELLER_GAS = 500_000  # units, for a seller's own transactions in an emergency


def chain(name: str, *, config: Path | None, terms: "Terms | None", address: str | None) -> Iterator[Finding]:
    """All looks at a named chain; the first that fails ends them."""
    from martfl.chain.profiles import RpcProfile, load_profiles

    where = f"write a table [chains.{name}] with rpc and chain_id into martfl.toml, or name the file with --config"
    try:
        profile = load_profiles(config).get(name)
        if profile is None:
            yield Finding("chain", "fail", f"no chain is called {name!r} here", where)
            return
        with profile.open() as opened:
            opened.check()
            yield well("chain", f"{name}: chain id {opened.chain_id}, as expected")
            yield from _rules(opened)
            yield from _clock(opened) if isinstance(profile, RpcProfile) else ()
            yield from _money(opened, address, terms) if address else ()
            yield from _contract(opened, terms) if terms and terms.chain.contract else ()
    except (MartflError, OSError) as error:
        remedy = "look after the node and its URL; compare chain_id in martfl.toml with what the node serves"
        yield Finding("chain", "fail", f"{name}: {error}", remedy)


def _rules(opened: Chain) -> Iterator[Finding]:
    from web3.types import TxParams

    call: TxParams = {"to": opened.web3.to_checksum_address(G1_ADD), "data": opened.web3.to_hex(G1_ADD_INPUT)}
    has = bytes(opened.web3.eth.call(call)) == bytes(128)
    found = "BLS12-381 precompiles (Prague)" if has else "no BLS12-381 precompiles: older than Prague"
    remedy = "use a chain under Prague rules or later (anvil: --hardfork prague); sampled settlement needs none of them"
    yield weigh(has, "rules of the chain", found, remedy)


def _clock(opened: Chain) -> Iterator[Finding]:
    behind = int(time.time()) - opened.now()
    found = f"the newest block is {abs(behind)} s {'old' if behind >= 0 else 'in the future'}"
    remedy = "set this machine's clock (NTP); if it is right, the node lags or the chain makes no blocks"
    yield weigh(abs(behind) <= DRIFT, "clock", found, remedy, otherwise="warn")


def _money(opened: Chain, address: str, terms: "Terms | None") -> Iterator[Finding]:
    held, price = opened.balance(address), int(opened.web3.eth.gas_price)
    token = bool(terms and int(terms.money.token, 16))
    buyer = terms is not None and not terms.chain.contract  # before the deployment: whoever asks is the buyer
    deposit = terms.money.deposit if terms and buyer and not token else 0
    need = deposit + (GAS if buyer else SELLER_GAS) * price
    found = f"{address[:10]}… holds {coins(held)}"
    yield weigh(held >= need, "balance", found, f"send it at least {coins(need - held)} more", otherwise="warn")


def _contract(opened: Chain, terms: "Terms") -> Iterator[Finding]:
    from martfl.chain.open import open_trading

    contract = terms.chain.contract
    try:
        held = open_trading(opened, contract, since=terms.chain.since).terms().terms_hash
    except ChainError as error:
        yield Finding(
            "contract", "fail", str(error), "ask the buyer for the right file, or use the version it deployed with"
        )
        return
    same = held == terms.hash
    found = f"{contract[:10]}… holds the hash of " + ("these terms" if same else "other terms")
    yield weigh(same, "contract", found, "do not join with this file; ask the buyer for the one that it deployed")
