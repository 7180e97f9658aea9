"""A rule's memory as bytes: facts as JSON, vectors beside them, in one npz without pickles."""

import io
import json
import zipfile
from collections.abc import Mapping

import numpy as np

from martfl.errors import InputError
from martfl.values import Json, Settings

FACTS = "facts"


def pack(kind: str, version: int, facts: Settings, arrays: Mapping[str, np.ndarray]) -> bytes:
    """One npz; `kind` and `version` say who can read it."""
    head = json.dumps({"kind": kind, "version": version, **facts}, sort_keys=True)
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=False, **{FACTS: np.array(head)}, **dict(arrays))
    return stream.getvalue()


def unpack(data: bytes, kind: str, version: int) -> tuple[Json, dict[str, np.ndarray]]:
    """(facts, arrays) of a memory of this kind and version, or an error that says what it is instead."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (ValueError, OSError, zipfile.BadZipFile, KeyError, EOFError) as error:
        raise InputError(f"a memory of rule {kind!r} is an npz file, got {len(data)} bytes that are none") from error
    if FACTS not in arrays:
        raise InputError(
            f"a memory of rule {kind!r} holds {FACTS!r}, got one from before version 2 with {sorted(arrays)}"
        )
    facts = json.loads(str(arrays.pop(FACTS)))
    found = (facts.pop("kind", None), facts.pop("version", None))
    if found != (kind, version):
        raise InputError(f"a memory of rule {kind!r} has version {version}, got {found[0]!r} version {found[1]}")
    return facts, arrays
