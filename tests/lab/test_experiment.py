"""Whole runs on the digits: every rule under every attack, resumption, divergence, early stopping, integers."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from martfl.errors import InputError
from martfl.lab.attacks import ATTACKS
from martfl.lab.checkpoint import load_progress
from martfl.lab.config import RunConfig, make_config
from martfl.lab.data import Dataset, registry
from martfl.lab.experiment import run_experiment, run_twins
from martfl.lab.metrics import RoundRow
from martfl.lab.result import RunResult
from martfl.lab.rules import RULES
from martfl.lab.runner import run_jobs, with_twins
from martfl.lab.runtime import Runtime
from martfl.lab.setup import make_setup
from martfl.lab.store import Store
from martfl.lab.workers import Job

Make = Callable[..., RunConfig]
TARGETED = (
    "label-flipping",
    "backdoor",
    "quiet-backdoor",
    "masked-backdoor",
    "adaptive",
    "staged",
    "sleeper",
    "unheard-backdoor",
    "sybil",
    "noisy-sybil",
)


@pytest.mark.parametrize("attack", sorted(ATTACKS))
@pytest.mark.parametrize("rule", sorted(RULES))
def test_every_rule_runs_under_every_attack(rule: str, attack: str, small: Make) -> None:
    share = 0.0 if attack == "none" else 0.3
    result = run_experiment(small(rule=rule, attack=attack, malicious=share, participants=8))
    assert result.status == "done" and result.rounds == 2
    assert result.mta is not None and 0 <= result.mta <= 1 and result.f1 is not None
    assert result.dac is not None and 0 <= result.dac <= 1
    assert (result.asr is not None) == (attack in TARGETED)
    assert (result.robustness is not None) == (attack != "none")
    assert result.inclusiveness is not None


def same(first: RunResult, second: RunResult) -> bool:
    def bare(rows: tuple[RoundRow, ...]) -> list[RoundRow]:
        return [dataclasses.replace(row, seconds=0, rule_seconds=0) for row in rows]

    return bare(first.history) == bare(second.history)


def test_fedavg_learns_the_digits() -> None:
    result = run_experiment(make_config({"rule": "fedavg", "rounds": 15}))
    assert result.mta is not None and result.mta > 0.8
    assert result.dac == 1.0 and result.inclusiveness == 1.0 and result.robustness is None


def test_the_oracle_leaves_attackers_out_and_fedavg_suffers(small: Make) -> None:
    settings = {"attack": "rescaling", "malicious": 0.5, "rounds": 8, "attack_params": {"factor": -1.0}}
    oracle, fedavg = (run_experiment(small(rule=rule, **settings)) for rule in ("oracle", "fedavg"))
    assert oracle.robustness == 1.0 and fedavg.robustness == 0.0
    assert oracle.mta is not None and fedavg.mta is not None and oracle.mta > fedavg.mta + 0.2


def test_the_backdoor_takes_fedavg(small: Make) -> None:
    result = run_experiment(small(attack="backdoor", malicious=0.4, rounds=8, epochs=2))
    assert result.asr is not None and result.asr > 0.8


def test_a_seed_repeats_bit_for_bit(small: Make) -> None:
    config = small(rule="martfl", attack="sign-randomizing", malicious=0.4, rounds=3)
    assert same(run_experiment(config), run_experiment(config))
    assert not same(run_experiment(config), run_experiment(dataclasses.replace(config, seed=1)))


@pytest.mark.parametrize("rule", ["martfl", "cffl", "rffl"])
def test_an_interrupted_run_continues_to_the_same_end(rule: str, small: Make, tmp_path: Path) -> None:
    config = small(rule=rule, attack="free-rider", malicious=0.3, rounds=6, quantise={"bits": 20})
    whole = run_experiment(config)
    file = tmp_path / "run.pt"

    def stop(row: RoundRow) -> None:
        if row.round == 5:
            raise KeyboardInterrupt("killed")

    with pytest.raises(KeyboardInterrupt, match="killed"):
        run_experiment(config, runtime=Runtime(checkpoint_seconds=0), checkpoints=lambda key: file, on_round=stop)
    saved = load_progress(file, torch.device("cpu"))
    assert saved is not None and len(saved.history) == 4
    shown: list[int] = []
    resumed = run_experiment(config, checkpoints=lambda key: file, on_round=lambda row: shown.append(row.round))
    assert shown == [5, 6] and same(whole, resumed)


def test_an_unreadable_checkpoint_starts_over(small: Make, tmp_path: Path) -> None:
    file = tmp_path / "run.pt"
    file.write_bytes(b"cut off")
    assert run_experiment(small(), checkpoints=lambda key: file).rounds == 2


def test_divergence_is_reported_as_such(small: Make) -> None:
    config = small(attack="rescaling", malicious=0.5, rounds=30, attack_params={"factor": -1e30})
    result = run_experiment(config)
    assert result.status == "diverged" and result.mta is None and result.rounds < 30


def test_early_stopping_goes_by_validation_rows(small: Make) -> None:
    result = run_experiment(small(rounds=60, patience=3, learning_rate=0.5))
    assert result.rounds < 60 and result.best_round == result.rounds - 3
    best = result.history[result.best_round - 1]
    assert result.mta == best.mta
    assert best.validation == max(row.validation for row in result.history if row.validation is not None)


def test_evaluation_can_be_rarer(small: Make) -> None:
    result = run_experiment(small(rounds=5, eval_every=2))
    assert [row.round for row in result.history if row.mta is not None] == [2, 4, 5]


def test_integers_cost_little_and_coarse_ones_more(small: Make) -> None:
    plain = run_experiment(small(rounds=6))
    fine = run_experiment(small(rounds=6, quantise={"bits": 24, "scale": 2.0**-20}))
    coarse = run_experiment(small(rounds=6, quantise={"bits": 4, "scale": 0.05}))
    assert plain.quantisation_loss is None and plain.f1_loss is None
    assert fine.quantisation_loss is not None and fine.f1_loss is not None
    assert abs(fine.quantisation_loss) <= 0.005 and abs(fine.f1_loss) <= 0.005
    assert plain.mta is not None and fine.mta == pytest.approx(plain.mta, abs=0.02)
    assert coarse.mta is not None and coarse.mta < plain.mta


def test_server_driven_rules_have_one_provider_fewer(small: Make) -> None:
    driven, free = make_setup(small(rule="fltrust"), Runtime()), make_setup(small(), Runtime())
    assert len(driven.sizes) == 5 and driven.clients.shards.clients == 6
    assert len(free.sizes) == 6 and free.clients.shards.clients == 6


@pytest.mark.parametrize("rule", sorted(RULES))
def test_no_rule_sees_test_data(rule: str, small: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    config = small(rule=rule, root="biased", biased=0.4, rounds=3)
    first = run_experiment(config)
    digits = registry.load_dataset("digits")
    noise = np.random.default_rng(0)
    other = dataclasses.replace(
        digits, test_x=noise.random(digits.test_x.shape, dtype=np.float32), test_y=noise.permutation(digits.test_y)
    )
    monkeypatch.setattr("martfl.lab.setup.load_dataset", lambda name, folder: other)
    second = run_experiment(config)

    def decisions(result: RunResult) -> list[tuple[float | None, ...]]:
        return [(row.dac, row.inclusiveness, row.validation, row.baseline_correct) for row in result.history]

    assert decisions(first) == decisions(second)
    assert [row.mta for row in first.history] != [row.mta for row in second.history]


def test_a_test_judge_is_given_only_when_it_is_asked_for(small: Make) -> None:
    assert make_setup(small(rule="martfl"), Runtime()).test_judge is None
    assert make_setup(small(rule={"name": "martfl", "baseline_data": "test"}), Runtime()).test_judge is not None


def test_images_and_texts_run_too(registered: None, images: Dataset) -> None:
    for name in ("tiny-images", "tiny-texts"):
        config = make_config({"dataset": name, "rule": "martfl", "attack": "backdoor", "malicious": 0.34, "rounds": 2})
        result = run_experiment(config)
        assert result.status == "done" and result.asr is not None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"malicious": 0.95, "attack": "sybil"}, r"malicious must be in \[0, 0.9\], got 0.95"),
        ({"malicious": 0.6, "biased": 0.6, "attack": "sybil"}, "together exceed the providers: 0.6 \\+ 0.6"),
        ({"malicious": 0.3}, "malicious = 0.3 needs an attack"),
        ({"rounds": 0}, "rounds must be at least 1, got 0"),
        ({"participants": 0}, "participants must be at least 2, got 0"),
        ({"root_rows": 0}, "root_rows must be at least 1, got 0"),
        ({"learning_rate": 0.0}, "learning_rate must be positive, got 0.0"),
        ({"learning_rate": 0}, "learning_rate must be positive, got 0"),
        ({"model": ""}, "unknown model ''"),
        ({"alpha": 0.0}, "alpha must be positive, got 0.0"),
        ({"buyer": "Cleveland"}, "buyer = Cleveland needs classes = natural, got iid"),
        ({"classes": "dirichlet", "sizes": "pow"}, "biased must be 0 and sizes uni, got 0.0 and pow"),
        ({"classes": "natural", "root": "biased"}, "root must be unbiased, got biased"),
        ({"rounds": "ten"}, "rounds must be int, got 'ten'"),
        ({"sizes": "zipf"}, "sizes must be one of uni, pow, got 'zipf'"),
        ({"speed": 3}, "unknown setting speed: choose from .*dataset"),
        ({"dataset": "mnist"}, "unknown dataset 'mnist'"),
        ({"model": "vgg"}, "unknown model 'vgg'"),
        ({"learning_rate": float("nan")}, "learning_rate must be positive"),
        ({"momentum": 1.0}, r"momentum must be in \[0, 1\), got 1.0"),
        ({"quantise": {"width": 3}}, "quantise takes bits and scale"),
        ({"rule": {"f": 0.2}}, "rule as a table needs a name"),
    ],
)
def test_bad_settings_are_refused(changes: dict[str, object], message: str, small: Make) -> None:
    with pytest.raises(InputError, match=message):
        small(**changes)


def test_impossible_rules_are_refused_before_training(small: Make) -> None:
    with pytest.raises(InputError, match="Krum needs"):
        run_experiment(small(rule={"name": "krum", "byzantine": 0.5}))
    with pytest.raises(InputError, match="quantise"):
        run_experiment(small(quantise={"bits": 99}))
    with pytest.raises(InputError, match="reads images"):
        run_experiment(small(model="lenet"))


def test_the_oracle_trains_once_for_all_attacks(small: Make, tmp_path: Path) -> None:
    """A training that looks at no attacker gives each attack the result that its own run gives."""
    attacks = ("backdoor", "label-flipping", "sign-randomizing")
    configs = [small(rule="oracle", attack=attack, malicious=0.4, rounds=4, eval_every=2) for attack in attacks]
    jobs = [Job(tmp_path / str(i), config) for i, config in enumerate(configs)]
    assert [len(job.twins) for job in with_twins(jobs)] == [2]
    run_jobs(jobs)
    for job, config in zip(jobs, configs, strict=True):
        (kept,) = Store(job.folder).records()
        alone = run_experiment(config)
        assert kept.id == alone.id and kept.mta == pytest.approx(alone.mta, abs=1e-6)
        assert kept.asr == (None if alone.asr is None else pytest.approx(alone.asr, abs=1e-6))
    assert not with_twins(jobs)[0].checkpoint("any").parent.exists()


def test_rules_that_look_at_attackers_train_for_each_attack(small: Make, tmp_path: Path) -> None:
    configs = [small(rule="fedavg", attack=attack, malicious=0.4) for attack in ("backdoor", "sign-randomizing")]
    configs += [small(rule="oracle", attack="backdoor", malicious=share) for share in (0.2, 0.4)]
    jobs = [Job(tmp_path, config) for config in configs]
    assert with_twins(jobs) == jobs


def test_interrupted_twins_continue_to_the_same_end(small: Make, tmp_path: Path) -> None:
    attacks = ("backdoor", "label-flipping")
    configs = [small(rule="oracle", attack=attack, malicious=0.4, rounds=4) for attack in attacks]
    file = tmp_path / "run.pt"

    def stop(row: RoundRow) -> None:
        if row.round == 3:
            raise KeyboardInterrupt("killed")

    with pytest.raises(KeyboardInterrupt, match="killed"):
        run_twins(configs, runtime=Runtime(checkpoint_seconds=0), checkpoints=lambda key: file, on_round=stop)
    resumed = run_twins(configs, checkpoints=lambda key: file)
    assert all(same(one, run_experiment(config)) for one, config in zip(resumed, configs, strict=True))
