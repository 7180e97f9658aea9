"""Krum and Multi-Krum: against loops, against their bound, and at sizes where cancellation would bite."""

import numpy as np
import pytest
import torch

from martfl.errors import InputError
from martfl.lab.rules import make_rule
from martfl.lab.rules.krum import krum_scores, squared_distances


def decide(name, view, **params):
    rule = make_rule(name, **params)
    return rule.step(rule.init(), view)[1]


def reference(updates, neighbours):
    """Scores by two loops over differences."""
    scores = []
    for i, row in enumerate(updates):
        others = sorted(float(np.sum((row - other) ** 2)) for j, other in enumerate(updates) if j != i)
        scores.append(sum(others[:neighbours]))
    return np.array(scores)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("neighbours", [1, 4, 7])
def test_scores_agree_with_loops(seed, neighbours) -> None:
    updates = np.random.default_rng(seed).normal(size=(9, 50))
    assert krum_scores(torch.as_tensor(updates), neighbours) == pytest.approx(reference(updates, neighbours))


def test_distances_survive_a_large_common_part() -> None:
    """In float32 the Gram form would lose everything: ‖u‖² is 1e10 times the distances."""
    random = np.random.default_rng(0)
    updates = (1000.0 + 0.01 * random.normal(size=(5, 600_000))).astype(np.float32)
    wide = updates.astype(np.float64)
    expected = [[np.sum((a - b) ** 2) for b in wide] for a in wide]
    assert squared_distances(torch.as_tensor(updates)) == pytest.approx(np.array(expected), rel=1e-9)


def test_krum_hands_over_one_update_and_multi_krum_the_mean_of_n_minus_f(view_of, crowd) -> None:
    scores = reference(crowd.numpy(), 6)  # n = 10, f = 2, n − f − 2 = 6
    order = np.argsort(scores)
    one, many = decide("krum", view_of(crowd)), decide("multi-krum", view_of(crowd))
    assert torch.equal(one.update, crowd[order[0]])
    assert one.weights[order[0]] == 1.0
    assert np.flatnonzero(many.weights).tolist() == sorted(order[:8].tolist())
    assert torch.allclose(many.update, crowd[sorted(order[:8])].mean(dim=0))
    assert one.bought.all()
    assert many.bought.all()


def test_a_far_update_is_never_krums_choice(view_of) -> None:
    updates = np.vstack([np.random.default_rng(2).normal(size=(9, 20)), np.full((1, 20), 50.0)])
    assert decide("krum", view_of(updates)).weights[9] == 0
    assert decide("multi-krum", view_of(updates)).weights[9] == 0


def test_copies_lie_next_to_each_other_and_win(view_of) -> None:
    """The known weakness: enough identical (Sybil) updates have distance 0, and Krum takes one of them."""
    updates = np.vstack([np.random.default_rng(2).normal(size=(10, 20)), np.tile(5.0, (9, 20))])
    decision = decide("krum", view_of(updates), byzantine=0.4)  # n = 19, f = 7, 10 neighbours
    assert decision.weights[:10].any()
    assert decide("krum", view_of(updates), byzantine=0.4, neighbours=8).weights[10:].any()


@pytest.mark.parametrize("name", ["krum", "multi-krum"])
@pytest.mark.parametrize(("n", "share", "allowed"), [(10, 0.3, 1), (10, 0.4, 0), (5, 0.2, 1), (4, 0.25, 0)])
def test_the_bound_is_checked_before_anything_trains(name, n, share, allowed) -> None:
    rule = make_rule(name, byzantine=share)
    if allowed:
        rule.check(n)
    else:
        with pytest.raises(InputError, match=r"Krum needs 2f \+ 2 < n, got f = \d+ .* and n = \d+"):
            rule.check(n)


def test_the_step_refuses_it_too(view_of, crowd) -> None:
    with pytest.raises(InputError, match=r"2f \+ 2 < n"):
        decide("krum", view_of(crowd), byzantine=0.4)


def test_beyond_the_bound_on_request_but_never_without_a_neighbour(view_of, crowd) -> None:
    decision = decide("multi-krum", view_of(crowd), byzantine=0.7, beyond_bound=True)
    assert (decision.weights > 0).sum() == 3
    with pytest.raises(InputError, match=r"at least one neighbour.*f = 8 and n = 10"):
        make_rule("krum", byzantine=0.8, beyond_bound=True).check(10)
