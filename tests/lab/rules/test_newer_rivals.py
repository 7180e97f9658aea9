"""FLTG and SkyMask: against slow references, and on inputs that tell them from their neighbours."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from martfl.errors import InputError
from martfl.lab.data import load_dataset
from martfl.lab.evaluate import RowJudge, make_rowset
from martfl.lab.models import make_model
from martfl.lab.rules import make_rule
from martfl.lab.rules.skymask import learn_masks, masked_mean, root_loss, two_groups


def cosine(a, b) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def slow_fltg(updates, own, last):
    """The paper's steps one by one, in plain loops."""
    kept = [i for i, u in enumerate(updates) if cosine(u, own) > 0]
    reference = min(kept, key=lambda i: cosine(updates[i], last))
    apart = {i: 1.0 - cosine(updates[i], updates[reference]) for i in kept}
    total, result = sum(apart.values()), np.zeros_like(own)
    for i in kept:
        result += apart[i] / total * updates[i] / np.linalg.norm(updates[i]) * np.linalg.norm(own)
    return result, reference


def test_fltg_matches_the_slow_reference_over_rounds(view_of, crowd, truth) -> None:
    rule = make_rule("fltg")
    state, last = rule.init(), truth.numpy()
    random = np.random.default_rng(3)
    for index in range(4):
        updates = crowd.numpy() + random.normal(0, 0.2, crowd.shape)
        state, decision = rule.step(state, view_of(updates, own_update=truth, index=index))
        expected, reference = slow_fltg(updates, truth.numpy(), last)
        assert decision.note == f"reference {reference}"
        assert np.allclose(decision.update, expected)
        assert decision.weights[reference] == 0, "the reference weighs others, not itself"
        last = expected


def test_fltg_weighs_by_distance_from_the_reference_and_fltrust_by_nearness_to_the_root(view_of) -> None:
    updates = [[1.0, 0.1], [1.0, 0.5], [1.0, 1.5], [-1.0, 0.0]]
    view = view_of(updates, own_update=torch.tensor([1.0, 0.0], dtype=torch.float64))
    (_, fltg), (_, fltrust) = (make_rule(name).step(None, view) for name in ("fltg", "fltrust"))
    assert fltg.weights[2] == 0 and fltg.weights[0] > fltg.weights[1] > 0
    assert fltg.weights[3] == fltrust.weights[3] == 0 and not fltg.bought[3]
    assert fltrust.weights[2] > 0


def test_fltg_undoes_scaling(view_of, crowd, truth) -> None:
    scaled = crowd.clone()
    scaled[2] *= 100
    plain, told = (make_rule("fltg").step(None, view_of(rows, own_update=truth))[1] for rows in (crowd, scaled))
    assert torch.allclose(plain.update, told.update)


def test_fltg_with_nobody_to_trust_keeps_the_model_and_its_memory(view_of, truth) -> None:
    rule = make_rule("fltg")
    before, _ = rule.step(None, view_of([truth.tolist(), (truth + 0.1).tolist()], own_update=truth))
    after, decision = rule.step(before, view_of([(-truth).tolist()], own_update=truth))
    assert not decision.update.any() and not decision.weights.any() and not decision.bought.any()
    assert after is before and before is not None


def test_fltg_with_equals_counts_all_alike(view_of, truth) -> None:
    _, decision = make_rule("fltg").step(None, view_of([truth.tolist()] * 3, own_update=truth))
    assert decision.weights == pytest.approx([1 / 3] * 3)


def slow_masks(updates, judge, model, *, steps, rate):
    """The same descent by automatic differentiation through the whole masked mean."""
    masks, unit = torch.ones_like(updates), None
    for _ in range(steps):
        point = masks.clone().requires_grad_()
        shares = torch.sigmoid(point)
        mean = (shares * updates).sum(dim=0) / shares.sum(dim=0)
        loss = F.cross_entropy(judge.logits((model + mean)[None])[0], judge.labels)
        (slopes,) = torch.autograd.grad(loss, point)
        unit = unit or float(slopes[slopes != 0].square().mean().sqrt())
        masks = masks - (slopes * rate / unit).clamp(-1, 1)
    return masks


def test_skymasks_slopes_are_those_of_the_masked_mean(view_of, crowd) -> None:
    view = view_of(crowd)
    fast = learn_masks(crowd, view.judge, view.model, steps=6, rate=0.3)
    slow = slow_masks(crowd, view.judge, view.model, steps=6, rate=0.3)
    assert torch.allclose(fast, slow, atol=1e-8)
    assert not torch.allclose(fast, torch.ones_like(fast))


def test_the_masked_mean_is_the_mean_under_equal_masks(crowd) -> None:
    mean, weight = masked_mean(crowd, torch.ones_like(crowd))
    assert torch.allclose(mean, crowd.mean(dim=0))
    assert torch.allclose(weight, torch.sigmoid(torch.tensor(1.0, dtype=torch.float64)) * 10)


def test_masks_close_on_what_does_harm(view_of, truth) -> None:
    """One provider is right, one is the opposite: the root data open the first one's mask and close the other's."""
    updates = torch.stack([truth, -truth])
    view = view_of(updates)
    masks = learn_masks(updates, view.judge, view.model, steps=10, rate=0.5)
    used = truth != 0
    assert (masks[0, used] > 1).all() and (masks[1, used] < 1).all()


def test_skymask_keeps_the_acquirers_group(view_of, truth) -> None:
    random = np.random.default_rng(0)
    good = truth.numpy() + random.normal(0, 0.05, (6, truth.numel()))
    bad = -truth.numpy() + random.normal(0, 0.05, (4, truth.numel()))
    own = torch.as_tensor(truth.numpy() + random.normal(0, 0.05, truth.numel()))
    _, decision = make_rule("skymask", rate=0.5).step(None, view_of(np.vstack([good, bad]), own_update=own))
    assert decision.weights == pytest.approx([1 / 6] * 6 + [0.0] * 4)
    assert decision.bought.all(), "masks need every plaintext"
    assert np.allclose(decision.update, good.mean(axis=0))


def test_skymask_leaves_broken_updates_out(view_of, crowd) -> None:
    broken = crowd.clone()
    broken[4, 0] = float("inf")
    _, decision = make_rule("skymask").step(None, view_of(broken))
    assert decision.weights[4] == 0 and torch.isfinite(decision.update).all()


def test_two_groups_are_found_and_equals_stay_together() -> None:
    rows = torch.zeros(8, 500)
    assert set(two_groups(rows, 0)) == {0}
    rows[:3, :200] = 1.0
    noise = torch.rand(8, 500, generator=torch.Generator().manual_seed(0)) < 0.02
    groups = two_groups(torch.where(noise, 1 - rows, rows), 0)
    assert len(set(groups[:3])) == len(set(groups[3:])) == 1 and groups[0] != groups[-1]


def test_the_root_datas_loss_can_be_differentiated_for_a_real_model() -> None:
    digits = load_dataset("digits")
    model = make_model("mlp", digits)
    judge = RowJudge(make_rowset(model, digits.train_x[:50], digits.train_y[:50], torch.device("cpu")), 10)
    flat = model.start(np.random.default_rng(0))
    loss, gradient = root_loss(judge, flat)
    along = gradient / gradient.norm()
    moved, _ = root_loss(judge, flat - 1e-2 * along)
    assert loss - moved == pytest.approx(1e-2 * float(gradient.norm()), rel=0.05)


@pytest.mark.parametrize("params", [{"steps": 0}, {"rate": 0.0}, {"threshold": 1.0}])
def test_skymask_refuses_what_cannot_be(params) -> None:
    with pytest.raises(InputError, match="skymask needs steps ≥ 1, rate > 0 and 0 < threshold < 1"):
        make_rule("skymask", **params)
