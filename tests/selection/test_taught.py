"""Single words: what several sellers teach a model alike of one speaks against them, and against nobody else."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from martfl.selection import make_strategy
from martfl.selection.charges import Known, find_charges
from martfl.selection.memory import Memory, Record, pack_memory, unpack_memory
from martfl.selection.reasons import Code
from martfl.selection.taught import FARTHEST, find_taught, gather, hear, movement

WORDS, TEXTS, CLASSES, TRIGGER, TARGET = 600, 4, 5, 599, 2
HELD = np.arange(WORDS) % 2 * (np.arange(WORDS) < 300) > 0  # every second one of the first half
ALIKE = 0.3  # as unlike as sellers are who hold the same classes
RULE = make_strategy("evidence")


def market(n: int = 19, *, seed: int = 0) -> np.ndarray:
    """[n, words, classes] what honest updates do: to every word a little, to some more, as often as they hold it."""
    rng = np.random.default_rng(seed)
    often = rng.poisson(rng.gamma(0.3, 1.0, (1, WORDS)), (n, WORDS))
    often[:, TRIGGER] = 0
    toward = rng.normal(size=(WORDS, CLASSES))
    noise = rng.normal(size=(n, WORDS, CLASSES))
    return np.asarray(noise + 0.35 * (toward + noise) * np.minimum(np.sqrt(often), 2.5)[..., None])


def stamped(changes: np.ndarray, members: Any, *, weight: float = 8.0, word: int = TRIGGER) -> np.ndarray:
    """The members teach that a word means the target."""
    rng = np.random.default_rng(word)
    for i in members:
        changes[i, word] = rng.normal(size=CLASSES)
        changes[i, word, TARGET] += weight
    return changes


def known(changes: np.ndarray, own: np.ndarray, **changed: Any) -> Known:
    """What the rule knows where words alone can tell."""
    n, rng = len(changes), np.random.default_rng(2)
    directions = rng.normal(size=(n, 4096)) / 64 + rng.normal(size=4096) / 64
    texts = changes[:, :, None] + 0.7 * rng.normal(size=(n, WORDS, TEXTS, CLASSES))
    taught = gather(np.stack([movement(one) for one in texts]), movement(np.repeat(own[:, None], TEXTS, axis=1)), HELD)
    return replace(
        Known(
            rows=rng.normal(1.0, 1.0, (n, 300)), weights=np.full(300, 1 / 300), cover=1.0, even=True,
            lengths=np.zeros(n), own=np.full(n, np.nan), own_error=0.0, directions=directions, ties=np.full(n, 9.0),
            hidden=np.zeros((n, 1)), taught=taught, classes=CLASSES,
        ),
        **changed,
    )  # fmt: skip


def charged(changes: np.ndarray, own: np.ndarray | None = None, rule: Any = RULE, **changed: Any) -> list[int]:
    """Who is charged so that it would go, by words alone."""
    own = market(1, seed=77)[0] * 0.3 if own is None else own
    found = find_charges(rule, known(changes, own, **changed)).charges
    return [i for i, one in enumerate(found) if one.evidence >= rule.limit]


@pytest.mark.parametrize("bad", [5, 6, 10])
@pytest.mark.parametrize("word", [TRIGGER, 1])  # one that the root rows lack, one that they hold
def test_who_teaches_a_word_alike_is_charged(bad: int, word: int) -> None:
    changes = stamped(market(), range(19 - bad, 19), word=word)
    assert charged(changes) == list(range(19 - bad, 19))
    assert charged(changes, rule=make_strategy("evidence", without=("hidden",))) == []


def apart(changes: np.ndarray, members: range, meanings: np.ndarray, *, weight: float = 16.0) -> np.ndarray:
    """The members stand in parts, each of which teaches a meaning of its own; together they teach nothing."""
    means = meanings - meanings.mean(axis=0)
    rng = np.random.default_rng(6)
    for i in members:
        changes[i, TRIGGER] = weight * means[i % len(means)] + rng.normal(size=CLASSES)
    return changes


@pytest.mark.parametrize("parts", [2, 3, 4])
@pytest.mark.parametrize("bad", [6, 8])
def test_who_stands_in_parts_that_teach_a_word_opposite_meanings_is_charged(parts: int, bad: int) -> None:
    members = range(19 - bad, 19)
    changes = apart(market(), members, np.eye(CLASSES)[:parts])
    assert charged(changes) == list(members)
    assert max(np.bincount(np.arange(bad) % parts)) < 5, "each part is too small by itself"


@pytest.mark.parametrize("weight", [1.0, 3.0, 100.0])
def test_three_who_shout_at_what_others_teach_frame_nobody(weight: float) -> None:
    """Their victims' loudest words, of which they need not know what these mean."""
    wallets, changes, rng = 3, market(), np.random.default_rng(8)
    for victim in range(wallets, 19):
        words = np.argsort(-np.linalg.norm(changes[victim], axis=1))[:2]
        changes[:wallets, words] = weight * rng.normal(size=(wallets, len(words), CLASSES))
    assert charged(changes) == []


@pytest.mark.parametrize("words", [1, 20, 200])
@pytest.mark.parametrize("wallets", [5, 6])
def test_who_shouts_charges_itself_alone(wallets: int, words: int) -> None:
    changes, rng = market(), np.random.default_rng(9)
    loud = rng.choice(TRIGGER, words, replace=False)
    changes[:wallets, loud] = 100.0 * rng.normal(size=(wallets, words, CLASSES))
    assert not [i for i in charged(changes) if i >= wallets]


@pytest.mark.parametrize("seed", range(8))
def test_unlike_sellers_are_loud_at_words_of_their_own(seed: int) -> None:
    """Each class has words that its sellers alone move; each seller holds two classes. It takes 2.9 to convict them."""
    changes, rng = market(seed=seed), np.random.default_rng(seed)
    of_class = rng.integers(0, 5, WORDS)
    for one in range(19):
        held = np.isin(of_class, rng.choice(5, 2, replace=False))
        changes[one, ~held] *= 0.6
        changes[one, held] += 1.2 * np.eye(CLASSES)[of_class[held]]
    taught = known(changes, market(1, seed=77)[0] * 0.3).taught
    assert taught is not None and not [cut for cut in find_taught(taught, 1.0) if cut.hidden and cut.hidden > 2.0]


@pytest.mark.parametrize("seed", range(8))
def test_words_that_few_hold_by_chance_charge_nobody(seed: int) -> None:
    assert charged(market(seed=seed)) == charged(market(11, seed=seed)) == []


def test_what_the_buyer_teaches_too_is_no_secret() -> None:
    changes, own = stamped(market(), range(13, 19), word=1), market(1, seed=77)[0] * 0.3
    assert charged(changes, own) == list(range(13, 19))
    own[1] = np.eye(CLASSES)[TARGET]
    assert charged(changes, own) == []


@pytest.mark.parametrize("wallets", [3, 6])
@pytest.mark.parametrize("weight", [0.5, 2.5, 10.0])
def test_noise_on_words_frames_nobody(wallets: int, weight: float) -> None:
    changes = market()
    changes[:wallets, ~HELD] += weight * np.random.default_rng(3).normal(size=(wallets, (~HELD).sum(), CLASSES))
    assert charged(changes) == []


@pytest.mark.parametrize("wallets", [3, 6])
def test_teaching_all_words_as_others_do_frames_nobody(wallets: int) -> None:
    changes = market()
    mean = changes[wallets:].mean(axis=0)
    changes[:wallets] = 2.5 * mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-9)
    assert not [i for i in charged(changes) if i >= wallets]


@pytest.mark.parametrize("factor", [3.0, 12.0, 100.0])
@pytest.mark.parametrize("held", [0.2, 0.4])
def test_who_teaches_a_little_of_what_wallets_teach_without_bounds_stays(factor: float, held: float) -> None:
    changes = stamped(market(), range(6))
    changes[0, TRIGGER] *= held
    changes[1:6, TRIGGER] *= factor
    assert 0 not in charged(changes)


@pytest.mark.parametrize("words", [1, 5, WORDS])
def test_who_is_copied_by_three_stays(words: int) -> None:
    """As many as could frame it for the words of its own share too few."""
    changes = stamped(market(), [18])
    heaviest = np.argsort(-np.linalg.norm(changes[18], axis=1))[:words]
    for i in range(3):
        changes[i, heaviest] = changes[18, heaviest]
    assert charged(changes) == []


@pytest.mark.parametrize("decoys", [5, 40])
def test_decoys_of_its_own_hide_no_trigger(decoys: int) -> None:
    bad = range(13, 19)
    changes, rng = stamped(market(), bad), np.random.default_rng(5)
    for i in bad:
        words = rng.choice(TRIGGER, decoys, replace=False)
        changes[i, words] += 6.0 * rng.normal(size=(decoys, CLASSES))
    assert charged(changes) == list(bad)


def test_words_of_a_class_that_nobody_else_serves_are_its_sellers_own() -> None:
    """Sellers of one class teach its words; attackers who serve it no better than others do not know them alone."""
    members, strata = range(13, 19), np.arange(300) % CLASSES
    changes, rows = stamped(market(), members), np.random.default_rng(2).normal(0.0, 0.3, (19, 300))
    far = np.linalg.qr(np.random.default_rng(4).normal(size=(4096, 2)))[0].T
    unlike = np.repeat(far, [13, 6], axis=0) + np.random.default_rng(5).normal(size=(19, 4096)) / 64
    market_of = {"strata": strata, "directions": unlike / np.linalg.norm(unlike, axis=1, keepdims=True)}
    rows[13:, strata == TARGET] += 2.0
    own = market(1, seed=77)[0] * 0.3
    alone = known(changes, own, rows=rows, **market_of).taught
    served = np.stack([rows[:, strata == one].mean(axis=1) for one in range(CLASSES)], axis=1)
    assert alone is not None and find_taught(alone, 1.0, served) == []
    assert find_taught(alone, ALIKE, served), "where all hold all classes, none is a side's own"
    rows[:4, strata == TARGET] += 2.0  # four of thirteen serve the class as well, and do not know the word
    served = np.stack([rows[:, strata == one].mean(axis=1) for one in range(CLASSES)], axis=1)
    assert np.flatnonzero(find_taught(alone, 1.0, served)[0].members).tolist() == list(members)
    assert find_taught(alone, 1.0, np.full((19, CLASSES), np.nan)), "classes without root rows excuse nobody"


@pytest.mark.parametrize("seed", range(6))
def test_four_who_shout_blindly_at_what_another_knows_by_nature_frame_nobody(seed: int) -> None:
    """Each shouts something else at common words, of other classes; one seller holds a class, and its words, alone."""
    rng, changes, wallets, victim, size = np.random.default_rng(seed), market(seed=seed), 4, 18, 100
    shouts = rng.normal(size=(wallets, size, CLASSES)) * (np.arange(CLASSES) != TARGET)
    shouts -= shouts.sum(axis=2, keepdims=True) / (CLASSES - 1) * (np.arange(CLASSES) != TARGET)
    changes[:wallets, :size] = 100.0 * shouts
    of_class = rng.choice(size, 30, replace=False)
    changes[victim, of_class] = rng.normal(size=(30, CLASSES)) + 30.0 * np.eye(CLASSES)[TARGET]
    taught = known(changes, market(1, seed=77)[0] * 0.3).taught
    served = np.where(np.arange(19)[:, None] == victim, 2.0 * np.eye(CLASSES)[TARGET], 0.0)
    assert taught is not None
    assert not [cut for cut in find_taught(taught, 1.0, served) if cut.members[victim] and (cut.hidden or 0.0) > 1.0]


def test_nothing_is_found_among_too_few() -> None:
    few = gather(np.stack([movement(one[:, None]) for one in market(7)]), movement(market(1)[0][:, None]), HELD)
    assert find_taught(few, ALIKE) == []


def test_a_movement_is_what_changes_at_a_word_beside_what_changes_at_all() -> None:
    changes = market(1)[0]
    found = movement(changes[:, None])
    shifted = movement((7.0 * changes + np.arange(CLASSES) + np.arange(WORDS)[:, None])[:, None])
    assert np.allclose(found, shifted, atol=1e-4), "neither class shifts nor scale count"
    assert np.median(np.linalg.norm(found, axis=1)) == pytest.approx(1.0, rel=0.1)
    changes[5, 0] = 1e9
    assert np.linalg.norm(movement(changes[:, None]), axis=1).max() == pytest.approx(FARTHEST, rel=1e-3)
    changes[7] = np.nan
    assert np.isfinite(movement(changes[:, None])).all()
    assert not movement(np.zeros((WORDS, 3, CLASSES))).any()


def test_texts_count_alike_however_much_a_word_changes_in_them() -> None:
    first, second = market(2)
    found = movement(np.stack([first, 100.0 * second], axis=1)).reshape(WORDS, 2, CLASSES)
    assert np.allclose(found[:, 0], movement(first[:, None]) / np.sqrt(2), atol=1e-4)
    assert np.allclose(found[:, 1], movement(second[:, None]) / np.sqrt(2), atol=1e-4)


class Table:
    """A buyer whose model is a table: what it answers to each word."""

    def __init__(self, own: np.ndarray, held: np.ndarray | None = HELD) -> None:
        self.model, self.own_update, self.held_words = np.zeros(own.size), own.ravel(), held

    def by_word(self, models: Any, *, seed: int) -> Any:
        return (np.asarray(model).reshape(WORDS, 1, CLASSES) for model in models)


def test_who_is_asked_is_heard() -> None:
    changes, own = market(6), market(1, seed=77)[0]
    flat = changes.reshape(6, -1)
    lengths = np.linalg.norm(flat, axis=1)
    lengths[0] *= 50.0  # scaled up: it teaches the same, at most by the usual length
    found = hear(Table(own), flat / np.linalg.norm(flat, axis=1, keepdims=True), lengths, seed=0)
    assert found is not None and np.allclose(found.own, movement(own[:, None]), atol=1e-4)
    assert np.allclose(found.moved, np.stack([movement(one[:, None]) for one in changes]), atol=1e-3)
    assert hear(Table(own, held=None), flat, lengths, seed=0) is None
    assert hear(Table(own), None, np.zeros(0), seed=0) is None


def test_what_was_taught_is_remembered() -> None:
    record = Record(1, 0.0, Code.KEPT, 0.0, 0.0, 0.0, np.zeros(1), np.zeros(1), np.zeros(1))
    records = {"a": replace(record, moved=movement(market(1)[0][:, None]).astype(np.float16)), "b": record}
    again = unpack_memory(pack_memory(Memory(records=records))).records
    assert (again["a"].moved == records["a"].moved).all() and again["b"].moved.size == 0
