"""A market of one's own task in one process: embedded chain, real settlement, a seller for every dataset."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from martfl.demo.result import DemoResult, run_scene
from martfl.demo.scene import Scene, Seller
from martfl.errors import InputError
from martfl.market.conduct import Conduct, Honest
from martfl.tasks.protocol import Data, as_task, check_rows
from martfl.values import Settings


def simulate(
    make: Callable[..., object],
    *,
    root: Data,
    test: Data,
    sellers: Mapping[str, Data],
    epochs: int = 3,
    options: Settings | None = None,
    folder: Path | str | None = None,
    rule: str = "evidence",
    value: str = "information",
    scale: float = 2.0**-14,
    conducts: Mapping[str, Conduct] | None = None,
    seed: int = 0,
) -> DemoResult:
    """Trade the task that `make(**options)` gives: the buyer holds `root`, and the sellers, by name, hold their rows.

    `scale` is the step that updates are rounded to; with 16 bits, 2^-14 reaches from -2 to 2. `conducts` are for
    sellers that do something other than train. The folder, a new one where none is named,
    can be resumed, audited and exported.
    """
    if not sellers or epochs < 1:
        raise InputError(f"a market has at least 1 seller and 1 epoch, got {len(sellers)} and {epochs}")
    task = as_task(make(**(options or {})))
    for rows in (root, test):
        check_rows(task, rows)
    other = conducts or {}
    scene = Scene(
        task=task,
        entry=f"{make.__module__}:{make.__qualname__}",
        options=options or {},
        root=root,
        test=test,
        sellers=[_seller(name, rows, other.get(name)) for name, rows in sellers.items()],
        settlement={"scale": scale},
        rule=rule,
        value=value,
        seed=seed,
    )
    return run_scene(scene, Path(folder or tempfile.mkdtemp(prefix="martfl-")), epochs=epochs)


def _seller(name: str, rows: Data, conduct: Conduct | None) -> Seller:
    if conduct is None:
        return Seller(name, rows, conduct=Honest())
    return Seller(name, rows, behaviour=type(conduct).__name__.lower(), conduct=conduct)
