"""The markets that are looked at, and their first epochs: the lab's own, with a model of honest sellers' updates."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType

import torch
from torch import Tensor

from martfl.arrays import Floats
from martfl.bench.separation.looks import Looks, look
from martfl.errors import InputError
from martfl.lab.checkpoint import Progress
from martfl.lab.config import make_config
from martfl.lab.data import preset_of
from martfl.lab.randomness import device_stream, stream
from martfl.lab.rules import RoundView
from martfl.lab.runtime import Runtime
from martfl.lab.setup import Setup, make_setup
from martfl.values import Json

UNLIKE: Json = {"classes": "noniid", "sizes": "pow", "malicious": 0.3}
QUIET: Json = {"name": "quiet-backdoor", "share": 0.02}
NOTHING: Json = {"name": "rescaling", "factor": 1.0}  # who is called an attacker does what others do: nobody can tell
CASES: Mapping[str, Json] = MappingProxyType(
    {
        "backdoor": {**UNLIKE, "attack": "backdoor"},
        "label-flipping": {**UNLIKE, "attack": "label-flipping"},
        "quiet-backdoor-30": {"attack": QUIET, "malicious": 0.3},
        "quiet-backdoor-50": {"attack": QUIET, "malicious": 0.5},
        "none": {**UNLIKE, "attack": NOTHING},
        "adaptive": {"attack": "adaptive", "malicious": 0.4},
    }
)
EPOCHS = {"fmnist": 3, "cifar10": 3}  # images are dear
MOST_EPOCHS = 5
SELLERS = {"digits": 20}  # as in the experiment of eight seeds
MEANS = ("honest", "all")
DIGITS = 4


@dataclass(frozen=True)
class Division:
    """One division of a market's data, to be looked at for some epochs."""

    dataset: str
    case: str
    mean: str  # whose updates make the model
    seed: int
    epochs: int

    @property
    def key(self) -> tuple[str, str, str, int, int]:
        return (self.dataset, self.case, self.mean, self.seed, self.epochs)


@dataclass(frozen=True)
class Sight(Division):
    """What was seen of it."""

    attackers: list[bool]  # [n]
    rows: list[int]  # [n] that each holds
    plain: dict[str, list[list[float]]]  # [epochs, n] by feature
    named: dict[str, list[list[float]]]


def all_divisions(
    datasets: Sequence[str], cases: Sequence[str], seeds: Sequence[int], *, epochs: int = 0, mean: str = "honest"
) -> list[Division]:
    """Every seed of every market.

    Examples:
        >>> [division.epochs for division in all_divisions(['digits', 'fmnist'], ['backdoor'], [20])]
        [5, 3]
    """
    if unknown := sorted(set(cases) - set(CASES)):
        raise InputError(f"unknown case {', '.join(unknown)}: choose among {', '.join(CASES)}")
    if mean not in MEANS:
        raise InputError(f"unknown mean {mean!r}: choose one of {', '.join(MEANS)}")
    for dataset in datasets:
        preset_of(dataset)
    return [
        Division(dataset, case, mean, seed, epochs or EPOCHS.get(dataset, MOST_EPOCHS))
        for dataset in datasets
        for case in cases
        for seed in seeds
    ]


def watch(division: Division, runtime: Runtime) -> Sight:
    """Train the first epochs of a market, and look at what every seller hands in."""
    setup = make_setup(make_config(settings_of(division)), runtime)
    start = setup.model.start(stream(division.seed, "model")).to(setup.device)
    progress, seen = Progress(start, None, None, None), []
    for index in range(division.epochs):
        updates, own = hand_in(setup, progress, index)
        seen.append(look(_view(setup, progress, updates, own, index), setup.model))
        kept = updates[setup.honest] if division.mean == "honest" else updates
        progress.previous, progress.model = progress.model, progress.model + kept.mean(dim=0)
    return Sight(
        **asdict(division),
        attackers=setup.split.malicious.tolist(),
        rows=setup.sizes.tolist(),
        plain=_stack(seen, lambda one: one.plain),
        named=_stack(seen, lambda one: one.named),
    )


def settings_of(division: Division) -> Json:
    """As a run of the lab has them."""
    names = {"dataset": division.dataset, "rule": "evidence", "seed": division.seed}
    return {**names, "participants": SELLERS.get(division.dataset), **CASES[division.case]}


def hand_in(setup: Setup, progress: Progress, index: int) -> tuple[Tensor, Tensor]:
    """([n, m] what the sellers hand in, [m] the buyer's own update), as in a run of the lab."""
    trained = setup.clients.train(progress.model, seed=setup.config.seed, index=index)
    updates, own = trained[:-1], trained[-1]
    if setup.attack.craft is not None:
        generator = device_stream(setup.device, setup.config.seed, "attack", index)
        updates[setup.attackers] = setup.attack.craft(setup.craft_view(index, progress, updates, own, generator))
    return updates, own


def _view(setup: Setup, progress: Progress, updates: Tensor, own: Tensor, index: int) -> RoundView:
    rng = stream(setup.config.seed, "rule", index, setup.config.rule)
    return RoundView(index, progress.model, updates, own, setup.sizes, setup.honest, setup.judge, rng)


def _stack(seen: Sequence[Looks], part: Callable[[Looks], Mapping[str, Floats]]) -> dict[str, list[list[float]]]:
    """[epochs, n] by feature, with as many digits as count."""
    return {name: [[float(f"{x:.{DIGITS}g}") for x in part(one)[name]] for one in seen] for name in part(seen[0])}


def read_sights(path: Path) -> list[Sight]:
    """The file's markets, a JSON object a line; none where there is no file."""
    if not path.is_file():
        return []
    try:
        return [Sight(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{path} holds no markets that were looked at: {error}") from error


def watch_all(
    divisions: Iterable[Division],
    runtime: Runtime,
    *,
    out: Path | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> list[Sight]:
    """All of them; those that the file holds are not trained again, and others are added to it."""
    torch.set_num_threads(1)
    known = {sight.key: sight for sight in (read_sights(out) if out is not None else [])}
    found = []
    for division in divisions:
        if division.key not in known:
            tell(f"{division.dataset} · {division.case} · seed {division.seed}")
            known[division.key] = watch(division, runtime)
            if out is not None:
                with out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(known[division.key])) + "\n")
        found.append(known[division.key])
    return found
