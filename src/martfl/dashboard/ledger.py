"""A market's transactions, read off the chain: who did what, at which price, and how the contract stands now."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from hexbytes import HexBytes

from martfl.chain import events as ev
from martfl.chain.network import Chain
from martfl.chain.trading import Trading
from martfl.dashboard.story import Node, Transaction
from martfl.errors import MartflError

READING_PATIENCE = 3.0  # seconds for an answer of a node


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """Everything that the contract has on record."""

    transactions: tuple[Transaction, ...]
    paid: Mapping[int, Mapping[str, int]]  # epoch → party → claimed
    deposits: Mapping[int, int]
    node: Node


@dataclass
class LedgerReader:
    """Reads again and again; a transaction that is known is not fetched twice."""

    trading: Trading
    _known: dict[bytes, Transaction] = field(default_factory=dict)

    def read(self) -> Ledger:
        """The ledger as it is now."""
        trading, web3 = self.trading, self.trading.chain.web3
        logs = web3.eth.get_logs({"address": trading.address, "fromBlock": trading.since})
        paid: dict[int, dict[str, int]] = {}
        deposits: dict[int, int] = {}
        order: dict[bytes, int] = {}
        for entry, event in zip(logs, ev.decode(trading.contract, logs), strict=True):
            order.setdefault(bytes(entry["transactionHash"]), event.epoch)
            if isinstance(event, ev.Claimed):
                paid.setdefault(event.epoch, {})[event.party] = event.amount
            elif isinstance(event, ev.Deposited):
                deposits[event.epoch] = event.total
        found = (self._transaction(key, epoch) for key, epoch in order.items())
        kept = tuple(one for one in found if one is not None)
        return Ledger(transactions=kept, paid=paid, deposits=deposits, node=self._node())

    def _transaction(self, key: bytes, epoch: int) -> Transaction | None:
        if key in self._known:
            return self._known[key]
        eth = self.trading.chain.web3.eth
        sent, receipt = eth.get_transaction(HexBytes(key)), eth.get_transaction_receipt(HexBytes(key))
        if sent.get("to") != self.trading.address:
            return None  # the deployment, or a call through another contract
        name = self.trading.contract.decode_function_input(sent["input"])[0].fn_name
        one = Transaction(
            epoch=epoch, function=name, hash="0x" + key.hex(), gas=int(receipt["gasUsed"]), party=str(sent["from"])
        )
        self._known[key] = one
        return one

    def _node(self) -> Node:
        trading, chain = self.trading, self.trading.chain
        phases = {n: trading.read_epoch(n).phase.name for n in range(1, trading.epoch_count() + 1)}
        return Node(
            block=int(chain.web3.eth.block_number),
            time=chain.now(),
            balance=chain.balance(trading.address),
            phases=phases,
        )


def open_for_reading(profile: str, *, config: Path | None = None) -> Chain:
    """A chain by its profile, without the profile's store, which belongs to who sends; and impatient: it asks again."""
    from martfl.chain.profiles import RpcProfile, load_profiles, open_chain, resolve
    from martfl.chain.rpc import RpcChain

    found = load_profiles(config).get(profile)
    if not isinstance(found, RpcProfile):
        return open_chain(profile, config=config)
    return RpcChain(resolve(found.rpc), chain_id=found.chain_id, patience=READING_PATIENCE)


def ledger_in(folder: Path, contract: str) -> Ledger | None:
    """The ledger of a market whose embedded chain lies in `folder`; None while its program holds it."""
    from martfl.chain.embedded import EmbeddedChain
    from martfl.chain.evm import ACCOUNTS
    from martfl.chain.store import NodeStore

    path = folder / "chain.sqlite"
    if not path.is_file() or not contract:
        return None
    with suppress(MartflError):
        store = NodeStore(path)
        accounts = int(store[ACCOUNTS])
        store.close()
        with EmbeddedChain(path, accounts=accounts) as chain:
            return LedgerReader(Trading(chain, contract)).read()
    return None
