"""The typed client of the trading contracts: one method per function, receipts with gas and decoded events.

    trading = Trading.deploy(chain, terms=terms, account=acquirer)
    epoch = trading.new_epoch(nonce=nonce, amount=deposit, account=acquirer).epoch
    trading.commit_model(epoch, commitment=point, nonce=nonce, account=provider)

Methods that send take `key`, the name of the step: a step that has a key is sent once, however often it is asked for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from eth_account.signers.local import LocalAccount
from eth_typing import BlockNumber, ChecksumAddress
from eth_utils.address import to_checksum_address
from hexbytes import HexBytes
from web3.contract import Contract
from web3.contract.contract import ContractFunction
from web3.exceptions import Web3Exception

from martfl.chain import events as ev
from martfl.chain.compile import compiled
from martfl.chain.network import Chain, ChainError, Receipt
from martfl.chain.state import (
    NO_TOKEN,
    Bought,
    EpochState,
    ExactModel,
    Phase,
    PostedTerms,
    ProviderState,
    Terms,
)

E = TypeVar("E", bound=ev.Event)


@dataclass(frozen=True)
class Done:
    """A transaction that the contract accepted, and what it said."""

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


class Trading:
    """A market's contract on a chain."""

    def __init__(self, chain: Chain, address: str, *, scheme: str | None = None, since: int = 0) -> None:
        self.chain = chain
        self.since = since  # block of deployment, where events begin
        self.address: ChecksumAddress = to_checksum_address(address)
        self.scheme = scheme or _scheme_at(chain, self.address)
        self.contract: Contract = chain.web3.eth.contract(address=self.address, abi=list(compiled(self.scheme).abi))

    @classmethod
    def deploy(cls, chain: Chain, *, terms: Terms, account: LocalAccount, key: str | None = None) -> "Trading":
        """Compile where needed, deploy, and return the client; `deployment` holds the receipt."""
        receipt = put(chain, terms.scheme, (terms.shared(), _start(terms)), account=account, key=key)
        trading = cls(chain, str(receipt.contract), scheme=terms.scheme, since=receipt.block)
        trading.deployment = receipt
        return trading

    deployment: Receipt | None = None

    # --- the acquirer -----------------------------------------------------------------------------------------

    def new_epoch(self, *, nonce: bytes, account: LocalAccount, amount: int = 0, key: str | None = None) -> Done:
        """Open the next epoch, with `amount` of the deposit."""
        return self._send(self._f.new_epoch(nonce, amount), account, self._coins(amount), key)

    def deposit(self, epoch: int, *, amount: int, account: LocalAccount, key: str | None = None) -> Done:
        """Add to reward and penalty."""
        return self._send(self._f.deposit(epoch, amount), account, self._coins(amount), key)

    def buy_advance(
        self, epoch: int, *, providers: Sequence[str], account: LocalAccount, key: str | None = None
    ) -> Done:
        """Buy `providers` at the flat fee; the call brings the fees."""
        fee = self.terms().advance_fee * len(providers)
        return self._send(self._f.buy_advance(epoch, addresses(providers)), account, self._coins(fee), key)

    def prepare(
        self,
        epoch: int,
        *,
        providers: Sequence[str],
        weights: Sequence[int],
        account: LocalAccount,
        key: str | None = None,
    ) -> Done:
        """Fix who is bought at which weight."""
        return self._send(self._f.prepare(epoch, addresses(providers), list(weights)), account, 0, key)

    def drop(self, epoch: int, *, providers: Sequence[str], account: LocalAccount, key: str | None = None) -> Done:
        """Take bought providers out."""
        return self._send(self._f.drop(epoch, addresses(providers)), account, 0, key)

    def publish_model(
        self,
        epoch: int,
        *,
        content: bytes,
        blinding: int,
        account: LocalAccount,
        base: ExactModel | None = None,
        bought: Sequence[Bought] | None = None,
        key: str | None = None,
    ) -> Done:
        """Exact settlement: have the chain add up the commitments. `base` and `bought` come from its events."""
        base = base or self.model(self.read_epoch(epoch).base)
        bought = sorted(self.bought(epoch) if bought is None else bought, key=lambda b: int(b.provider, 16))
        pairs = base.point + (1).to_bytes(32, "big") + b"".join(b.pair() for b in bought)
        named = addresses([b.provider for b in bought])
        call = self._f.publish_model(epoch, content, blinding, base.content, base.blinding, named, pairs)
        return self._send(call, account, 0, key)

    # --- providers --------------------------------------------------------------------------------------------

    def commit_model(
        self, epoch: int, *, commitment: bytes, nonce: bytes, account: LocalAccount, key: str | None = None
    ) -> Done:
        """Bind the sender to its update: a 128-byte point (exact) or a 32-byte root (sampled)."""
        return self._send(self._f.commit_model(epoch, commitment, nonce), account, 0, key)

    def object(self, epoch: int, *, account: LocalAccount, evidence: bytes = bytes(32), key: str | None = None) -> Done:
        """Exact settlement: the file that was handed out is not the committed model."""
        return self._send(self._f.object(epoch, evidence), account, 0, key)

    # --- anybody ----------------------------------------------------------------------------------------------

    def claim_reward(self, epoch: int, *, account: LocalAccount, key: str | None = None) -> Done:
        """Take what a final epoch owes the sender."""
        return self._send(self._f.claim_reward(epoch), account, 0, key)

    def expire(self, epoch: int, *, account: LocalAccount, key: str | None = None) -> Done:
        """Close an epoch whose acquirer missed a deadline."""
        return self._send(self._f.expire(epoch), account, 0, key)

    # --- reading ----------------------------------------------------------------------------------------------

    def epoch_count(self) -> int:
        """The number of the latest epoch, 0 before the first."""
        return int(self._f.epoch_count().call())

    def terms(self) -> PostedTerms:
        """The terms as they are on chain."""
        if self._terms is None:
            self._terms = PostedTerms(scheme=self.scheme, **_fields(self._f.terms().call(), PostedTerms, skip=1))
        return self._terms

    _terms: PostedTerms | None = None

    def read_epoch(self, epoch: int) -> EpochState:
        """An epoch as it stands now."""
        packed, reward, penalty, base = self._f.read_epoch(epoch).call()
        names = ("deposit", "deadline", "providers", "advanced", "forfeited", "gap", "weight", "objected", "phase")
        values = dict(zip((*names, "refunded"), packed, strict=True))
        del values["gap"]
        values["phase"] = Phase(values["phase"])
        return EpochState(number=epoch, reward=reward, penalty=penalty, base=base, **values)

    def read_provider(self, epoch: int, provider: str, *, deep: bool = False) -> ProviderState:
        """A provider's standing at the latest block, or (`deep`) at the latest that counts."""
        block = self.chain.deep_block() if deep else "latest"
        raw = self._f.read_provider(epoch, to_checksum_address(provider)).call(block_identifier=block)
        return ProviderState(**_fields(raw, ProviderState))

    def has_our_code(self) -> bool:
        """Whether the address holds what these sources compile to, and their own constructor put it there.

        The terms follow the code as immutables. Another constructor could leave the same code with other books.
        """
        code = compiled(self.scheme)
        return self.code_at(self.address).startswith(code.runtime) and self._made_by(code.bytecode)

    def _made_by(self, constructor: bytes) -> bool:
        # The constructor announces the initial model, so the first transaction that the contract logged made it.
        logs = self.chain.web3.eth.get_logs({"address": self.address, "fromBlock": BlockNumber(self.since)})
        if not logs:
            return False
        first = min(logs, key=lambda log: (log["blockNumber"], log["logIndex"]))["transactionHash"]
        made = self.chain.web3.eth.get_transaction_receipt(first).get("contractAddress")
        sent = self.chain.web3.eth.get_transaction(first)
        return made == self.address and bytes(HexBytes(sent["input"])).startswith(constructor)

    def code_at(self, address: str) -> bytes:
        """The code that the chain holds at `address`."""
        return bytes(self.chain.web3.eth.get_code(to_checksum_address(address)))

    def refundable(self, epoch: int) -> int:
        """What the acquirer may claim now."""
        return int(self._f.refundable(epoch).call())

    def model_digest(self) -> bytes:
        """Digest of the current global model: keccak of content, blinding and keccak of the point (exact)."""
        return bytes(self._f.model().call())

    def events(self, kind: type[E], *, epoch: int) -> list[E]:
        """All events of a kind in one epoch, oldest first."""
        topic = getattr(self.contract.events, kind.__name__)()
        found = topic.get_logs(argument_filters={"epoch": epoch}, from_block=self.since)
        typed = (ev.typed(kind.__name__, entry["args"]) for entry in found)
        return [event for event in typed if isinstance(event, kind)]

    def model(self, epoch: int) -> ExactModel:
        """Exact settlement: the model that `epoch` published; 0 is the initial one."""
        (posted,) = self.events(ev.ModelPublished, epoch=epoch)
        return ExactModel(content=posted.content, blinding=posted.blinding, point=posted.point)

    def commitments(self, epoch: int) -> dict[str, bytes]:
        """Who committed to what, in the order of commitment."""
        return {posted.provider: posted.commitment for posted in self.events(ev.ModelCommitted, epoch=epoch)}

    def bought(self, epoch: int) -> list[Bought]:
        """The providers in the aggregate, in the order of `prepare`: bought and not dropped."""
        (prepared,) = self.events(ev.Prepared, epoch=epoch)
        dropped = {name for posted in self.events(ev.Dropped, epoch=epoch) for name in posted.providers}
        commitments = self.commitments(epoch)
        return [
            Bought(provider=provider, commitment=commitments[provider], weight=weight)
            for provider, weight in zip(prepared.providers, prepared.weights, strict=True)
            if provider not in dropped
        ]

    # --- plumbing ---------------------------------------------------------------------------------------------

    @property
    def _f(self) -> Any:
        return self.contract.functions

    def _coins(self, amount: int) -> int:
        return amount if self.terms().token == NO_TOKEN else 0

    def _send(self, call: ContractFunction, account: LocalAccount, value: int, key: str | None) -> Done:
        receipt = self.chain.send(call, account=account, value=value, key=key)
        return Done(receipt, ev.decode(self.contract, receipt.logs))


def open_trading(chain: Chain, address: str, *, since: int = 0) -> Trading:
    """The client that fits the contract at an address."""
    trading = Trading(chain, address, since=since)
    if trading.scheme == "exact":
        return trading
    from martfl.chain.sampled import SampledTrading  # its prover's libraries load slowly

    return SampledTrading(chain, address, scheme=trading.scheme, since=since)


def put(
    chain: Chain, name: str, arguments: tuple[Any, ...], *, account: LocalAccount, key: str | None = None
) -> Receipt:
    """Deploy the contract of `<name>.vy`; the receipt names its address."""
    code = compiled(name)
    factory = chain.web3.eth.contract(abi=list(code.abi), bytecode=code.bytecode)
    receipt = chain.send(factory.constructor(*arguments), account=account, key=key)
    if receipt.contract is None:
        raise ChainError(f"the chain named no contract for {receipt.transaction}")
    return receipt


def _scheme_at(chain: Chain, address: ChecksumAddress) -> str:
    # Both contracts answer SCHEME(), so one ABI can ask an address what it is.
    probe = chain.web3.eth.contract(address=address, abi=list(compiled("exact").abi))
    try:
        scheme = str(probe.functions.SCHEME().call())
    except (Web3Exception, ChainError) as error:
        raise ChainError(f"no trading contract at {address}: {error}") from error
    if scheme not in ("exact", "sampled"):
        raise ChainError(f"scheme must be 'exact' or 'sampled', the contract at {address} says {scheme!r}")
    return scheme


def _start(terms: Terms) -> tuple[Any, ...]:
    return tuple(getattr(terms.settlement, name) for name in _names(type(terms.settlement)))


def _names(kind: type) -> list[str]:
    return [field.name for field in fields(kind)]


def _fields(values: Sequence[Any], kind: type, *, skip: int = 0) -> dict[str, Any]:
    # The contract's structs have the fields of our dataclasses, in the same order.
    return dict(zip(_names(kind)[skip:], values, strict=True))


def addresses(providers: Sequence[str]) -> list[ChecksumAddress]:
    """Addresses with their checksums, as web3 wants them."""
    return [to_checksum_address(provider) for provider in providers]
