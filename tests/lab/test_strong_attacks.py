"""The stronger attacks: each does what its paper says, and no more."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from martfl.errors import InputError
from martfl.lab.attacks import Attack, CraftView, Rows, make_attack
from martfl.lab.attacks.alie import hidden_deviations
from martfl.lab.attacks.baseline_capture import relabel
from martfl.lab.config import RunConfig
from martfl.lab.data import load_dataset
from martfl.lab.experiment import run_experiment
from martfl.lab.rules import RULES
from martfl.lab.runtime import Runtime
from martfl.lab.setup import make_setup
from martfl.lab.splits import wrong_labels

Make = Callable[..., RunConfig]
STRONG = ("min-max", "alie", "poisonedfl", "baseline-capture", "noisy-sybil")


def view(updates: torch.Tensor, *, index: int = 3, seed: int = 0, **changes) -> CraftView:
    given = {
        "model": torch.zeros(updates.shape[1]),
        "previous": None,
        "updates": updates,
        "providers": 10,
        "generator": torch.Generator().manual_seed(index),
    }
    return CraftView(index=index, seed=seed, **(given | changes))


def craft(attack: Attack, given: CraftView) -> torch.Tensor:
    assert attack.craft is not None
    return attack.craft(given)


@pytest.fixture
def updates() -> torch.Tensor:
    return 1.0 + torch.randn(5, 400, generator=torch.Generator().manual_seed(1))


def diameter(updates: torch.Tensor) -> float:
    return max(float((a - b).norm()) for a in updates for b in updates)


@pytest.mark.parametrize("direction", ["deviation", "sign", "unit"])
def test_min_max_goes_as_far_as_the_honest_are_apart_and_no_further(updates: torch.Tensor, direction: str) -> None:
    found = craft(make_attack("min-max", direction=direction), view(updates))
    assert all(torch.equal(row, found[0]) for row in found)
    farthest = max(float((found[0] - update).norm()) for update in updates)
    assert farthest == pytest.approx(diameter(updates), rel=1e-4)
    mean = updates.mean(dim=0)
    assert float((found[0] - mean) @ mean) < 0, "it goes against what the honest want"


def test_min_max_agrees_with_the_papers_halving_search(updates: torch.Tensor) -> None:
    mean, towards, reach = updates.mean(dim=0), -updates.std(dim=0, correction=0), diameter(updates)
    low, high = 0.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        inside = max(float((mean + middle * towards - update).norm()) for update in updates) <= reach
        low, high = (middle, high) if inside else (low, middle)
    found = craft(make_attack("min-max"), view(updates))[0]
    assert torch.allclose(found, mean + low * towards, atol=1e-3)


def test_one_min_max_attacker_alone_knows_no_spread(updates: torch.Tensor) -> None:
    assert torch.equal(craft(make_attack("min-max"), view(updates[:1])), updates[:1])


def test_alie_stays_z_deviations_from_the_mean(updates: torch.Tensor) -> None:
    found = craft(make_attack("alie", z=1.5), view(updates))
    expected = updates.numpy().mean(axis=0) - 1.5 * updates.numpy().std(axis=0)
    assert found.shape == updates.shape
    assert all(np.allclose(row, expected, atol=1e-5) for row in found.numpy())


@pytest.mark.parametrize(
    ("providers", "attackers", "z"), [(50, 12, 0.3360), (19, 6, 0.5024), (10, 1, 0.0), (4, 3, 0.0)]
)
def test_alies_z_is_the_papers(providers: int, attackers: int, z: float) -> None:
    assert hidden_deviations(providers, attackers) == pytest.approx(z, abs=1e-3)


def test_alie_takes_its_z_from_the_numbers_of_parties(updates: torch.Tensor) -> None:
    assert torch.equal(
        craft(make_attack("alie"), view(updates, providers=19)),
        craft(make_attack("alie", z=hidden_deviations(19, 5)), view(updates)),
    )


def test_poisonedfl_pulls_one_way_in_all_rounds_and_another_in_another_run(updates: torch.Tensor) -> None:
    attack, blank = make_attack("poisonedfl"), torch.zeros_like(updates)
    first = craft(attack, view(blank, index=0))
    steps = torch.randn(3, 400, generator=torch.Generator().manual_seed(2))
    later = [craft(attack, view(blank, index=i, model=step, previous=0 * step)) for i, step in enumerate(steps, 1)]
    assert not attack.trains
    assert float(first.abs().min()) == float(first.abs().max()) == pytest.approx(1e-3)
    for rows in later:
        assert all(torch.equal(row, rows[0]) for row in rows)
        assert torch.equal(rows[0].sign()[rows[0] != 0], first[0].sign()[rows[0] != 0])
    other = craft(attack, view(blank, index=0, seed=1))
    assert 0.4 < float((other[0].sign() == first[0].sign()).float().mean()) < 0.6


def test_poisonedfls_length_follows_the_last_global_step(updates: torch.Tensor) -> None:
    attack = make_attack("poisonedfl", scale=8.0, quiet=0.5)
    signs = craft(attack, view(updates, index=0))[0].sign()
    noise = torch.rand(400, generator=torch.Generator().manual_seed(3)) + 0.1
    for step, factor in ((noise * signs, 8.0), (3 * noise * signs, 8.0), (-noise * signs, 4.0)):
        found = craft(attack, view(updates, model=step, previous=0 * step))[0]
        assert float(found.norm()) == pytest.approx(factor * float(step.norm()), rel=1e-4)


def test_poisonedfl_starts_again_where_the_model_stood_still(updates: torch.Tensor) -> None:
    still = torch.ones(400)
    found = craft(make_attack("poisonedfl"), view(updates, model=still, previous=still))
    assert torch.isfinite(found).all() and found.abs().max() == pytest.approx(1e-3)


def test_noisy_sybils_are_near_copies_of_one_update(updates: torch.Tensor) -> None:
    found = craft(make_attack("noisy-sybil", noise=0.1), view(updates))
    apart = (found - updates[0]).norm(dim=1) / updates[0].norm()
    assert torch.allclose(apart, torch.full((5,), 0.1), rtol=0.2)
    assert len({float(value) for value in apart}) == 5, "no two are equal"
    assert torch.equal(craft(make_attack("noisy-sybil", noise=0.0), view(updates)), updates[:1].expand(5, -1))
    assert make_attack("noisy-sybil").poison is not None


def test_baseline_capture_leaves_the_root_classes_and_hides_the_others_in_them() -> None:
    digits = load_dataset("digits")
    attack = make_attack("baseline-capture")
    assert attack.aim is not None and attack.poison is None
    aimed = attack.aim((1, 4, 7))
    assert aimed.poison is not None and aimed.probe is not None
    rows = Rows(digits.train_x[:200], digits.train_y[:200])
    found = aimed.poison(digits, rows, np.random.default_rng(0))
    kept = np.isin(rows.y, (1, 4, 7))
    assert np.array_equal(found.x, rows.x)
    assert np.array_equal(found.y[kept], rows.y[kept])
    assert set(found.y[~kept]) == {1, 4, 7}
    probe = aimed.probe(digits)
    others = ~np.isin(digits.test_y, (1, 4, 7))
    assert probe is not None and np.array_equal(probe.x, digits.test_x[others])
    assert np.array_equal(probe.y, relabel(digits.test_y[others], (1, 4, 7), 10))


def test_baseline_capture_has_nothing_to_poison_where_the_root_holds_all_classes(small: Make) -> None:
    digits = load_dataset("digits")
    whole = make_attack("baseline-capture").aim
    assert whole is not None
    aimed = whole(tuple(range(10)))
    assert aimed.poison is not None and aimed.probe is not None
    rows = Rows(digits.train_x[:50], digits.train_y[:50])
    assert np.array_equal(aimed.poison(digits, rows, np.random.default_rng(0)).y, rows.y)
    assert aimed.probe(digits) is None


def test_a_run_aims_the_attack_at_its_own_root_classes(small: Make) -> None:
    setup = make_setup(small(attack="baseline-capture", malicious=0.5, root="biased"), Runtime())
    assert setup.exam.probe is not None
    assert set(setup.exam.probe.labels) <= set(setup.split.root_classes)


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_a_share_of_the_labels_is_wrong(share: float) -> None:
    labels = np.arange(400) % 4
    found = wrong_labels(labels, share=share, num_classes=4, rng=np.random.default_rng(0))
    assert (found != labels).sum() == round(share * 400)
    assert set(found) <= set(range(4))


def test_poisoned_root_data_reach_the_judge_and_nobody_else(small: Make) -> None:
    clean, poisoned = (make_setup(small(rule="fltrust", root_poisoned=share), Runtime()) for share in (0.0, 0.5))
    differ = (clean.judge.labels != poisoned.judge.labels).sum()
    assert int(differ) == round(0.5 * len(clean.split.root))
    assert torch.equal(clean.judge.rows.x, poisoned.judge.rows.x)
    assert all(np.array_equal(a, b) for a, b in zip(clean.split.providers, poisoned.split.providers, strict=True))
    assert int((clean.clients.shards.y != poisoned.clients.shards.y).sum()) == int(differ), (
        "only the acquirer's own rows change"
    )


def test_clean_root_data_leave_a_runs_identity_alone(small: Make) -> None:
    assert small().identity() == small(root_poisoned=0.0).identity() != small(root_poisoned=0.1).identity()
    with pytest.raises(InputError, match=r"root_poisoned must be in \[0, 1\], got 1.5"):
        small(root_poisoned=1.5)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("min-max", {"direction": "up"}, "one of deviation, sign, unit, got 'up'"),
        ("alie", {"z": -1.0}, "z ≥ 0, got -1.0"),
        ("alie", {"z": math.inf}, "finite z"),
        ("poisonedfl", {"scale": 0.0}, "scale > 0"),
        ("noisy-sybil", {"noise": -0.1}, "at least 0, got -0.1"),
    ],
)
def test_bad_parameters_are_refused(name: str, params: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_attack(name, **params)


@pytest.mark.parametrize("attack", STRONG)
@pytest.mark.parametrize("rule", ["evidence", "fltg", "skymask"])
def test_rules_run_with_biased_root_data_under_strong_attacks(rule: str, attack: str, small: Make) -> None:
    assert rule in RULES
    result = run_experiment(small(rule=rule, attack=attack, malicious=0.4, root="biased", participants=8))
    assert result.status == "done" and result.rounds == 2
    assert result.mta is not None and (result.asr is not None) == (attack in ("baseline-capture", "noisy-sybil"))
