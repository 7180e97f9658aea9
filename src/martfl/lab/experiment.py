"""One run: a configuration in, rounds of training, selection and evaluation, a result out."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from martfl.lab.checkpoint import Progress, load_progress, save_progress
from martfl.lab.config import RunConfig
from martfl.lab.exam import Measured
from martfl.lab.metrics import RoundRow, cosine, ground_truth, share
from martfl.lab.provenance import provenance_of
from martfl.lab.quantise import integer_change, make_quantiser, start_integers, to_floats
from martfl.lab.randomness import device_stream, stream
from martfl.lab.result import RunResult, best_round, key_of_all, summarise
from martfl.lab.rules import Decision, RoundView
from martfl.lab.runtime import Runtime
from martfl.lab.setup import Setup, make_setup
from martfl.lab.trainer import name_of


def run_experiment(
    config: RunConfig,
    *,
    runtime: Runtime = Runtime(),
    checkpoints: Callable[[str], Path] | None = None,
    on_round: Callable[[RoundRow], None] | None = None,
) -> RunResult:
    """Run to the end; `checkpoints` names the file from which an interrupted run of the same code continues.

    Examples:
        >>> result = run_experiment(RunConfig(dataset='digits', rounds=3, eval_every=3))
        >>> result.status, result.rounds, result.mta > 0.2  # chance is 0.1
        ('done', 3, True)
    """
    return run_twins([config], runtime=runtime, checkpoints=checkpoints, on_round=on_round)[0]


def run_twins(
    configs: Sequence[RunConfig],
    *,
    runtime: Runtime = Runtime(),
    checkpoints: Callable[[str], Path] | None = None,
    on_round: Callable[[RoundRow], None] | None = None,
) -> list[RunResult]:
    """Runs that train alike and differ in the attack whose success is measured: one training, a result each.

    Examples:
        >>> alike = {'dataset': 'digits', 'rule': 'oracle', 'malicious': 0.3, 'rounds': 3, 'eval_every': 3}
        >>> found = run_twins([RunConfig(attack=name, **alike) for name in ('label-flipping', 'backdoor')])
        >>> found[0].mta == found[1].mta, found[0].asr == found[1].asr
        (True, False)
    """
    setup = make_setup(configs[0], runtime, twins=configs[1:])
    made = [provenance_of(one, trainer=name_of(setup.clients.trainer), device=setup.device) for one in configs]
    checkpoint = checkpoints(key_of_all(configs, made)) if checkpoints else None
    progress, saved = load_progress(checkpoint, setup.device) or _start(setup), time.monotonic()
    while not _finished(progress, configs[0]):
        row = _round(setup, progress)
        progress.history.append(row)
        if on_round is not None:
            on_round(row)
        if checkpoint is not None and time.monotonic() - saved >= runtime.checkpoint_seconds:
            save_progress(checkpoint, progress)
            saved = time.monotonic()
    return [
        summarise(one, history, diverged=progress.diverged, made=by)
        for one, by, history in zip(configs, made, _histories(progress, len(configs)), strict=True)
    ]


def _histories(progress: Progress, runs: int) -> Iterator[list[RoundRow]]:
    """The rounds of a run and of its twins, which differ in the attack's success."""
    yield progress.history
    for twin in range(runs - 1):
        yield [
            dataclasses.replace(row, asr=found[twin] if found else None)
            for row, found in zip(progress.history, progress.others, strict=True)
        ]


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
    decision, rule_seconds = _decide(setup, progress, view)
    plain = progress.model + decision.update
    _apply(setup, progress, decision, updates, plain)
    row = _judge_decision(setup, decision, updates, index)
    if index + 1 == setup.config.rounds or (index + 1) % setup.config.eval_every == 0 or progress.diverged:
        row = dataclasses.replace(row, **_evaluate(setup, progress, plain))  # type: ignore[arg-type]
        progress.others.append(() if progress.diverged else setup.exam.other_successes(progress.model))
    else:
        progress.others.append(())
    return dataclasses.replace(row, seconds=time.perf_counter() - began, rule_seconds=rule_seconds)


def _decide(setup: Setup, progress: Progress, view: RoundView) -> tuple[Decision, float]:
    """The rule's decision and the seconds that it took, from the moment the updates are there."""
    _wait(setup.device)
    began = time.perf_counter()
    progress.state, decision = setup.rule.step(progress.state, view)
    _wait(setup.device)
    return decision, time.perf_counter() - began


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _updates(setup: Setup, progress: Progress, index: int) -> tuple[Tensor, Tensor]:
    """([n, m] what the providers hand in, [m] the acquirer's own update)."""
    trained = setup.clients.train(progress.model, seed=setup.config.seed, index=index)
    own = trained[-1] if setup.rule.server_driven else torch.zeros_like(progress.model)
    providers = trained[:-1] if setup.rule.server_driven else trained
    if setup.attack.trains:
        updates = providers
    else:
        updates = providers.new_zeros(len(setup.sizes), len(progress.model))
        updates[setup.honest] = providers
    if setup.attack.craft is not None and len(setup.attackers):
        generator = device_stream(setup.device, setup.config.seed, "attack", index)
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
        same_choices=decision.same_choices,
        same_purchases=decision.same_purchases,
    )


def _evaluate(setup: Setup, progress: Progress, plain: Tensor) -> Measured:
    """The model on test and validation rows; what the integers cost, where the run aggregates in them."""
    if progress.diverged:
        return {}
    found = setup.exam.measure(progress.model)
    if progress.integers is not None:
        exact = setup.exam.test_figures(plain)
        found["quantisation_loss"] = (exact["mta"] or 0.0) - (found["mta"] or 0.0)
        found["f1_loss"] = (exact["f1"] or 0.0) - (found["f1"] or 0.0)
    return found
