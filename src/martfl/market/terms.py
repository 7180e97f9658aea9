"""The terms of a market, as `market.toml` states them and as their hash on chain binds everybody.

Everything here is hashed but `[chain]`, which says where the market is found.
"""

import hashlib
import json
import math
import tomllib
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

from eth_utils.address import is_address

from martfl.market.errors import TermsError
from martfl.selection import STRATEGIES

SCHEMES = ("exact", "sampled")
SETUPS = ("ceremony", "alone")
SCORERS = ("ckks", "plain")


@dataclass(frozen=True, kw_only=True)
class TaskTerms:
    """What is trained: `entry` names a function that makes the task; `options` are its arguments."""

    entry: str
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class MoneyTerms:
    """Amounts in the smallest unit of the coin; the penalty is in basis points of the reward."""

    reward: int = 10**18
    penalty_ratio: int = 5_000
    advance_fee: int = 10**16
    minimum_deposit: int = 10**15
    token: str = "0x" + "00" * 20

    @property
    def deposit(self) -> int:
        """What opens an epoch: reward and penalty together, rounded up."""
        return -(-self.reward * (10_000 + self.penalty_ratio) // 10_000)


@dataclass(frozen=True, kw_only=True)
class DeadlineTerms:
    """Seconds that each phase may take."""

    commit: int = 3_600
    prepare: int = 3_600
    publish: int = 3_600
    settle: int = 3_600


@dataclass(frozen=True, kw_only=True)
class SettlementTerms:
    """How the aggregation is proved, and the integers that it is computed in."""

    scheme: str = "exact"
    bits: int = 16
    scale: float = 2.0**-15
    epochs: int = 500
    samples: int = 16
    providers: int = 16
    vdf_steps: int = 10_000
    optimistic: bool = False  # sampled: the chain checks the delay function only when a provider challenges it
    setup: str = "ceremony"  # sampled: who made the Groth16 key: many in a ceremony, or the acquirer alone
    update_limit: float = 1.0  # sampled: the largest |update| that its 12 bits stand for
    model_limit: float = 8.0  # sampled: the largest |parameter| of the model


@dataclass(frozen=True, kw_only=True)
class SelectionTerms:
    """How updates are judged: the rule, its parameters, and how many encrypted baselines a provider answers."""

    rule: str = "evidence"
    options: dict[str, Any] = field(default_factory=dict)
    baselines: int = 4
    scorer: str = "ckks"


@dataclass(frozen=True, kw_only=True)
class ReputationTerms:
    """After how many offences a provider is no longer invited (0: never).

    Offences are forged scores, missing or wrong deliveries, and objections to a right model.
    """

    exclude_after: int = 2


@dataclass(frozen=True, kw_only=True)
class ChainTerms:
    """Where the market is: a chain profile and, once deployed, the contract and the block since when it is there."""

    profile: str = "local"
    contract: str = ""
    since: int = 0


@dataclass(frozen=True, kw_only=True)
class Terms:
    """Everything that the parties of a market agree on."""

    name: str
    task: TaskTerms
    money: MoneyTerms = MoneyTerms()
    deadlines: DeadlineTerms = DeadlineTerms()
    settlement: SettlementTerms = SettlementTerms()
    selection: SelectionTerms = SelectionTerms()
    reputation: ReputationTerms = ReputationTerms()
    chain: ChainTerms = ChainTerms()

    def __post_init__(self) -> None:
        for holds, rule in (*_rules(self), *_limits(self)):
            if not holds:
                raise TermsError(f"terms of market {self.name!r}: {rule}")

    @property
    def hash(self) -> bytes:
        """SHA-256 of the agreed part in canonical JSON: what the contract holds."""
        agreed = {key: value for key, value in asdict(self).items() if key != "chain"}
        return hashlib.sha256(json.dumps(agreed, sort_keys=True, separators=(",", ":")).encode()).digest()


def load_terms(path: Path) -> Terms:
    """Terms from a TOML file."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise TermsError(f"{path} is not readable as TOML: {error}") from error
    return read_terms(values)


def read_terms(values: dict[str, Any]) -> Terms:
    """Terms from nested tables; unknown names and wrong types are refused by name."""
    terms: Terms = _read(Terms, values, "terms")
    return terms


def to_toml(terms: Terms) -> str:
    """The terms as a file that `load_terms` reads back to the same hash."""
    sections = asdict(terms)
    lines = [f"name = {_toml(sections.pop('name'))}"]
    for section, content in sections.items():
        tables = {key: value for key, value in content.items() if isinstance(value, dict)}
        lines += ["", f"[{section}]", *(f"{k} = {_toml(v)}" for k, v in content.items() if k not in tables)]
        for key, table in tables.items():
            if table:
                lines += ["", f"[{section}.{key}]", *(f"{_toml(k)} = {_toml(v)}" for k, v in table.items())]
    return "\n".join(lines) + "\n"


def _rules(terms: Terms) -> list[tuple[bool, str]]:
    money, deadlines, settlement, selection = terms.money, terms.deadlines, terms.settlement, terms.selection
    shortest = min(deadlines.commit, deadlines.prepare, deadlines.publish, deadlines.settle)
    known = ", ".join(STRATEGIES)
    least = STRATEGIES[selection.rule].most_baselines if selection.rule in STRATEGIES else 1
    return [
        (bool(terms.name.strip()) and len(terms.name) <= 100, "name must have 1 to 100 characters"),
        (":" in terms.task.entry, f"task.entry must be 'module:function', got {terms.task.entry!r}"),
        (money.reward >= 1, f"money.reward must be at least 1, got {money.reward}"),
        (1 <= money.penalty_ratio <= 10**6, f"money.penalty_ratio must be 1 to 1000000, got {money.penalty_ratio}"),
        (money.advance_fee >= 0, f"money.advance_fee must not be negative, got {money.advance_fee}"),
        (
            1 <= money.minimum_deposit <= money.deposit,
            f"money.minimum_deposit must be 1 to {money.deposit} (reward and penalty), got {money.minimum_deposit}",
        ),
        (shortest >= 1, f"every deadline must be at least 1 second, got {shortest}"),
        (settlement.scheme in SCHEMES, f"settlement.scheme must be one of {SCHEMES}, got {settlement.scheme!r}"),
        (settlement.setup in SETUPS, f"settlement.setup must be one of {SETUPS}, got {settlement.setup!r}"),
        (2 <= settlement.bits <= 32, f"settlement.bits must be 2 to 32, got {settlement.bits}"),
        (0 < settlement.scale < math.inf, f"settlement.scale must be positive and finite, got {settlement.scale}"),
        (
            min(settlement.update_limit, settlement.model_limit) > 0,
            f"settlement limits must be positive, got {settlement.update_limit} and {settlement.model_limit}",
        ),
        (
            min(settlement.samples, settlement.providers, settlement.vdf_steps) >= 1,
            "settlement.samples, providers and vdf_steps must be at least 1, "
            f"got {settlement.samples}, {settlement.providers} and {settlement.vdf_steps}",
        ),
        (settlement.epochs >= 1, f"settlement.epochs must be at least 1, got {settlement.epochs}"),
        (selection.rule in STRATEGIES, f"selection.rule must be one of {known}, got {selection.rule!r}"),
        (
            selection.baselines >= least,
            f"selection.baselines must be at least {least} for rule {selection.rule!r}, got {selection.baselines}",
        ),
        (selection.scorer in SCORERS, f"selection.scorer must be one of {SCORERS}, got {selection.scorer!r}"),
        (terms.reputation.exclude_after >= 0, "reputation.exclude_after must not be negative"),
    ]


def _limits(terms: Terms) -> list[tuple[bool, str]]:
    """What the contract can hold: better refused here than when it has been paid for."""
    money, deadlines, settlement = terms.money, terms.deadlines, terms.settlement
    longest = max(deadlines.commit, deadlines.prepare, deadlines.publish, deadlines.settle)
    return [
        (money.deposit < 1 << 96, f"reward and penalty together must be below 2^96, got {money.deposit}"),
        (money.advance_fee < 1 << 96, f"money.advance_fee must be below 2^96, got {money.advance_fee}"),
        (is_address(money.token), f"money.token must be an address (zero: the chain's coin), got {money.token!r}"),
        (longest <= 1 << 32, f"every deadline must be at most 2^32 seconds, got {longest}"),
        (settlement.samples <= 126, f"settlement.samples must be at most 126, got {settlement.samples}"),
        (settlement.providers <= 128, f"settlement.providers must be at most 128, got {settlement.providers}"),
        (settlement.vdf_steps < 1 << 63, f"settlement.vdf_steps must be below 2^63, got {settlement.vdf_steps}"),
        (terms.chain.since >= 0, f"chain.since must not be negative, got {terms.chain.since}"),
    ]


def _read(kind: type, values: Any, where: str) -> Any:
    if not isinstance(values, dict):
        raise TermsError(f"{where} must be a table, got {type(values).__name__}")
    known = {f.name: f.type for f in fields(kind)}
    if unknown := set(values) - set(known):
        raise TermsError(f"{where} has no {sorted(unknown)[0]!r}; known: {', '.join(known)}")
    try:
        return kind(**{key: _value(known[key], value, f"{where}.{key}") for key, value in values.items()})
    except TypeError as error:  # a required name is missing
        raise TermsError(f"{where}: {error}") from error


def _value(kind: Any, value: Any, where: str) -> Any:
    if is_dataclass(kind):
        return _read(kind, value, where)  # type: ignore[arg-type]
    if kind is float and type(value) is int:
        return float(value)
    wanted = dict if "dict" in str(kind) else kind
    if type(value) is not wanted:
        raise TermsError(f"{where} must be {wanted.__name__}, got {value!r}")
    return value


def _toml(value: Any) -> str:
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_toml(str(k))} = {_toml(v)}' for k, v in value.items())}}}"
    # JSON's strings are TOML's, but for the characters that JSON writes as pairs and the one it leaves alone.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
