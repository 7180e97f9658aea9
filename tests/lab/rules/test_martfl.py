"""martFL's rule: Algorithm 1 step by step, the move of the baseline, and what it may and may not see."""

import numpy as np
import pytest
import torch
from sklearn.metrics.pairwise import cosine_similarity

from martfl.errors import InputError
from martfl.lab.rules import make_rule
from martfl.selection import cohen_kappa, select
from martfl.selection.paper import BUYS, PaperState


def play(views, **params):
    rule = make_rule("martfl", **params)
    state, decisions, states = rule.init(), [], []
    for view in views:
        state, decision = rule.step(state, view)
        states.append(state)
        decisions.append(decision)
    return states, decisions


def kappa(view, row, judge=None):
    judge = judge or view.judge
    predicted = judge.predict((view.model + view.updates[row])[None])[0]
    return cohen_kappa(predicted.numpy(), judge.labels.numpy())


def test_two_epochs_by_hand(view_of, crowd, truth) -> None:
    first, second = view_of(crowd, own_update=truth), view_of(0.5 * crowd.flip(0), own_update=truth, index=1)
    states, decisions = play([first, second])
    # Epoch 1: the acquirer's own update is the baseline; the best kappa among the bought comes next.
    by_hand = select(cosine_similarity(crowd.numpy(), truth.numpy()[None])[:, 0], rng=np.random.default_rng(7))
    assert decisions[0].weights == pytest.approx(by_hand.weights)
    wanted = [i for i, role in enumerate(by_hand.roles) if role in BUYS]
    assert np.flatnonzero(decisions[0].bought).tolist() == wanted
    best = max(wanted, key=lambda row: kappa(first, row))
    assert states[0] == PaperState(str(best))
    # Epoch 2: that provider's update is the baseline, it is bought, and weighs nothing.
    scores = cosine_similarity(second.updates.numpy(), second.updates[best : best + 1].numpy())[:, 0]
    by_hand = select(scores, baseline=best, rng=np.random.default_rng(7))
    assert decisions[1].weights == pytest.approx(by_hand.weights)
    assert decisions[1].weights[best] == 0
    assert decisions[1].bought[best]
    assert torch.equal(decisions[1].baseline, second.updates[best])


def test_the_aggregate_is_the_weighted_mean_whatever_the_sizes(view_of, crowd, truth) -> None:
    _, (decision,) = play([view_of(crowd, own_update=truth, sizes=torch.arange(1, 11))])
    expected = (torch.as_tensor(decision.weights)[:, None] * crowd).sum(dim=0)
    assert torch.allclose(decision.update, expected)


def test_an_opposed_provider_is_neither_bought_nor_aggregated(view_of, crowd, truth) -> None:
    _, (decision,) = play([view_of(crowd, own_update=truth)], candidate_share=0.0)
    assert decision.weights[9] == 0
    assert not decision.bought[9]
    assert decision.bought[:7].all()


def test_without_adjustment_the_acquirer_stays_the_baseline(view_of, crowd, truth) -> None:
    states, decisions = play([view_of(crowd, own_update=truth), view_of(crowd, own_update=truth)], adjust=False)
    assert states == [PaperState()] * 2
    assert torch.equal(decisions[1].baseline, truth)


def test_only_bought_models_are_looked_at(view_of, crowd, truth) -> None:
    class Counting:
        def __init__(self, judge) -> None:
            self.inner, self.labels, self.num_classes, self.seen = judge, judge.labels, judge.num_classes, []

        def logits(self, models):
            self.seen.append(models)
            return self.inner.logits(models)

    view = view_of(crowd, own_update=truth)
    counting = Counting(view.judge)
    _, (decision,) = play([view_of(crowd, own_update=truth, judge=counting)], candidate_share=0.0)
    assert torch.equal(torch.cat(counting.seen), crowd[torch.as_tensor(decision.bought)])


def test_test_data_choose_the_baseline_only_when_asked(view_of, crowd, truth) -> None:
    plain = view_of(crowd, own_update=truth)
    shifted = type(plain.judge)(plain.judge.rows, (plain.judge.labels + 1) % 3)  # every label means another class
    view = view_of(crowd, own_update=truth, test_judge=shifted)
    (state,), (decision,) = play([view])
    (leaky_state,), _ = play([view], baseline_data="test")
    honest, leaky = int(state.baseline), int(leaky_state.baseline)
    bought = np.flatnonzero(decision.bought)
    assert honest == max(bought, key=lambda row: kappa(view, row))
    assert leaky == max(bought, key=lambda row: kappa(view, row, shifted))
    assert honest != leaky


def test_test_data_must_be_given_where_they_are_asked_for(view_of, crowd) -> None:
    with pytest.raises(InputError, match="needs a judge over test data"):
        play([view_of(crowd)], baseline_data="test")


def test_a_baseline_that_sends_nothing_hands_back_to_the_acquirer(view_of, crowd, truth) -> None:
    (state,), _ = play([view_of(crowd, own_update=truth)])
    silent = crowd.clone()
    silent[int(state.baseline)] = 0.0
    _, decisions = play([view_of(crowd, own_update=truth), view_of(silent, own_update=truth)])
    assert torch.equal(decisions[1].baseline, truth)


def test_a_round_of_broken_updates_leaves_the_model(view_of, crowd) -> None:
    (state,), (decision,) = play([view_of(torch.full_like(crowd, float("nan")))])
    assert state == PaperState()
    assert not decision.update.any()
    assert not decision.bought.any()
