"""The rule over epochs: what always holds, whom it drops, what it remembers."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from martfl.errors import InputError
from martfl.selection import Code, Role, explain, make_strategy
from martfl.selection.parameters import PARTS

HALF = (0, 1)  # root data with half of the classes cannot judge everybody


def evidence(**options):
    return make_strategy("evidence", **options)


def once(buyer, *, seed=0, **options):
    rule = evidence(**{"budget": 1.0, **options})
    return rule.trade(rule.start(), buyer, np.random.default_rng(seed))[1]


def codes(selection):
    return [reason.code for reason in selection.reasons]


OUT = (Code.HARM, Code.ALONE, Code.KIND, Code.COPY, Code.ON_RECORD)


def out(selection):
    return {i for i, code in enumerate(codes(selection)) if code in OUT}


def signs(rows, seed=9):
    return rows * np.random.default_rng(seed).choice([-1.0, 1.0], rows.shape)


# --- always ----------------------------------------------------------------------------------------------------------


def test_a_market_without_providers(world) -> None:
    buyer = world.buyer(np.empty((0, world.truth.size)))
    assert once(buyer).weights.size == 0 and not buyer.scored and not buyer.bought


def test_one_provider_gets_everything(world) -> None:
    selection = once(world.buyer(world.around(world.truth, 1)))
    assert selection.weights.tolist() == [1.0] and selection.bought == (0,) and codes(selection) == [Code.KEPT]


def test_honest_providers_are_all_kept(world, epochs) -> None:
    buyers = [world.buyer(world.around(world.truth, 12, seed=epoch)) for epoch in range(6)]
    for selection in epochs(evidence(budget=1.0), buyers):
        assert not out(selection) and selection.kept.all()
        assert selection.weights.sum() == pytest.approx(1.0)


def test_only_what_was_bought_is_looked_at_or_weighed(world) -> None:
    buyer = world.buyer(world.around(world.truth, 12))
    selection = once(buyer, budget=0.5)
    bought = set(selection.bought)
    assert len(bought) == 6 == len(buyer.bought)
    assert set(np.flatnonzero(selection.weights)) <= bought
    span = np.vstack([buyer.updates[list(bought)], buyer.model])
    for model in buyer.judged:
        rest = model - span.T @ np.linalg.lstsq(span.T, model, rcond=None)[0]
        assert np.linalg.norm(rest) < 1e-8 * np.linalg.norm(model)
    assert {codes(selection)[i] for i in range(12) if i not in bought} == {Code.BUDGET}


def test_a_refused_score_is_no_reason_not_to_buy(world) -> None:
    selection = once(world.buyer(world.around(world.truth, 8), silent=frozenset({2, 5})))
    assert selection.bought == tuple(range(8)) and not out(selection)
    assert np.isnan(selection.scores[[2, 5]]).all()


def test_who_does_not_deliver_or_delivers_nothing_is_told_so(world) -> None:
    updates = world.around(world.truth, 8)
    updates[3] = 0.0
    updates[4] = np.nan
    buyer = world.buyer(updates, missing=frozenset({1}))
    buyer.score = lambda baseline: np.full(8, np.nan)
    selection = once(buyer)
    assert [codes(selection)[i] for i in (1, 3, 4)] == [Code.MISSING, Code.EMPTY, Code.EMPTY]
    assert np.isfinite(selection.weights).all() and selection.weights.sum() == pytest.approx(1.0)
    assert not selection.weights[[1, 3, 4]].any()


def test_an_epoch_in_which_nothing_arrives_changes_nothing(world) -> None:
    rule = evidence()
    buyer = world.buyer(world.around(world.truth, 6), missing=frozenset(range(6)))
    state, selection = rule.trade(rule.start(), buyer, np.random.default_rng(0))
    assert not selection.weights.any() and selection.bought == () and not state.records


def test_the_same_seed_decides_the_same(world) -> None:
    updates = np.vstack([world.around(world.truth, 9), world.around(world.truth + world.dead, 5)])
    first, second = (once(world.buyer(updates), seed=3, budget=0.6) for _ in range(2))
    assert first.reasons == second.reasons and np.array_equal(first.weights, second.weights)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_every_provider_has_a_reason_and_only_delivered_updates_a_weight(world, epochs, data) -> None:
    kinds = [world.truth, world.only(HALF), -world.truth, world.dead, signs(world.truth), 0.0 * world.truth]
    picks = data.draw(st.lists(st.integers(0, len(kinds) - 1), min_size=1, max_size=14))
    rows = np.vstack([world.around(kinds[k], 1, seed=i) for i, k in enumerate(picks)])
    some = st.sets(st.integers(0, len(picks) - 1), max_size=3)
    quiet, missing = frozenset(data.draw(some)), frozenset(data.draw(some))
    classes = data.draw(st.sampled_from([HALF, (0, 1, 2, 3), (2,)]))
    budget, logits = data.draw(st.sampled_from([0.1, 0.5, 1.0])), data.draw(st.booleans())
    asks = np.array(data.draw(st.lists(st.floats(0, 0.3), min_size=len(picks), max_size=len(picks))))
    buyers = [
        world.buyer(rows, classes=classes, silent=quiet, missing=missing, asks=asks, has_logits=logits)
        for _ in range(3)
    ]
    for selection, buyer in zip(epochs(evidence(budget=budget), buyers), buyers, strict=True):
        assert len(selection.reasons) == len(picks) and all(selection.reason(i) for i in range(len(picks)))
        assert selection.weights.sum() == pytest.approx(1.0) or not selection.weights.any()
        assert set(np.flatnonzero(selection.weights)) <= set(selection.bought) <= set(buyer.bought)
        assert not selection.weights[~selection.kept].any()
        assert asks[buyer.bought].sum() <= budget + 1e-6
        assert explain(selection).row_count == len(picks)


@pytest.mark.parametrize(
    "options",
    [
        {"budget": 0.0}, {"budget": 1.1}, {"false_drop": 0.0}, {"memory": 1.0}, {"attackers": 1.0}, {"worth": 0.0},
        {"look": 0}, {"every": 0}, {"direction": 10}, {"aligned": -1.0}, {"length_spread": 0.0}, {"without": ("luck",)},
    ],
)  # fmt: skip
def test_parameters_out_of_range_are_refused(options) -> None:
    with pytest.raises(InputError, match="got"):
        evidence(**options)


# --- whom it drops ---------------------------------------------------------------------------------------------------


def test_random_signs_and_opposites_are_dropped_for_harm(world, epochs) -> None:
    for bad in (signs(world.around(world.truth, 4)), -world.around(world.truth, 4, seed=3)):
        buyers = [world.buyer(np.vstack([world.around(world.truth, 9, seed=e), bad])) for e in range(4)]
        last = epochs(evidence(budget=1.0), buyers)[-1]
        assert out(last) == {9, 10, 11, 12} and not last.weights[9:].any()


def test_a_shared_secret_is_dropped_before_it_is_weighed(world) -> None:
    """A backdoor: as good as the others on the root data, which cannot see it."""
    updates = np.vstack([world.around(world.truth, 10), world.around(world.truth + 0.8 * world.dead, 5, seed=1)])
    selection = once(world.buyer(updates))
    assert out(selection) == {10, 11, 12, 13, 14} and not selection.weights[10:].any()
    assert codes(selection)[10] is Code.KIND and "share a direction of their own" in selection.reason(10)


def test_wrong_labels_are_dropped_even_where_they_are_most_and_from_goodness_alone(world, epochs) -> None:
    for changes in ({}, {"has_logits": False, "strata": None}):
        rows = [
            np.vstack([world.around(world.truth, 6, seed=e), world.around(world.shifted, 9, seed=50 + e)])
            for e in range(4)
        ]
        last = epochs(evidence(budget=1.0), [world.buyer(row, **changes) for row in rows])[-1]
        assert out(last) == set(range(6, 15))


def test_root_data_with_half_of_the_classes_do_not_drop_who_knows_the_others(world, epochs) -> None:
    rows = [
        np.vstack([world.around(world.truth, 9, seed=e), world.around(world.only(HALF), 5, seed=50 + e)])
        for e in range(6)
    ]
    for selection in epochs(evidence(budget=1.0), [world.buyer(row, classes=HALF) for row in rows]):
        assert not out(selection) & set(range(9))


def test_free_riders_are_seen_by_their_score_and_not_bought(world) -> None:
    rule, rng = evidence(budget=1.0), np.random.default_rng(0)
    first = world.buyer(world.around(world.truth, 8))
    state, selection = rule.trade(rule.start(), first, rng)
    step = selection.weights @ first.updates
    updates = world.around(world.truth, 8, seed=1)
    updates[[2, 6]] = step
    second = world.buyer(updates, model=first.model + step)
    _, selection = rule.trade(state, second, rng)
    assert [i for i, code in enumerate(codes(selection)) if code is Code.FOLLOWS] == [2, 6]
    assert not {2, 6} & set(second.bought)


def test_where_everybody_goes_on_as_before_nobody_is_a_follower(world) -> None:
    rule, rng = evidence(budget=1.0), np.random.default_rng(0)
    first = world.buyer(world.around(world.truth, 6, spread=0.01))
    state, selection = rule.trade(rule.start(), first, rng)
    step = selection.weights @ first.updates
    _, selection = rule.trade(state, world.buyer(np.tile(step, (6, 1)), model=first.model + step), rng)
    assert Code.FOLLOWS not in codes(selection)


def test_of_copies_one_is_kept_and_the_others_stay_out(world) -> None:
    rule, rng = evidence(budget=1.0), np.random.default_rng(0)
    updates = world.around(world.truth, 9)
    updates[6:] = updates[5]
    state, selection = rule.trade(rule.start(), world.buyer(updates), rng)
    assert [i for i, code in enumerate(codes(selection)) if code is Code.COPY] == [6, 7, 8]
    again = world.buyer(updates)
    _, selection = rule.trade(state, again, rng)
    assert not {6, 7, 8} & set(again.bought) and codes(selection)[7] is Code.ON_RECORD


def test_long_updates_count_no_more_than_others(world) -> None:
    updates = world.around(world.truth, 9)
    updates[4] *= 20.0
    selection = once(world.buyer(updates))
    pull = np.linalg.norm(selection.weights[:, None] * updates, axis=1)
    assert pull[4] <= 1.2 * np.median(pull)
    assert once(world.buyer(updates), without=("clip",)).weights[4] > 2 * selection.weights[4]


def test_an_update_from_which_nothing_is_gained_now_is_kept_without_weight(world) -> None:
    updates = world.around(world.truth, 10, spread=1.0)
    updates[0] = world.around(world.dead, 1)[0]
    selection = once(world.buyer(updates), false_drop=1e-9, worth=0.3)
    assert codes(selection)[0] is Code.NO_GAIN and selection.kept[0] and selection.weights[0] == 0


# --- what it remembers -----------------------------------------------------------------------------------------------


def test_who_is_out_stays_out_is_looked_at_again_and_comes_back_when_it_is_better(world) -> None:
    rule, state, found = evidence(budget=1.0, every=2), evidence().start(), []
    for epoch in range(24):
        bad = world.shifted if epoch < 6 else world.truth
        rows = np.vstack([world.around(world.truth, 8, seed=epoch), world.around(bad, 4, seed=99 + epoch)])
        state, selection = rule.trade(state, world.buyer(rows), np.random.default_rng(epoch))
        found.append(selection)
    assert out(found[5]) == {8, 9, 10, 11}
    looks = [i for i in range(6) if set(found[i].bought) & {8, 9, 10, 11}]
    assert len(looks) < 6, "not in every epoch"
    assert not out(found[-1]), "a look shows that they have changed"


def test_a_memory_that_was_written_down_and_read_decides_the_same(world) -> None:
    rule = evidence(budget=0.6)
    states, chosen = [rule.start(), rule.start()], [[], []]
    for epoch in range(6):
        rows = np.vstack(
            [world.around(world.truth, 9, seed=epoch), world.around(world.truth + world.dead, 5, seed=50 + epoch)]
        )
        for way in (0, 1):
            state = rule.unpack(rule.pack(states[way])) if way and epoch % 2 else states[way]
            states[way], selection = rule.trade(state, world.buyer(rows), np.random.default_rng(epoch))
            chosen[way].append((codes(selection), selection.weights.round(5).tolist()))
    assert chosen[0] == chosen[1]


def test_state_is_not_changed_in_place_and_can_be_pickled(world) -> None:
    rule, buyer = evidence(), world.buyer(world.around(world.truth, 8))
    state, _ = rule.trade(rule.start(), buyer, np.random.default_rng(0))
    before = rule.pack(state)
    rule.trade(state, world.buyer(world.around(world.truth, 8, seed=1)), np.random.default_rng(1))
    assert rule.pack(state) == before
    assert pickle.loads(pickle.dumps(state)).epoch == 1


def test_providers_come_and_go_by_name(world) -> None:
    rule, state = evidence(budget=1.0), evidence().start()
    for epoch in range(4):
        rows = np.vstack([world.around(world.truth, 8, seed=epoch), world.around(world.shifted, 4, seed=9 + epoch)])
        names = [f"good {i + epoch}" for i in range(8)] + [f"bad {i}" for i in range(4)]
        order = np.random.default_rng(epoch).permutation(12)
        buyer = world.buyer(rows[order], providers=[names[i] for i in order])
        state, selection = rule.trade(state, buyer, np.random.default_rng(epoch))
    assert {buyer.providers[i] for i in out(selection)} == {f"bad {i}" for i in range(4)}


def test_another_model_or_other_root_data_do_not_break_the_memory(world) -> None:
    rule, rng = evidence(budget=1.0), np.random.default_rng(0)
    state, _ = rule.trade(rule.start(), world.buyer(world.around(world.truth, 8)), rng)
    fewer = world.buyer(world.around(world.truth, 8, seed=1))
    fewer.rows, fewer.strata, fewer.truth = fewer.rows[:100], fewer.strata[:100], fewer.truth[:100]
    _, selection = rule.trade(state, fewer, rng)
    assert selection.weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("part", PARTS)
def test_every_part_can_be_switched_off(world, epochs, part) -> None:
    rows = [
        np.vstack([world.around(world.truth, 9, seed=e), world.around(world.truth + world.dead, 5, seed=50 + e)])
        for e in range(3)
    ]
    for selection in epochs(evidence(budget=1.0, without=(part,)), [world.buyer(row) for row in rows]):
        assert selection.weights.sum() == pytest.approx(1.0)
        assert all(role in Role for role in selection.roles)
