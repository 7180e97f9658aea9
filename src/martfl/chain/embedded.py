"""A whole chain inside the program: for tests, for the demo, for a market on one machine.

Blocks are made on demand, one per transaction, one second apart; time moves further only when it is told to. With a
`path` the chain lives in one SQLite file and is found again after a restart. The same calls give the same block hashes,
run after run.
"""

import threading
from contextlib import AbstractContextManager
from pathlib import Path

from eth_account import Account
from eth_account.signers.local import LocalAccount
from eth_tester.exceptions import TransactionFailed
from eth_utils.address import to_canonical_address, to_checksum_address
from eth_utils.crypto import keccak
from eth_utils.exceptions import ValidationError
from hexbytes import HexBytes
from web3 import Web3
from web3.providers.eth_tester import EthereumTesterProvider
from web3.providers.eth_tester.defaults import API_ENDPOINTS
from web3.types import RPCEndpoint, RPCResponse

from martfl.chain.evm import ACCOUNTS, CHAIN_ID, GAS_LIMIT, LocalBackend
from martfl.chain.logs import LocalTester
from martfl.chain.network import Chain, ChainError, Receipt, UnsignedCall, receipt_of
from martfl.chain.store import NodeStore
from martfl.errors import InputError
from martfl.values import Json


class EmbeddedChain(Chain):
    """py-evm under Prague rules, in process."""

    def __init__(self, path: Path | None = None, accounts: int = 10) -> None:
        if accounts < 1:
            raise InputError(f"an embedded chain needs at least 1 account, got {accounts}")
        self.accounts = [local_account(index) for index in range(accounts)]
        self._store = NodeStore(path)
        try:
            self._backend = LocalBackend(store=self._store, accounts=self.accounts)
        except BaseException:
            self._store.close()
            raise
        self._lock = threading.RLock()
        self.chain_id = CHAIN_ID
        self.web3 = Web3(LocalProvider(self._backend, self._lock))
        # Who reads without a name: else web3 asks for all accounts before every call.
        self.web3.eth.default_account = to_checksum_address(self.accounts[0].address)

    def now(self) -> int:
        return int(self._backend.head.timestamp)

    def balance(self, address: str) -> int:
        with self._lock:
            return int(self._backend.get_balance(to_canonical_address(address)))

    def travel(self, seconds: int) -> None:
        """Let `seconds` pass."""
        self.travel_to(self.now() + seconds)

    def travel_to(self, timestamp: int) -> None:
        """Close an empty block at `timestamp`; the next transaction runs one second after it."""
        with self._lock:
            if timestamp <= self.now():
                raise InputError(f"time moves forward only: it is {self.now()}, got {timestamp}")
            self._backend.time_travel(timestamp)

    def snapshot(self) -> int:
        """Remember the chain as it is now, for `revert`; snapshots are forgotten when the chain is closed."""
        with self._lock:
            return self._backend.take_snapshot()

    def revert(self, snapshot: int) -> None:
        """Go back to a snapshot, which stays valid; those taken after it do not."""
        with self._lock:
            self._backend.revert_to_snapshot(snapshot)

    def close(self) -> None:
        self._store.close()

    def _send(self, call: UnsignedCall, *, account: LocalAccount, key: str | None) -> Receipt:
        with self._lock:
            # The accounts of a market may share this chain, and name their steps alike.
            name = None if key is None else f"{account.address}/{key}".encode()
            transaction = None if name is None else self._backend.keyed(name)
            if transaction is None:
                transaction = self._execute(self._sign(call, account), name)
            return receipt_of(self.web3.eth.get_transaction_receipt(HexBytes(transaction)))

    def _execute(self, raw: bytes, key: bytes | None) -> bytes:
        try:
            return self._backend.execute(raw, key=key)
        except ValidationError as error:
            raise ChainError(f"the chain refused the transaction: {error}") from error

    def _sign(self, call: UnsignedCall, account: LocalAccount) -> bytes:
        sender = to_canonical_address(account.address)
        fee: int = self._backend.next_base_fee
        affordable = max(0, self.balance(account.address) - call.value) // fee
        params: Json = {
            **call.params(),
            "gas": min(GAS_LIMIT, affordable),
            "nonce": self._backend.get_nonce(sender),
            "chainId": self.chain_id,
            "maxFeePerGas": fee,
            "maxPriorityFeePerGas": 0,
        }
        return bytes(account.sign_transaction(params).raw_transaction)


class LocalProvider(EthereumTesterProvider):
    """web3's way into the backend: one request at a time, and reverts reported the way that nodes report them."""

    def __init__(self, backend: LocalBackend, lock: AbstractContextManager[object]) -> None:
        endpoints: Json = {**API_ENDPOINTS, "eth": {**API_ENDPOINTS["eth"], "chainId": lambda *_: CHAIN_ID}}
        super().__init__(LocalTester(backend), endpoints)
        self._lock = lock

    def make_request(self, method: RPCEndpoint, params: object) -> RPCResponse:
        with self._lock:
            try:
                return super().make_request(method, params)
            except TransactionFailed as error:
                return {"id": 1, "jsonrpc": "2.0", "error": {"code": 3, "message": str(error)}}


def local_account(index: int) -> LocalAccount:
    """The embedded chain's account number `index`. Its key is public knowledge: never send real coins to it."""
    account: LocalAccount = Account.from_key(keccak(f"martfl embedded account {index}".encode()))
    return account


def open_file(path: Path) -> EmbeddedChain:
    """The chain that a file holds, with as many accounts as it was made with."""
    store = NodeStore(path)
    accounts = store.get(ACCOUNTS)
    store.close()
    if accounts is None:
        raise InputError(f"{path} holds no embedded chain")
    return EmbeddedChain(path, accounts=int(accounts))
