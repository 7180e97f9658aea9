"""CFFL and RFFL against plain loops, over several rounds."""

import math

import numpy as np
import pytest
import torch

from martfl.lab.rules import make_rule


def play(name, views, **params):
    rule = make_rule(name, **params)
    state, decisions = rule.init(), []
    for view in views:
        state, decision = rule.step(state, view)
        decisions.append(decision)
    return decisions


def cffl_reference(rounds, alpha, threshold, permanent):
    """Reputations and members round by round, from accuracies alone."""
    n = len(rounds[0])
    members, reputation, out = set(range(n)), None, []
    for measured in rounds:
        accuracies = [a if i in members else 0.0 for i, a in enumerate(measured)]
        bent = [math.sinh(alpha * a / sum(accuracies)) for a in accuracies]
        fresh = [b / sum(bent) for b in bent]
        if reputation is None:
            reputation = fresh
        else:
            reputation = [0.5 * old + 0.5 * new for old, new in zip(reputation, fresh, strict=True)]
        reputation = [r / sum(reputation) for r in reputation]
        kept = {i for i in members if reputation[i] >= threshold / len(members) * (1 - 1e-9)}
        out.append(kept)
        if permanent:
            members = kept
            reputation = [r if i in kept else 0.0 for i, r in enumerate(reputation)]
            reputation = [r / sum(reputation) for r in reputation]
    return out


@pytest.mark.parametrize(("permanent", "threshold"), [(False, 1.0), (True, 1.0), (True, 1 / 3), (False, 2 / 3)])
def test_cffl_agrees_with_a_loop_over_its_reputations(permanent, threshold, view_of, crowd) -> None:
    random = np.random.default_rng(3)
    views = [view_of(crowd + torch.as_tensor(random.normal(0, 0.3, crowd.shape)), index=t) for t in range(4)]
    accuracies = [
        [float((v.judge.predict(row[None])[0] == v.judge.labels).double().mean()) for row in v.updates] for v in views
    ]
    expected = cffl_reference(accuracies, 5.0, threshold, permanent)
    decisions = play("cffl", views, threshold=threshold, permanent=permanent)
    assert [set(np.flatnonzero(d.weights)) for d in decisions] == expected
    for view, decision, kept in zip(views, decisions, expected, strict=True):
        assert torch.allclose(decision.update, view.updates[sorted(kept)].mean(dim=0))
        assert decision.bought.all()  # everything is bought before it is judged


def test_cffl_keeps_everyone_when_all_are_equal(view_of, truth) -> None:
    decisions = play("cffl", [view_of(truth.repeat(6, 1), index=t) for t in range(3)])
    assert all((d.weights > 0).all() for d in decisions)


def test_cffl_judges_on_root_data(view_of, truth) -> None:
    """A model that is right on the root data stays; a wrong one goes, however many share it."""
    updates = torch.stack([truth, truth, -truth, -truth, -truth, -truth])
    (decision,) = play("cffl", [view_of(updates)])
    assert np.flatnonzero(decision.weights).tolist() == [0, 1]


def rffl_reference(rounds, sizes, alpha, threshold, gamma, permanent):
    """The algorithm with lists and loops."""
    n, reputation, kept, aggregates = len(sizes), None, None, []
    for updates in rounds:
        raw = list(sizes) if reputation is None else [max(reputation[i], 0) if kept[i] else 0 for i in range(n)]
        weights = [w / sum(raw) for w in raw]
        clipped = [u * min(1.0, gamma / np.linalg.norm(u)) if gamma else u for u in updates]
        aggregate = sum(w * u for w, u in zip(weights, clipped, strict=True))
        aggregates.append(aggregate)
        length = np.linalg.norm(aggregate)
        agreement = [u @ aggregate / (np.linalg.norm(u) * length) for u in updates]
        members = [True] * n if kept is None or not permanent else kept
        agreement = [a if inside else 0.0 for a, inside in zip(agreement, members, strict=True)]
        past = reputation or [0.0] * n
        reputation = [alpha * p + (1 - alpha) * a for p, a in zip(past, agreement, strict=True)]
        total = sum(max(r, 0) for r in reputation)
        reputation = [r / total for r in reputation]
        kept = [members[i] and reputation[i] >= threshold / sum(members) * (1 - 1e-9) for i in range(n)]
        if permanent:
            total = sum(r for r, inside in zip(reputation, kept, strict=True) if inside)
            reputation = [r / total if inside else 0.0 for r, inside in zip(reputation, kept, strict=True)]
    return aggregates


@pytest.mark.parametrize(("permanent", "gamma"), [(False, 0.0), (True, 0.0), (False, 0.8), (True, 0.8)])
def test_rffl_agrees_with_loops(permanent, gamma, view_of, crowd) -> None:
    random, sizes = np.random.default_rng(4), torch.arange(1, 11)
    noisy = [crowd + torch.as_tensor(random.normal(0, 0.3, crowd.shape)) for _ in range(4)]
    decisions = play("rffl", [view_of(u, sizes=sizes) for u in noisy], gamma=gamma, permanent=permanent)
    expected = rffl_reference([u.numpy() for u in noisy], sizes.tolist(), 0.95, 1.0, gamma, permanent)
    for decision, aggregate in zip(decisions, expected, strict=True):
        assert decision.update.numpy() == pytest.approx(aggregate)


def test_rffl_starts_by_size_and_then_drops_who_disagrees(view_of, truth) -> None:
    updates = torch.stack([truth] * 5 + [-truth])
    first, second = play("rffl", [view_of(updates, sizes=torch.arange(1, 7)), view_of(updates, index=1)])
    assert first.weights.tolist() == pytest.approx((np.arange(1, 7) / 21).tolist())
    assert second.weights.tolist() == pytest.approx([0.2] * 5 + [0.0])


def test_rffl_clips_length(view_of, truth) -> None:
    updates = torch.stack([truth, truth, 1000 * truth])
    (decision,) = play("rffl", [view_of(updates)], gamma=1.0)
    assert float(decision.update.norm()) == pytest.approx(1.0)


def test_permanent_removal_shrinks_the_federation_to_one(view_of, crowd) -> None:
    """Why sitting out is the default: a coefficient of 1 removes everyone below the average, again and again."""
    views = [view_of(crowd, index=t) for t in range(20)]
    assert (play("rffl", views, permanent=True)[-1].weights > 0).sum() <= 2
    assert (play("rffl", views)[-1].weights > 0).sum() >= 4
