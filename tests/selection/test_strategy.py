"""The paper's rule over epochs: whom it judges by, and what it does when parties are silent or do not deliver."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from martfl.errors import InputError
from martfl.selection import STRATEGIES, Code, Role, cohen_kappa, make_strategy
from martfl.selection.paper import PaperState, select_answered


@pytest.fixture
def paper():
    return make_strategy("martfl")


@pytest.fixture
def updates(world):
    """Eight that learn the truth more or less well; number 5 learns it best."""
    rows = world.around(world.truth, 8, spread=1.5)
    rows[5] = world.truth
    return rows


def trade(strategy, state, buyer, seed=0):
    return strategy.trade(state, buyer, np.random.default_rng(seed))


def test_the_first_epoch_is_judged_by_the_acquirers_own_update(paper, world, updates) -> None:
    buyer = world.buyer(updates)
    _, selection = trade(paper, paper.start(), buyer)
    assert len(buyer.scored) == 1 and buyer.scored[0] is buyer.own_update
    assert selection.baseline is None and selection.bought == tuple(sorted(buyer.bought))


def test_the_best_kappa_among_the_bought_is_the_next_baseline(paper, world, updates) -> None:
    buyer = world.buyer(updates, model=np.zeros(updates.shape[1]))
    state, selection = trade(paper, paper.start(), buyer)
    kappas = [cohen_kappa(buyer.logits([buyer.model + row])[0].argmax(axis=-1), buyer.strata) for row in updates]
    best = max(selection.bought, key=kappas.__getitem__)
    assert state == PaperState(f"p{best}")
    state, selection = trade(paper, state, buyer)
    assert selection.baseline == best and selection.weights[best] == 0
    assert best in selection.bought and np.array_equal(buyer.scored[-1], updates[best])


def test_without_classes_the_best_likelihood_is_the_next_baseline(paper, world, updates) -> None:
    buyer = world.buyer(updates, model=np.zeros(updates.shape[1]), has_logits=False, strata=None)
    state, selection = trade(paper, paper.start(), buyer)
    marks = buyer.goodness([buyer.model + row for row in updates]).mean(axis=1)
    assert state == PaperState(f"p{max(selection.bought, key=marks.__getitem__)}")


def test_the_baseline_is_known_by_name_not_by_place(paper, world, updates) -> None:
    buyer = world.buyer(updates[::-1], providers=[f"p{i}" for i in range(8)][::-1])
    _, selection = trade(paper, PaperState("p5"), buyer)
    assert selection.baseline == 2 and np.array_equal(buyer.scored[0], updates[5])


def test_a_baseline_provider_that_does_not_deliver_is_replaced_by_the_acquirer(paper, world, updates) -> None:
    buyer = world.buyer(updates, missing=frozenset({5}))
    _, selection = trade(paper, PaperState("p5"), buyer)
    assert selection.baseline is None and buyer.scored[0] is buyer.own_update


def test_a_baseline_provider_that_has_left_is_replaced_by_the_acquirer(paper, world, updates) -> None:
    buyer = world.buyer(updates)
    _, selection = trade(paper, PaperState("somebody else"), buyer)
    assert selection.baseline is None and buyer.scored[0] is buyer.own_update


def test_a_baseline_that_delivers_but_gives_no_score_stays_the_baseline(world, updates) -> None:
    scores = np.array([0.9, 0.91, np.nan, 0.9])
    selection = select_answered(scores, baseline=2, rng=np.random.default_rng(0))
    assert selection.roles[2] is Role.BASELINE and selection.weights[2] == 0
    assert selection.weights.sum() == pytest.approx(1.0)


def test_without_adjustment_the_acquirer_judges_for_ever(world, updates, epochs) -> None:
    buyers = [world.buyer(updates) for _ in range(3)]
    epochs(make_strategy("martfl", adjust=False), buyers)
    assert all(buyer.scored[0] is buyer.own_update for buyer in buyers)


def test_when_nothing_is_delivered_the_acquirer_judges_next(paper, world, updates) -> None:
    buyer = world.buyer(updates, missing=frozenset(range(8)))
    state, selection = trade(paper, PaperState("p5"), buyer)
    assert state == paper.start() and not selection.weights.any() and selection.bought == ()


def test_who_does_not_deliver_gets_no_weight_and_is_told_so(paper, world) -> None:
    buyer = world.buyer(world.around(world.truth, 6, spread=0.1), missing=frozenset({2}))
    _, selection = trade(paper, paper.start(), buyer)
    assert selection.reasons[2].code is Code.MISSING and selection.weights[2] == 0
    assert selection.weights.sum() == pytest.approx(1.0) and 2 not in selection.bought


def test_a_memory_comes_back_as_it_was_and_no_other_is_taken(paper) -> None:
    for state in (PaperState(), PaperState("p5")):
        assert paper.unpack(paper.pack(state)) == state
    other = make_strategy("evidence")
    with pytest.raises(InputError, match="'martfl' has version 2, got 'evidence' version 6"):
        paper.unpack(other.pack(other.start()))


def test_the_silent_are_neither_bought_nor_weighed(paper, world, updates) -> None:
    buyer = world.buyer(updates, silent=frozenset({0, 3}))
    _, selection = trade(paper, paper.start(), buyer)
    assert [i for i, role in enumerate(selection.roles) if role is Role.SILENT] == [0, 3]
    assert not set(selection.bought) & {0, 3}
    assert selection.weights[[0, 3]].tolist() == [0.0, 0.0]
    assert selection.weights.sum() == pytest.approx(1.0)
    assert all(selection.reason(i) for i in range(8))


def test_an_epoch_of_silence_buys_nobody(paper, world, updates) -> None:
    buyer = world.buyer(updates, silent=frozenset(range(8)))
    _, selection = trade(paper, paper.start(), buyer)
    assert selection.bought == () and not selection.weights.any()
    assert set(selection.roles) == {Role.SILENT}


def test_one_provider_gets_everything(paper, world, updates) -> None:
    _, selection = trade(paper, paper.start(), world.buyer(updates[:1]))
    assert selection.weights.tolist() == [1.0]


@given(st.lists(st.one_of(st.just(float("nan")), st.floats(-1, 1)), min_size=1, max_size=12), st.integers(0, 3))
def test_whatever_is_answered_every_provider_has_a_role_and_only_the_answered_a_weight(scores, seed) -> None:
    values = np.array(scores)
    selection = select_answered(values, baseline=None, rng=np.random.default_rng(seed))
    silent = np.isnan(values)
    assert [role is Role.SILENT for role in selection.roles] == silent.tolist()
    assert not selection.weights[silent].any() and (silent.all() or (selection.clusters.labels[silent] == -1).all())
    assert selection.weights.sum() == pytest.approx(0.0 if silent.all() else 1.0)
    assert np.array_equal(selection.scores[~silent], values[~silent])


def test_strategies_are_found_by_name() -> None:
    assert set(STRATEGIES) == {"evidence", "martfl"}
    with pytest.raises(InputError, match="unknown selection rule 'best'; known: evidence, martfl"):
        make_strategy("best")
    with pytest.raises(InputError, match="'martfl' does not take these parameters"):
        make_strategy("martfl", budget=0.5)


def test_an_epoch_without_providers_keeps_the_baseline_and_buys_nothing(paper, world, updates) -> None:
    buyer = world.buyer(updates[:0])
    state, selection = trade(paper, PaperState("p5"), buyer)
    assert state == PaperState("p5") and selection.weights.size == 0 and selection.bought == ()
    assert not buyer.scored and not buyer.bought
