"""Where and how runs are computed."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Runtime:
    """Where and how a run is computed; none of it is part of the run's identity."""

    device: str = "cpu"
    trainer: str = "auto"
    memory_mb: int | None = None
    memory_share: float = 1.0  # of what is free, where no number is given
    workers: int | None = None
    data: Path | None = None
    checkpoint_seconds: float = 20.0  # between two of them
