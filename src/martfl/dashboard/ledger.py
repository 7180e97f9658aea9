"""A market's transactions, read off the chain: who did what, at which price, and how the contract stands now."""

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from hexbytes import HexBytes
from web3.contract import Contract

from martfl import extras
from martfl.chain import events as ev
from martfl.chain.history import History, read_history
from martfl.chain.network import Chain
from martfl.chain.open import open_trading
from martfl.chain.state import EpochState
from martfl.chain.trading import Trading
from martfl.dashboard.story import DeliveryState, Node, Transaction
from martfl.errors import MartflError

log = logging.getLogger(__name__)

READING_PATIENCE = 3.0  # seconds for an answer of a node


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """Everything that the contract has on record."""

    history: History
    transactions: tuple[Transaction, ...]
    node: Node
    states: Mapping[int, EpochState] = field(default_factory=dict)

    def paid(self, epoch: int) -> dict[str, int]:
        """Provider → claimed."""
        return {event.provider: event.amount for event in self.history.of(ev.Claimed, epoch)}

    def refunded(self, epoch: int) -> int:
        """What went back to the acquirer."""
        return sum(event.amount for event in self.history.of(ev.Refunded, epoch))

    def deliveries(self, epoch: int) -> Mapping[str, DeliveryState]:
        """How far each bought update came over; the later word counts."""
        history = self.history
        found = dict.fromkeys(history.bought(epoch), DeliveryState.WAITING)
        found |= {event.provider: DeliveryState.REVEALED for event in history.of(ev.Revealed, epoch)}
        found |= {name: DeliveryState.ACCEPTED for event in history.of(ev.Accepted, epoch) for name in event.providers}
        found |= {event.provider: DeliveryState.REFUTED for event in history.of(ev.Refuted, epoch)}
        return found | dict.fromkeys(history.weights(epoch), DeliveryState.LISTED)


@dataclass
class LedgerReader:
    """Reads again and again; a transaction that is known is not fetched twice."""

    trading: Trading
    _known: dict[str, Transaction | None] = field(default_factory=dict)

    def read(self) -> Ledger:
        """The ledger as it is now."""
        history = read_history(self.trading)
        order: dict[str, int] = {}
        for entry in history.entries:
            order.setdefault(entry.transaction, entry.event.epoch)
        found = (self._transaction(key, epoch) for key, epoch in order.items())
        kept = tuple(one for one in found if one is not None)
        states = {n: self.trading.read_epoch(n) for n in history.epochs()}
        return Ledger(history=history, transactions=kept, node=self._node(states), states=states)

    def _transaction(self, key: str, epoch: int) -> Transaction | None:
        if key not in self._known:
            self._known[key] = self._fetched(key, epoch)
        return self._known[key]

    def _fetched(self, key: str, epoch: int) -> Transaction | None:
        eth = self.trading.chain.web3.eth
        sent, receipt = eth.get_transaction(HexBytes(key)), eth.get_transaction_receipt(HexBytes(key))
        contract = self._contracts().get(str(sent.get("to")))
        if contract is None:
            return None  # the deployment, or a call through another contract
        name = contract.decode_function_input(sent["input"])[0].fn_name
        return Transaction(epoch=epoch, function=name, hash=key, gas=int(receipt["gasUsed"]), party=str(sent["from"]))

    def _contracts(self) -> dict[str, Contract]:
        """The market's own contracts by address."""
        found = (self.trading.contract, self.trading.prover)
        return {str(contract.address): contract for contract in found if contract is not None}

    def _node(self, states: Mapping[int, EpochState]) -> Node:
        chain = self.trading.chain
        return Node(
            block=int(chain.web3.eth.block_number),
            time=chain.now(),
            balance=chain.balance(self.trading.address),
            phases={number: state.phase.name for number, state in states.items()},
        )


def open_for_reading(profile: str, *, config: Path | None = None) -> Chain:
    """A chain by its profile, without the profile's store, which is the sender's own; and impatient: it asks again."""
    from martfl.chain.profiles import RpcProfile, load_profiles, open_chain, resolve
    from martfl.chain.rpc import RpcChain

    found = load_profiles(config).get(profile)
    if not isinstance(found, RpcProfile):
        return open_chain(profile, config=config)
    return RpcChain(resolve(found.rpc), chain_id=found.chain_id, patience=READING_PATIENCE)


def ledger_in(folder: Path, contract: str) -> Ledger | None:
    """The ledger of a market whose embedded chain lies in `folder`; None while its program holds it."""
    path = folder / "chain.sqlite"
    if not path.is_file() or not contract:
        return None
    if absent := extras.missing("demo"):
        log.warning("the chain beside the journal cannot be read without %s: %s", absent[0], extras.remedy("demo"))
        return None
    from martfl.chain.embedded import open_file

    with suppress(MartflError), open_file(path) as chain:
        return LedgerReader(open_trading(chain, contract)).read()
    return None
