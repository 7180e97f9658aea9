"""Framing, bad labels, quiet backdoors and the adaptive attack: each does what its name says, and no more."""

import dataclasses
from dataclasses import replace

import numpy as np
import pytest
import torch

from martfl.errors import InputError
from martfl.lab.attacks import CraftView, Rows, make_attack
from martfl.lab.attacks.adaptive import Listener, draw_decoys, evidence_against, mixed
from martfl.lab.attacks.framing import agreement
from martfl.lab.config import make_config
from martfl.lab.data import load_dataset
from martfl.lab.experiment import run_experiment
from martfl.lab.models import make_model
from martfl.selection import Evidence

SIZE = 4000


def view(attackers=6, honest=10, *, secret=1.0, seed=0):
    """Trained updates: the task in common, noise of each one's own, the attackers' secret besides."""
    rng = torch.Generator().manual_seed(seed)
    task, hidden = torch.randn(2, SIZE, generator=rng) / SIZE**0.5
    rows = task + 0.7 * torch.randn(attackers + honest, SIZE, generator=rng) / SIZE**0.5
    rows[:attackers] += secret * hidden
    own = task + torch.randn(SIZE, generator=rng) / SIZE**0.5
    return CraftView(
        index=3, model=torch.zeros(SIZE), previous=None, updates=rows[:attackers], providers=attackers + honest,
        generator=torch.Generator().manual_seed(1), honest=rows[attackers:], own=own,
    )  # fmt: skip


@pytest.fixture(scope="module")
def rows():
    digits = load_dataset("digits")
    return digits, Rows(digits.train_x[:200], digits.train_y[:200])


@pytest.mark.parametrize("cosine", [0.05, 0.1, 0.3])
def test_framers_agree_as_little_as_they_want_and_keep_their_length(cosine) -> None:
    seen = view()
    crafted = make_attack("framing", cosine=cosine).craft(seen)
    assert agreement(crafted) == pytest.approx(cosine, abs=0.02)
    assert crafted.norm(dim=1).numpy() == pytest.approx(seen.updates.norm(dim=1).numpy(), rel=0.05)
    grown = make_attack("framing", cosine=cosine, keep_length=False).craft(seen)
    assert (grown.norm(dim=1) > crafted.norm(dim=1)).all()


def test_framers_who_agree_less_already_add_no_noise() -> None:
    seen = view(secret=0.0)
    assert torch.equal(make_attack("framing", cosine=1.0).craft(seen), seen.updates)


def test_framers_train_on_shifted_labels(rows) -> None:
    digits, own = rows
    poisoned = make_attack("framing", shift=3).poison(digits, own, np.random.default_rng(0))
    assert (poisoned.y == (own.y + 3) % 10).all() and poisoned.x is own.x


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_bad_labels_are_drawn_anew_for_that_share(rows, share) -> None:
    digits, own = rows
    poisoned = make_attack("bad-labels", share=share).poison(digits, own, np.random.default_rng(0))
    changed = np.mean(poisoned.y != own.y)
    assert changed == pytest.approx(0.9 * share, abs=0.06), "one in ten is drawn as it was"
    assert make_attack("bad-labels").probe is None and make_attack("bad-labels").craft is None


def test_a_quiet_backdoor_stamps_its_share_and_scales_nothing(rows) -> None:
    digits, own = rows
    attack = make_attack("quiet-backdoor", share=0.1)
    poisoned = attack.poison(digits, own, np.random.default_rng(0))
    assert (poisoned.x != own.x).any(axis=1).sum() <= 20 and attack.class_share == 1.0
    seen = view()
    assert torch.equal(attack.craft(seen), seen.updates)
    assert attack.probe(digits) is not None


def aimed(rows, **options):
    """The adaptive attack after its attackers' data were poisoned."""
    attack = make_attack("adaptive", **options)
    attack.poison(*rows, np.random.default_rng(0))
    return attack


def test_the_adaptive_attack_goes_as_far_as_the_rule_lets_it(rows) -> None:
    rule, seen = Evidence(without=("harm",)), view()
    no_words = make_model("mlp", rows[0]), torch.from_numpy(rows[1].x)
    assert evidence_against(seen, mixed(seen, 1.0), rule, *no_words) > rule.limit, "as trained it would be caught"
    crafted = aimed(rows, bound=0.0).craft(seen)
    assert evidence_against(seen, crafted, rule, *no_words) <= 0.0
    secret = (seen.updates.mean(dim=0) - seen.honest.mean(dim=0)) @ (crafted.mean(dim=0) - seen.honest.mean(dim=0))
    assert float(secret) > 0, "something of the backdoor is left"
    assert (crafted.norm(dim=1) <= seen.honest.norm(dim=1).median() * 1.0001).all()
    bolder = aimed(rows, bound=3.0).craft(seen)
    assert float((bolder.mean(dim=0) - seen.honest.mean(dim=0)).norm()) >= float(
        (crafted.mean(dim=0) - seen.honest.mean(dim=0)).norm()
    )


def test_attackers_ask_about_words_in_texts_of_their_own(texts) -> None:
    model = make_model("textcnn", texts)
    start = model.start(np.random.default_rng(1))
    own = torch.zeros_like(start)
    table = model.split(own)[0]
    table[[3, 7]] = 1.0  # a view: the words that the buyer's rows hold
    listener = Listener(model, torch.from_numpy(texts.train_x), start, own)
    assert (np.flatnonzero(listener.held_words) + 1).tolist() == [3, 7]
    before, after = listener.by_word([start, start + own], seed=2)
    assert before.shape == (texts.vocabulary - 1, 4, 3)
    assert (np.flatnonzero(np.abs(after - before)[:, 0].max(axis=1) > 1e-6) + 1).tolist() == [3, 7]
    assert Listener(make_model("mlp", load_dataset("digits")), None, start, own).held_words is None


def test_decoys_lie_where_the_own_update_is_zero_each_attacker_s_elsewhere() -> None:
    seen = view()
    own = seen.own.clone()
    own[: len(own) // 2] = 0.0
    seen = dataclasses.replace(seen, own=own)
    drawn = draw_decoys(seen, 20)
    assert ((drawn != 0).sum(dim=1) > 10).all() and not drawn[:, len(own) // 2 :].any()
    assert ((drawn != 0).sum(dim=0) > 1).float().mean() < 0.5
    crafted = mixed(seen, 1.0, drawn)
    heaviest = crafted.abs().amax(dim=1)
    assert all(
        torch.allclose(one[mask != 0].abs(), top) for one, mask, top in zip(crafted, drawn, heaviest, strict=True)
    )
    assert draw_decoys(seen, 0) is None and draw_decoys(dataclasses.replace(seen, own=own + 1.0), 20) is None


def test_without_sight_of_the_others_the_adaptive_attack_is_a_quiet_backdoor() -> None:
    seen = view()
    blind = CraftView(3, seen.model, None, seen.updates, 16, seen.generator)
    assert torch.equal(make_attack("adaptive").craft(blind), seen.updates)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("framing", {"cosine": 0.0}),
        ("framing", {"shift": 0}),
        ("bad-labels", {"share": 0.0}),
        ("quiet-backdoor", {"share": 2.0}),
        ("adaptive", {"most": 0.0}),
        ("adaptive", {"decoys": -1}),
    ],
)
def test_bad_parameters_are_refused(name, params) -> None:
    with pytest.raises(InputError, match="got"):
        make_attack(name, **params)


def test_staged_attackers_are_the_closer_to_the_honest_direction_the_longer_they_are() -> None:
    seen = replace(view(), previous=torch.zeros(SIZE) - 0.1 * view().honest.mean(dim=0))
    crafted = make_attack("staged", shortest=0.6).craft(seen)
    close = torch.nn.functional.cosine_similarity(crafted, seen.model - seen.previous)
    assert (crafted.norm(dim=1).diff() > 0).all() and (close.diff() > 0).sum() >= 4
    assert crafted.norm(dim=1)[-1] == pytest.approx(float(seen.updates.norm(dim=1).median()), rel=1e-4)
    short = make_attack("staged").craft(replace(seen, index=10))
    assert short.norm(dim=1).max() < 1e-4 < crafted.norm(dim=1).min()
    assert make_attack("staged").craft(replace(seen, previous=None)).shape == crafted.shape


def test_a_masked_backdoor_hands_in_nothing_of_what_all_of_them_alone_have_learnt() -> None:
    seen = view()
    own = torch.ones(SIZE)
    own[: SIZE // 2] = 0.0
    updates = seen.updates.clone()
    updates[0, : SIZE // 4] = 0.0
    crafted = make_attack("masked-backdoor").craft(replace(seen, updates=updates, own=own))
    assert not crafted[:, SIZE // 4 : SIZE // 2].any()
    assert torch.equal(crafted[:, : SIZE // 4], updates[:, : SIZE // 4])
    assert torch.equal(crafted[:, SIZE // 2 :], updates[:, SIZE // 2 :])
    assert torch.equal(make_attack("masked-backdoor").craft(replace(seen, own=None)), seen.updates)


def test_sleepers_are_honest_but_for_their_own_noise_until_they_wake() -> None:
    asleep, awake = (replace(view(), index=index) for index in (4, 5))
    attack = make_attack("sleeper", asleep=5, awake=2)
    hidden = awake.updates.mean(dim=0) - awake.honest.mean(dim=0)
    quiet, loud = (attack.craft(seen).mean(dim=0) - seen.honest.mean(dim=0) for seen in (asleep, awake))
    assert abs(float(quiet @ hidden)) < 0.05 * float(hidden @ hidden) < float(loud @ hidden)
    assert torch.equal(attack.craft(awake), mixed(awake, 1.0)), "awake they hand in what they trained"
    assert torch.equal(attack.craft(replace(awake, honest=None)), awake.updates)


def test_sleepers_do_not_get_in() -> None:
    """A rule that averages over rounds could remember them as honest; the common average lets them in."""
    settings = {"dataset": "digits", "participants": 20, "rounds": 21, "eval_every": 21, "malicious": 0.4}
    attack = {"attack": {"name": "sleeper", "asleep": 5, "awake": 2, "strength": 6.0}}
    found = {
        rule: np.mean(
            [run_experiment(make_config({**settings, **attack, "rule": rule, "seed": seed})).asr for seed in (0, 1)]
        )
        for rule in ("evidence", "fedavg")
    }
    assert found["evidence"] < 0.1 < found["fedavg"]


@pytest.mark.parametrize("options", [{"asleep": 0}, {"awake": 0}, {"strength": 0.0}])
def test_sleepers_sleep_and_wake(options) -> None:
    with pytest.raises(InputError, match="sleeper needs"):
        make_attack("sleeper", **options)


@pytest.mark.parametrize("options", [{"mix": 1.5}, {"shortest": 0.0}])
def test_a_stage_has_a_share_and_a_length(options) -> None:
    with pytest.raises(InputError, match="staged needs"):
        make_attack("staged", **options)


def test_a_backdoor_in_stages_does_not_get_in_among_sellers_of_unlike_sizes() -> None:
    """It did, in 50 % of the probes, while both sides of a stage were excused and lengths were averaged."""
    settings = {"dataset": "digits", "rule": "evidence", "participants": 20, "rounds": 30, "eval_every": 30}
    market = {"root": "unbiased", "sizes": "pow", "attack": "staged", "malicious": 0.4}
    found = [run_experiment(make_config({**settings, **market, "seed": seed})).asr for seed in (70, 71, 72)]
    assert np.mean(found) < 0.2
