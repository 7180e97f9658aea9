"""Whether a market's epochs were settled as the rules say: from the chain and the model files alone.

Everything is computed again: who opened which commitment, the sum of commitments on the curve, which deadline ended
when, who is owed what. Nothing is asked of the acquirer, and nothing that the contract computed is taken for granted
where it can be computed here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from martfl.chain.deployment import NO_TOKEN
from martfl.chain.history import History, read_history
from martfl.chain.trading import Trading
from martfl.errors import MartflError
from martfl.market.audit_exchange import ExchangeAudit
from martfl.market.audit_money import MoneyAudit
from martfl.market.audit_record import EpochRecord, Question
from martfl.market.settling import Settler, settler_of

BALANCE = [
    {
        "type": "function",
        "name": "balanceOf",
        "stateMutability": "view",
        "inputs": [{"name": "owner", "type": "address"}],
        "outputs": [{"name": "", "type": "uint256"}],
    }
]


@dataclass(frozen=True)
class Check:
    """One question about one epoch (0: the whole market) and its answer."""

    epoch: int
    name: str
    ok: bool
    detail: str


def audit(
    trading: Trading, settler: Settler | None, model_files: Mapping[int, bytes], epoch: int | None = None
) -> list[Check]:
    """All checks of one epoch, or of all; `model_files` maps epochs to the files that they published (0: initial).

    Examples:
        >>> from pathlib import Path
        >>> from martfl.chain.embedded import open_file
        >>> from martfl.chain.open import open_trading
        >>> from martfl.market.settling import make_settler
        >>> from martfl.market.task import make_task
        >>> from martfl.market.terms import load_terms
        >>> terms = load_terms(Path('market/market.toml'))
        >>> settler = make_settler(terms, parameters=make_task(terms).layout.size)
        >>> file = Path('market/acquirer/models/epoch-1.model').read_bytes()
        >>> with open_file(Path('market/chain.sqlite')) as chain:
        ...     checks = audit(open_trading(chain, terms.chain.contract), settler, {1: file})
        >>> all(check.ok for check in checks), [check.name for check in checks[-3:]]
        (True, ['model file', 'contract', 'balance'])
    """
    history = read_history(trading)
    chosen = [e for e in history.epochs() if epoch in (None, e)]
    if epoch is not None and not chosen:
        return [Check(epoch, "epoch", False, f"the chain knows no epoch {epoch}")]
    found = [check for e in chosen for check in _check_epoch(trading, settler, history, e)]
    files = [_check_file(trading, settler, file, at) for at, file in model_files.items() if epoch in (None, at)]
    whole = [_check_code(trading), *([] if epoch else [_check_balance(trading, history)])]
    return [*found, *files, *whole]


def _check_epoch(trading: Trading, settler: Settler | None, history: History, epoch: int) -> Iterator[Check]:
    for name, question in _questions(trading, settler, history, epoch).items():
        try:
            answer = question()
        except (MartflError, LookupError) as error:  # a record that contradicts itself
            answer = (False, f"cannot be computed: {error}")
        if answer is not None:
            yield Check(epoch, name, *answer)


def _questions(trading: Trading, settler: Settler | None, history: History, epoch: int) -> dict[str, Question]:
    record = EpochRecord(trading, history, epoch)
    before = EpochRecord(trading, history, epoch - 1) if epoch - 1 in history.epochs() else None
    exchange, money = ExchangeAudit(record, before, settler), MoneyAudit(record, trading.chain.now())
    return {
        "base": exchange.base,
        "commitments": exchange.commitments,
        "purchases": exchange.purchases,
        "deliveries": exchange.deliveries,
        "refutations": exchange.refutations,
        "weights": exchange.weights,
        **settler_of(trading.scheme).questions(record),
        "deadlines": exchange.deadlines,
        "phase": money.phase,
        "shares": money.shares,
        "money": money.money,
    }


def _check_file(trading: Trading, settler: Settler | None, file: bytes, epoch: int) -> Check:
    try:
        if settler is None:
            raise MartflError("the market's numbers are not known")
        settler.check(trading, file, epoch=epoch)
        if epoch and not (phase := trading.read_epoch(epoch).phase).stands:
            raise MartflError(f"epoch {epoch} published this model, and it does not stand: the epoch is {phase.name}")
    except MartflError as error:
        return Check(epoch, "model file", False, str(error))
    return Check(epoch, "model file", True, f"{len(file)} bytes: the model that epoch {epoch} published, every value")


def _check_code(trading: Trading) -> Check:
    same = trading.has_our_code()
    return Check(0, "contract", same, f"the code is {'that' if same else 'not that'} of the {trading.scheme} contract")


def _check_balance(trading: Trading, history: History) -> Check:
    """The contract holds what is not yet claimed and what is nobody's, and not a unit less."""
    now = trading.chain.now()
    epochs = [MoneyAudit(EpochRecord(trading, history, e), now) for e in history.epochs()]
    due = sum(one.record.deposit - one.paid() for one in epochs)
    held = _held(trading)
    return Check(0, "balance", held >= due, f"the contract holds {held} units; not yet claimed, or forfeited: {due}")


def _held(trading: Trading) -> int:
    token = trading.terms().token
    if token == NO_TOKEN:
        return trading.chain.balance(trading.address)
    contract = trading.chain.web3.eth.contract(address=trading.chain.web3.to_checksum_address(token), abi=BALANCE)
    return int(contract.functions.balanceOf(trading.address).call())
