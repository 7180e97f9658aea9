"""Speeches of Shakespeare's plays as texts. Five plays come with the package; a data folder may hold all of them."""

import gzip
import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from martfl.tasks.errors import TaskError

FILE = "speeches.jsonl.gz"
LEAST = 80  # characters: shorter speeches say little of a model


@dataclass(frozen=True)
class Speech:
    """What somebody says in a play."""

    play: str
    role: str
    text: str


def load_speeches(folder: Path | None = None) -> list[Speech]:
    """All speeches of `folder`/shakespeare, or of the plays that come with the package."""
    with resources.as_file(resources.files("martfl.tasks") / "plays") as shipped:
        path = folder / "shakespeare" / FILE if folder else shipped / FILE
        try:
            lines = gzip.decompress(path.read_bytes()).decode("utf-8").splitlines()
            return [Speech(**json.loads(line)) for line in lines]
        except (OSError, ValueError, TypeError) as error:
            raise TaskError(f"{path} is not a file of speeches (play, role, text): {error}") from error


def by_play(speeches: list[Speech], *, least: int = LEAST) -> dict[str, list[str]]:
    """The texts of each play that are long enough, as lines are said: with who speaks."""
    plays: dict[str, list[str]] = {}
    for speech in speeches:
        if len(speech.text) >= least:
            plays.setdefault(speech.play, []).append(f"{speech.role}: {speech.text}")
    return plays
