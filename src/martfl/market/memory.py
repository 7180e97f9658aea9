"""What outlives an epoch: a strategy's memory as bytes (one npz without pickles), and the models as files."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from martfl.selection.strategy import State

PLAIN = "plain values"


def pack_state(state: State) -> bytes:
    """The state as bytes."""
    arrays = {key: value for key, value in state.items() if isinstance(value, np.ndarray)}
    plain = {key: value for key, value in state.items() if key not in arrays}
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=False, **arrays, **{PLAIN: np.array(json.dumps(plain, sort_keys=True))})
    return stream.getvalue()


def unpack_state(data: bytes) -> dict[str, Any]:
    """What `pack_state` was given."""
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        arrays = {key: stored[key] for key in stored.files if key != PLAIN}
        return {**json.loads(str(stored[PLAIN])), **arrays}


def write_model(folder: Path, epoch: int, file: bytes) -> Path:
    """The published model beside the journal, for auditors and for use; whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    path, part = folder / f"epoch-{epoch}.model", folder / f"epoch-{epoch}.part"
    part.write_bytes(file)
    part.replace(path)
    return path
