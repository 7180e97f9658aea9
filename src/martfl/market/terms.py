"""The terms of a market, as `market.toml` states them and as their hash on chain binds everybody.

Everything here is hashed but `[chain]`, which says where the market is found, and the list `[layout]`, whose own hash
stands in `[task]`.
"""

import hashlib
import json
import tomllib
from dataclasses import asdict, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

from martfl.market.errors import TermsError
from martfl.market.terms_parts import StatedTerms
from martfl.market.terms_rules import broken_rules
from martfl.values import Json

NOT_HASHED = ("chain", "layout")


@dataclass(frozen=True, kw_only=True)
class Terms(StatedTerms):
    """Terms that hold every rule.

    hash = SHA-256(canonical JSON of all but `chain` and `layout`)

    Examples:
        >>> agreed = {'name': 'tumours', 'task': {'entry': 'hospital:Tumours'}}
        >>> terms, elsewhere = read_terms(agreed), read_terms({**agreed, 'chain': {'profile': 'sepolia'}})
        >>> len(terms.hash), terms.hash == elsewhere.hash
        (32, True)
    """

    def __post_init__(self) -> None:
        for broken in broken_rules(self):
            raise TermsError(f"terms of market {self.name!r}: {broken}")

    @property
    def hash(self) -> bytes:
        """SHA-256 of the agreed part in canonical JSON: what the contract holds."""
        agreed = {key: value for key, value in asdict(self).items() if key not in NOT_HASHED}
        return hashlib.sha256(json.dumps(agreed, sort_keys=True, separators=(",", ":")).encode()).digest()


def load_terms(path: Path) -> Terms:
    """Terms from a TOML file.

    Examples:
        >>> load_terms(Path('market/market.toml')).name
        'martfl demo'
    """
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise TermsError(f"{path} is not readable as TOML: {error}") from error
    values.pop("invitation", None)  # says where to join, and is no part of the terms
    return read_terms(values)


def read_terms(values: Json) -> Terms:
    """Terms from nested tables; unknown names and wrong types are refused by name.

    Examples:
        >>> terms = read_terms({'name': 'tumours', 'task': {'entry': 'hospital:Tumours'}})
        >>> terms.name, terms.settlement.scheme
        ('tumours', 'exact')
    """
    terms: Terms = _read(Terms, values, "terms")
    return terms


def to_toml(terms: Terms) -> str:
    """The terms as a file that `load_terms` reads back to the same hash.

    Examples:
        >>> terms = read_terms({'name': 'tumours', 'task': {'entry': 'hospital:Tumours'}})
        >>> to_toml(terms).splitlines()[:4]
        ['name = "tumours"', '', '[task]', 'entry = "hospital:Tumours"']
    """
    sections = asdict(terms)
    lines = [f"name = {_toml(sections.pop('name'))}"]
    for section, content in sections.items():
        tables = {key: value for key, value in content.items() if isinstance(value, dict)}
        lines += ["", f"[{section}]", *(f"{_key(k)} = {_toml(v)}" for k, v in content.items() if k not in tables)]
        for key, table in tables.items():
            if table:
                lines += ["", f"[{section}.{key}]", *(f"{_key(k)} = {_toml(v)}" for k, v in table.items())]
    return "\n".join(lines) + "\n"


def _read(kind: type, values: object, where: str) -> Any:
    if not isinstance(values, dict):
        raise TermsError(f"{where} must be a table, got {type(values).__name__}")
    known = {f.name: f.type for f in fields(kind)}
    if unknown := set(values) - set(known):
        raise TermsError(f"{where} has no {sorted(unknown)[0]!r}; known: {', '.join(known)}")
    try:
        return kind(**{key: _value(known[key], value, f"{where}.{key}") for key, value in values.items()})
    except TypeError as error:  # a required name is missing
        raise TermsError(f"{where}: {error}") from error


def _value(kind: Any, value: object, where: str) -> Any:
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


def _toml(value: object) -> str:
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_key(str(k))} = {_toml(v)}' for k, v in value.items())}}}"
    # JSON's strings are TOML's, but for the characters that JSON writes as pairs and the one it leaves alone.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
