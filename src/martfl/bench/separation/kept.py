"""What was measured, kept as a JSON line a market, and its table in Markdown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from martfl.bench.separation.told import Caught, Told
from martfl.errors import InputError
from martfl.lab.tables import markdown_lines

HEADS = [
    "dataset",
    "attack",
    "attackers",
    "divisions × epochs",
    "AUC, first epoch",
    "one epoch",
    "all epochs",
    "worst division",
    "half of the divisions",
    "naming classes",
    "`evidence`",
    "caught at 1 %",
    "caught at 5 %",
    "best single features",
]


def read_told(path: Path) -> list[Told]:
    """The file's markets, a JSON object a line."""
    try:
        return [_told(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(f"{path} holds no measured separation: {error}") from error


def keep_told(path: Path, found: Sequence[Told]) -> None:
    """Put them into the file, in place of what it holds of the same markets."""
    kept = {one.key: one for one in (read_told(path) if path.is_file() else [])}
    kept |= {one.key: one for one in found}
    path.write_text("".join(json.dumps(asdict(one)) + "\n" for one in kept.values()), encoding="utf-8")


def told_table(found: Sequence[Told]) -> str:
    """A market a line; shares of attackers by their number, and by their rows."""
    return markdown_lines([HEADS, ["---"] * len(HEADS), *(_row(one) for one in found)])


def _row(one: Told) -> list[str]:
    notes = ["all in the mean"] * (one.mean == "all") + [f"without “{one.without}”"] * bool(one.without)
    attack = ", ".join([one.case, *notes])
    return [
        one.dataset,
        attack,
        f"{one.attackers} of {one.sellers}",
        f"{one.seeds} × {one.epochs}",
        f"{one.first:.2f}",
        f"{one.epoch:.2f}",
        f"{one.auc:.2f} ± {one.error:.2f}",
        *(f"{value:.2f}" for value in (one.worst, one.fewer, one.named, one.rule)),
        *(f"{100 * caught.sellers:.0f} % ({100 * caught.rows:.0f} %)" for caught in (one.at_1, one.at_5)),
        ", ".join(f"{name} {value:.2f}" for name, value in one.best),
    ]


def _told(line: dict[str, object]) -> Told:
    parts = {name: Caught(**line[name]) for name in ("at_1", "at_5")}  # type: ignore[arg-type]
    return Told(**{**line, **parts})  # type: ignore[arg-type]
