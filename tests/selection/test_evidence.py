"""The rule over epochs: what always holds, what deliveries teach, what is remembered."""

import json
import pickle

import numpy as np
import pytest
from at_work import HALF, POISON, evidence, kept, kind_buyer, once, signs, trade
from hypothesis import given, settings
from hypothesis import strategies as st

from martfl.errors import InputError
from martfl.selection import Role, explain
from martfl.selection.contrast import MOST
from martfl.selection.facts import findings_on_kinds

# --- always ----------------------------------------------------------------------------------------------------------


def test_an_epoch_of_silence_buys_nobody_and_forgets_nothing(world) -> None:
    strategy, buyer = evidence(), world.buyer(world.around(world.truth, 4), silent=frozenset(range(4)))
    before = {**strategy.start(), "left": world.truth, "records": {"p9": 0}}
    state, selection = strategy.decide(before, buyer, np.random.default_rng(0))
    state = strategy.learn(state, selection, buyer, {})
    assert selection.bought == () and not selection.weights.any()
    assert set(selection.roles) == {Role.SILENT} and all(selection.reason(i) for i in range(4))
    assert state["left"] is before["left"] and state["records"] == {"p9": 0}


def test_a_market_without_providers(world) -> None:
    buyer = world.buyer(np.empty((0, world.truth.size)))
    assert once(evidence(), buyer).weights.size == 0 and not buyer.scored


def test_one_provider_gets_everything(world) -> None:
    selection = once(evidence(), world.buyer(world.around(world.truth, 1)))
    assert selection.weights.tolist() == [1.0] and selection.bought == (0,)


def test_who_does_not_deliver_a_look_is_no_reason_to_stop(world) -> None:
    buyer = world.buyer(world.around(world.truth, 6), missing=frozenset(range(6)))
    selection = once(evidence(), buyer)
    assert selection.weights.sum() == pytest.approx(1.0) and not buyer.bought


def test_the_silent_are_named_as_such_beside_the_others(world) -> None:
    selection = once(evidence(budget=1.0), world.buyer(world.around(world.truth, 6), silent=frozenset({1, 4})))
    assert [i for i, role in enumerate(selection.roles) if role is Role.SILENT] == [1, 4]
    assert kept(selection) == {0, 2, 3, 5}


def test_the_dropped_are_called_dropped_even_where_nobody_is_left(world) -> None:
    strategy = evidence()
    state = {**strategy.start(), "records": {"p0": 0, "p1": 0}}
    _, selection = strategy.decide(state, world.buyer(world.around(world.truth, 2)), np.random.default_rng(0))
    assert not selection.weights.any()
    assert set(selection.roles) == {Role.DROPPED}


def test_the_same_seed_decides_the_same(world) -> None:
    updates = np.vstack(
        [world.around(world.only(HALF), 7), world.around(world.truth, 7), signs(world.around(world.truth, 4))]
    )
    first, second = (once(evidence(), world.buyer(updates, classes=HALF), seed=3) for _ in range(2))
    assert first.roles == second.roles and first.reasons == second.reasons
    assert np.array_equal(first.weights, second.weights)


def test_state_can_be_kept_on_disk_and_is_not_changed_in_place(world, epochs) -> None:
    strategy, buyer = evidence(), world.buyer(world.around(world.truth, 6))
    start = strategy.start()
    before = pickle.dumps(start)
    state, selection = strategy.decide(start, buyer, np.random.default_rng(0))
    state = strategy.learn(state, selection, buyer, buyer.deliver(selection))
    assert pickle.dumps(start) == before
    assert pickle.loads(pickle.dumps(state))["epoch"] == 1


def test_a_state_that_was_written_down_and_read_decides_the_same(world) -> None:
    """As JSON between epochs, at times: tuples come back as lists, names in another order."""
    strategy = evidence(memory=2)

    def read(state):
        plain = {key: value for key, value in state.items() if not isinstance(value, np.ndarray)}
        return {**state, **json.loads(json.dumps(plain, sort_keys=True))}

    states, chosen = [strategy.start(), strategy.start()], [[], []]
    for epoch in range(8):
        for way, between in enumerate((lambda state: state, read if epoch % 3 else lambda state: state)):
            buyer = kind_buyer(world, good=12, bad=8, poison=0.6, seed=epoch)
            buyer.providers[0], buyer.providers[-1] = f"good {epoch // 2}", f"bad {epoch // 2}"  # newcomers
            states[way], selection = trade(strategy, between(states[way]), buyer, seed=epoch)
            chosen[way].append((selection.roles, selection.weights.tolist()))
    assert chosen[0] == chosen[1]


def test_the_next_baseline_counts_groups_not_heads(world) -> None:
    many, few = world.around(world.only(HALF), 10, spread=0.1), world.around(world.truth, 3, spread=0.1)
    strategy = evidence(budget=1.0, max_clusters=2)
    buyer = world.buyer(np.vstack([many, few]), classes=HALF)
    state, selection = strategy.decide(strategy.start(), buyer, np.random.default_rng(0))
    assert selection.clusters == 2
    learnt = strategy.learn(state, selection, buyer, dict(enumerate(buyer.updates)))
    for baseline in (learnt["left"], learnt["right"]):
        pulls = [float(baseline @ row.mean(axis=0) / np.linalg.norm(row.mean(axis=0))) for row in (many, few)]
        assert pulls[0] == pytest.approx(pulls[1], rel=0.02)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_every_provider_is_given_a_role_and_a_reason(world, epochs, data) -> None:
    kinds = [world.truth, world.only(HALF), -world.truth, world.dead, signs(world.truth), 0.0 * world.truth]
    picks = data.draw(st.lists(st.integers(0, len(kinds) - 1), min_size=1, max_size=14))
    rows = np.vstack([world.around(kinds[k], 1, seed=i) for i, k in enumerate(picks)])
    quiet = frozenset(data.draw(st.sets(st.integers(0, len(picks) - 1), max_size=3)))
    classes = data.draw(st.sampled_from([HALF, (0, 1, 2, 3), (2,)]))
    budget = data.draw(st.sampled_from([0.1, 0.5, 1.0]))
    buyers = [world.buyer(rows, classes=classes, silent=quiet) for _ in range(2)]
    for selection, buyer in zip(epochs(evidence(budget=budget), buyers), buyers, strict=True):
        assert len(selection.roles) == len(picks) and all(selection.reason(i) for i in range(len(picks)))
        assert selection.weights.sum() == pytest.approx(1.0) or not selection.weights.any()
        assert not set(np.flatnonzero(selection.weights)) - set(selection.bought)
        assert set(buyer.bought) <= set(selection.bought), "whatever was looked at is bought"
        assert explain(selection).row_count == len(picks)


@pytest.mark.parametrize(
    "options", [{"budget": 0.0}, {"budget": 1.1}, {"looks": 0}, {"memory": -1}, {"deviations": -1.0}]
)
def test_parameters_out_of_range_are_refused(options) -> None:
    with pytest.raises(InputError, match="got"):
        evidence(**options)


# --- what deliveries teach -------------------------------------------------------------------------------------------


def test_who_delivers_a_clearly_worse_model_twice_in_a_row_is_left_out(world) -> None:
    buyer = world.buyer(np.vstack([world.around(world.truth, 6), -world.around(world.truth, 2)]))
    rule, chosen = evidence(), once(evidence(), buyer)
    delivered = {i: buyer.updates[i] for i in (0, 1, 6)}
    first = rule.learn(rule.start(), chosen, buyer, delivered)
    assert first["suspects"] == [buyer.providers[6]] and not first["records"], "once may be chance"
    second = rule.learn(first, chosen, buyer, delivered)
    assert set(second["records"]) == {buyer.providers[6]}
    cleared = rule.learn(first, chosen, buyer, {6: buyer.updates[0]})
    assert not cleared["suspects"] and not cleared["records"], "a good delivery clears"


def test_biased_root_data_put_nobody_on_record_for_a_delivery(world) -> None:
    buyer = world.buyer(np.vstack([world.around(world.truth, 6), -world.around(world.truth, 2)]), classes=HALF)
    rule = evidence()
    learnt = rule.learn(rule.start(), once(rule, buyer), buyer, {0: buyer.updates[0], 6: buyer.updates[6]})
    assert not learnt["suspects"] and not learnt["records"]


def test_kinds_are_told_apart_also_where_their_models_give_the_same_answers(world) -> None:
    """Every model is right on every row; those of the bad kind are a little less sure."""
    buyer = kind_buyer(world, good=6, bad=6)
    delivered = dict(enumerate(buyer.updates))
    unseen = findings_on_kinds(evidence().start(), buyer, delivered, deviations=3.0)

    def logits(models):
        sure = np.zeros((len(models), buyer.labels.size, buyer.classes))
        sure[:, np.arange(buyer.labels.size), buyer.labels] = np.array(
            [[5.0 - 0.1 * model @ POISON] for model in models]
        )
        assert (sure.argmax(axis=-1) == buyer.labels).all()
        return sure

    buyer.logits = logits
    seen = findings_on_kinds(evidence().start(), buyer, delivered, deviations=3.0)
    assert all(seen[f"p{i}"][0] == unseen[f"p{i}"][0] - MOST for i in range(6, 12))
