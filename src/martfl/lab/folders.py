"""Which folders hold results. Without the lab's libraries, since a market's report asks too."""

from pathlib import Path

RUNS = "runs.jsonl.gz"
PLAIN_RUNS = "runs.jsonl"  # as written before; the next writer packs it
ROUNDS = "rounds.csv.gz"


def holds_results(folder: Path) -> bool:
    """Whether a folder is that of an experiment's results."""
    return any((folder / name).is_file() for name in (RUNS, PLAIN_RUNS))


def experiments_in(folder: Path) -> list[Path]:
    """The folders of all experiments in a folder."""
    return [path for path in sorted(folder.glob("*")) if holds_results(path)]
