"""The typed client of the trading contracts: one method per function, receipts with gas and decoded events.

    trading = ExactTrading.deploy(chain, terms=terms, account=acquirer)
    epoch = trading.new_epoch(amount=deposit, account=acquirer).epoch
    trading.commit_model(epoch, digest=offer.digest(...), account=provider)
    trading.buy(epoch, offers=[offer], account=acquirer)

Methods that send take `key`, the name of the step: a step that has a key is sent once, however often it is asked for.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

from eth_account.signers.local import LocalAccount
from eth_typing import BlockNumber, ChecksumAddress
from eth_utils.address import to_checksum_address
from hexbytes import HexBytes
from web3.contract import Contract
from web3.contract.contract import ContractFunction, ContractFunctions
from web3.types import BlockIdentifier

from martfl.chain import events as ev
from martfl.chain.calls import addresses, ask, field_names, named, put
from martfl.chain.compile import compiled
from martfl.chain.deployment import NO_TOKEN, Deadlines, PostedTerms
from martfl.chain.network import Chain, Receipt
from martfl.chain.signing import signature_words
from martfl.chain.state import EpochState, Offer, Phase, ProviderState, SaleState, SignedClaim, SignedCommit

E = TypeVar("E", bound=ev.Event)


@dataclass(frozen=True)
class Done:
    """A transaction that the contract accepted, and what it said.

    Examples:
        >>> from pathlib import Path
        >>> from martfl.chain.embedded import open_file
        >>> from martfl.chain.open import open_trading
        >>> from martfl.market.terms import load_terms
        >>> contract = load_terms(Path('market/market.toml')).chain.contract
        >>> with open_file(Path('market/chain.sqlite')) as chain:
        ...     done = open_trading(chain, contract).new_epoch(amount=10**18, account=chain.accounts[0])
        >>> done.epoch, done.event(ev.Deposited).amount, done.gas > 21_000
        (2, 1000000000000000000, True)
    """

    receipt: Receipt
    events: tuple[ev.Event, ...]

    @property
    def gas(self) -> int:
        """Gas used."""
        return self.receipt.gas_used

    @property
    def epoch(self) -> int:
        """The epoch that the transaction was about."""
        return self.events[0].epoch

    def event(self, kind: type[E]) -> E:
        """The one event of this kind."""
        return ev.only(kind, self.events)


class Trading(ABC):
    """A market's contract on a chain: what both schemes share.

    Examples:
        >>> from pathlib import Path
        >>> from martfl.chain.embedded import open_file
        >>> from martfl.chain.open import open_trading
        >>> from martfl.market.terms import load_terms
        >>> contract = load_terms(Path('market/market.toml')).chain.contract
        >>> chain = open_file(Path('market/chain.sqlite'))
        >>> trading = open_trading(chain, contract)
        >>> trading.epoch_count(), trading.read_epoch(1).phase.name, len(trading.bought(1))
        (1, 'SETTLED', 4)
        >>> buyer, seller, *_ = chain.accounts
        >>> epoch = trading.new_epoch(amount=10**18, account=buyer).epoch
        >>> done = trading.commit_model(epoch, digest=bytes(range(32)), account=seller)
        >>> trading.read_provider(epoch, seller.address).state.name
        'COMMITTED'
        >>> trading.events(ev.ModelCommitted, epoch=epoch)[0].provider == seller.address
        True
        >>> chain.close()
    """

    scheme: ClassVar[str]
    published: ClassVar[type[ev.ModelPublished | ev.RootPublished]]  # the event of a new model
    needs_proof: ClassVar[bool]  # a published model stands only once it is proved

    def __init__(self, chain: Chain, address: str, *, since: int = 0) -> None:
        self.chain = chain
        self.since = since  # block of deployment, where events begin
        self.address: ChecksumAddress = to_checksum_address(address)
        self.contract: Contract = chain.web3.eth.contract(address=self.address, abi=list(compiled(self.scheme).abi))

    deployment: Receipt | None = None  # where this client deployed the contract

    # --- the acquirer -----------------------------------------------------------------------------------------

    def new_epoch(self, *, account: LocalAccount, amount: int = 0, key: str | None = None) -> Done:
        """Open the next epoch, with `amount` of the deposit."""
        return self.send(self._f.new_epoch(amount), account, self._coins(amount), key)

    def deposit(self, epoch: int, *, amount: int, account: LocalAccount, key: str | None = None) -> Done:
        """Add to reward and penalty."""
        return self.send(self._f.deposit(epoch, amount), account, self._coins(amount), key)

    def buy(self, epoch: int, *, offers: Sequence[Offer], account: LocalAccount, key: str | None = None) -> Done:
        """Buy each at what its provider asks."""
        return self.send(self._f.buy(epoch, [offer.words() for offer in offers]), account, 0, key)

    def accept(self, epoch: int, *, providers: Sequence[str], account: LocalAccount, key: str | None = None) -> Done:
        """Say that these delivered."""
        return self.send(self._f.accept(epoch, addresses(providers)), account, 0, key)

    # --- providers --------------------------------------------------------------------------------------------

    def commit_model(self, epoch: int, *, digest: bytes, account: LocalAccount, key: str | None = None) -> Done:
        """Bind the sender to its sealed update."""
        return self.send(self._f.commit_model(epoch, digest), account, 0, key)

    def reveal(self, epoch: int, *, offer: Offer, secret: bytes, account: LocalAccount, key: str | None = None) -> Done:
        """Put the key of a bought update on chain."""
        provider = to_checksum_address(offer.provider)
        return self.send(self._f.reveal(epoch, provider, offer.commitment_hash, offer.root, secret), account, 0, key)

    # --- anybody ----------------------------------------------------------------------------------------------

    def commit_models(
        self, epoch: int, *, entries: Sequence[SignedCommit], account: LocalAccount, key: str | None = None
    ) -> Done:
        """Send what providers signed; whoever has committed already is skipped."""
        words = [(to_checksum_address(e.provider), e.digest, signature_words(e.signature)) for e in entries]
        return self.send(self._f.commit_models(epoch, words), account, 0, key)

    def claim_reward(self, epoch: int, *, account: LocalAccount, key: str | None = None) -> Done:
        """Take what a final epoch owes the sender."""
        return self.send(self._f.claim_reward(epoch), account, 0, key)

    def claim_rewards(
        self, epoch: int, *, payees: Sequence[SignedClaim], account: LocalAccount, key: str | None = None
    ) -> Done:
        """Have providers paid; whoever is owed nothing is skipped."""
        words = [
            (*addresses([payee.provider, payee.receiver or payee.provider]), signature_words(payee.signature))
            for payee in payees
        ]
        return self.send(self._f.claim_rewards(epoch, words), account, 0, key)

    # --- reading ----------------------------------------------------------------------------------------------

    def epoch_count(self) -> int:
        """The number of the latest epoch, 0 before the first."""
        return int(ask(self._f.epoch_count()))

    def terms(self) -> PostedTerms:
        """The terms as they are on chain."""
        if self._terms is None:
            self._terms = PostedTerms(**named(ask(self._f.terms()), PostedTerms))
        return self._terms

    _terms: PostedTerms | None = None

    def read_epoch(self, epoch: int, *, deep: bool = False) -> EpochState:
        """An epoch as it stands at the latest block, or (`deep`) at the latest that counts."""
        raw = ask(self._f.read_epoch(epoch), at=self._at(deep))
        values = dict(zip(field_names(EpochState)[1:], raw, strict=True))
        values["phase"] = Phase(values["phase"])
        return EpochState(number=epoch, **values)

    def read_provider(self, epoch: int, provider: str, *, deep: bool = False) -> ProviderState:
        """A provider's standing at the latest block, or (`deep`) at the latest that counts."""
        raw = ask(self._f.read_provider(epoch, to_checksum_address(provider)), at=self._at(deep))
        values = named(raw, ProviderState)
        return ProviderState(**{**values, "state": SaleState(values["state"])})

    def deadlines(self, epoch: int) -> Deadlines:
        """The last seconds of an epoch's windows."""
        return self.terms().deadlines(self.read_epoch(epoch).opened)

    def events(self, kind: type[E], *, epoch: int) -> list[E]:
        """All events of a kind in one epoch, oldest first."""
        return self._events(self.contract, kind, epoch=epoch)

    def commitments(self, epoch: int) -> dict[str, bytes]:
        """Who committed to which digest, in the order of commitment."""
        return {posted.provider: posted.digest for posted in self.events(ev.ModelCommitted, epoch=epoch)}

    def bought(self, epoch: int) -> list[str]:
        """Who was bought, in the order of purchase."""
        return [name for event in self.events(ev.Bought, epoch=epoch) for name in event.providers]

    # --- is it ours? ------------------------------------------------------------------------------------------

    def has_our_code(self) -> bool:
        """Whether the address holds what these sources compile to, and their own constructor put it there.

        The terms follow the code as immutables. Another constructor could leave the same code with other books.
        """
        code = compiled(self.scheme)
        return self.code_at(self.address).startswith(code.runtime) and self._made_by(code.bytecode)

    def code_at(self, address: str) -> bytes:
        """The code that the chain holds at `address`."""
        return bytes(self.chain.web3.eth.get_code(to_checksum_address(address)))

    def _made_by(self, constructor: bytes) -> bool:
        # The constructor announces the initial model, so the first transaction that the contract logged made it.
        logs = self.chain.web3.eth.get_logs({"address": self.address, "fromBlock": BlockNumber(self.since)})
        if not logs:
            return False
        first = min(logs, key=lambda log: (log["blockNumber"], log["logIndex"]))["transactionHash"]
        made = self.chain.web3.eth.get_transaction_receipt(first).get("contractAddress")
        sent = self.chain.web3.eth.get_transaction(first)
        return made == self.address and bytes(HexBytes(sent["input"])).startswith(constructor)

    # --- what the schemes add ---------------------------------------------------------------------------------

    @property
    def prover(self) -> Contract | None:
        """The contract that proofs go to, where the scheme has one."""
        return None

    @abstractmethod
    def refute(self, epoch: int, *, offer: Offer, refutation: Any, account: LocalAccount, key: str | None) -> Done:
        """Show that a leaf of a revealed update is not what it was committed to."""

    # --- plumbing ---------------------------------------------------------------------------------------------

    @classmethod
    def _put(cls, chain: Chain, arguments: tuple[object, ...], *, account: LocalAccount, key: str | None) -> Self:
        """Deploy the scheme's contract."""
        receipt = put(chain, cls.scheme, arguments, account=account, key=key)
        trading = cls(chain, str(receipt.contract), since=receipt.block)
        trading.deployment = receipt
        return trading

    @property
    def _f(self) -> ContractFunctions:
        return self.contract.functions

    def _at(self, deep: bool) -> BlockIdentifier:
        return self.chain.deep_block() if deep else "latest"

    def _coins(self, amount: int) -> int:
        return amount if self.terms().token == NO_TOKEN else 0

    def _events(self, contract: Contract, kind: type[E], **filters: object) -> list[E]:
        found = getattr(contract.events, kind.__name__)().get_logs(argument_filters=filters, from_block=self.since)
        typed = (ev.typed(kind.__name__, entry["args"]) for entry in found)
        return [event for event in typed if isinstance(event, kind)]

    def send(self, call: ContractFunction, account: LocalAccount, value: int, key: str | None) -> Done:
        """Send a call of the contract and decode what it said."""
        receipt = self.chain.send(call, account=account, value=value, key=key)
        return Done(receipt, ev.decode(self.contract, receipt.logs))
