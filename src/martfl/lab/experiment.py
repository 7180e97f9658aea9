"""One run: a configuration in, rounds of training, selection and evaluation, a result out."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from martfl.lab.checkpoint import Progress, load_progress, save_progress
from martfl.lab.config import RunConfig
from martfl.lab.evaluate import predict_one
from martfl.lab.metrics import RoundRow, accuracy, cosine, fall, ground_truth, macro_f1, mean, share
from martfl.lab.quantise import integer_change, make_quantiser, start_integers, to_floats
from martfl.lab.randomness import device_stream, stream
from martfl.lab.rules import Decision, RoundView
from martfl.lab.setup import Setup, make_setup
from martfl.lab.trainer import make_plan

TAIL = 10  # rounds behind `mta_tail`


@dataclass(frozen=True)
class Runtime:
    """Where and how a run is computed; none of it is part of the run's identity."""

    device: str = "cpu"
    trainer: str = "auto"
    memory_mb: int | None = None
    memory_share: float = 1.0  # of what is free, where no number is given
    workers: int | None = None
    data: Path | None = None
    checkpoint_every: int = 10  # rounds


@dataclass(frozen=True)
class RunResult:
    """A finished run. Shares are in [0, 1]; None where nothing was measured."""

    id: str
    name: str
    config: dict[str, Any]
    status: str  # done, or diverged: the model left the finite numbers
    mta: float | None  # at the reported round: the best on validation rows if the run may stop early, else the last
    f1: float | None
    asr: float | None
    dac: float | None  # means over the rounds from here …
    inclusiveness: float | None
    inclusiveness_hq: float | None
    robustness: float | None
    baseline_correctness: float | None
    baselines: float | None  # … to here
    mta_last: float | None
    mta_tail: float | None  # mean of the last ten evaluated rounds
    fall: float | None  # best accuracy − lowest of the last third of the rounds
    quantisation_loss: float | None
    f1_loss: float | None
    rounds: int
    best_round: int | None
    seconds_per_round: float | None  # median
    seed: int
    device: str
    history: tuple[RoundRow, ...] = ()


def run_experiment(
    config: RunConfig,
    *,
    runtime: Runtime = Runtime(),
    checkpoint: Path | None = None,
    on_round: Callable[[RoundRow], None] | None = None,
) -> RunResult:
    """Run to the end; with a checkpoint file, continue where an interrupted run stopped."""
    setup = make_setup(config, runtime)
    progress = load_progress(checkpoint, setup.device) or _start(setup)
    while not _finished(progress, config):
        row = _round(setup, progress)
        progress.history.append(row)
        if on_round is not None:
            on_round(row)
        if checkpoint is not None and len(progress.history) % runtime.checkpoint_every == 0:
            save_progress(checkpoint, progress)
    return summarise(config, progress, device=runtime.device)


def _start(setup: Setup) -> Progress:
    model = setup.model.start(stream(setup.config.seed, "model")).to(setup.device)
    quantiser = make_quantiser(setup.config.quantise)
    integers = start_integers(model, quantiser) if quantiser else None
    return Progress(model=model, previous=None, integers=integers, state=setup.rule.init())


def _finished(progress: Progress, config: RunConfig) -> bool:
    if progress.diverged or len(progress.history) >= config.rounds:
        return True
    best = best_round(progress.history)
    return config.patience > 0 and best is not None and len(progress.history) - best >= config.patience


def best_round(history: list[RoundRow]) -> int | None:
    """The round (from 1) with the best validation accuracy; the first of equals."""
    known = [(row.validation, row.round) for row in history if row.validation is not None]
    return max(known, key=lambda pair: (pair[0], -pair[1]))[1] if known else None


def _round(setup: Setup, progress: Progress) -> RoundRow:
    """Train, craft, decide, apply, measure."""
    began = time.perf_counter()
    index = len(progress.history)
    updates, own = _updates(setup, progress, index)
    view = RoundView(
        index=index,
        model=progress.model,
        updates=updates,
        own_update=own,
        sizes=setup.sizes,
        honest=setup.honest,
        judge=setup.judge,
        rng=stream(setup.config.seed, "rule", index, setup.config.rule),
        test_judge=setup.test_judge,
    )
    progress.state, decision = setup.rule.step(progress.state, view)
    plain = progress.model + decision.update
    _apply(setup, progress, decision, updates, plain)
    row = _judge_decision(setup, decision, updates, index)
    if index + 1 == setup.config.rounds or (index + 1) % setup.config.eval_every == 0 or progress.diverged:
        row = dataclasses.replace(row, **_evaluate(setup, progress, plain))
    return dataclasses.replace(row, seconds=time.perf_counter() - began)


def _updates(setup: Setup, progress: Progress, index: int) -> tuple[Tensor, Tensor]:
    """([n, m] what the providers hand in, [m] the acquirer's own update)."""
    config = setup.config
    plan = make_plan(
        setup.shards, setup.local, seed=config.seed, index=index, clients=setup.clients, class_shares=setup.class_shares
    )
    trained = setup.trainer.train(progress.model, plan)
    own = trained[-1] if setup.rule.server_driven else torch.zeros_like(progress.model)
    providers = trained[:-1] if setup.rule.server_driven else trained
    if len(setup.trained) == len(setup.sizes):
        updates = providers
    else:
        updates = providers.new_zeros(len(setup.sizes), len(progress.model))
        updates[setup.trained] = providers
    if setup.attack.craft is not None and len(setup.attackers):
        generator = device_stream(setup.device, config.seed, "attack", index)
        updates[setup.attackers] = setup.attack.craft(setup.craft_view(index, progress, updates, own, generator))
    return updates, own


def _apply(setup: Setup, progress: Progress, decision: Decision, updates: Tensor, plain: Tensor) -> None:
    quantiser = make_quantiser(setup.config.quantise)
    progress.previous = progress.model
    progress.diverged = not bool(torch.isfinite(plain).all())
    if quantiser is None or progress.integers is None or progress.diverged:
        progress.model = plain
        return
    progress.integers = progress.integers + integer_change(decision.update, updates, decision.weights, quantiser)
    progress.model = to_floats(progress.integers, quantiser)


def _judge_decision(setup: Setup, decision: Decision, updates: Tensor, index: int) -> RoundRow:
    included, malicious, biased = decision.weights > 0, setup.split.malicious, setup.split.biased
    excluded = share(~included, malicious)
    correct = None
    if decision.baseline is not None:
        good = ~malicious & ~biased if (~malicious & ~biased).any() else ~malicious
        truth = ground_truth(updates, setup.sizes.cpu().numpy(), good)
        correct = float(cosine(decision.baseline, truth) > 0)
    return RoundRow(
        round=index + 1,
        dac=float(np.mean(decision.bought)),
        inclusiveness=share(included, ~malicious),
        inclusiveness_hq=share(included, ~malicious & ~biased),
        robustness=excluded,
        baseline_correct=correct,
        baselines=decision.baselines,
    )


def _evaluate(setup: Setup, progress: Progress, plain: Tensor) -> dict[str, Any]:
    if progress.diverged:
        return {}
    predicted = predict_one(setup.model, progress.model, setup.test.x)
    found: dict[str, Any] = {
        "mta": accuracy(predicted, setup.test.labels),
        "f1": macro_f1(predicted, setup.test.labels, setup.num_classes),
        "validation": accuracy(predict_one(setup.model, progress.model, setup.validation.x), setup.validation.labels),
    }
    if setup.probe is not None:
        found["asr"] = accuracy(predict_one(setup.model, progress.model, setup.probe.x), setup.probe.labels)
    if progress.integers is not None:
        exact = predict_one(setup.model, plain, setup.test.x)
        found["quantisation_loss"] = accuracy(exact, setup.test.labels) - found["mta"]
        found["f1_loss"] = macro_f1(exact, setup.test.labels, setup.num_classes) - found["f1"]
    return found


def summarise(config: RunConfig, progress: Progress, *, device: str) -> RunResult:
    """The result of a history of rounds."""
    history = progress.history
    evaluated = [row for row in history if row.mta is not None]
    best = best_round(history)
    last = evaluated[-1] if evaluated else RoundRow(0)
    reported = next((row for row in evaluated if row.round == best), last) if config.patience else last
    if progress.diverged:
        reported = last = RoundRow(len(history))
    return RunResult(
        id=config.identity(),
        name=config.name,
        config=dataclasses.asdict(config.filled()),
        status="diverged" if progress.diverged else "done",
        mta=reported.mta,
        f1=reported.f1,
        asr=reported.asr,
        dac=mean([row.dac for row in history]),
        inclusiveness=mean([row.inclusiveness for row in history]),
        inclusiveness_hq=mean([row.inclusiveness_hq for row in history]),
        robustness=mean([row.robustness for row in history]),
        baseline_correctness=mean([row.baseline_correct for row in history]),
        baselines=mean([float(row.baselines) for row in history]),
        mta_last=last.mta,
        mta_tail=None if progress.diverged else mean([row.mta for row in evaluated[-TAIL:]]),
        fall=None if progress.diverged else fall([(row.round, row.mta) for row in evaluated if row.mta is not None]),
        quantisation_loss=reported.quantisation_loss,
        f1_loss=reported.f1_loss,
        rounds=len(history),
        best_round=best,
        seconds_per_round=float(np.median([row.seconds for row in history])) if history else None,
        seed=config.seed,
        device=device,
        history=tuple(history),
    )
