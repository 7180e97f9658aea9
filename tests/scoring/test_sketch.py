"""The sketch by itself: its definition, its laws, its error, and what it does with odd vectors."""

import hashlib
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from martfl.scoring import ScoringError, Sketch, UpdateError, cosine, score_error, sketch_entries, sketch_seed
from martfl.scoring.sketch import NORM

SEED = bytes(range(32))
LAW = settings(max_examples=40, deadline=None)
integers = arrays(np.int32, st.integers(1, 300), elements=st.integers(-(2**31) + 1, 2**31 - 1))


def slow_sketch(values, sketch):
    """The definition, coordinate by coordinate, in Python's integers."""
    position = {int(coordinate): place for place, coordinate in enumerate(sketch.order)}
    total = [0] * sketch.entries
    for i, value in enumerate(values):
        shift, signs = sketch.block(i // sketch.entries)
        place = position[i % sketch.entries]
        total[(place + shift) % sketch.entries] += int(signs[place]) * int(value)
    return total


def scaled(projection):
    """A projection in units of its largest entry: powers of two aside."""
    values = [Fraction(float(x)) for x in projection]
    top = max(values, key=abs)
    return [x / top for x in values] if top else values


@LAW
@given(integers, st.integers(1, 40))
def test_integers_are_sketched_exactly(values, entries):
    sketch = Sketch(SEED, entries)
    if not values.any():
        with pytest.raises(UpdateError, match="non-zero entry"):
            sketch.project(values)
        return
    found, parameters = sketch.project(values)
    assert parameters == values.size
    slow = slow_sketch(values, sketch)
    top = max(slow, key=abs)
    assert scaled(found) == ([Fraction(x, top) for x in slow] if top else slow)


@LAW
@given(integers, st.integers(1, 40), st.lists(st.integers(1, 60), min_size=1))
def test_chunks_make_no_difference(values, entries, sizes):
    sketch, whole = Sketch(SEED, entries), values.astype(float) + 0.1
    cuts = np.cumsum(sizes)
    parts = np.split(whole, cuts[cuts < whole.size])
    assert np.array_equal(sketch.project(iter(parts))[0], sketch.project(whole)[0])
    assert np.array_equal(sketch.update(iter(parts)).values, sketch.update(whole).values)


def test_every_coordinate_meets_one_of_each_block_and_none_of_its_own():
    sketch = Sketch(SEED, 50)
    places = [np.flatnonzero(sketch.project(row)[0]) for row in np.eye(150)]
    assert all(place.size == 1 for place in places)
    for block in np.array(places).reshape(3, 50):
        assert sorted(block) == list(range(50))


def test_it_is_the_same_on_every_platform():
    """Fixed answers: whoever changes the function breaks every market that is running."""
    sketch = Sketch(SEED, 1000)
    values = (np.arange(5000) * 7919 % 2001 - 1000).astype(np.int16)
    digest = hashlib.sha256(sketch.update(values).values.astype("<i4").tobytes()).hexdigest()
    assert digest == "c4756811d3a8bb85d6fa89666ad4372f7c54353f273afe41d3bdd213eb07634d"
    assert (
        sketch_seed(block_hash=SEED, chain_id=1, market=bytes(20), epoch=3).hex()
        == "3394aa180d9454e1965294fcb2f3a6c390dbcf580dde31ec9ee50c3c838c93cf"
    )


def test_other_seeds_other_sketches(normal):
    u = normal(3000, 0)
    found = {Sketch(bytes([i]) * 32, 500).update(u).values.tobytes() for i in range(10)}
    assert len(found) == 10


# --- error -------------------------------------------------------------------------------------------------------


def heavy(m, seed):
    return np.random.default_rng(seed).standard_t(2.2, m)


def sparse(m, seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(m) * (rng.random(m) < 0.2)


def layered(m, seed):
    """Most of the length in a few short runs, as in a network's small layers."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal(m) * np.where(np.arange(m) % 9000 < 100, 30.0, 1.0)


@pytest.mark.parametrize("shape", [heavy, sparse, layered])
@pytest.mark.parametrize("target", [0.0, 0.3, 0.9])
def test_the_error_is_the_one_that_rules_are_told(shape, target):
    """Over seeds: no bias, and a root mean square within what `score_error` says."""
    m, entries, seeds = 40_000, 4096, 60
    g = shape(m, 1)
    other = shape(m, 2)
    other -= g * (g @ other) / (g @ g)
    u = target * g / np.linalg.norm(g) + math.sqrt(1 - target**2) * other / np.linalg.norm(other)
    sketches = [Sketch(i.to_bytes(32, "big"), entries) for i in range(seeds)]
    errors = np.array([cosine(g, u, sketch=sketch) for sketch in sketches]) - target
    told = score_error(entries).deviation
    assert np.sqrt(np.mean(errors**2)) < 1.3 * told  # 1.3: three sigma of a root mean square over 60
    assert abs(errors.mean()) < 4 * told / math.sqrt(seeds)


def test_the_error_falls_with_entries_and_is_none_without_a_sketch():
    assert score_error(65_536).deviation == pytest.approx(1 / 256, rel=0.01)
    assert score_error(4096).deviation > score_error(65_536).deviation
    assert score_error(0).deviation == 0.0
    assert score_error(0).noise == score_error(65_536).noise > 0


def test_rounding_costs_less_than_a_thirtieth_of_the_sketch(normal):
    g, u = normal(50_000, 0), normal(50_000, 1) + normal(50_000, 0)
    gaps = []
    for i in range(30):
        sketch = Sketch(i.to_bytes(32, "big"), 8192)
        (first, second) = (sketch.project(x)[0] for x in (g, u))
        gaps.append(cosine(g, u, sketch=sketch) - first @ second / np.linalg.norm(first) / np.linalg.norm(second))
    assert np.sqrt(np.mean(np.square(gaps))) < 0.5 / NORM < score_error(65_536).deviation / 30


# --- degenerate --------------------------------------------------------------------------------------------------


def cancelling():
    """A vector that is not zero, and a seed under which its sketch is: two coordinates meet and cancel out."""
    for i in range(10_000):
        sketch = Sketch(i.to_bytes(32, "big"), 4)
        u = np.array([1.0, 0.0, 0.0, 0.0, 1.0])
        if not sketch.project(u)[0].any():
            return sketch, u
    raise AssertionError("one seed in eight should do")


def test_an_all_zero_sketch_scores_nothing_with_everybody():
    sketch, u = cancelling()
    for other in ([1.0, 2.0, 3.0, 4.0, 5.0], u, -u):
        assert cosine(u, other, sketch=sketch) == 0.0
        assert cosine(other, u, sketch=sketch) == 0.0


def test_a_single_huge_entry_keeps_its_score_and_its_neighbours():
    sketch = Sketch(SEED, 64)
    u = np.full(640, 1e-3)
    u[100] = 1e6
    g = np.zeros(640)
    g[100] = 5.0
    assert cosine(g, u, sketch=sketch) == pytest.approx(1.0, abs=1e-3)
    assert cosine(-g, u, sketch=sketch) == pytest.approx(-1.0, abs=1e-3)
    g[100], g[101] = 0.0, 5.0  # of the same block: they never meet
    assert cosine(g, u, sketch=sketch) == pytest.approx(0.0, abs=1e-3)


def test_two_huge_entries_that_meet_look_like_one():
    """What a sketch cannot tell apart; one pair in K."""
    for i in range(10_000):
        sketch = Sketch(i.to_bytes(32, "big"), 16)
        g, u = np.eye(32)[3], np.eye(32)[20]
        if cosine(g, u, sketch=sketch):
            assert abs(cosine(g, u, sketch=sketch)) == pytest.approx(1.0, abs=1e-9)
            return
    raise AssertionError("one seed in sixteen should do")


def test_one_coordinate_or_one_entry():
    assert cosine([3.0], [-2.0], sketch=Sketch(SEED, 1)) == -1.0
    assert cosine([3.0], [2.0], sketch=Sketch(SEED, 1000)) == 1.0
    assert abs(cosine([3.0, 1.0, 2.0], [2.0, -5.0, 1.0], sketch=Sketch(SEED, 1))) == 1.0


@pytest.mark.parametrize("exponent", [-320, -300, 0, 300, 308])
def test_scale_does_not_matter(exponent, normal):
    sketch = Sketch(SEED, 100)
    u, g = normal(1000, 0), normal(1000, 1)
    with np.errstate(under="ignore"):
        tiny = u / np.abs(u).max() * 10.0**exponent
    assert cosine(g, tiny, sketch=sketch) == pytest.approx(cosine(g, u, sketch=sketch), abs=3e-3)


def test_a_later_block_may_be_vastly_larger():
    sketch = Sketch(SEED, 4)
    u = np.array([1e-300] * 4 + [1e300] * 4)
    late = np.array([0.0] * 4 + [1.0] * 4)
    assert cosine(late, u, sketch=sketch) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize(
    ("vector", "text"),
    [
        ([0, 0, 0], "non-zero entry, got 3 zeros"),
        (iter([]), "non-zero entry, got 0 zeros"),
        ([1.0, math.nan], "be finite"),
        (iter([[1.0], [math.inf]]), "be finite"),
        (iter([[1.0], []]), "at least one entry"),
        (iter([[1.0], ["a"]]), "real numbers"),
        ([[1.0, 2.0]], "got shape"),
    ],
)
def test_vectors_without_a_direction_are_refused(vector, text):
    with pytest.raises(UpdateError, match=text):
        Sketch(SEED, 8).update(vector)


def test_chunks_need_a_sketch():
    with pytest.raises(UpdateError, match="in chunks only where it is sketched"):
        cosine([1.0], iter([[1.0]]))


@pytest.mark.parametrize(
    ("seed", "entries", "text"),
    [(b"short", 8, "32 bytes"), (SEED, 0, "1 to 1048576 entries, got 0"), (SEED, 1 << 21, "entries, got 2097152")],
)
def test_bad_sketches_are_refused(seed, entries, text):
    with pytest.raises(ScoringError, match=text):
        Sketch(seed, entries)


# --- seed and term -----------------------------------------------------------------------------------------------

FIELDS = {"block_hash": SEED, "chain_id": 1, "market": bytes(20), "epoch": 3}


def test_every_field_changes_the_seed():
    others = {"block_hash": bytes(32), "chain_id": 2, "market": bytes(19) + b"\1", "epoch": 4}
    seeds = {sketch_seed(**{**FIELDS, name: value}) for name, value in others.items()}
    assert len(seeds | {sketch_seed(**FIELDS)}) == 5


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("block_hash", bytes(31), "block hash must be 32 bytes, got 31"),
        ("market", bytes(32), "address must be 20 bytes, got 32"),
        ("chain_id", -1, "chain id"),
        ("epoch", 1 << 64, "epoch"),
    ],
)
def test_bad_fields_of_a_seed_are_refused(field, value, text):
    with pytest.raises(ScoringError, match=text):
        sketch_seed(**{**FIELDS, field: value})


@pytest.mark.parametrize(
    ("term", "parameters", "entries"),
    [
        (None, 131_072, 0),
        (None, 131_073, 65_536),
        (None, 100_000_000, 65_536),
        (0, 100_000_000, 0),
        (1_024, 2_048, 1_024),
        (16_384, 44_426, 16_384),
        (22_213, 44_426, 22_213),
        (1 << 20, 3_000_000, 1 << 20),
    ],
)
def test_what_a_term_means(term, parameters, entries):
    assert sketch_entries(term, parameters=parameters) == entries


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (-1, "0 (none) or 1024 to 1048576, got -1"),
        (1023, "0 (none) or 1024 to 1048576, got 1023"),
        (1 << 21, "1024 to 1048576, got 2097152"),
        (65_536, "at most half of the model's 44426 parameters, or 0 (none), got 65536"),
        (True, "a whole number, got True"),
        ("auto", "a whole number, got 'auto'"),
    ],
)
def test_bad_terms_are_refused_by_name(term, text):
    with pytest.raises(ScoringError, match=r"scoring\.sketch") as caught:
        sketch_entries(term, parameters=44_426)
    assert text in str(caught.value)
