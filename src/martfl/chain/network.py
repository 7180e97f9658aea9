"""What every chain offers: sign a call, send it, wait for it, say why it failed.

`send` returns only when the transaction has succeeded; a revert becomes `RevertedError` with the contract's own text.
Under a `key` (the name of a step, each account having its own) a call is sent once and once only: asking again, even
after a restart, gives the same receipt. A step that reverted changed nothing, and may be tried again under its key.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self

from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError
from eth_account.signers.local import LocalAccount
from eth_typing import ChecksumAddress
from eth_utils.address import to_checksum_address
from hexbytes import HexBytes
from web3 import Web3
from web3.contract.contract import ContractConstructor, ContractFunction
from web3.types import BlockIdentifier, LogReceipt, Nonce, TxParams, TxReceipt, Wei

from martfl.errors import MartflError

ERROR_SELECTOR = bytes.fromhex("08c379a0")  # Error(string)
PANIC_SELECTOR = bytes.fromhex("4e487b71")  # Panic(uint256)
NO_REASON = "no reason given"


class ChainError(MartflError):
    """A chain, or a transaction on it, did not do what was asked."""


class RevertedError(ChainError):
    """The contract refused the call; `reason` is its text."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"transaction reverted: {reason}")
        self.reason = reason


@dataclass(frozen=True)
class Receipt:
    """A transaction that succeeded; `fee` is what its sender paid for gas, in wei."""

    transaction: str
    block: int
    gas_used: int
    logs: tuple[LogReceipt, ...]
    contract: str | None
    fee: int = 0


@dataclass(frozen=True)
class UnsignedCall:
    """What a transaction does, before it has a nonce and a fee; `to` is None when it deploys a contract.

    Examples:
        >>> UnsignedCall(to=None, data=bytes(2), value=5).params()
        {'data': HexBytes('0x0000'), 'value': 5}
    """

    to: ChecksumAddress | None
    data: bytes
    value: int

    def params(self) -> TxParams:
        params: TxParams = {"data": HexBytes(self.data), "value": Wei(self.value)}
        if self.to is not None:
            params["to"] = self.to
        return params


class Chain(ABC):
    """A chain that the market can run on.

    Examples:
        >>> from martfl.chain.embedded import EmbeddedChain
        >>> chain = EmbeddedChain(accounts=2)
        >>> payer, payee = chain.accounts
        >>> before = chain.balance(payee.address)
        >>> receipt = chain.transfer(to=payee.address, amount=7, account=payer, key='rent')
        >>> chain.transfer(to=payee.address, amount=7, account=payer, key='rent') == receipt
        True
        >>> chain.balance(payee.address) - before
        7
    """

    web3: Web3
    chain_id: int

    def send(
        self,
        call: ContractFunction | ContractConstructor,
        *,
        account: LocalAccount,
        value: int = 0,
        key: str | None = None,
    ) -> Receipt:
        """Sign and send `call`, wait until it counts, return its receipt; `RevertedError` when the contract refuses."""
        return self._send(unsigned_call(call, value=value), account=account, key=key)

    def transfer(self, *, to: str, amount: int, account: LocalAccount, key: str | None = None) -> Receipt:
        """Send `amount` wei to an address."""
        return self._send(UnsignedCall(to=to_checksum_address(to), data=b"", value=amount), account=account, key=key)

    def balance(self, address: str) -> int:
        """The wei held by an address."""
        return int(self.web3.eth.get_balance(to_checksum_address(address)))

    def now(self) -> int:
        """The timestamp of the latest block: the only clock that contracts know."""
        return int(self.web3.eth.get_block("latest")["timestamp"])

    def next_second(self) -> int:
        """The earliest second that the next block can have: what is sent now runs then, or later."""
        return self.now() + 1

    def deep_block(self) -> BlockIdentifier:
        """The newest block that counts: no re-organisation that the profile allows for takes it away."""
        return "latest"

    def check(self) -> None:  # noqa: B027 - a chain of our own is always the right one
        """Refuse a node that serves another chain than the one that was asked for."""

    def close(self) -> None:  # noqa: B027 - a chain without files has nothing to close
        """Let go of files and connections."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def _send(self, call: UnsignedCall, *, account: LocalAccount, key: str | None) -> Receipt: ...


def unsigned_call(call: ContractFunction | ContractConstructor, *, value: int) -> UnsignedCall:
    """The bytes that a web3 call stands for. Whether it may carry `value` is left to the contract to decide.

    Examples:
        >>> from web3 import Web3
        >>> abi = [{'type': 'function', 'name': 'ping', 'inputs': []}]
        >>> contract = Web3().eth.contract('0x' + '11' * 20, abi=abi)
        >>> unsigned_call(contract.functions.ping(), value=5).data.hex()
        '5c36b186'
    """
    # Every field that web3 would ask a node for is given, so that nothing is asked.
    filled = call.build_transaction(
        {"gas": 0, "nonce": Nonce(0), "chainId": 1, "maxFeePerGas": Wei(0), "maxPriorityFeePerGas": Wei(0)}
    )
    to = filled.get("to") or None
    return UnsignedCall(to=to_checksum_address(to) if to else None, data=bytes(HexBytes(filled["data"])), value=value)


def receipt_of(raw: TxReceipt) -> Receipt:
    """Our receipt, from the one that a node gives.

    fee = gas used · price of a unit

    Examples:
        >>> raw = {'transactionHash': bytes(32), 'blockNumber': 3, 'logs': []}
        >>> raw |= {'gasUsed': 21_000, 'effectiveGasPrice': 10}
        >>> receipt_of(raw).fee
        210000
    """
    contract = raw.get("contractAddress")
    return Receipt(
        transaction="0x" + bytes(raw["transactionHash"]).hex(),
        block=int(raw["blockNumber"]),
        gas_used=int(raw["gasUsed"]),
        logs=tuple(raw["logs"]),
        contract=str(contract) if contract else None,
        fee=int(raw["gasUsed"]) * int(raw["effectiveGasPrice"]),
    )


def revert_text(data: bytes) -> str:
    """The text that a contract gave when it reverted, out of the bytes that it returned.

    Examples:
        >>> from eth_abi import encode
        >>> revert_text(bytes.fromhex('08c379a0') + encode(['string'], ['trading: too late']))
        'trading: too late'
    """
    try:
        if data[:4] == ERROR_SELECTOR:
            return str(decode(["string"], data[4:])[0])
        if data[:4] == PANIC_SELECTOR:
            return f"panic 0x{decode(['uint256'], data[4:])[0]:02x}"
    except (DecodingError, UnicodeDecodeError):
        pass
    return f"0x{data.hex()}" if data else NO_REASON
