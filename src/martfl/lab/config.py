"""One run, described completely: what it is identified by, and what is refused before anything trains."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from dataclasses import dataclass, field
from typing import Any, Literal, get_args, get_type_hints

from martfl.errors import InputError
from martfl.lab.data import preset_of
from martfl.lab.models import MODELS
from martfl.values import Json

Sizes = Literal["uni", "pow"]
Classes = Literal["iid", "noniid", "dirichlet", "natural"]
Precision = Literal["fp32", "tf32", "bf16"]


@dataclass(frozen=True)
class RunConfig:
    """Names and numbers of one run. None means: as in the dataset's preset.

    Examples:
        >>> config = RunConfig(dataset='digits', attack='sign-randomizing', malicious=0.3)
        >>> config.filled().participants, config.threat
        (10, 'sign-randomizing')
        >>> again = RunConfig(attack='sign-randomizing', malicious=0.3, label='another name')
        >>> config.identity() == again.identity()
        True
    """

    dataset: str = "digits"
    rule: str = "martfl"
    rule_params: Json = field(default_factory=dict)
    label: str = ""  # how tables name the rule; its name if empty
    attack: str = "none"
    attack_params: Json = field(default_factory=dict)
    malicious: float = 0.0  # share of the providers
    biased: float = 0.0  # share of the providers
    bias_type: Literal["I", "II"] = "I"  # biased like the root data, or each in its own way
    sizes: Sizes = "uni"
    classes: Classes = "iid"
    alpha: float = 0.5  # of a Dirichlet division; the smaller, the fewer classes a provider has
    buyer: str = ""  # whose rows are the root data of a natural division; drawn if empty
    root: Literal["unbiased", "biased"] = "unbiased"
    root_share: float = 0.5  # of the classes, that dominate biased data
    dominance: float = 1.0  # share of the rows of biased data that come from the dominating classes
    root_rows: int | None = None
    root_poisoned: float = 0.0  # share of the root rows whose labels are wrong
    model: str | None = None
    participants: int | None = None
    rounds: int = 100
    epochs: int = 2
    batch: int = 64
    optimizer: Literal["sgd", "adam"] | None = None
    learning_rate: float | None = None
    momentum: float = 0.9
    patience: int = 0  # stop when validation accuracy has not risen for so many rounds; 0 never stops early
    eval_every: int = 1  # rounds between two evaluations; the last round is always evaluated
    quantise: dict[str, float] = field(default_factory=dict)  # {bits, scale}: aggregate in integers
    precision: Precision = "fp32"
    seed: int = 0

    @property
    def name(self) -> str:
        return self.label or self.rule

    @property
    def threat(self) -> str:
        """The attack with its parameters, as tables name it."""
        return " ".join([self.attack, *(f"{key} {value:g}" for key, value in sorted(self.attack_params.items()))])

    def filled(self) -> RunConfig:
        """The same with the preset's values in place of None."""
        open_ = [name for name in PRESET if getattr(self, name) is None]
        if not open_:
            return self
        preset = preset_of(self.dataset)
        return dataclasses.replace(self, **{name: getattr(preset, name) for name in open_})

    def identity(self) -> str:
        """A short hash of everything that can change a result: the settings that differ from the defaults."""
        full = self.filled()
        settings = {key: value for key in KEYS if (value := getattr(full, key)) != getattr(PLAIN, key)}
        settings.pop("label", None)
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


PRESET = ("model", "participants", "root_rows", "optimizer", "learning_rate")  # settings that a dataset brings along
KEYS = tuple(f.name for f in dataclasses.fields(RunConfig))
PLAIN = RunConfig()
_HINTS = get_type_hints(RunConfig)


def make_config(values: Json) -> RunConfig:
    """A checked configuration from a table of values; `rule` and `attack` may be tables with a name and parameters.

    Examples:
        >>> config = make_config({'dataset': 'digits', 'rule': {'name': 'martfl', 'threshold': 0.1}, 'rounds': 3})
        >>> config.rule, config.rule_params
        ('martfl', {'threshold': 0.1})
    """
    known = {key.replace("-", "_"): value for key, value in values.items()}
    for part in ("rule", "attack"):
        if isinstance(known.get(part), dict):
            params = {key.replace("-", "_"): value for key, value in known[part].items()}
            if "name" not in params:
                raise InputError(f"{part} as a table needs a name, got {sorted(params)}")
            known[part] = params.pop("name")
            if part == "rule" and "label" in params:
                known["label"] = params.pop("label")
            known[f"{part}_params"] = {**known.get(f"{part}_params", {}), **params}
    unknown = sorted(set(known) - set(KEYS))
    if unknown:
        raise InputError(f"unknown setting {', '.join(unknown)}: choose from {', '.join(KEYS)}")
    config = RunConfig(**{key: _cast(key, value) for key, value in known.items()})
    check_config(config)
    return config


def _cast(key: str, value: object) -> Any:
    """Refuse a value of the wrong type; whole numbers pass where fractions are meant."""
    kinds = _choices(_HINTS[key])
    literals = [kind for kind in kinds if isinstance(kind, str)]
    if literals:
        if value not in literals:
            raise InputError(f"{key} must be one of {', '.join(literals)}, got {value!r}")
        return value
    if float in kinds and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    types = tuple(kind for kind in kinds if isinstance(kind, type))
    if isinstance(value, bool) or (value is not None and not isinstance(value, types)):
        raise InputError(f"{key} must be {' or '.join(kind.__name__ for kind in types)}, got {value!r}")
    return value


def _choices(hint: object) -> list[object]:
    """The types and literal values that a field may take."""
    found: list[object] = []
    for part in get_args(hint) or (hint,):
        found += list(get_args(part)) if get_args(part) and getattr(part, "__origin__", None) is Literal else [part]
    if getattr(hint, "__origin__", None) is dict:
        return [dict]
    return [kind for kind in found if kind is not type(None)]


def check_config(config: RunConfig) -> None:
    """Refuse what cannot be run, before any data are loaded.

    Examples:
        >>> check_config(RunConfig(malicious=0.3))
        Traceback (most recent call last):
            ...
        martfl.errors.InputError: malicious = 0.3 needs an attack, got none
    """
    preset_of(config.dataset)  # refuses an unknown one
    full = config.filled()
    if full.model not in MODELS:
        raise InputError(f"unknown model {full.model!r}: choose one of {', '.join(sorted(MODELS))}")
    _check_shares(config)
    _check_division(config)
    assert full.participants is not None and full.root_rows is not None and full.learning_rate is not None
    for name, value, least in (
        ("participants", full.participants, 2), ("root_rows", full.root_rows, 1), ("rounds", config.rounds, 1),
        ("epochs", config.epochs, 1), ("batch", config.batch, 1), ("eval_every", config.eval_every, 1),
        ("patience", config.patience, 0), ("seed", config.seed, 0),
    ):  # fmt: skip
        if value < least:
            raise InputError(f"{name} must be at least {least}, got {value}")
    if not (math.isfinite(full.learning_rate) and full.learning_rate > 0):
        raise InputError(f"learning_rate must be positive, got {full.learning_rate}")
    if not 0 <= config.momentum < 1:
        raise InputError(f"momentum must be in [0, 1), got {config.momentum}")
    if set(config.quantise) - {"bits", "scale"}:
        raise InputError(f"quantise takes bits and scale, got {sorted(config.quantise)}")


def _check_shares(config: RunConfig) -> None:
    if not 0 <= config.malicious <= 0.9:
        raise InputError(f"malicious must be in [0, 0.9], got {config.malicious}")
    if not 0 <= config.biased <= 1:
        raise InputError(f"biased must be in [0, 1], got {config.biased}")
    if config.malicious + config.biased > 1 + 1e-9:
        raise InputError(f"malicious and biased together exceed the providers: {config.malicious} + {config.biased}")
    if config.malicious > 0 and config.attack == "none":
        raise InputError(f"malicious = {config.malicious} needs an attack, got none")
    if not 0 <= config.root_poisoned <= 1:
        raise InputError(f"root_poisoned must be in [0, 1], got {config.root_poisoned}")
    if not 0 < config.root_share < 1:
        raise InputError(f"root_share must be in (0, 1), got {config.root_share}")
    if not 0 < config.dominance <= 1:
        raise InputError(f"dominance must be in (0, 1], got {config.dominance}")


def _check_division(config: RunConfig) -> None:
    """Settings that a division does not read are refused, not passed over."""
    if not (math.isfinite(config.alpha) and config.alpha > 0):
        raise InputError(f"alpha must be positive, got {config.alpha}")
    if config.buyer and config.classes != "natural":
        raise InputError(f"buyer = {config.buyer} needs classes = natural, got {config.classes}")
    if config.classes in ("dirichlet", "natural") and (config.biased or config.sizes != "uni"):
        raise InputError(
            f"classes = {config.classes} gives sizes and classes by itself: "
            f"biased must be 0 and sizes uni, got {config.biased} and {config.sizes}"
        )
    if config.classes == "natural" and config.root != "unbiased":
        raise InputError(
            f"classes = natural has the buyer's rows as root data: root must be unbiased, got {config.root}"
        )
