"""How a contract's functions are called: deployments, questions, and structs as dataclasses."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from eth_account.signers.local import LocalAccount
from eth_typing import ChecksumAddress
from eth_utils.address import to_checksum_address
from web3.contract.contract import ContractFunction
from web3.exceptions import ContractLogicError
from web3.types import BlockIdentifier

from martfl.chain.compile import compiled
from martfl.chain.network import Chain, ChainError, Receipt, RevertedError
from martfl.values import Json


def put(
    chain: Chain, name: str, arguments: tuple[object, ...], *, account: LocalAccount, key: str | None = None
) -> Receipt:
    """Deploy the contract of `<name>.vy`; the receipt names its address."""
    code = compiled(name)
    factory = chain.web3.eth.contract(abi=list(code.abi), bytecode=code.bytecode)
    receipt = chain.send(factory.constructor(*arguments), account=account, key=key)
    if receipt.contract is None:
        raise ChainError(f"the chain named no contract for {receipt.transaction}")
    return receipt


def put_along(chain: Chain, name: str, *, account: LocalAccount, key: str | None) -> str:
    """Deploy a contract that a market will name; its address."""
    return str(put(chain, name, (), account=account, key=None if key is None else f"{key}/{name}").contract)


def ask(call: ContractFunction, *, at: BlockIdentifier = "latest") -> Any:
    """What a contract says; a question that it refuses is refused like a call."""
    try:
        return call.call(block_identifier=at)
    except ContractLogicError as error:
        raise RevertedError(str(error.message)) from error


def words(value: object) -> tuple[object, ...]:
    """A dataclass as the contract's struct of the same fields."""
    return tuple(getattr(value, name) for name in field_names(type(value)))


def named(values: Sequence[object], kind: type) -> Json:
    """A contract's struct by the names of our dataclass, whose fields are the same in the same order."""
    return dict(zip(field_names(kind), values, strict=True))


def addresses(providers: Sequence[str]) -> list[ChecksumAddress]:
    """Addresses with their checksums, as web3 wants them.

    Examples:
        >>> addresses(['0xd8da6bf26964af9d7eed9e03e53415d37aa96045'])
        ['0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045']
    """
    return [to_checksum_address(provider) for provider in providers]


def field_names(kind: type) -> list[str]:
    """The names of a dataclass's fields, in order."""
    return [field.name for field in fields(kind)]
