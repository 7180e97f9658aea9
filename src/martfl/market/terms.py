"""The terms of a market, as `market.toml` states them and as their hash on chain binds everybody.

Everything here is hashed but `[chain]`, which says where the market is found, and the list `[layout]`, whose own hash
stands in `[task]`.
"""

import hashlib
import json
import tomllib
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

from martfl.market.errors import TermsError
from martfl.market.terms_rules import LEAST_STEPS, broken_rules

NOT_HASHED = ("chain", "layout")


@dataclass(frozen=True, kw_only=True)
class TaskTerms:
    """What is trained: `entry` names a function that makes the task; `options` are its arguments.

    `layout` is the hash of the names, shapes and types of what is traded; empty where the terms do not state it.
    """

    entry: str
    options: dict[str, Any] = field(default_factory=dict)
    layout: str = ""


@dataclass(frozen=True, kw_only=True)
class MoneyTerms:
    """Amounts in the smallest unit of the coin; the penalty is in basis points of the reward.

    `ask` is what a provider asks for its update where it names no price of its own.
    """

    reward: int = 10**18
    penalty_ratio: int = 5_000
    ask: int = 10**16
    minimum_deposit: int = 10**15
    token: str = "0x" + "00" * 20

    @property
    def deposit(self) -> int:
        """What opens an epoch: reward and penalty together, rounded up."""
        return -(-self.reward * (10_000 + self.penalty_ratio) // 10_000)


@dataclass(frozen=True, kw_only=True)
class DeadlineTerms:
    """Seconds that each phase may take, one after the other from the opening of an epoch.

    `margin` is longer than anybody can keep a provider's transaction out of the chain. Where the key window ends within
    the margin, a provider gives its key to nobody any more, and puts it on chain if the buyer has not said it has it.
    """

    commit: int = 3_600
    buy: int = 3_600
    keys: int = 3_600
    publish: int = 3_600
    settle: int = 3_600  # sampled: from publication to the proof, and again for refutations
    margin: int = 900


@dataclass(frozen=True, kw_only=True)
class SettlementTerms:
    """How the aggregation is proved, and the integers that it is computed in."""

    scheme: str = "exact"
    bits: int = 16
    scale: float = 2.0**-15
    epochs: int = 500
    samples: int = 64
    providers: int = 16
    vdf_steps: int = LEAST_STEPS
    optimistic: bool = False  # sampled: the chain checks the delay function only when a provider challenges it
    setup: str = "ceremony"  # sampled: who made the Groth16 key: many in a ceremony, or the acquirer alone
    update_limit: float = 1.0  # sampled: the largest |update| that its 12 bits stand for
    model_limit: float = 8.0  # sampled: the largest |parameter| of the model


@dataclass(frozen=True, kw_only=True)
class ScoringTerms:
    """How updates are compared before they are bought.

    `answers` is how many scores a provider gives one buyer since it last sold to it. `sketch` is the number of entries
    that vectors are reduced to before they are compared: 0 for none, -1 for what suits the model's size.
    """

    scheme: str = "ckks"
    baselines: int = 4
    answers: int = 16
    sketch: int = -1


@dataclass(frozen=True, kw_only=True)
class SelectionTerms:
    """How updates are judged: the rule and its parameters."""

    rule: str = "evidence"
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ReputationTerms:
    """How a buyer guards itself against providers that it cannot punish.

    `exclude_after`: after how many offences (forged scores, missing keys, false updates) a provider is no longer bought
    from; 0: never. `newcomers`: the largest share of the reward that goes to asks of wallets that never delivered here
    an update with the score they gave; it counts once somebody has.
    """

    exclude_after: int = 2
    newcomers: float = 0.5


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
    scoring: ScoringTerms = ScoringTerms()
    selection: SelectionTerms = SelectionTerms()
    reputation: ReputationTerms = ReputationTerms()
    layout: dict[str, str] = field(default_factory=dict)  # name → type and shape; `task.layout` is its hash
    chain: ChainTerms = ChainTerms()

    def __post_init__(self) -> None:
        for broken in broken_rules(self):
            raise TermsError(f"terms of market {self.name!r}: {broken}")

    @property
    def hash(self) -> bytes:
        """SHA-256 of the agreed part in canonical JSON: what the contract holds."""
        agreed = {key: value for key, value in asdict(self).items() if key not in NOT_HASHED}
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
        lines += ["", f"[{section}]", *(f"{_key(k)} = {_toml(v)}" for k, v in content.items() if k not in tables)]
        for key, table in tables.items():
            if table:
                lines += ["", f"[{section}.{key}]", *(f"{_key(k)} = {_toml(v)}" for k, v in table.items())]
    return "\n".join(lines) + "\n"


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


def _key(name: str) -> str:
    return name if name.isascii() and name.isidentifier() else _toml(name)


def _toml(value: Any) -> str:
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_key(str(k))} = {_toml(v)}' for k, v in value.items())}}}"
    # JSON's strings are TOML's, but for the characters that JSON writes as pairs and the one it leaves alone.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
