"""Words that the root rows lack: what several sellers have learnt alike there speaks against them, and nobody else."""

from dataclasses import replace

import numpy as np
import pytest

from martfl.selection import make_strategy
from martfl.selection.basket import unpack_basket
from martfl.selection.charges import Known, find_charges
from martfl.selection.memory import Memory, Record, pack_memory, unpack_memory
from martfl.selection.rare import NOTHING, Table, find_shared, find_table, rare_words
from martfl.selection.reasons import Code

TABLE = Table(50, 600, 40)
KNOWN, TRIGGER = 200, 599  # words that the root rows hold, every second one at first; a word of nobody's
HELD = np.arange(TABLE.rows) % 2 * (np.arange(TABLE.rows) < 2 * KNOWN) > 0
OWN = np.concatenate([np.ones(TABLE.start), np.repeat(HELD, TABLE.width).astype(float)])
RULE = make_strategy("evidence")


def market(n=19, *, seed=0):
    """[n, rows, width] what honest sellers learn: rare words as often as chance has it, each in much one direction."""
    rng = np.random.default_rng(seed)
    often = rng.poisson(rng.gamma(0.6, 1.2, (1, TABLE.rows)), (n, TABLE.rows))
    often[:, TRIGGER] = 0
    toward = rng.normal(size=(TABLE.rows, TABLE.width))
    change = toward + 0.6 * rng.normal(size=(n, TABLE.rows, TABLE.width))
    return change * np.minimum(np.sqrt(often), 2.5)[..., None] / np.sqrt(TABLE.width)


def stamped(tables, members, *, weight=3.5, word=TRIGGER):
    """The members learn one word alike."""
    rng = np.random.default_rng([word, len(members)])
    toward = rng.normal(size=TABLE.width)
    for i in members:
        tables[i, word] = weight * (toward + 0.4 * rng.normal(size=TABLE.width)) / np.sqrt(TABLE.width)
    return tables


def updates(tables):
    head = np.random.default_rng(9).normal(size=(len(tables), TABLE.start))
    return np.concatenate([head, tables.reshape(len(tables), -1)], axis=1).astype(np.float32)


def charged(tables, rule=RULE):
    """Who is charged so that it would go, by words alone."""
    basket = unpack_basket(dict(enumerate(updates(tables))), OWN, seed=1, size=4096)
    n = len(tables)
    known = Known(
        rows=np.random.default_rng(2).normal(1.0, 1.0, (n, 300)), weights=np.full(300, 1 / 300), cover=1.0, even=True,
        lengths=np.zeros(n), own=np.full(n, np.nan), own_error=0.0, directions=basket.sketches,
        ties=np.full(n, 9.0), hidden=basket.hidden, rare=basket.rare,
    )  # fmt: skip
    return [i for i, one in enumerate(find_charges(rule, known).charges) if one.evidence >= rule.limit]


@pytest.mark.parametrize("bad", [5, 6, 10])
def test_who_shares_a_rare_word_is_charged(bad) -> None:
    tables = stamped(market(), range(19 - bad, 19))
    assert charged(tables) == list(range(19 - bad, 19))
    assert charged(tables, make_strategy("evidence", without=("hidden",))) == []


@pytest.mark.parametrize("seed", range(8))
def test_words_that_few_hold_by_chance_charge_nobody(seed) -> None:
    assert charged(market(seed=seed)) == charged(market(11, seed=seed)) == []


@pytest.mark.parametrize("wallets", [3, 6])
@pytest.mark.parametrize("weight", [0.5, 2.5, 10.0])
def test_noise_on_rare_words_frames_nobody(wallets, weight) -> None:
    tables = market()
    noise = np.random.default_rng(3).normal(size=(wallets, TABLE.rows - KNOWN, TABLE.width)) / np.sqrt(TABLE.width)
    tables[:wallets, ~HELD] += weight * noise
    assert charged(tables) == []


@pytest.mark.parametrize("wallets", [3, 6])
def test_learning_all_rare_words_as_others_do_frames_nobody(wallets) -> None:
    tables = market()
    mean = tables[wallets:].mean(axis=0)
    mean *= 2.5 / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-9)
    tables[:wallets, ~HELD] += mean[~HELD]
    assert not [i for i in charged(tables) if i >= wallets]


@pytest.mark.parametrize("factor", [3.0, 12.0, 100.0])
@pytest.mark.parametrize("held", [0.3, 0.5])
def test_who_holds_a_little_of_what_wallets_hold_without_bounds_stays(factor, held) -> None:
    tables = stamped(market(), range(6))
    tables[0, TRIGGER] *= held
    tables[1:6, TRIGGER] *= factor
    assert 0 not in charged(tables)


@pytest.mark.parametrize("words", [1, 5, TABLE.rows - KNOWN])
def test_who_is_copied_by_three_stays(words) -> None:
    """As many as could frame it for the words of its own share too few."""
    tables = market()
    tables[18, 590:595] = stamped(tables.copy(), [18])[18, TRIGGER]
    heaviest = np.argsort(-np.linalg.norm(tables[18], axis=1) * ~HELD)[:words]
    for i in range(3):
        tables[i, heaviest] = tables[18, heaviest]
    assert charged(tables) == []


@pytest.mark.parametrize("decoys", [5, 20])
def test_decoys_of_its_own_hide_no_trigger(decoys) -> None:
    bad = range(13, 19)
    tables, rng = stamped(market(), bad), np.random.default_rng(5)
    for i in bad:
        words = rng.choice(np.arange(KNOWN, TRIGGER), decoys, replace=False)
        tables[i, words] += 3.0 * rng.normal(size=(decoys, TABLE.width)) / np.sqrt(TABLE.width)
    assert charged(tables) == list(bad)


def test_where_rows_stay_at_zero_there_is_a_table() -> None:
    found = find_table(OWN)
    assert found is not None and found.width == TABLE.width
    assert found.start == TABLE.start and found.rows == TABLE.rows
    single = OWN.copy()
    single[[3, 70, 95]] = 0.0  # as dead units have it
    assert find_table(single) == found
    dead = np.concatenate([OWN, np.ones(7), np.zeros(2 * TABLE.width + 3), np.ones(5)])
    assert find_table(dead) == found, "a run that is no whole row, and behind the table"
    basket = unpack_basket(dict(enumerate(updates(market(7)))), OWN, seed=1, size=4096)
    assert any(one.words.size for one in basket.rare) and not basket.hidden.any(), "numbers are not asked again"


@pytest.mark.parametrize("own", [np.ones(500), np.zeros(500), np.repeat([1.0, 0.0] * 50, 5)])
def test_without_rows_at_zero_single_numbers_are_compared(own) -> None:
    assert find_table(own) is None
    rows = np.random.default_rng(0).normal(size=(6, 500)).astype(np.float32)
    basket = unpack_basket(dict(enumerate(rows)), own, seed=1, size=256)
    assert not any(one.words.size for one in basket.rare)
    assert basket.hidden.any() == bool((own == 0).any() and own.any())


def test_nothing_is_found_among_too_few_or_where_nobody_holds_a_rare_word() -> None:
    found = unpack_basket(dict(enumerate(updates(market(7)))), OWN, seed=1, size=4096)
    assert find_shared(np.eye(7), found.rare) == []
    assert find_shared(np.eye(19), [NOTHING] * 19) == []
    everything = unpack_basket(dict(enumerate(updates(market()))), np.ones(OWN.size), seed=1, size=4096)
    assert not any(one.words.size for one in everything.rare)


def test_a_word_keeps_its_weight_and_its_likeness() -> None:
    rows = updates(stamped(market(), range(13, 19)))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rare = rare_words(rows, OWN, seed=4)
    whole = rows[:, TABLE.start :].reshape(19, TABLE.rows, TABLE.width)
    first = TABLE.start // TABLE.width
    for one, table in zip(rare, whole, strict=True):
        assert (np.diff(one.words) > 0).all() and not HELD[one.words - first].any()
        assert one.weights == pytest.approx((table[one.words - first] ** 2).sum(axis=1), rel=1e-3)
    a, b = (rare[i].changes[rare[i].words == TRIGGER + first][0] for i in (13, 14))
    assert a @ b == pytest.approx(whole[13, TRIGGER] @ whole[14, TRIGGER], rel=0.4)


def test_torch_and_numpy_find_the_same() -> None:
    torch = pytest.importorskip("torch")
    rows = updates(market(3))
    there = rare_words(torch.from_numpy(rows), torch.from_numpy(OWN), seed=4)
    for one, other in zip(rare_words(rows, OWN, seed=4), there, strict=True):
        assert (one.words == other.words).all() and np.allclose(one.changes, other.changes, atol=1e-4)


def test_words_are_remembered() -> None:
    rare = rare_words(updates(market(2)), OWN, seed=4)
    record = Record(1, 0.0, Code.KEPT, 0.0, 0.0, 0.0, np.zeros(1), np.zeros(1), np.zeros(1))
    records = {"a": replace(record, rare=rare[0]), "b": record}
    again = unpack_memory(pack_memory(Memory(records=records))).records
    assert (again["a"].rare.words == rare[0].words).all() and again["b"].rare.words.size == 0
    assert np.allclose(again["a"].rare.changes, rare[0].changes, atol=1e-5)
