"""What every step of a journal is, and the parts that many of them have."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar


@dataclass(frozen=True, kw_only=True)
class Step:
    """Something that is done and will not be done again."""

    step: ClassVar[str] = ""


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A transaction that the chain accepted."""

    function: str
    gas: int
    transaction: str


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """Bytes by kind of request, since the epoch began."""

    sent: Mapping[str, int] = field(default_factory=dict)
    received: Mapping[str, int] = field(default_factory=dict)


S = TypeVar("S", bound=Step)
