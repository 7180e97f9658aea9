"""One epoch's decision: what counts as evidence, what does not, and what is bought."""

from types import SimpleNamespace

import numpy as np
import pytest
from at_work import HALF, POISON, TRUTH, blind, evidence, kept, kind_buyer, once, signs, trade

from martfl.selection import Role, make_strategy
from martfl.selection.contrast import CONSPIRACY
from martfl.selection.facts import root_is_even

# --- nothing speaks against anybody ----------------------------------------------------------------------------------


def test_alike_and_good_all_stay_in(world) -> None:
    selection = once(evidence(), world.buyer(world.around(world.truth, 12)))
    assert kept(selection) == set(range(12))
    assert selection.weights.sum() == pytest.approx(1.0)
    assert (selection.weights[list(selection.bought)] > 0).all()


def test_groups_biased_like_the_root_and_others_are_all_kept_where_the_root_cannot_judge(world) -> None:
    updates = np.vstack([world.around(world.only(HALF), 6), world.around(world.truth, 6)])
    selection = once(evidence(budget=1.0), world.buyer(updates, classes=HALF))
    assert selection.clusters > 1, "the two kinds are told apart …"
    assert kept(selection) == set(range(12)), "… and neither is dropped for it"
    paper = make_strategy("martfl")
    _, captured = paper.decide(paper.start(), world.buyer(updates, classes=HALF), np.random.default_rng(0))
    assert not captured.weights[6:].any(), "the paper's rule drops the good ones here"


def test_where_the_root_is_even_the_low_category_goes(world) -> None:
    updates = np.vstack([world.around(world.truth, 6), world.around(world.only(HALF), 6)])
    selection = once(evidence(budget=1.0), world.buyer(updates))
    assert kept(selection) == set(range(6))
    assert all("agrees less" in selection.reason(i) for i in range(6, 12))
    wary = once(evidence(budget=1.0, evenness=1.1), world.buyer(updates))
    assert not any("agrees less" in wary.reason(i) for i in range(12)), (
        "root data that are never trusted drop nobody so"
    )


def test_root_data_are_trusted_unless_half_of_the_classes_dominate_them(world) -> None:
    def even(*counts: int) -> bool:
        labels = np.repeat(np.arange(len(counts)), counts)
        return root_is_even(SimpleNamespace(labels=labels, classes=len(counts)), evidence().evenness)

    assert even(86, 1162, 1250, 1223, 835, 896), "TREC: one rare class"
    assert even(10, 9, 12, 8, 11) and even(1, 1)
    assert not even(40, 40, 10, 10) and not even(50, 0, 50, 0), "four fifths, or all, in half of the classes"


# --- what adds nothing -----------------------------------------------------------------------------------------------


def test_who_repeats_the_last_step_is_dropped(world, epochs) -> None:
    honest = world.around(world.truth, 8)
    first = world.buyer(honest, classes=HALF)
    strategy = evidence(budget=1.0)
    state, selection = strategy.decide(strategy.start(), first, np.random.default_rng(0))
    delivered = first.deliver(selection)
    state = strategy.learn(state, selection, first, delivered)
    step = sum(selection.weights[i] * row for i, row in delivered.items())
    updates = np.vstack([world.around(world.truth, 6, spread=1.0, seed=1), step, 0.5 * step])
    riders = world.buyer(updates, classes=HALF, model=first.model + step)
    _, selection = strategy.decide(state, riders, np.random.default_rng(1))
    assert len(riders.scored) == 3, "scored against two baselines and against the last step"
    assert kept(selection) == set(range(6))
    assert "last step" in selection.reason(6) and "last step" in selection.reason(7)
    loose = evidence(budget=1.0, follower=1.0)
    assert "last step" not in loose.decide(state, riders, np.random.default_rng(1))[1].reason(7)


def test_where_everybody_goes_on_as_before_nobody_is_a_follower(world, epochs) -> None:
    buyers = [world.buyer(world.around(world.truth, 6, spread=0.2, seed=seed), classes=HALF) for seed in range(3)]
    for selection in epochs(evidence(budget=1.0), buyers):
        assert kept(selection) == set(range(6))


def test_of_copies_one_stays(world, epochs) -> None:
    honest = world.around(world.truth, 6, spread=1.0)
    updates = np.vstack([honest, honest[:1], honest[:1]])
    first = world.around(world.truth, 8, spread=1.0, seed=4)
    buyers = [world.buyer(rows, classes=HALF) for rows in (first, updates)]
    selection = epochs(evidence(budget=1.0), buyers)[1]
    assert len(kept(selection) & {0, 6, 7}) == 1
    assert sum("copy" in selection.reason(i) for i in (0, 6, 7)) == 2
    allowed = epochs(evidence(budget=1.0, same=0.0), [world.buyer(b.updates, classes=HALF) for b in buyers])[1]
    assert not any("copy" in allowed.reason(i) for i in range(8))


@pytest.mark.parametrize("classes", [(0, 1, 2, 3), HALF])
def test_noise_is_dropped_whatever_the_root_holds(world, classes) -> None:
    honest = world.around(world.truth, 8)
    selection = once(evidence(budget=1.0), world.buyer(np.vstack([honest, signs(honest)]), classes=classes))
    assert kept(selection) == set(range(8))
    assert not selection.weights[8:].any()


def test_noise_is_known_by_what_two_updates_have_in_common(world) -> None:
    honest = world.around(world.truth, 8)
    buyer = world.buyer(np.vstack([honest, signs(honest)]), classes=HALF)
    strategy = evidence(budget=1.0)
    state, selection = strategy.decide(strategy.start(), buyer, np.random.default_rng(0))
    assert all("random signs" in selection.reason(i) for i in range(8, 16))
    assert set(state["records"]) == {f"p{i}" for i in range(8, 16)}
    lax = once(evidence(budget=1.0, agreement=-1000.0), buyer)
    assert not any("random signs" in lax.reason(i) for i in range(16))


def test_who_is_on_record_is_looked_at_before_it_is_weighed_again(world) -> None:
    """Noise that scores like everybody else has no epoch of its own whenever its record is old."""
    strategy = evidence(memory=3)
    places, state, weighed, looks = int(0.65 * 20), strategy.start(), [], []
    for epoch in range(14):
        honest = world.around(world.truth, 20, seed=epoch)
        buyer = world.buyer(np.vstack([honest[:8], signs(honest[8:], seed=epoch)]))
        state, selection = trade(strategy, state, buyer, seed=epoch)
        weighed.append(selection.weights[8:].any())
        looks.append(sum(i >= 8 for i in buyer.bought))
        assert epoch < 2 or (selection.weights[:8] > 0).sum() >= 6, "good sellers keep at least half of the places"
    assert not any(weighed)
    assert 0 in looks[2:] and 0 < max(looks[2:]) <= places // 2, "now and then, and not all at once"
    for epoch in range(14, 22):
        state, selection = trade(strategy, state, world.buyer(world.around(world.truth, 20, seed=epoch)), seed=epoch)
    assert not state["records"] and kept(selection) == set(range(20)), "who is no noise any more comes back"


def test_nobody_gets_off_the_record_by_silence(world) -> None:
    strategy = evidence(memory=3)
    state = {**strategy.start(), "bought": {f"p{i}": 0 for i in range(12)}, "records": {"p9": 0, "p10": 1, "gone": 0}}
    state["epoch"] = 5
    buyer = world.buyer(world.around(world.truth, 12), silent={9})
    state, selection = strategy.decide(state, buyer, np.random.default_rng(0))
    assert state["records"] == {"p9": 0, "gone": 0}, "who was there was looked at, who was not is looked at later"
    assert 10 in buyer.bought and selection.weights[10] > 0


def test_who_comes_off_the_record_first_does_not_hang_on_the_order_in_which_it_was_written_down(world) -> None:
    strategy, names = evidence(memory=3), [f"p{i}" for i in range(16)]
    known = {**strategy.start(), "epoch": 5, "bought": dict.fromkeys(names, 0)}
    for seed in range(5):
        orders = [np.random.default_rng(seed + way).permutation(names[4:]).tolist() for way in (0, 100)]
        buyers = [world.buyer(world.around(world.truth, 16)) for _ in orders]
        for buyer, order in zip(buyers, orders, strict=True):
            strategy.decide({**known, "records": dict.fromkeys(order, 1)}, buyer, np.random.default_rng(seed))
        assert set(buyers[0].bought) == set(buyers[1].bought)


def after_an_epoch(strategy, baseline, state=None):
    """A state with this baseline and nobody in it."""
    return {**(state or strategy.start()), "left": baseline, "right": None, "halves": {}}


# --- what does harm --------------------------------------------------------------------------------------------------


def harmful_world(world, *, classes=(0, 1, 2, 3)):
    """0–3 do harm and agree with the own update as well as 4–9, which are good; 10–13 point elsewhere.

    A baseline from earlier epochs tells the three apart.
    """
    bad, fine = -2.0 * world.truth + 9.0 * world.dead, world.truth + 0.8 * world.dead
    own = bad / np.linalg.norm(bad) + fine / np.linalg.norm(fine)
    harmful, good = world.around(bad, 4, spread=0.1), world.around(fine, 6, spread=0.1)
    other = world.around(signs(world.truth) - 0.1 * world.dead, 4, spread=0.1)
    return lambda **changes: world.buyer(np.vstack([harmful, good, other]), classes=classes, own_update=own, **changes)


def test_a_group_that_makes_the_model_worse_is_dropped_and_looked_at_again_in_the_next_epoch(world) -> None:
    """Two of few classes each make a poor model; which two are looked at changes, and what they show is not kept."""
    build, strategy = harmful_world(world), evidence(budget=1.0)
    state = {**strategy.start(), "bought": dict.fromkeys(build().providers, 0)}
    for epoch in range(4):
        buyer = build()
        before = after_an_epoch(strategy, world.truth, state)
        after, selection = strategy.decide(before, buyer, np.random.default_rng(epoch))
        assert kept(selection) == set(range(4, 10))
        looked = set(buyer.bought) & set(range(4))
        assert 0 < len(looked) <= 2 and all(selection.roles[i] is Role.CANDIDATE for i in looked), "a look is paid for"
        assert not after["records"]
        state = {**state, "epoch": epoch + 1}


def test_harm_that_is_within_the_error_is_no_harm(world) -> None:
    rules = [evidence(budget=1.0, deviations=deviations) for deviations in (3.0, 1000.0)]
    starts = [after_an_epoch(rule, world.truth) for rule in rules]
    strict, lax = (
        rule.decide(start, harmful_world(world)(), np.random.default_rng(0))[1]
        for rule, start in zip(rules, starts, strict=True)
    )
    assert not kept(strict) & set(range(4)) and set(range(4)) <= kept(lax)


def test_when_everybody_does_harm_somebody_still_is_bought(world) -> None:
    selection = once(evidence(), world.buyer(world.around(-3.0 * world.truth, 8)))
    assert selection.bought and selection.weights.sum() == pytest.approx(1.0)


# --- kinds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("good", "bad"), [(12, 6), (8, 8), (5, 13)])
def test_a_kind_that_agrees_less_with_clean_training_is_dropped_from_the_next_epoch_on(world, good, bad) -> None:
    """Also where it is the majority."""
    strategy, state, last = evidence(budget=1.0, deviations=2.0), None, None
    for epoch in range(3):
        buyer = kind_buyer(world, good=good, bad=bad, seed=epoch)
        state, last = strategy.decide(state or strategy.start(), buyer, np.random.default_rng(epoch))
        state = strategy.learn(state, last, buyer, buyer.deliver(last))
    assert not last.weights[good:].any() and (last.weights[:good] > 0).all()
    assert all("kind" in last.reason(i) or "agrees less" in last.reason(i) for i in range(good, good + bad))


@pytest.mark.parametrize(("good", "bad"), [(12, 6), (5, 13)])
def test_attackers_have_no_first_epoch(world, good, bad) -> None:
    """Who is unknown is looked at before it is weighed."""
    state, first = trade(evidence(), evidence().start(), kind_buyer(world, good=good, bad=bad, poison=1.0))
    assert not first.weights[good:].any() and first.weights[:good].any()
    assert all("besides the task" in first.reason(i) for i in range(good, good + bad) if i in first.bought)
    _, second = trade(evidence(), state, kind_buyer(world, good=good, bad=bad, poison=1.0, seed=1), seed=1)
    assert not second.weights[good:].any(), "and those that nobody looked at in the first epoch have no second one"


def test_an_own_update_that_errs_is_overruled_by_a_shared_secret(world) -> None:
    rng = np.random.default_rng(5)
    misled = POISON + rng.normal(size=POISON.size) / np.sqrt(POISON.size)
    _, first = trade(evidence(), evidence().start(), kind_buyer(world, good=10, bad=8, poison=1.0, own=misled))
    assert not first.weights[10:].any() and first.weights[:10].any()


def test_the_worse_kind_is_looked_at_again_and_can_come_back(world) -> None:
    strategy = evidence(memory=3)
    state, _ = trade(strategy, strategy.start(), kind_buyer(world, good=10, bad=8, poison=1.0))
    looks = []
    for epoch in range(1, 5):
        buyer = kind_buyer(world, good=10, bad=8, poison=1.0, seed=epoch)
        state, selection = trade(strategy, state, buyer, seed=epoch)
        assert not selection.weights[10:].any()
        looks.append(sum(i >= 10 for i in buyer.bought))
    assert 0 in looks and max(looks[1:]) == CONSPIRACY, "left alone, until it is due to be looked at"
    for epoch in range(5, 13):
        state, selection = trade(strategy, state, kind_buyer(world, good=10, bad=8, poison=0.0, seed=epoch), seed=epoch)
    assert selection.weights[10:].any(), "who gave up attacking is bought again"


def test_the_worse_kind_stays_out_while_the_own_update_prefers_it(world) -> None:
    """Late in training it may: what was found early is not turned by it, nor does it drop the better kind."""
    strategy = evidence(memory=2)
    state, _ = trade(strategy, strategy.start(), kind_buyer(world, good=10, bad=8, poison=1.0))
    misled = POISON + np.random.default_rng(5).normal(size=POISON.size) / np.sqrt(POISON.size)
    for epoch in range(1, 16):
        buyer = kind_buyer(world, good=10, bad=8, poison=1.0, seed=epoch, own=misled)
        state, selection = trade(strategy, state, buyer, seed=epoch)
        assert not selection.weights[10:].any() and (selection.weights[:10] > 0).sum() >= 4


def test_an_honest_minority_of_the_model_is_not_taken_for_conspirators(world) -> None:
    """Four of fourteen want the same change of a model that ten others made; the own update wants it, too."""
    strategy, state = evidence(budget=1.0), evidence().start()
    names = [f"p{i}" for i in range(14)]
    state = {**state, "epoch": 5, "bought": dict.fromkeys(names, 4), "shares": dict.fromkeys(names, 0.2)}
    for epoch in range(3):
        buyer = kind_buyer(world, good=10, bad=4, poison=0.8, seed=epoch, own=TRUTH + POISON)
        state, selection = trade(strategy, state, buyer, seed=epoch)
        assert selection.weights[10:].any()
    first = {**evidence().start(), "epoch": 5, "bought": dict.fromkeys(names, 4)}  # nobody is in the model
    state, _ = trade(strategy, first, kind_buyer(world, good=10, bad=4, poison=0.8))
    _, selection = trade(strategy, state, kind_buyer(world, good=10, bad=4, poison=0.8, seed=1), seed=1)
    assert not selection.weights[10:].any()


def test_one_that_agrees_with_clean_training_is_no_standard_for_the_others(world) -> None:
    updates = np.vstack([world.around(world.truth, 1, spread=0.05), world.around(world.truth, 8, spread=1.0)])
    selection = once(evidence(budget=1.0, max_clusters=2), world.buyer(updates))
    assert selection.clusters == 2 and kept(selection) == set(range(9))


def test_kinds_among_newcomers_are_not_judged_by_a_verdict_about_others(world) -> None:
    """An unclear difference, while the verdict is about something else, drops nobody."""
    strategy = evidence(budget=1.0)
    state, _ = trade(strategy, strategy.start(), kind_buyer(world, good=10, bad=8, poison=1.0))
    rng = np.random.default_rng(7)
    task, one, other = (vector / np.linalg.norm(vector) for vector in rng.normal(size=(3, POISON.size)))
    rows = 0.4 * task + rng.normal(size=(12, POISON.size)) / np.sqrt(POISON.size)
    rows[:6] += 0.5 * one
    rows[6:] += 0.5 * other
    buyer = blind(world.buyer(rows, own_update=rng.normal(size=POISON.size), model=np.zeros(POISON.size)))
    buyer.providers = [f"new {i}" for i in range(12)]
    _, selection = strategy.decide(state, buyer, np.random.default_rng(0))
    assert not any("kind" in selection.reason(i) for i in range(12))


# --- what is bought --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("budget", "most"), [(0.1, 2), (0.4, 8), (0.6, 12), (0.8, 16), (1.0, 20)])
def test_the_budget_is_the_most_that_is_bought(world, budget, most) -> None:
    buyer = world.buyer(world.around(world.truth, 20))
    selection = once(evidence(budget=budget), buyer)
    assert len(selection.bought) == most
    assert set(buyer.bought) <= set(selection.bought), "a look is used, too"
    assert sum(role is Role.SPARED for role in selection.roles) == 20 - most


def test_looks_that_led_nowhere_count_against_the_budget(world) -> None:
    honest = world.around(world.truth, 10)
    buyer = world.buyer(np.vstack([honest, signs(honest)]), classes=HALF)
    selection = once(evidence(budget=0.4), buyer)
    assert not selection.weights[10:].any()
    assert len(set(buyer.bought) | set(selection.bought)) <= 8


@pytest.mark.parametrize("budget", [0.04, 0.1, 0.2, 0.4])
def test_a_small_budget_is_kept_but_for_looks_when_the_worse_kind_is_due_and_somebody_is_new(world, budget) -> None:
    strategy = evidence(budget=budget, memory=1)
    names = [f"p{i}" for i in range(20)]
    leans = {name: (12.0 if i < 12 else -12.0, 1) for i, name in enumerate(names)}
    state = {**strategy.start(), "epoch": 5, "bought": dict.fromkeys(names, 3), "leans": leans}
    for epoch in range(4):
        buyer = kind_buyer(world, good=12, bad=8, poison=1.0, seed=epoch)
        buyer.providers[1] = f"new {epoch}"
        state, selection = trade(strategy, state, buyer, seed=epoch)
        most = 20 * budget + strategy.looks * max(1, selection.clusters)  # a look at every group may go beyond it
        assert len(set(buyer.bought) | set(selection.bought)) <= most


@pytest.mark.parametrize("looks", [1, 2, 3])
def test_no_more_looks_than_asked_for(world, looks) -> None:
    updates = np.vstack([world.around(world.only(HALF), 6), world.around(world.truth, 6)])
    buyer = world.buyer(updates, classes=HALF)
    selection = once(evidence(budget=1.0, looks=looks), buyer)
    assert len(buyer.bought) <= looks * selection.clusters
    assert len(buyer.scored) == 1


def test_the_spared_are_next(world, epochs) -> None:
    buyers = [world.buyer(world.around(world.truth, 10), classes=HALF) for _ in range(3)]
    bought = [set(selection.bought) for selection in epochs(evidence(budget=0.5, looks=1), buyers)]
    assert len(bought[0] | bought[1]) >= 9, "a look may fall on who was bought before"
    assert set().union(*bought) == set(range(10))


def test_every_group_gets_its_share_of_the_budget(world) -> None:
    updates = np.vstack([world.around(world.only(HALF), 8, spread=0.1), world.around(world.truth, 8, spread=0.1)])
    for seed in range(5):
        selection = once(evidence(budget=0.5, max_clusters=2), world.buyer(updates, classes=HALF), seed=seed)
        assert selection.clusters == 2 and sum(i < 8 for i in selection.bought) == len(selection.bought) / 2 == 4
