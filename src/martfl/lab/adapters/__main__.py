"""`python -m martfl.lab.adapters experiments/lora.toml --out runs/lora.jsonl`: every run of a file, one line an epoch.

Runs that are in the output whole are skipped, so that a file can be run in parts. `--table` prints what is there.
"""

import argparse
import itertools
import json
import sys
import time
import tomllib
from pathlib import Path

from martfl.errors import InputError, MartflError
from martfl.lab.adapters.run import AdapterRun
from martfl.lab.adapters.table import adapter_table
from martfl.lab.adapters.texts import make_split
from martfl.tasks.base_model import SMALL, base_identity
from martfl.tasks.lora_task import lora
from martfl.tasks.speeches import load_speeches
from martfl.values import Json

TASK = ("rank", "alpha", "tokens", "steps", "batch", "learning_rate", "precision")
SPLIT = ("sellers", "malicious", "root", "test")
GRID = ("attack", "rule", "seed")


def load_runs(path: Path) -> tuple[Json, list[Json]]:
    """What all runs share, and what each is."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
        shared, grid = dict(found["adapters"]), dict(found["grid"])
    except (OSError, tomllib.TOMLDecodeError, KeyError) as error:
        raise InputError(f"{path} must have [adapters] and [grid]: {error}") from error
    wrong = set(grid) ^ set(GRID) | set(shared) - {*TASK, *SPLIT, "epochs"}
    if wrong:
        raise InputError(f"{path} has or lacks {', '.join(sorted(wrong))}: the grid is of {', '.join(GRID)}")
    return shared, [dict(zip(GRID, values, strict=True)) for values in itertools.product(*(grid[n] for n in GRID))]


def run_all(args: argparse.Namespace) -> None:
    """One run after the other; each line is written when its epoch is over."""
    shared, runs = load_runs(args.file)
    epochs = args.epochs or shared["epochs"]
    done = _finished(args.out, epochs)
    speeches = load_speeches(args.data)
    given = {name: shared[name] for name in TASK if name in shared}
    parts = {name: shared[name] for name in SPLIT} | ({"sellers": args.sellers} if args.sellers else {})
    args.out.parent.mkdir(parents=True, exist_ok=True)
    for one in runs:
        if (args.only and not all(str(one[k]) == v for k, v in args.only)) or tuple(one.values()) in done:
            continue
        task = lora(base=args.base, identity=base_identity(args.base), seed=one["seed"], **given)
        split = make_split(speeches, **parts, attack=one["attack"], seed=one["seed"])
        for row in AdapterRun(task, split, one["rule"], one["seed"]).epochs(epochs):
            line = {**one, **row, "time": round(time.time())}
            with args.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            sys.stderr.write(f"{line}\n")


def _finished(path: Path, epochs: int) -> set[tuple[object, ...]]:
    return {tuple(row[name] for name in GRID) for row in _rows(path) if row["epoch"] >= epochs}


def _rows(path: Path) -> list[Json]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return [json.loads(line) for line in lines]


def main() -> None:
    """Read the arguments, run."""
    parser = argparse.ArgumentParser(prog="python -m martfl.lab.adapters", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--out", type=Path, default=Path("runs/lora.jsonl"))
    parser.add_argument("--base", default=SMALL, help="a language model; MARTFL_DEVICE says where it computes")
    parser.add_argument("--data", type=Path, help="a folder with shakespeare/ in it (default: five plays)")
    parser.add_argument("--epochs", type=int, default=0)
    parser.add_argument("--sellers", type=int, default=0)
    parser.add_argument("--only", type=lambda text: tuple(text.split("=", 1)), action="append", metavar="KEY=VALUE")
    parser.add_argument("--table", action="store_true", help="print what --out holds, and run nothing")
    args = parser.parse_args()
    try:
        if args.table:
            sys.stdout.write(adapter_table(_rows(args.out)) + "\n")
        else:
            run_all(args)
    except MartflError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
