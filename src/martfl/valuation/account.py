"""What is known of each seller over epochs: its information, how far it stands alone, and how sure that is.

Epochs in which the geometry is clear count, others hardly do: an average weighted by 1 / (error² + floor²)². What one
epoch shows of a seller is much what the next one shows, so that the error of the average is the average of the errors.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from martfl.arrays import Floats
from martfl.errors import InputError
from martfl.selection import codec
from martfl.selection.strategy import Vector
from martfl.selection.vectors import to_floats

KIND, VERSION = "valuation", 1


@dataclass(frozen=True)
class SellerRecord:
    """One seller; averages over its deliveries."""

    weight: float  # of the epochs behind it
    information: float  # in units of the sellers' mean
    alone: float  # 1 over the number of those that hold the same noise
    error: float  # relative, squared


@dataclass(frozen=True)
class Account:
    """The state between two epochs."""

    records: Mapping[str, SellerRecord] = field(default_factory=dict)
    seed: int | None = None  # of the sketches; the buyer's secret
    model: Vector = None  # [m] before the last epoch


def enter(
    records: Mapping[str, SellerRecord],
    names: Sequence[str],
    information: Floats,
    alone: Floats,
    *,
    error: float,
    weight: float,
    most: float,
) -> dict[str, SellerRecord]:
    """The records after an epoch; no past weighs more than `most`, so that who has changed is seen to."""
    scaled = information * _scale(records, names, information)
    found = {}
    for name, value, single in zip(names, scaled.tolist(), alone.tolist(), strict=True):
        old = records.get(name, SellerRecord(0.0, 0.0, 0.0, 0.0))
        rate = weight / (old.weight + weight)
        found[name] = SellerRecord(
            weight=min(old.weight + weight, most),
            information=old.information + rate * (value - old.information),
            alone=old.alone + rate * (single - old.alone),
            error=old.error + rate * (error**2 - old.error),
        )
    return {**records, **found}


def _scale(records: Mapping[str, SellerRecord], names: Sequence[str], information: Floats) -> float:
    """To the units of the records: those who are known have together what they had; at first the mean is 1."""
    known = [
        (records[name].information, value) for name, value in zip(names, information, strict=True) if name in records
    ]
    before, now = sum(old for old, _ in known), sum(float(value) for _, value in known)
    if before > 0 and now > 0:
        return before / now
    total = float(information.sum())
    return len(information) / total if total > 0 else 0.0


def pack_account(account: Account) -> bytes:
    """One npz: records as JSON, the model beside them.

    Examples:
        >>> account = Account({'0xa1': SellerRecord(2.0, 1.1, 0.9, 0.04)}, seed=7)
        >>> unpack_account(pack_account(account)) == account
        True
    """
    records = {
        name: [record.weight, record.information, record.alone, record.error]
        for name, record in account.records.items()
    }
    arrays = {} if account.model is None else {"model": to_floats(account.model)}
    return codec.pack(KIND, VERSION, {"records": records, "seed": account.seed}, arrays)


def unpack_account(data: bytes) -> Account:
    """What `pack_account` was given.

    Examples:
        >>> unpack_account(pack_account(Account(seed=7))).seed
        7
    """
    facts, arrays = codec.unpack(data, KIND, VERSION)
    try:
        records = {name: SellerRecord(*map(float, values)) for name, values in facts["records"].items()}
        return Account(records, facts["seed"], arrays.get("model"))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"a memory of rule {KIND!r} is incomplete: {error!r}") from error
