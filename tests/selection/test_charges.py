"""What speaks against whom: each finding by itself, and none against the wrong side."""

import math
from dataclasses import replace

import numpy as np
import pytest

from martfl.selection import make_strategy
from martfl.selection.charges import Charge, Known, accuse, charge_kinds, find_charges
from martfl.selection.crowd import Crowd
from martfl.selection.kinds import Cut
from martfl.selection.memory import Record
from martfl.selection.reasons import Code
from martfl.selection.verdict import LASTING, charged

RULE = make_strategy("evidence")
SIZE, ROWS = 3000, 120


def known(good, bad, *, secret=0.5, noise=1.0, bad_noise=0.0, own="good", harm=0.0, seed=0, **changes):
    """Providers with the task in common; the bad ones share a secret, and may help less on every row."""
    rng = np.random.default_rng(seed)
    task, hidden = (v / np.linalg.norm(v) for v in rng.normal(size=(2, SIZE)))
    units = 0.7 * task + noise * rng.normal(size=(good + bad, SIZE)) / np.sqrt(SIZE)
    units[good:] += secret * hidden + bad_noise * rng.normal(size=(bad, SIZE)) / np.sqrt(SIZE)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    mine = {"good": 0.7 * task, "bad": 0.7 * task + secret * hidden}[own] + rng.normal(size=SIZE) / np.sqrt(SIZE)
    rows = rng.normal(size=(good + bad, ROWS))
    rows[good:] -= harm
    given = Known(rows, np.full(ROWS, 1 / ROWS), 1.0, True, np.zeros(good + bad), units @ mine / np.linalg.norm(mine),
                  0.0, units, np.full(good + bad, 3.0), np.zeros((good + bad, SIZE)))  # fmt: skip
    return replace(given, **changes)


def accused(facts, members, *, crispness=1.0, alike=None, rule=RULE):
    """What speaks against `members`; with `alike`, where the last six were cut off for their length."""
    side, last = np.isin(np.arange(len(facts.rows)), members), np.arange(len(facts.rows)) >= len(facts.rows) - 6
    return accuse(rule, facts, Crowd(0.0, 1.0), Cut(side if alike is None else last, crispness, alike), side)


def out(facts, rule=RULE):
    return [i for i, charge in enumerate(find_charges(rule, facts).charges) if charge.evidence >= rule.limit]


@pytest.mark.parametrize(("good", "bad"), [(14, 5), (10, 10), (5, 14)])
def test_a_secret_kind_is_convicted_by_the_own_update_whatever_its_share(good, bad) -> None:
    facts = known(good, bad)
    assert out(facts) == list(range(good, good + bad))
    charge = find_charges(RULE, facts).charges[-1]
    assert charge.code is Code.KIND and charge.numbers["members"] == bad and charge.numbers["own"] > 2


def test_nobody_honest_is_convicted() -> None:
    dropped = [len(out(known(19, 0, seed=seed))) for seed in range(60)]
    assert np.mean(dropped) / 19 <= RULE.false_drop


def test_noise_that_attackers_add_never_speaks_against_the_others() -> None:
    """Framing: the attackers do harm, and agree with each other less than the honest ones do."""
    for noise in (2.0, 4.0):
        facts = known(11, 8, harm=1.0, bad_noise=noise)
        assert out(facts) == list(range(11, 19))


def test_the_own_update_speaks_for_its_own_kind() -> None:
    facts = known(10, 9)
    assert accused(facts, range(10, 19)).own > 2 > -2 > accused(facts, range(10)).own
    turned = known(10, 9, own="bad")
    assert accused(turned, range(10)).own > 2


def test_an_own_update_that_fits_neither_kind_says_little() -> None:
    facts = known(10, 9)
    odd = replace(facts, own=np.where(np.arange(19) < 10, -3.0, 3.0) + facts.own)
    assert abs(accused(odd, range(10)).own) < 1.0


def test_the_own_update_says_nothing_where_the_root_data_are_uneven_or_scores_are_missing() -> None:
    facts = known(10, 9)
    assert accused(replace(facts, even=False), range(10, 19)).own == 0.0
    refusing = np.where(np.arange(19) < 10, facts.own, np.nan)
    assert accused(replace(facts, own=refusing), range(10, 19)).own == 0.0


def test_uncertain_scores_weaken_the_own_update() -> None:
    facts = known(10, 9)
    assert accused(replace(facts, own_error=0.2), range(10, 19)).own < accused(facts, range(10, 19)).own


def test_harm_of_a_kind_counts_and_root_data_that_lack_classes_excuse_it() -> None:
    facts = known(10, 9, harm=0.5)
    assert accused(facts, range(10, 19)).harm > 2 > 0 > accused(facts, range(10)).harm
    assert accused(replace(facts, cover=0.5), range(10, 19)).harm < 1.0


def test_length_counts_upwards_only_and_members_make_it_no_surer() -> None:
    lengths = np.where(np.arange(19) < 13, 0.0, np.log(3.3))
    facts = known(13, 6, lengths=lengths)
    assert accused(facts, range(13, 19)).length > 2 > 0 == accused(facts, range(13)).length
    few = known(13, 3, lengths=lengths[:16])
    assert accused(few, range(13, 16)).length == pytest.approx(accused(facts, range(13, 19)).length)


def test_many_are_not_long_because_few_are_short() -> None:
    """Small sellers train for fewer steps, which says nothing against the others."""
    lengths = np.where(np.arange(19) < 16, 0.0, -2.0)
    assert accused(known(16, 3, lengths=lengths), range(16)).length == 0.0


def test_a_small_difference_of_length_counts_where_lengths_hardly_vary() -> None:
    rng = np.random.default_rng(0)
    for spread, strong in ((0.02, True), (0.3, False)):
        lengths = np.where(np.arange(20) < 10, 0.0, 0.25) + spread * rng.normal(size=20)
        found = accused(known(10, 10, lengths=lengths), range(10, 20)).length
        assert (found > 2) == strong


def test_the_longest_updates_are_suspect_where_they_are_alike() -> None:
    lengths = np.where(np.arange(19) < 13, np.linspace(-0.5, 0.2, 19), 1.0)
    facts = known(13, 6, secret=0.8, lengths=lengths)
    assert out(replace(facts, own=np.full(19, np.nan))) == list(range(13, 19))
    assert out(known(19, 0, lengths=lengths)) == []
    assert accused(facts, range(13, 19), alike=4.0).rarity == pytest.approx(np.log(10))
    assert accused(facts, range(13, 19), alike=0.0).rarity < 0 == accused(facts, range(13), alike=4.0).rarity


def test_the_smaller_side_is_the_likelier_one_a_little() -> None:
    facts = known(14, 5)
    assert 0 < accused(facts, range(14, 19)).majority < 1
    assert accused(facts, range(14)).majority == -accused(facts, range(14, 19)).majority


def test_crisp_kinds_are_rarer_where_the_root_data_are_even() -> None:
    facts = known(10, 9)
    even, uneven = accused(facts, range(9)).rarity, accused(replace(facts, even=False), range(9)).rarity
    assert even == pytest.approx(np.log(10)) and 0 < uneven < even
    assert accused(facts, range(9), crispness=0.0).rarity == 0.0


def test_two_bad_kinds_are_found_one_after_the_other() -> None:
    first, second = known(10, 5, harm=1.0, seed=1), known(10, 5, harm=1.0, seed=2)
    merged = np.vstack([first.directions, second.directions[10:]])
    facts = replace(first, rows=np.vstack([first.rows, second.rows[10:]]), lengths=np.zeros(20),
                    own=np.concatenate([first.own, np.zeros(5)]), directions=merged, ties=np.full(20, 3.0),
                    hidden=np.zeros((20, SIZE)))  # fmt: skip
    assert set(range(10, 20)) <= set(out(facts)) and not set(range(10)) & set(out(facts))


def test_a_single_provider_that_does_harm_is_convicted_by_itself() -> None:
    facts = known(12, 0)
    rows = facts.rows.copy()
    rows[4] -= 2.0
    found = find_charges(RULE, replace(facts, rows=rows))
    assert [i for i, c in enumerate(found.charges) if c.evidence >= RULE.limit] == [4]
    assert found.charges[4].code is Code.HARM and found.charges[4].numbers["deviation"] < -3


@pytest.mark.parametrize("part", ["harm", "own", "length", "majority", "rarity"])
def test_every_finding_can_be_switched_off(part) -> None:
    lengths = np.where(np.arange(19) < 13, 0.0, 1.0)
    facts, plain = known(13, 6, harm=0.5, lengths=lengths), make_strategy("evidence", without=(part,))
    with_it, without = (accused(facts, range(13, 19), rule=rule) for rule in (RULE, plain))
    assert getattr(with_it, part) != 0.0 and getattr(without, part) == 0.0


def hiding(bad, alike, *, seed=1, honest=13):
    """[k, SIZE] what each learnt where no root row reaches: the last ones have `alike` of it in common."""
    rng = np.random.default_rng(seed)
    own = rng.normal(size=(honest + bad, SIZE)) / np.sqrt(SIZE)
    own[honest:] = math.sqrt(1 - alike) * own[honest:] + math.sqrt(alike) * np.eye(SIZE)[0]
    return own


@pytest.mark.parametrize("bad", [4, 6, 9])
def test_who_hides_the_same_where_no_root_row_reaches_is_out(bad) -> None:
    facts = replace(known(13 + bad, 0), hidden=hiding(bad, 0.7))
    assert out(facts) == list(range(13, 13 + bad))
    assert find_charges(RULE, facts).charges[-1].numbers["hidden"] > RULE.limit
    assert out(facts, make_strategy("evidence", without=("hidden",))) == []


def test_what_honest_ones_hide_accuses_nobody() -> None:
    """Nothing in common, a little, or much of what weighs next to nothing."""
    facts = known(19, 0)
    for hidden in (hiding(6, 0.0), hiding(6, 0.05), 0.1 * hiding(6, 0.9)):
        assert out(replace(facts, hidden=hidden)) == []


def test_who_is_alike_everywhere_hides_nothing() -> None:
    """Providers of the same classes have the same to learn, where root rows reach and where they do not."""
    facts = replace(known(13, 6, secret=3.0, own="bad"), hidden=hiding(6, 0.7))
    parts = charge_kinds(make_strategy("evidence", without=("own", "rarity", "majority")), facts, Crowd(0.0, 1.0))
    assert all(findings.hidden <= 0.0 for _, _, findings in parts)


def test_hidden_kinds_are_judged_less_where_half_of_the_classes_dominate() -> None:
    facts = known(13, 6)
    cut, side = Cut(np.arange(19) >= 13, 0.0, hidden=3.0), np.arange(19) >= 13
    even, uneven = (accuse(RULE, replace(facts, even=e), Crowd(0.0, 1.0), cut, side).hidden for e in (True, False))
    assert even > uneven > 0 == accuse(RULE, facts, Crowd(0.0, 1.0), cut, ~side).hidden
    found = accuse(RULE, facts, Crowd(0.0, 1.0), cut, side)
    assert found.own == found.length == found.rarity == 0.0  # the own update and lengths say nothing of it
    worse, better = (
        accuse(RULE, replace(facts, rows=facts.rows + gain * side[:, None]), Crowd(0.0, 1.0), cut, who)
        for gain, who in ((-2.0, side), (2.0, ~side))
    )
    assert worse.harm == better.harm == 0.0, "what it does for the root rows excuses it as little as it accuses others"


def test_a_hidden_kind_is_charged_beside_one_that_shows() -> None:
    """What is left after the first may be too few to show the second."""
    facts = replace(known(10, 5, harm=1.0), hidden=hiding(4, 0.7, honest=11)[np.r_[0:6, 11:15, 6:11]])
    kinds = charge_kinds(RULE, facts, Crowd(0.0, 1.0))
    first = [sorted(members) for members, evidence, _ in kinds[:2] if evidence >= RULE.limit]
    assert first == [list(range(10, 15)), list(range(6, 10))]


def test_without_kinds_only_harm_is_charged() -> None:
    facts, rule = known(10, 9), make_strategy("evidence", without=("kinds",))
    assert out(facts, rule) == [] and charge_kinds(RULE, facts, Crowd(0.0, 1.0))


@pytest.mark.parametrize("cover", [1.0, 0.5])
def test_gains_are_measured_in_their_own_error_and_in_what_the_root_data_do_not_see(cover) -> None:
    """The noise of a mean over rows, and the gain that may lie in classes that are missing, as independent errors."""
    facts = known(10, 0, cover=cover)
    mean = facts.rows.mean(axis=1)
    error = facts.rows.std(axis=1) / np.sqrt(ROWS)
    missing = (1 - cover) / cover * np.sqrt((mean**2).mean())
    assert np.allclose(find_charges(RULE, facts).deviations, mean / np.hypot(error, missing), rtol=0.02)


def record(evidence=0.0, code=Code.KEPT):
    return Record(1, evidence, code, 0.0, 0.0, 0.0, np.zeros(1), np.zeros(1), np.zeros(1))


@pytest.mark.parametrize(("evidence", "code"), [(-1.0, Code.KEPT), (0.0, Code.KEPT), (1e-9, Code.HARM)])
def test_who_nothing_speaks_against_is_charged_with_nothing(evidence, code) -> None:
    found = charged(RULE, None, record(), Charge(evidence, Code.HARM))
    assert (found.evidence, found.code) == (evidence, code)


def test_evidence_is_averaged_over_deliveries_and_never_without_limit() -> None:
    old = record(evidence=2.0, code=Code.HARM)
    assert charged(RULE, old, record(), Charge(4.0)).evidence == pytest.approx(2 * RULE.memory + 4 * (1 - RULE.memory))
    assert charged(RULE, None, record(), Charge(1e6)).evidence == LASTING
    assert charged(RULE, None, record(), Charge(-1e6)).evidence == -LASTING
    copied = record(evidence=50.0, code=Code.COPY)  # says nothing about what is delivered now
    assert charged(RULE, copied, record(), Charge(4.0)).evidence == 4.0


def test_the_smaller_side_is_the_likelier_one_by_half_its_odds() -> None:
    facts = known(15, 5)
    assert accused(facts, range(15, 20)).majority == pytest.approx(0.5 * np.log(3))
    assert accused(facts, range(15)).majority == pytest.approx(-0.5 * np.log(3))
    assert accused(known(10, 10), range(10)).majority == 0.0


def test_a_stage_of_learning_is_long_crisp_and_unlike_the_own_update_and_not_charged_for_it() -> None:
    facts = known(12, 6)
    facts = replace(facts, lengths=np.where(np.arange(18) >= 12, 1.5, 0.0))
    side = np.arange(18) >= 12
    kind, half, stage = (
        accuse(RULE, facts, Crowd(0.0, 1.0), Cut(side, 1.0, stage=s, longer=True), side) for s in (0.0, 0.5, 1.0)
    )
    assert kind.total > RULE.limit
    others = [accuse(RULE, facts, Crowd(0.0, 1.0), Cut(side, 1.0, stage=s, longer=True), ~side) for s in (0.0, 1.0)]
    assert others[0] == others[1], "the shorter side, whose lengths the coalition could choose, is excused for nothing"
    assert stage.own == stage.length == stage.rarity == 0.0
    assert half.rarity == kind.rarity / 2 and half.harm == kind.harm == stage.harm and stage.majority == kind.majority


def test_a_short_update_is_charged_with_as_little_harm_as_it_can_do() -> None:
    """Gains are measured at the usual length, which a short update does not have."""
    facts = known(19, 0)
    facts = replace(facts, rows=facts.rows - np.where(np.arange(19) == 3, 0.7, 0.0)[:, None])
    lengths = [np.where(np.arange(19) == 3, np.log(share), 0.0) for share in (1.0, 0.5, 0.1)]
    whole, half, tenth = (find_charges(RULE, replace(facts, lengths=logs)).charges[3].evidence for logs in lengths)
    assert whole >= RULE.limit > half > tenth
    longer = replace(facts, lengths=np.where(np.arange(19) == 3, 1.0, 0.0))
    assert find_charges(RULE, longer).charges[3].evidence == whole
