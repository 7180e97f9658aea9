"""What is known of each seller over epochs: its information, how far it stands alone, what the root rows say of it.

Before a step was public, nobody could take out what its own rows always add: what a seller held then is never in doubt.
Who comes later is in doubt until its second sale, which shows how much of its noise stays: it holds no more than the
usual seller, and of that as much as if all its noise were new.

Epochs in which the geometry is clear count, others hardly do: an average weighted by 1 / (error² + floor²)². What one
epoch shows of a seller is much what the next one shows, so that the error of the average is the average of the errors.
The rows' word has weights of its own, since epochs without clear angles still have rows.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace

import numpy as np

from martfl.arrays import Floats
from martfl.errors import InputError
from martfl.selection import codec
from martfl.selection.strategy import Vector
from martfl.selection.vectors import to_floats
from martfl.valuation.common import TINY, median
from martfl.valuation.persistence import Trace
from martfl.valuation.root import RootRows
from martfl.values import Json

KIND, VERSION, OLDER = "valuation", 2, 1  # an older one holds no traces


@dataclass(frozen=True)
class SellerRecord:
    """One seller; averages over its deliveries."""

    weight: float  # of the epochs behind it
    information: float  # in units of the sellers' mean
    alone: float  # 1 over the number of those that hold the same noise
    error: float  # relative, squared
    ratio: float = 1.0  # gain on the root rows, 1 for the usual one
    rows: float = 0.0  # weight of the epochs behind the ratio
    first: float = 0.0  # information before a step was public; 0 for who came later
    proven: float = 1.0  # part of the information that counts; 1 from the second sale on


@dataclass(frozen=True)
class Epoch:
    """What one epoch shows of its k sellers."""

    information: Floats  # [k]
    alone: Floats  # [k]
    error: float
    weight: float
    rows: RootRows
    fresh: Floats  # [k] the usual part of noise that is new over its own, at most 1
    first: bool  # whether no step was public yet


@dataclass(frozen=True)
class Account:
    """The state between two epochs."""

    records: Mapping[str, SellerRecord] = field(default_factory=dict)
    seed: int | None = None  # of the sketches; the buyer's secret
    model: Vector = None  # [m] before the last epoch
    earlier: Vector = None  # [m] before the one before, in which the model moved as well
    traces: Mapping[str, Trace] = field(default_factory=dict)


def enter(
    records: Mapping[str, SellerRecord], names: Sequence[str], epoch: Epoch, *, most: float, most_rows: float
) -> dict[str, SellerRecord]:
    """The records after an epoch; no past weighs more than `most`, so that who has changed is seen to."""
    scaled = epoch.information * _scale(records, names, epoch.information)
    usual = median(scaled, epoch.alone)
    found = {}
    for i, name in enumerate(names):
        old = records.get(name, SellerRecord(0.0, 0.0, 0.0, 0.0))
        rate = epoch.weight / (old.weight + epoch.weight)
        rows_rate = epoch.rows.weight / (old.rows + epoch.rows.weight) if epoch.rows.weight > 0 else 0.0
        new, fresh = name not in records, float(epoch.fresh[i])
        before = old.information * (fresh if old.proven < 1.0 else 1.0)
        found[name] = SellerRecord(
            weight=min(old.weight + epoch.weight, most),
            information=before + rate * (float(scaled[i]) - before),
            alone=old.alone + rate * (float(epoch.alone[i]) - old.alone),
            error=old.error + rate * (epoch.error**2 - old.error),
            ratio=old.ratio + rows_rate * (float(epoch.rows.ratios[i]) - old.ratio),
            rows=min(old.rows + epoch.rows.weight, most_rows),
            first=float(scaled[i]) if new and epoch.first else old.first,
            proven=fresh * min(1.0, usual / max(float(scaled[i]), TINY)) if new and not epoch.first else 1.0,
        )
    return {**records, **found}


def rates(records: Mapping[str, SellerRecord], names: Sequence[str], weight: float) -> Floats:
    """[k] the part that an epoch of this weight has in each average."""
    before = np.array([records[name].weight if name in records else 0.0 for name in names])
    return np.asarray(weight / (before + weight))


def first_known(
    records: Mapping[str, SellerRecord], names: Sequence[str], information: Floats, alone: Floats
) -> Floats:
    """[k] what each held before a step was public, in units of this epoch's information; 0 for who came later."""
    past = np.array([records[name].information if name in records else 0.0 for name in names])
    known = past > 0
    if not known.any():
        return np.zeros(len(names))
    unit = median(information[known] / past[known], alone[known])
    unit = min(unit, float(information[known].sum() / past[known].sum()))  # those in doubt draw the sum down
    return np.array([unit * records[name].first if name in records else 0.0 for name in names])


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
    """One npz: records as JSON, the model and the traces beside them.

    Examples:
        >>> account = Account({'0xa1': SellerRecord(2.0, 1.1, 0.9, 0.04)}, seed=7)
        >>> unpack_account(pack_account(account)) == account
        True
    """
    records = {name: astuple(record) for name, record in account.records.items()}
    models = {"model": account.model, "earlier": account.earlier}
    arrays: dict[str, np.ndarray] = {key: to_floats(model) for key, model in models.items() if model is not None}
    noises = {name: trace.noise for name, trace in account.traces.items()}
    for place, trace in enumerate(account.traces.values()):
        arrays[f"trace {place}"] = trace.mean
    return codec.pack(KIND, VERSION, {"records": records, "seed": account.seed, "noises": noises}, arrays)


def unpack_account(data: bytes) -> Account:
    """What `pack_account` was given; in what the version before wrote, what is known of a seller is what it held first.

    Examples:
        >>> unpack_account(pack_account(Account(seed=7))).seed
        7
    """
    facts, arrays, older = _read(data)
    try:
        records = {name: SellerRecord(*map(float, values)) for name, values in facts["records"].items()}
        if not all(math.isfinite(value) for record in records.values() for value in astuple(record)):
            raise ValueError("a record that is not finite")
        if older:
            records = {name: replace(record, first=record.information) for name, record in records.items()}
        noises = {} if older else facts["noises"]
        traces = {name: Trace(arrays[f"trace {i}"], float(noise)) for i, (name, noise) in enumerate(noises.items())}
        return Account(records, facts["seed"], arrays.get("model"), arrays.get("earlier"), traces)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"a memory of rule {KIND!r} is incomplete: {error!r}") from error


def _read(data: bytes) -> tuple[Json, dict[str, np.ndarray], bool]:
    """Facts and arrays of this version or of the one before, and whether it is that."""
    try:
        return *codec.unpack(data, KIND, VERSION), False
    except InputError as error:
        try:
            return *codec.unpack(data, KIND, OLDER), True
        except InputError:
            raise error from None
