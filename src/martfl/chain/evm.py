"""eth-tester's py-evm backend, made deterministic and durable.

Stock eth-tester stamps blocks with the wall clock and draws `prevrandao` from the system *after* the transaction has
run. Here a block's time is its parent's plus one second unless the caller travels, and its `prevrandao` is a hash of
its parent, known to the transaction that runs in it: the same calls give the same block hashes.
"""

from eth.abc import BlockAPI, BlockHeaderAPI, ComputationAPI, SignedTransactionAPI, TransactionBuilderAPI
from eth.chains.base import MiningChain
from eth.constants import POST_MERGE_DIFFICULTY, POST_MERGE_NONCE
from eth.db.atomic import AtomicDB
from eth.exceptions import HeaderNotFound, TransactionNotFound
from eth.typing import AccountDetails, HeaderParams
from eth_account.signers.local import LocalAccount
from eth_tester import exceptions as tester
from eth_tester.backends.pyevm.main import PyEVMBackend
from eth_tester.backends.pyevm.serializers import serialize_transaction, serialize_transaction_receipt
from eth_typing import BlockNumber, Hash32
from eth_utils.address import to_canonical_address
from eth_utils.crypto import keccak

from martfl.chain.network import ChainError, RevertedError, revert_text
from martfl.chain.precompiles import FastPragueVM
from martfl.chain.store import NodeStore
from martfl.values import Json

CHAIN_ID = 1337
GENESIS_TIME = 1_735_689_600  # 1 January 2025, 00:00 UTC
GAS_LIMIT = 60_000_000  # of a block, and so of a transaction
FUNDS = 1_000_000 * 10**18  # wei of every account at the start
GENESIS: dict[str, HeaderParams] = {
    "difficulty": POST_MERGE_DIFFICULTY,
    "nonce": POST_MERGE_NONCE,
    "gas_limit": GAS_LIMIT,
    "timestamp": GENESIS_TIME,
}
REMEMBERED = 1000  # transactions
ACCOUNTS = b"martfl/accounts"
KEY = b"martfl/key/"


class LocalChain(MiningChain):
    """Prague rules from the first block, no clock and no dice."""

    chain_id = CHAIN_ID
    vm_configuration = ((BlockNumber(0), FastPragueVM),)

    def create_header_from_parent(self, parent_header: BlockHeaderAPI, **params: HeaderParams) -> BlockHeaderAPI:
        defaults: dict[str, HeaderParams] = {
            "timestamp": parent_header.timestamp + 1,
            "mix_hash": keccak(parent_header.hash),
        }
        return super().create_header_from_parent(parent_header, **{**defaults, **params, "gas_limit": GAS_LIMIT})

    def get_transaction_builder(self) -> type[TransactionBuilderAPI]:
        return self.get_vm().get_transaction_builder()


class LocalBackend(PyEVMBackend):  # type: ignore[misc]
    """One transaction a block; a transaction that fails leaves no block behind."""

    def __init__(self, *, store: NodeStore, accounts: list[LocalAccount]) -> None:
        self.store = store
        self.account_keys = tuple(account._key_obj for account in accounts)
        self.chain = _open(store, accounts)
        self._executed: dict[bytes, SignedTransactionAPI] = {}  # decoded: finding out who signed one is slow

    @property
    def head(self) -> BlockHeaderAPI:
        """The latest block's header."""
        return self.chain.get_canonical_head()

    @property
    def next_base_fee(self) -> int:
        """Wei for a unit of gas in the block under construction."""
        return int(self.chain.header.base_fee_per_gas or 0)

    def keyed(self, key: bytes) -> bytes | None:
        """The hash of the transaction that was sent under `key`."""
        return self.store.get(KEY + key)

    def execute(self, raw: bytes, *, key: bytes | None = None) -> bytes:
        """Run a signed transaction in a block of its own and keep the block; return the transaction's hash."""
        try:
            transaction = self.chain.get_transaction_builder().decode(raw)
            _, _, computation = self.chain.apply_transaction(transaction)
            if computation.is_error:
                raise RevertedError(_failure(computation))
            if key is not None:
                self.store[KEY + key] = transaction.hash
            self.mine_blocks()
            self._remember(transaction)
        except BaseException:
            self.discard()
            raise
        return bytes(transaction.hash)

    def mine_blocks(self, num_blocks: int = 1, coinbase: bytes | None = None) -> tuple[bytes, ...]:
        """Close blocks and write them to the store. eth-tester's choice of `coinbase` is ignored."""
        hashes = []
        for _ in range(num_blocks):
            hashes.append(self.chain.mine_block(blob_gas_used=0).hash)
            self.store.commit()
        return tuple(hashes)

    def time_travel(self, to_timestamp: int) -> int:
        """Close an empty block at the given time."""
        self.chain.header = self.chain.header.copy(timestamp=to_timestamp)
        self.mine_blocks()
        return to_timestamp

    def discard(self) -> None:
        """Drop the block under construction."""
        self.store.rollback()
        self.chain.header = self.chain.ensure_header()

    def take_snapshot(self) -> int:
        return self.store.snapshot()

    def revert_to_snapshot(self, snapshot: int) -> None:
        self.store.revert(snapshot)
        self.chain.header = self.chain.ensure_header()

    def reset_to_genesis(self, *_: object, **__: object) -> None:
        raise NotImplementedError("an embedded chain is not reset; open another")

    # eth-tester looks for a transaction by walking back through all blocks; the database has an index.
    def get_transaction_by_hash(self, transaction_hash: bytes) -> Json:
        block, transaction, index = self._find(transaction_hash)
        found: Json = serialize_transaction(block, transaction, index, False)
        return found

    def get_transaction_receipt(self, transaction_hash: bytes) -> Json:
        block, transaction, index = self._find(transaction_hash)
        receipts = block.get_receipts(self.chain.chaindb)
        vm = self.chain.get_vm()
        found: Json = serialize_transaction_receipt(block, receipts, transaction, index, False, vm)
        return found

    def _find(self, transaction_hash: bytes) -> tuple[BlockAPI, SignedTransactionAPI, int]:
        try:
            number, index = self.chain.get_canonical_transaction_index(Hash32(transaction_hash))
        except TransactionNotFound as error:
            raise tester.TransactionNotFound(f"no transaction 0x{transaction_hash.hex()}") from error
        block = self.chain.get_canonical_block_by_number(number)
        return block, self._executed.get(transaction_hash, block.transactions[index]), index

    def _remember(self, transaction: SignedTransactionAPI) -> None:
        if len(self._executed) >= REMEMBERED:
            self._executed.clear()
        self._executed[bytes(transaction.hash)] = transaction


def _open(store: NodeStore, accounts: list[LocalAccount]) -> LocalChain:
    """The chain that the store holds, or a new one that funds the accounts."""
    if ACCOUNTS not in store:
        store[ACCOUNTS] = str(len(accounts)).encode()
        funded: AccountDetails = {"balance": FUNDS, "nonce": 0, "code": b"", "storage": {}}
        state = {to_canonical_address(account.address): funded for account in accounts}
        LocalChain.from_genesis(AtomicDB(store), GENESIS, state)
        store.commit()
        return LocalChain(AtomicDB(store))
    if int(store[ACCOUNTS]) != len(accounts):
        raise ChainError(f"the chain was made with {int(store[ACCOUNTS])} accounts, got {len(accounts)}")
    return _verified(LocalChain(AtomicDB(store)))


def _verified(chain: LocalChain) -> LocalChain:
    """Follow the parent hashes down to the first block: a file that was damaged or edited does not get through."""
    header = chain.get_canonical_head()
    try:
        for number in range(header.block_number, 0, -1):
            if header.hash != chain.get_canonical_block_hash(BlockNumber(number)):
                raise ChainError(f"the embedded chain's file is damaged: block {number} is not the one its child names")
            header = chain.get_block_header_by_hash(header.parent_hash)
    except (HeaderNotFound, KeyError) as error:
        raise ChainError(f"the embedded chain's file is damaged: {error}") from error
    return chain


def _failure(computation: ComputationAPI) -> str:
    error = computation.error
    data = error.args[0] if error.args else b""
    return revert_text(bytes(data)) if isinstance(data, (bytes, bytearray)) else f"{type(error).__name__}: {error}"
