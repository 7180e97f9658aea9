"""What is known of each seller over epochs: its information, how far it stands alone, what the root rows say of it.

Epochs in which the geometry is clear count, others hardly do: an average weighted by 1 / (error² + floor²)². What one
epoch shows of a seller is much what the next one shows, so that the error of the average is the average of the errors.
The rows' word has weights of its own, since epochs without clear angles still have rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field

from martfl.arrays import Floats
from martfl.errors import InputError
from martfl.selection import codec
from martfl.selection.strategy import Vector
from martfl.selection.vectors import to_floats
from martfl.valuation.root import RootRows

KIND, VERSION = "valuation", 1


@dataclass(frozen=True)
class SellerRecord:
    """One seller; averages over its deliveries."""

    weight: float  # of the epochs behind it
    information: float  # in units of the sellers' mean
    alone: float  # 1 over the number of those that hold the same noise
    error: float  # relative, squared
    ratio: float = 1.0  # gain on the root rows, 1 for the usual one
    rows: float = 0.0  # weight of the epochs behind the ratio


@dataclass(frozen=True)
class Epoch:
    """What one epoch shows of its k sellers."""

    information: Floats  # [k]
    alone: Floats  # [k]
    error: float
    weight: float
    rows: RootRows


@dataclass(frozen=True)
class Account:
    """The state between two epochs."""

    records: Mapping[str, SellerRecord] = field(default_factory=dict)
    seed: int | None = None  # of the sketches; the buyer's secret
    model: Vector = None  # [m] before the last epoch


def enter(
    records: Mapping[str, SellerRecord], names: Sequence[str], epoch: Epoch, *, most: float, most_rows: float
) -> dict[str, SellerRecord]:
    """The records after an epoch; no past weighs more than `most`, so that who has changed is seen to."""
    scaled = epoch.information * _scale(records, names, epoch.information)
    found = {}
    for i, name in enumerate(names):
        old = records.get(name, SellerRecord(0.0, 0.0, 0.0, 0.0))
        rate = epoch.weight / (old.weight + epoch.weight)
        rows_rate = epoch.rows.weight / (old.rows + epoch.rows.weight) if epoch.rows.weight > 0 else 0.0
        found[name] = SellerRecord(
            weight=min(old.weight + epoch.weight, most),
            information=old.information + rate * (float(scaled[i]) - old.information),
            alone=old.alone + rate * (float(epoch.alone[i]) - old.alone),
            error=old.error + rate * (epoch.error**2 - old.error),
            ratio=old.ratio + rows_rate * (float(epoch.rows.ratios[i]) - old.ratio),
            rows=min(old.rows + epoch.rows.weight, most_rows),
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
    records = {name: astuple(record) for name, record in account.records.items()}
    arrays = {} if account.model is None else {"model": to_floats(account.model)}
    return codec.pack(KIND, VERSION, {"records": records, "seed": account.seed}, arrays)


def unpack_account(data: bytes) -> Account:
    """What `pack_account` was given; records from before the rows had a word of their own have none.

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
