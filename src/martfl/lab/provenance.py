"""What made a result: the revision of the code that can change it, the trainer, torch's version and the device.

A revision is a digest of the definitions that a run reaches. Registries are not entered: of the rules, attacks,
datasets, models and trainers only those of the run count, so that a new rule leaves the results of the others alone.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

import martfl
from martfl.errors import InputError
from martfl.lab.attacks import ATTACKS
from martfl.lab.config import RunConfig
from martfl.lab.data import preset_of, source_of
from martfl.lab.models import MODELS
from martfl.lab.models.words import ANSWERS
from martfl.lab.rules import RULES
from martfl.lab.sources import Place, Sources, digest
from martfl.selection import STRATEGIES
from martfl.values import Json

RUN = (Place("martfl.lab.experiment", "run_experiment"), Place("martfl.lab.data.base", "Dataset"))
QUANTISE = "martfl.lab.quantise:"  # entered only by runs that aggregate in integers
VALUE = "martfl.valuation.strategy:"  # entered only by runs that weigh by what updates add
WORDS = (  # entered only by runs of models that read words
    "martfl.selection.taught:movement", "martfl.selection.taught:gather", "martfl.selection.taught:find_taught",
    "martfl.lab.models.words:answers_to_words", "martfl.lab.models.words:draw_texts", "martfl.lab.models.textcnn:",
)  # fmt: skip
TRAINERS = {
    "batched": Place("martfl.lab.trainer.batched", "BatchedTrainer"),
    "loop": Place("martfl.lab.trainer.loop", "LoopTrainer"),
}
CUT = frozenset(
    {
        "martfl.errors:", "martfl.lab.config:", "martfl.lab.data.files:", "martfl.lab.provenance:",  # compute nothing
        "martfl.lab.rules.registry:", "martfl.lab.attacks:", "martfl.lab.data.registry:", "martfl.lab.models:",
        "martfl.selection.registry:", *map(str, TRAINERS.values()),
    }
)  # fmt: skip


@dataclass(frozen=True)
class Provenance:
    """What made a result."""

    code: str = ""  # revision; empty where it is not known
    trainer: str = ""
    torch: str = ""
    device: str = ""


UNKNOWN = Provenance()


def provenance_of(config: RunConfig, *, trainer: str, device: torch.device) -> Provenance:
    """What makes a result here and now."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    return Provenance(revision(config, trainer=trainer), trainer, torch.__version__, name)


def is_current(config: RunConfig, made: Provenance) -> bool:
    """Whether the present code is the code that made the result."""
    try:
        return bool(made.code) and made.code == revision(config, trainer=made.trainer)
    except InputError:
        return False  # a rule, attack, dataset or model that is no longer there


def revision(config: RunConfig, *, trainer: str) -> str:
    """The digest of everything in the sources that can change the run's result."""
    parts, filled = _parts(config), config.filled()
    unused: dict[tuple[str, ...], bool] = {
        (QUANTISE,): not config.quantise,
        (VALUE,): not config.rule_params.get("value"),
        WORDS: filled.model not in ANSWERS,
    }
    cut = CUT | {place for places, is_unused in unused.items() if is_unused for place in places}
    roots = [*RUN, TRAINERS.get(trainer, RUN[0]), *map(_place, parts)]
    strange = tuple(_text(part) for part in parts if not part.__module__.startswith(f"{martfl.__name__}."))
    return _digest(tuple(roots), cut, (repr(preset_of(filled.dataset)), *strange))


@functools.cache
def _digest(roots: tuple[Place, ...], cut: frozenset[str], more: tuple[str, ...]) -> str:
    return digest(_sources().reach(roots, cut=cut), *more)


@functools.cache
def _sources() -> Sources:
    return Sources(Path(martfl.__path__[0]))


def _parts(config: RunConfig) -> list[Callable[..., object]]:
    """What the registries hold under the names of the run."""
    full = config.filled()
    named: list[tuple[str, Json, str]] = [
        ("rule", RULES, full.rule),
        ("attack", ATTACKS, full.attack),
        ("model", MODELS, full.model or ""),
    ]
    for kind, registry, name in named:
        if name not in registry:
            raise InputError(f"unknown {kind} {name!r}: choose one of {', '.join(sorted(registry))}")
    found = [registry[name] for kind, registry, name in named if (kind, name) != ("attack", "none")]
    strategy = [STRATEGIES[full.rule]] if full.rule in STRATEGIES else []
    return [*found, *strategy, source_of(full.dataset).load]


def _place(part: Callable[..., object]) -> Place:
    """Where a function or a class is defined; one that is made inside another counts as that one."""
    whole = part.func if isinstance(part, functools.partial) else part
    return Place(whole.__module__, whole.__qualname__.split(".")[0])


def _text(part: Callable[..., object]) -> str:
    """The source of a part that a user has registered; its name where there is no file."""
    try:
        return Path(inspect.getfile(part)).read_text(encoding="utf-8")
    except (OSError, TypeError):
        return f"{part.__module__}.{part.__qualname__}"
