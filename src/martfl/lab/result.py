"""The result of a run, from its rounds."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np

from martfl.lab.config import RunConfig
from martfl.lab.metrics import RoundRow, fall, mean
from martfl.lab.provenance import UNKNOWN, Provenance, is_current

TAIL = 10  # rounds behind `mta_tail`
Status = Literal["done", "diverged", "failed"]  # diverged: the model left the finite numbers


@dataclass(frozen=True)
class RunResult:
    """A finished run. Shares are in [0, 1]; None where nothing was measured.

    Examples:
        >>> from martfl.lab.experiment import run_experiment
        >>> result = run_experiment(RunConfig(dataset='digits', rounds=1))
        >>> result.old, result.measures()['rounds']
        (False, 1)
    """

    config: RunConfig
    status: Status
    made: Provenance = UNKNOWN
    key: str = ""  # joins it with its rounds: its identity and its code
    error: str = ""  # of a run that failed
    mta: float | None = None  # at the reported round: the best on validation rows if it may stop early, else the last
    f1: float | None = None
    auc: float | None = None
    mta_own: float | None = None  # on the test rows that are the buyer's own
    auc_own: float | None = None
    asr: float | None = None
    dac: float | None = None  # means over the rounds from here …
    inclusiveness: float | None = None
    inclusiveness_hq: float | None = None
    robustness: float | None = None
    baseline_correctness: float | None = None
    baselines: float | None = None
    same_choices: float | None = None
    same_purchases: float | None = None  # … to here
    mta_last: float | None = None
    mta_tail: float | None = None  # mean of the last ten evaluated rounds
    fall: float | None = None  # best accuracy − lowest of the last third of the rounds
    quantisation_loss: float | None = None
    f1_loss: float | None = None
    rounds: int = 0
    best_round: int | None = None
    seconds_per_round: float | None = None  # median
    rule_seconds: float | None = None  # median of the rule's own part
    history: tuple[RoundRow, ...] = ()

    @property
    def id(self) -> str:
        return self.config.identity()

    @property
    def name(self) -> str:
        return self.config.name

    @property
    def old(self) -> bool:
        """Whether the code that made it has changed since."""
        return not is_current(self.config, self.made)

    def measures(self) -> dict[str, float | None]:
        """The figures by name."""
        return {name: getattr(self, name) for name in MEASURES}


MEASURES = tuple(
    f.name for f in fields(RunResult) if f.name not in ("config", "status", "made", "key", "error", "history")
)  # fmt: skip


def key_of(config: RunConfig, made: Provenance) -> str:
    """The name of what this code makes of this run.

    Examples:
        >>> key_of(RunConfig(), UNKNOWN).startswith(RunConfig().identity())
        True
    """
    return f"{config.identity()}-{made.code}"


def key_of_all(configs: Sequence[RunConfig], made: Sequence[Provenance]) -> str:
    """The name of what this code makes of runs that are made together.

    Examples:
        >>> runs = [RunConfig(seed=0), RunConfig(seed=1)]
        >>> made = [Provenance('a'), Provenance('b')]
        >>> key_of_all(runs[:1], made[:1]) == key_of(runs[0], made[0]) != key_of_all(runs, made)
        True
    """
    keys = [key_of(config, by) for config, by in zip(configs, made, strict=True)]
    return keys[0] if len(keys) == 1 else hashlib.sha256(" ".join(keys).encode()).hexdigest()[:32]


def best_round(history: Sequence[RoundRow]) -> int | None:
    """The round (from 1) with the best validation accuracy; the first of equals.

    Examples:
        >>> best_round([RoundRow(1, validation=0.5), RoundRow(2, validation=0.7), RoundRow(3, validation=0.7)])
        2
    """
    known = [(row.validation, row.round) for row in history if row.validation is not None]
    return max(known, key=lambda pair: (pair[0], -pair[1]))[1] if known else None


def summarise(config: RunConfig, history: Sequence[RoundRow], *, diverged: bool, made: Provenance) -> RunResult:
    """The result of a history of rounds.

    dac, inclusiveness and robustness are means over rounds; fall = best accuracy − lowest of the last third

    Examples:
        >>> history = [RoundRow(1, mta=0.5, dac=1.0), RoundRow(2, mta=0.8, dac=0.5)]
        >>> result = summarise(RunConfig(rounds=2), history, diverged=False, made=UNKNOWN)
        >>> result.mta, result.dac
        (0.8, 0.75)
    """
    evaluated = [] if diverged else [row for row in history if row.mta is not None]
    best, last = best_round(history), evaluated[-1] if evaluated else RoundRow(len(history))
    reported = next((row for row in evaluated if row.round == best), last) if config.patience else last
    return RunResult(
        config=config.filled(),
        status="diverged" if diverged else "done",
        made=made,
        key=key_of(config, made),
        mta=reported.mta,
        f1=reported.f1,
        auc=reported.auc,
        mta_own=reported.mta_own,
        auc_own=reported.auc_own,
        asr=reported.asr,
        dac=mean([row.dac for row in history]),
        inclusiveness=mean([row.inclusiveness for row in history]),
        inclusiveness_hq=mean([row.inclusiveness_hq for row in history]),
        robustness=mean([row.robustness for row in history]),
        baseline_correctness=mean([row.baseline_correct for row in history]),
        baselines=mean([float(row.baselines) for row in history]),
        same_choices=mean([row.same_choices for row in history]),
        same_purchases=mean([row.same_purchases for row in history]),
        mta_last=last.mta,
        mta_tail=mean([row.mta for row in evaluated[-TAIL:]]),
        fall=fall([(row.round, row.mta) for row in evaluated if row.mta is not None]),
        quantisation_loss=reported.quantisation_loss,
        f1_loss=reported.f1_loss,
        rounds=len(history),
        best_round=best,
        seconds_per_round=_median([row.seconds for row in history]),
        rule_seconds=_median([row.rule_seconds for row in history]),
        history=tuple(history),
    )


def _median(values: list[float]) -> float | None:
    return float(np.median(values)) if values else None
