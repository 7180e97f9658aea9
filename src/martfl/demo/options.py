"""What may be chosen about a demo, and what a folder remembers of it."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from martfl.demo.conducts import FORGED
from martfl.errors import InputError
from martfl.lab.attacks import ATTACKS
from martfl.values import Json

MIXED = "mixed"
FILE = "demo.json"
CASTS: dict[str, Json] = {  # task → what its demo is where nothing else is asked for
    "digits": {},
    "hospitals": {"providers": 4, "epochs": 6, "malicious": 0.25},
    "lora": {"providers": 5, "epochs": 2, "malicious": 0.4},
}
FREE = ("epochs", "settlement", "rule", "value", "seed")  # what may be chosen where the cast is fixed


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """What may be chosen about a demo."""

    task: str = "digits"
    providers: int = 10
    epochs: int = 5
    attack: str = MIXED
    malicious: float = 0.3
    settlement: str = "exact"
    rule: str = "evidence"
    value: str = "information"
    seed: int = 0

    def __post_init__(self) -> None:
        attacks = (*ATTACKS, FORGED, MIXED)
        if self.task not in CASTS:
            raise InputError(f"unknown task {self.task!r}; known: {', '.join(CASTS)}")
        if self.attack not in attacks:
            raise InputError(f"unknown attack {self.attack!r}; known: {', '.join(attacks)}")
        if not 1 <= self.providers <= 100 or self.epochs < 1:
            raise InputError(f"1 to 100 providers and at least 1 epoch, got {self.providers} and {self.epochs}")
        if not 0.0 <= self.malicious < 1.0:
            raise InputError(f"malicious must lie in [0, 1), got {self.malicious}")


def choose(task: str, **given: object) -> DemoOptions:
    """The options of a task's demo: those that were given, and its own defaults for the others."""
    asked = {name: value for name, value in given.items() if value is not None}
    cast = CASTS.get(task, {})
    if cast and (fixed := sorted(set(asked) - set(FREE))):
        raise InputError(f"the demo of {task} has a cast of its own: {', '.join(fixed)} cannot be chosen there")
    return DemoOptions(task=task, **{**cast, **asked})


def remembered(options: DemoOptions, folder: Path) -> DemoOptions:
    """The options that a folder was made with; others are refused, because the market there follows the old ones."""
    path = folder / FILE
    if not path.exists():
        path.write_text(json.dumps(asdict(options), indent=2), encoding="utf-8")
        return options
    known = remembered_options(folder)
    if replace(options, epochs=known.epochs) != known:
        raise InputError(f"{folder} holds a demo with other options: {known}")
    return options


def remembered_options(folder: Path) -> DemoOptions:
    """The options of an interrupted demo."""
    path = folder / FILE
    if not path.is_file():
        raise InputError(f"{folder} holds no demo to resume")
    return DemoOptions(**json.loads(path.read_text(encoding="utf-8")))
