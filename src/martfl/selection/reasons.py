"""Why a provider was treated as it was: a code with its numbers. Words are made elsewhere (`words`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from martfl.errors import InputError
from martfl.values import Json, Settings


class Role(StrEnum):
    """What became of one provider in one epoch."""

    BASELINE = "baseline"
    HIGH_QUALITY = "high quality"
    QUALIFIED = "qualified"
    CANDIDATE = "candidate"  # bought, but given no weight
    DROPPED = "dropped"
    SPARED = "spared"
    SILENT = "silent"


class Code(StrEnum):
    """The causes; each has one sentence and one role."""

    # any rule
    BASELINE = "baseline"
    MISSING = "missing"
    BUDGET = "budget"
    SILENT = "silent"
    # the paper's clusters
    GATHERED = "gathered"
    TOP_CLUSTER = "top cluster"
    KEPT_CLUSTER = "kept cluster"
    LOOKED_AT = "looked at"
    LOW_CLUSTER = "low cluster"
    # evidence
    KEPT = "kept"
    NO_GAIN = "no gain"
    EMPTY = "empty"
    FOLLOWS = "follows"
    COPY = "copy"
    HARM = "harm"
    ALONE = "alone"
    KIND = "kind"
    ON_RECORD = "on record"


@dataclass(frozen=True)
class Meaning:
    """What a code stands for: the role it leads to, and the names of its numbers."""

    role: Role
    fields: tuple[str, ...] = ()


_KIND = ("evidence", "members", "harm", "own", "length", "majority", "rarity", "hidden")
MEANINGS: Mapping[Code, Meaning] = {
    Code.BASELINE: Meaning(Role.BASELINE),
    Code.MISSING: Meaning(Role.SILENT),
    Code.BUDGET: Meaning(Role.SPARED, ("ask",)),
    Code.SILENT: Meaning(Role.SILENT),
    Code.GATHERED: Meaning(Role.HIGH_QUALITY, ("score", "threshold")),
    Code.TOP_CLUSTER: Meaning(Role.HIGH_QUALITY, ("score", "clusters", "centroid")),
    Code.KEPT_CLUSTER: Meaning(Role.QUALIFIED, ("score", "distance")),
    Code.LOOKED_AT: Meaning(Role.CANDIDATE, ("score",)),
    Code.LOW_CLUSTER: Meaning(Role.DROPPED, ("score", "centroid")),
    Code.KEPT: Meaning(Role.HIGH_QUALITY, ("evidence",)),
    Code.NO_GAIN: Meaning(Role.QUALIFIED, ("deviation",)),
    Code.EMPTY: Meaning(Role.CANDIDATE),
    Code.FOLLOWS: Meaning(Role.DROPPED, ("cosine",)),
    Code.COPY: Meaning(Role.CANDIDATE),
    Code.HARM: Meaning(Role.CANDIDATE, ("evidence", "deviation")),
    Code.ALONE: Meaning(Role.CANDIDATE, ("evidence", "tie")),
    Code.KIND: Meaning(Role.CANDIDATE, _KIND),
    Code.ON_RECORD: Meaning(Role.DROPPED, ("epoch", "evidence")),
}


@dataclass(frozen=True)
class Reason:
    """A code and its numbers, all of them and no others.

    Examples:
        >>> reason = Reason(Code.FOLLOWS, {'cosine': 0.98})
        >>> reason.role.value, reason.to_json()
        ('dropped', {'code': 'follows', 'cosine': 0.98})
    """

    code: Code
    data: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        wanted = MEANINGS[self.code].fields
        if set(self.data) != set(wanted):
            raise InputError(f"reason {self.code.value!r} has the numbers {list(wanted)}, got {sorted(self.data)}")

    @property
    def role(self) -> Role:
        """What it leads to."""
        return MEANINGS[self.code].role

    def to_json(self) -> Json:
        """Plain values."""
        return {"code": self.code.value, **self.data}


def because(code: Code, **numbers: float) -> Reason:
    """A reason from its numbers by name."""
    return Reason(code, {name: float(value) for name, value in numbers.items()})


def reason_from_json(values: Settings) -> Reason:
    """What `to_json` gave.

    Examples:
        >>> reason_from_json({'code': 'follows', 'cosine': 0.98}).role.value
        'dropped'
    """
    numbers = {name: float(value) for name, value in values.items() if name != "code"}
    try:
        return Reason(Code(values["code"]), numbers)
    except (KeyError, ValueError) as error:
        raise InputError(f"no reason: {dict(values)!r:.200} ({error})") from None
