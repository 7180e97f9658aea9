"""The client that fits a contract: markets deploy and open without knowing which scheme it is."""

from typing import TYPE_CHECKING, cast

from eth_account.signers.local import LocalAccount
from eth_typing import ABIFunction
from eth_utils.abi import function_abi_to_4byte_selector
from eth_utils.address import to_checksum_address
from web3.exceptions import Web3Exception

from martfl.chain.compile import compiled
from martfl.chain.deployment import ContractTerms
from martfl.chain.exact import ExactTrading
from martfl.chain.network import Chain, ChainError
from martfl.chain.trading import Trading

if TYPE_CHECKING:
    from martfl.chain.sampled import SampledTrading


def open_trading(chain: Chain, address: str, *, since: int = 0) -> Trading:
    """The client of the contract at an address.

    Examples:
        >>> from pathlib import Path
        >>> from martfl.chain.embedded import open_file
        >>> from martfl.market.terms import load_terms
        >>> contract = load_terms(Path('market/market.toml')).chain.contract
        >>> with open_file(Path('market/chain.sqlite')) as chain:
        ...     open_trading(chain, contract).scheme
        'exact'
    """
    return _client(_scheme_at(chain, address))(chain, address, since=since)


def deploy_trading(chain: Chain, *, terms: ContractTerms, account: LocalAccount, key: str | None = None) -> Trading:
    """Put a market's contract on chain; with a `key`, once.

    Examples:
        >>> import numpy as np
        >>> from martfl.chain.embedded import EmbeddedChain
        >>> from martfl.market.acquirer import contract_terms
        >>> from martfl.market.settling import make_settler
        >>> from martfl.market.terms import read_terms
        >>> terms = read_terms({'name': 'heart', 'task': {'entry': 'martfl.tasks.hospitals:heart'}})
        >>> settler = make_settler(terms, parameters=3)
        >>> chain = EmbeddedChain(accounts=1)
        >>> (buyer,) = chain.accounts
        >>> posted = contract_terms(terms, settler, np.zeros(3), buyer.address)
        >>> trading = deploy_trading(chain, terms=posted, account=buyer)
        >>> trading.epoch_count(), trading.has_our_code()
        (0, True)
    """
    return _client(terms.scheme).deploy(chain, terms=terms, account=account, key=key)


def _client(scheme: str) -> type[ExactTrading] | type["SampledTrading"]:
    if scheme == "exact":
        return ExactTrading
    from martfl.chain.sampled import SampledTrading  # its prover's libraries load slowly

    return SampledTrading


def _scheme_at(chain: Chain, address: str) -> str:
    # Both contracts answer SCHEME(), so one ABI can ask an address what it is.
    probe = chain.web3.eth.contract(address=to_checksum_address(address), abi=list(compiled("exact").abi))
    try:
        scheme = str(probe.functions.SCHEME().call())
    except (Web3Exception, ChainError) as error:
        raise ChainError(f"no trading contract at {address}: {error}") from error
    if scheme not in ("exact", "sampled"):
        raise ChainError(f"scheme must be 'exact' or 'sampled', the contract at {address} says {scheme!r}")
    if not _has_function(chain, address, "reveal"):  # markets of 0.1 had none
        raise ChainError(
            f"the contract at {address} is not of this version: markets of martfl 0.1 are read-only, "
            "audit and report them with martfl 0.1"
        )
    return scheme


def _has_function(chain: Chain, address: str, name: str) -> bool:
    """Whether the code at an address answers to one of our functions; its selector is then part of it."""
    (abi,) = [abi for abi in compiled("exact").abi if abi["type"] == "function" and abi["name"] == name]
    selector = function_abi_to_4byte_selector(cast(ABIFunction, abi))
    return bytes(chain.web3.eth.get_code(to_checksum_address(address))).find(selector) >= 0
