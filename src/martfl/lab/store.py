"""Results on disk: one JSON line a run, one CSV a run for its rounds, one checkpoint for a run in progress."""

from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path
from typing import Any

from martfl.lab.experiment import RunResult
from martfl.lab.metrics import RoundRow

COLUMNS = tuple(f.name for f in dataclasses.fields(RoundRow))


def to_record(result: RunResult) -> dict[str, Any]:
    """The JSON object of a result: everything but its rounds."""
    fields = [f.name for f in dataclasses.fields(RunResult) if f.name != "history"]
    return {name: getattr(result, name) for name in fields}


class Store:
    """A folder of results of one experiment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines = folder / "runs.jsonl"

    def checkpoint(self, run: str) -> Path:
        """Where the run keeps its progress."""
        return self.folder / "checkpoints" / f"{run}.pt"

    def rounds(self, run: str) -> Path:
        """The CSV of the run's rounds."""
        return self.folder / "rounds" / f"{run}.csv"

    def records(self) -> list[dict[str, Any]]:
        """The last line of every run, oldest first; a line cut off by an interruption is passed over."""
        found: dict[str, dict[str, Any]] = {}
        if self.lines.is_file():
            for line in self.lines.read_text(encoding="utf-8").splitlines():
                try:
                    record = json.loads(line)
                except json.JSONDecodeError:
                    continue
                found[f"{record['id']} {record['name']}"] = record
        return list(found.values())

    def finished(self) -> set[str]:
        """The runs that need not be run again: those that ended, in whatever state of the model."""
        return {record["id"] for record in self.records() if record["status"] != "failed"}

    def append(self, record: dict[str, Any]) -> None:
        """Add one line."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.lines.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def write_rounds(self, run: str, history: tuple[RoundRow, ...]) -> None:
        """One line a round; empty where nothing was measured."""
        path = self.rounds(run)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            writer.writerows([getattr(row, column) for column in COLUMNS] for row in history)

    def read_rounds(self, run: str) -> list[dict[str, float | None]]:
        """The rounds of a run; none where there is no file."""
        if not self.rounds(run).is_file():
            return []
        with self.rounds(run).open(encoding="utf-8", newline="") as file:
            return [{key: float(text) if text else None for key, text in row.items()} for row in csv.DictReader(file)]


def read_results(folder: Path) -> list[dict[str, Any]]:
    """The JSON objects of an experiment's folder."""
    return Store(folder).records()
