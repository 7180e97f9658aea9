"""Results as TensorBoard events, for people who follow all their experiments there. Needs the extra `tracking`."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from martfl.amounts import COIN
from martfl.dashboard.reading import read_story
from martfl.dashboard.story import EpochStory
from martfl.dashboard.words import label
from martfl.errors import InputError
from martfl.lab.folders import holds_results
from martfl.lab.store import Store
from martfl.lab.suite import describe

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


def track(folder: Path, out: Path) -> Path:
    """Write the events of a market's or a lab's folder."""
    return track_lab(folder, out) if holds_results(folder) else track_market(folder, out)


def track_market(folder: Path, out: Path) -> Path:
    """One step per epoch: accuracy, money, costs, and every provider's weight and payment."""
    story = read_story(folder)
    names = {address: f"{label(story, address)} {address[:8]}" for address in story.parties}
    with writer(out) as board:
        for epoch in story.epochs:
            for tag, value in _epoch_values(epoch).items():
                board.add_scalar(tag, value, epoch.number, walltime=epoch.latest)
            for turn in epoch.turns:
                board.add_scalar(f"weight/{names[turn.provider]}", turn.weight, epoch.number, walltime=epoch.latest)
                paid = (turn.paid or 0) / COIN
                board.add_scalar(f"paid/{names[turn.provider]}", paid, epoch.number, walltime=epoch.latest)
    return out


def track_lab(folder: Path, out: Path) -> Path:
    """One TensorBoard run per run of the lab, one step per round."""
    store = Store(folder)
    rounds = store.rounds()
    for result in store.records():
        with writer(out / _file_name(describe(result.config), result.id)) as board:
            for row in rounds.get(result.key, ()):
                _add_row(board, row, int(row["round"] or 0))
    return out


@contextmanager
def writer(out: Path) -> Iterator["SummaryWriter"]:
    """An event file in `out`."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise InputError("TensorBoard events need the extra: pip install 'martfl[tracking]'") from error
    with SummaryWriter(str(out)) as board:
        yield board


def _epoch_values(epoch: EpochStory) -> dict[str, float]:
    values = {
        "accuracy/root": epoch.accuracy,
        "accuracy/test": epoch.tested,
        "money/paid": epoch.paid / COIN,
        "money/deposit": epoch.deposit / COIN,
        "cost/gas": sum(epoch.gas().values()),
        "cost/bytes": sum(epoch.sent.values()) + sum(epoch.received.values()),
        "cost/seconds": sum(epoch.seconds.values()),
        "money/prices": epoch.spent / COIN,
        "providers/bought": sum(turn.price is not None for turn in epoch.turns),
        "providers/weighed": sum(turn.weight > 0 for turn in epoch.turns),
        "providers/caught": sum(bool(turn.offence) for turn in epoch.turns),
    }
    return {tag: float(value) for tag, value in values.items() if value is not None}


def _add_row(board: "SummaryWriter", row: Mapping[str, float | None], step: int) -> None:
    for name, value in row.items():
        if name != "round" and value is not None:
            board.add_scalar(name, float(value), step)


def _file_name(words: str, identity: str) -> str:
    safe = "".join(char if char.isalnum() or char in ".-" else "_" for char in words)
    return f"{safe[:80]}_{identity[:8]}"
