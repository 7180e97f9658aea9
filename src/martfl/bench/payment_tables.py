"""Payments for people: a table of every way to pay, and pay against what sellers hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from martfl.bench.payment import GROUPS, OURS, Figures, honest, noisy
from martfl.lab.config import make_config
from martfl.lab.payment.market import Paid, make_market, run_market
from martfl.lab.runtime import Runtime
from martfl.lab.valuers import Valuer, make_valuer
from martfl.palette import SERIES
from martfl.tables import table

if TYPE_CHECKING:
    from rich.table import Table

DRAWN = {"information": "ours", "equal": "equal", "gtg-shapley": "GTG-Shapley"}


def tables(found: Mapping[str, Figures]) -> Iterator[Table]:
    """All ways to pay side by side, then every single gain of ours."""
    gains = ["split", "copies", "cheating", "mixing", "free rider"]
    heads = ["", "fair: size", "fair: labels", *gains, "unsteady", "accuracy, %"]
    rows = [
        (
            name,
            _two(one.spearman_size),
            _two(one.spearman_noise),
            *(_two(getattr(one, group)) for group in GROUPS),
            _two(one.pay_cv),
            " · ".join(f"{100 * x:.1f}" for x in (one.accuracy_iid, one.accuracy_size, one.accuracy_noise)),
        )
        for name, one in found.items()
    ]
    yield table("Payments (accuracy: alike · unlike sizes · wrong labels)", heads, rows)
    if OURS in found:
        yield table("What it gains, ours", ["", "times"], [(k, _two(v)) for k, v in found[OURS].gains.items()])


def _two(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def draw(*, dataset: str, participants: int, rounds: int, runtime: Runtime, path: Path) -> None:
    """Pay against rows, and against wrong labels."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    base = {"dataset": dataset, "participants": participants, "rounds": rounds, "rule": "evidence"}
    ways: dict[str, Valuer] = {name: make_valuer(name) for name in ("size", *DRAWN)}
    unlike = run_market(make_market(make_config({**base, "sizes": "pow"}), honest, runtime), ways, driver="size")
    wrong = run_market(make_market(make_config(base), noisy, runtime), ways, driver="size")
    figure, axes = pyplot.subplots(1, 2, figsize=(8, 3.2), layout="constrained", sharey=True)
    for (name, label), colour, marker in zip(DRAWN.items(), SERIES, "osD", strict=False):
        for axis, paid, held in ((axes[0], unlike, _rows(unlike)), (axes[1], wrong, _wrong(wrong))):
            order = np.argsort(held)
            axis.plot(held[order], 100 * paid.by_owner(name)[order], color=colour, marker=marker, label=label)
    axes[0].set(xlabel="rows of a seller", ylabel="share of the reward, %", ylim=(0, None))
    axes[1].set(xlabel="wrong labels, %")
    axes[0].legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def _rows(paid: Paid) -> np.ndarray:
    return np.array([len(wallet.rows.y) for wallet in paid.wallets])


def _wrong(paid: Paid) -> np.ndarray:
    return np.array([100 * (1 - wallet.good / len(wallet.rows.y)) for wallet in paid.wallets])
