"""The demo of hospitals: Cleveland buys from three others that differ by nature, and from a careless one.

The careless clinic holds real patients, a third of the Hungarian hospital's, with diagnoses of other patients: somebody
sorted one column of its table.
"""

from dataclasses import replace

import numpy as np

from martfl.demo.options import DemoOptions
from martfl.demo.scene import Scene, Seller
from martfl.tasks import hospitals
from martfl.tasks.layout import Vector
from martfl.tasks.sources import Pair
from martfl.tasks.torch_task import Progress, TorchTask
from martfl.values import Json

ROOT_ROWS = 120
CARELESS = "careless: diagnoses mixed up"


def hospitals_scene(options: DemoOptions, *, progress: Progress | None = None) -> Scene:
    """Who buys, who sells, and what."""
    rng = np.random.default_rng([options.seed, 4])
    own = _shuffled(hospitals.load_hospital("cleveland"), rng)
    hungarian = _shuffled(hospitals.load_hospital("hungarian"), rng)
    third = len(hungarian[1]) // 3
    training: Json = {"seed": options.seed}
    task = replace(hospitals.heart(**training), progress=progress)
    root, test = _part(own, slice(None, ROOT_ROWS)), _part(own, slice(ROOT_ROWS, None))
    return Scene(
        task=task,
        entry="martfl.tasks.hospitals:heart",
        options=training,
        root=root,
        test=test,
        sellers=[
            Seller("Budapest", _part(hungarian, slice(third, None))),
            Seller("Zurich and Basel", hospitals.load_hospital("switzerland")),
            Seller("Long Beach", hospitals.load_hospital("long-beach")),
            Seller("Careless", _mixed_up(_part(hungarian, slice(None, third)), rng), CARELESS),
        ],
        settlement={"scheme": options.settlement, "scale": 2.0**-14, "update_limit": 2.0, "samples": 16},
        rule=options.rule,
        value=options.value,
        seed=options.seed,
        ending=lambda first, last, folder: _compared(task, first, last, options.epochs, root, test),
    )


def _compared(task: TorchTask, first: Vector, last: Vector, epochs: int, root: Pair, test: Pair) -> dict[str, str]:
    """How good the buyer's own rows alone would have made the model, and what they add to what it bought."""
    alone = first
    for epoch in range(1, epochs + 1):
        alone = alone + task.train(alone, root, seed=epoch)
    both = last + task.train(last, root, seed=epochs + 1)
    rows = len(root[1])
    return {
        "Cleveland alone": f"{_measured(task, alone, test)} on the same patients, trained on its own {rows} as long",
        "What it bought, and its own": f"{_measured(task, both, test)}, the bought model trained once more on its own",
    }


def _measured(task: TorchTask, model: Vector, test: Pair) -> str:
    found = task.quality(model, test)
    return f"accuracy {100 * found['accuracy']:.1f} %, AUC {100 * found['auc']:.1f} %"


def _shuffled(rows: Pair, rng: np.random.Generator) -> Pair:
    order = rng.permutation(len(rows[1]))
    return rows[0][order], rows[1][order]


def _part(rows: Pair, part: slice) -> Pair:
    return rows[0][part], rows[1][part]


def _mixed_up(rows: Pair, rng: np.random.Generator) -> Pair:
    """Patients with the diagnoses of a sorted column."""
    patients, ill = rows
    return patients[np.argsort(-patients[:, 0], kind="stable")], np.sort(ill)
