"""What a run has reached, and its file: written aside first, so that an interruption leaves a whole file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from martfl.lab.metrics import RoundRow
from martfl.selection.strategy import State


@dataclass
class Progress:
    """The changing part of a run."""

    model: Tensor  # [m]
    previous: Tensor | None  # [m] the global model one round earlier
    integers: Tensor | None  # [m] the integer model, where the run aggregates in integers
    state: State  # the rule's
    history: list[RoundRow] = field(default_factory=list)
    others: list[tuple[float | None, ...]] = field(default_factory=list)  # attack success of twins, round by round
    diverged: bool = False


def save_progress(path: Path, progress: Progress) -> None:
    """Replace the checkpoint in one move."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_suffix(".part")
    torch.save(progress, aside)
    aside.replace(path)


def load_progress(path: Path | None, device: torch.device) -> Progress | None:
    """The checkpoint, or None where there is none or it cannot be read (the run then starts over).

    Checkpoints are pickles that this program wrote; do not open folders of results from people you do not trust.
    """
    if path is None or not path.is_file():
        return None
    try:
        found = torch.load(path, map_location=device, weights_only=False)
    except Exception:
        return None
    return found if isinstance(found, Progress) else None
