"""Results as plain CSV files, for spreadsheets and statistics programs."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from martfl.errors import InputError
from martfl.lab.config import KEYS
from martfl.lab.folders import holds_results
from martfl.lab.records import MADE, to_json
from martfl.lab.result import MEASURES
from martfl.lab.store import COLUMNS, Row, Store
from martfl.values import Json

RUNS = ("experiment", "run", "name", "status", *KEYS, *(f"result_{name}" for name in MEASURES), *MADE, "old", "error")
ROUNDS = ("experiment", "run", *COLUMNS)


def export_csv(folders: Sequence[Path], to: Path, *, keep_old: bool = False) -> dict[str, Path]:
    """`runs.csv` with a line a run and `rounds.csv` with a line a round; `run` joins the two."""
    stores = {folder.name: Store(folder) for folder in folders}
    missing = [str(folder) for folder in folders if not holds_results(folder)]
    if missing or not stores:
        raise InputError(f"no results to export in {', '.join(missing) or 'no folder'}")
    runs, rounds = [], []
    for name, store in stores.items():
        curves = store.rounds()
        kept = [result for result in store.records() if keep_old or result.status == "failed" or not result.old]
        for result in kept:
            runs.append({"experiment": name, "run": result.key, **_flat(to_json(result))})
            rounds += [{"experiment": name, "run": result.key, **_whole(row)} for row in curves.get(result.key, ())]
    to.mkdir(parents=True, exist_ok=True)
    return {"runs": _write(to / "runs.csv", RUNS, runs), "rounds": _write(to / "rounds.csv", ROUNDS, rounds)}


def _flat(shown: Json) -> Json:
    """Settings and figures side by side; figures are told apart, since `rounds` is one of each."""
    settings = {key: json.dumps(value) if isinstance(value, dict) else value for key, value in shown["config"].items()}
    figures = {f"result_{name}": shown[name] for name in MEASURES}
    return {**{key: shown[key] for key in ("name", "status", *MADE, "old", "error")}, **settings, **figures}


def _whole(row: Row) -> Row:
    """Counts without a decimal point."""
    return {
        key: int(value) if key in ("round", "baselines") and value is not None else value for key, value in row.items()
    }


def _write(path: Path, columns: Sequence[str], rows: Iterable[Json]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
    return path
