"""What `evidence` remembers: of each provider a few numbers, its gains by row and a sketch of its direction."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from martfl.arrays import Floats, Reals
from martfl.errors import InputError
from martfl.selection import codec
from martfl.selection.reasons import Code
from martfl.selection.strategy import Vector
from martfl.selection.vectors import to_floats
from martfl.values import Json, Settings

KIND, VERSION = "evidence", 6
NOTHING: Reals = np.zeros((0, 0), dtype=np.float16)
PARTS = ("rows", "direction", "hidden", "moved")  # arrays of a record


@dataclass(frozen=True)
class Record:
    """One provider, as its deliveries show it; averages over epochs, of which the last count most."""

    bought: int  # the epoch of its last delivery
    evidence: float  # against it
    code: Code  # what it is charged with
    length: float  # log of its length against the kept ones'
    own: float  # cosine with the buyer's own update
    tie: float  # log of what it has in common with another, against random signs
    rows: Floats  # [r] gains, against what was usual
    direction: Floats  # [d] sketch, against the others' common drift
    hidden: Floats  # [d] sketch of what it learnt most where no root row reaches
    moved: Reals = field(default_factory=NOTHING.copy)  # [w, c] what its last delivery does to answers to words


@dataclass(frozen=True)
class Memory:
    """The state of the rule between two epochs."""

    epoch: int = 0
    seed: int | None = None  # of the sketches; the buyer's secret
    looked: int = 0  # when dropped ones were last looked at
    records: Mapping[str, Record] = field(default_factory=dict)
    model: Vector = None  # [m] before the last epoch


def blend(old: Record, new: Record, memory: float) -> Record:
    """The average after one more delivery; what is older by an epoch counts `memory` times as much.

    A length is never below today's: who was short before must not be excused for it now.
    """
    kept = memory ** max(1, new.bought - old.bought)
    if old.rows.shape != new.rows.shape or old.direction.shape != new.direction.shape:
        return new  # other root data, or another model
    return replace(
        new,
        length=max(new.length, kept * old.length + (1 - kept) * new.length),
        own=kept * old.own + (1 - kept) * new.own,
        tie=kept * old.tie + (1 - kept) * new.tie,
        rows=kept * old.rows + (1 - kept) * new.rows,
        direction=kept * old.direction + (1 - kept) * new.direction,
        hidden=kept * old.hidden + (1 - kept) * new.hidden,
    )


def pack_memory(memory: Memory) -> bytes:
    """One npz: facts as JSON, rows and sketches of all records, the model beside them."""
    names = list(memory.records)
    facts = {
        "epoch": memory.epoch, "seed": memory.seed, "looked": memory.looked, "names": names,
        "records": [_facts(memory.records[name]) for name in names],
    }  # fmt: skip
    arrays: dict[str, np.ndarray] = {}
    for i, name in enumerate(names):
        arrays[f"rows {i}"] = memory.records[name].rows
        arrays[f"direction {i}"] = memory.records[name].direction.astype(np.float32)
        arrays[f"hidden {i}"] = memory.records[name].hidden.astype(np.float32)
        arrays[f"moved {i}"] = memory.records[name].moved
    if memory.model is not None:
        arrays["model"] = to_floats(memory.model)
    return codec.pack(KIND, VERSION, facts, arrays)


def unpack_memory(data: bytes) -> Memory:
    """What `pack_memory` was given."""
    facts, arrays = codec.unpack(data, KIND, VERSION)
    try:
        records = {
            name: _record(known, *(arrays[f"{part} {i}"] for part in PARTS))
            for i, (name, known) in enumerate(zip(facts["names"], facts["records"], strict=True))
        }
        return Memory(facts["epoch"], facts["seed"], facts["looked"], records, arrays.get("model"))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"a memory of rule {KIND!r} is incomplete: {error!r}") from error


def _facts(record: Record) -> Json:
    return {
        "bought": record.bought, "evidence": record.evidence, "code": record.code.value,
        "length": record.length, "own": record.own, "tie": record.tie,
    }  # fmt: skip


def _record(facts: Settings, rows: np.ndarray, direction: np.ndarray, hidden: np.ndarray, moved: np.ndarray) -> Record:
    numbers = {key: float(facts[key]) for key in ("evidence", "length", "own", "tie")}
    return Record(
        bought=int(facts["bought"]),
        code=Code(facts["code"]),
        rows=np.asarray(rows, dtype=np.float64),
        direction=np.asarray(direction, dtype=np.float64),
        hidden=np.asarray(hidden, dtype=np.float64),
        moved=np.asarray(moved, dtype=np.float16),
        **numbers,
    )
