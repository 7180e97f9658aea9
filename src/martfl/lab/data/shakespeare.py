"""Shakespeare's speeches by role: the next character after eighty, as in the LEAF benchmark (Caldas et al., 2018)."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from martfl.lab.data.base import Dataset
from martfl.lab.data.files import DataError, find

HINT = (
    "Put the speeches (speeches.jsonl, plain or .gz: play, role and text a line) into shakespeare/ of the data folder."
)
LENGTH, STRIDE = 80, 20  # characters of a row; from one row of a role to its next
LEAST = 10_000  # characters of a role that takes part
TRAIN_SHARE = 0.8  # the first part of what a role says
TEST_ROWS = 5_000


def read_roles(path: Path) -> dict[str, str]:
    """What every role says, in the order of the plays; roles that say little are left out."""
    found: dict[str, list[str]] = {}
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            speech = json.loads(line)
            found.setdefault(f"{speech['role']} ({speech['play']})", []).append(speech["text"])
        except (json.JSONDecodeError, KeyError, TypeError):
            raise DataError(f"{path} line {number} must be an object with play, role and text") from None
    roles = {role: "\n".join(texts) for role, texts in found.items()}
    return {role: text for role, text in roles.items() if len(text) >= LEAST}


def windows(tokens: np.ndarray) -> Iterator[np.ndarray]:
    """Rows of LENGTH tokens and the one after them, STRIDE apart."""
    for start in range(0, len(tokens) - LENGTH, STRIDE):
        yield tokens[start : start + LENGTH + 1]


def _rows(parts: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """([rows, LENGTH + 1], [rows] which part); a row whose last character is unknown is left out."""
    found = [np.array(list(windows(part)), dtype=np.int32).reshape(-1, LENGTH + 1) for part in parts]
    rows, owner = np.concatenate(found), np.repeat(np.arange(len(found)), [len(part) for part in found])
    asks = rows[:, -1] > 0
    return rows[asks], owner[asks]


def load_shakespeare(folder: Path | None) -> Dataset:
    """Roles of at least ten thousand characters; the last fifth of what each says is for the test."""
    roles = read_roles(find(folder, dataset="shakespeare", subfolder="shakespeare", name="speeches.jsonl", hint=HINT))
    if not roles:
        raise DataError(f"dataset shakespeare: no role says as much as {LEAST} characters")
    cuts = {role: int(TRAIN_SHARE * len(text)) for role, text in roles.items()}
    asked = Counter("".join(text[LENGTH : cuts[role] : STRIDE] for role, text in roles.items()))  # last in a row
    alphabet = sorted(asked, key=lambda letter: (-asked[letter], letter))
    numbers = {letter: number for number, letter in enumerate(alphabet, start=1)}  # 0 is unknown
    told = {role: np.array([numbers.get(letter, 0) for letter in text]) for role, text in roles.items()}
    train, train_owner = _rows([tokens[: cuts[role]] for role, tokens in told.items()])
    test, test_owner = _rows([tokens[cuts[role] :] for role, tokens in told.items()])
    kept = np.sort(np.random.default_rng(0).permutation(len(test))[:TEST_ROWS])
    return Dataset(
        name="shakespeare",
        kind="text",
        train_x=train[:, :-1],
        train_y=train[:, -1].astype(np.int64) - 1,
        test_x=test[kept, :-1],
        test_y=test[kept, -1].astype(np.int64) - 1,
        classes=tuple(alphabet),
        vocabulary=len(alphabet) + 1,
        owners=tuple(roles),
        train_owner=train_owner,
        test_owner=test_owner[kept],
    )
