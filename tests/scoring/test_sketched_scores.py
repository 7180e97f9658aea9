"""Scores over sketches, through the whole exchange: laws, the check after delivery, and who tries to cheat."""

import math

import numpy as np
import pytest

from martfl.scoring import SCORE_ERROR, ScoreMessageError, Sketch, UpdateError, check_score, cosine, score_error, scorer

SEED, M, K = bytes(range(32)), 30_000, 4096


@pytest.fixture(scope="module", params=["ckks", "plain"])
def scheme(request):
    return scorer(request.param, sketch=Sketch(SEED, K))


@pytest.fixture(scope="module")
def integers():
    """`integers(seed)`: an update as it is committed, sixteen bits a parameter."""
    return lambda seed: np.random.default_rng(seed).integers(-(2**15) + 1, 2**15, M).astype(np.int16)


def ask(scheme, g, u):
    key = scheme.generate()
    return key.decrypt_score(scheme.score(key.encrypt_baseline(g), u), parameters=len(u))


def mixed(g, other, target):
    return target * g / np.linalg.norm(g) + math.sqrt(1 - target**2) * other / np.linalg.norm(other)


@pytest.mark.parametrize("target", [-1.0, -0.4, 0.0, 0.2, 0.9, 1.0])
def test_a_score_is_the_cosine_of_the_sketches_and_near_that_of_the_vectors(scheme, normal, target):
    g = normal(M, 0)
    u = mixed(g, normal(M, 1), target)
    score = ask(scheme, g, u)
    assert score == pytest.approx(cosine(g, u, sketch=scheme.sketch), abs=SCORE_ERROR)
    assert score == pytest.approx(cosine(g, u), abs=5 * scheme.error.deviation)


@pytest.mark.parametrize("entries", [1, 7, 2047, 2048, 2049, 5000])
def test_any_number_of_entries(normal, entries):
    scheme = scorer("ckks", sketch=Sketch(SEED, entries))
    g, u = normal(9000, 0), normal(9000, 0) + normal(9000, 1)
    assert ask(scheme, g, u) == pytest.approx(cosine(g, u, sketch=scheme.sketch), abs=SCORE_ERROR)


def test_ones_own_score_is_never_refused(normal):
    """A rounded sketch may be a little longer than its unit; a score beyond 1 by that much is 1."""
    g = normal(M, 0)
    for i in range(20):
        scheme = scorer("ckks", sketch=Sketch(bytes([i]) * 32, 2048))
        assert 1.0 - 1e-3 < ask(scheme, g, g) <= 1.0


def test_chunks_of_integers_and_chunks_of_floats(scheme, normal, integers):
    g, u = normal(M, 0), integers(1)
    key = scheme.generate()
    message = key.encrypt_baseline(iter(np.array_split(g, 7)))
    reply = scheme.score(message, iter(np.array_split(u, 11)))
    score = key.decrypt_score(reply, parameters=M)
    assert score == pytest.approx(cosine(g, u, sketch=scheme.sketch), abs=SCORE_ERROR)
    assert scheme.check(score, iter(np.array_split(g, 3)), iter(np.array_split(u, 2)))


def test_the_check_has_no_sketch_error_in_it(scheme, normal, integers):
    g, u = normal(M, 0), integers(1)
    score = ask(scheme, g, u)
    found = scheme.check(score, g, u)
    assert found
    assert abs(found.expected - cosine(g, u)) > 10 * abs(found.reported - found.expected)
    assert not check_score(score, g, u)  # held against whole vectors, an honest score would look forged


def test_copies_get_the_same_score(scheme, normal, integers):
    g, u = normal(M, 0), integers(1)
    key = scheme.generate()
    message = key.encrypt_baseline(g)
    scores = [key.decrypt_score(scheme.score(message, u)) for _ in range(6)]
    assert np.ptp(scores) <= 2 * scheme.error.noise


def test_the_same_integers_at_another_scale_pass_the_check(scheme, normal, integers):
    """Who recomputes from dequantised numbers sees the same, up to float64."""
    g, u = normal(M, 0), integers(1)
    assert scheme.check(ask(scheme, g, u), g, u * 3.0e-5)


def test_a_restored_key_reads_replies_to_the_original(scheme, normal):
    key, g, u = scheme.generate(), normal(M, 0), normal(M, 1)
    reply = scheme.score(key.encrypt_baseline(g), u)
    assert scheme.restore(key.to_bytes()).decrypt_score(reply) == key.decrypt_score(reply)


def test_another_seed_another_size_and_no_sketch_at_all_are_named(scheme, normal):
    """A provider answers under the seed that it read from the chain itself, and no other."""
    g = normal(M, 0)
    key = scheme.generate()
    message = key.encrypt_baseline(g)
    reply = scheme.score(message, g)
    elsewhere = scorer(scheme.name, sketch=Sketch(bytes(32), K))
    smaller = scorer(scheme.name, sketch=Sketch(SEED, K // 2))
    with pytest.raises(ScoreMessageError, match=f"seed must be {bytes(32).hex()}, got {SEED.hex()}"):
        elsewhere.score(message, g)
    with pytest.raises(ScoreMessageError, match="entries must be 2048, got 4096"):
        smaller.score(message, g)
    with pytest.raises(ScoreMessageError, match="entries must be 0, got 4096"):
        scorer(scheme.name).score(message, g)
    with pytest.raises(ScoreMessageError, match="seed must be"):
        elsewhere.restore(key.to_bytes())
    with pytest.raises(ScoreMessageError, match="length must be 29999, got 30000"):
        scheme.score(message, g[1:])
    with pytest.raises(ScoreMessageError, match="length must be 29999, got 30000"):
        key.decrypt_score(reply, parameters=M - 1)


def test_lengths_must_match(scheme):
    with pytest.raises(UpdateError, match="same length, got 3 and 2"):
        cosine([1, 2, 3], [1, 2], sketch=scheme.sketch)
    assert scheme.check(0.0, [1.0, 2.0, 3.0], [1.0, 2.0]).expected is None


# --- degenerate --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ckks", "plain"])
def test_an_all_zero_sketch_is_answered_with_zero_and_passes_the_check(name):
    u, g = np.array([1.0, 0.0, 0.0, 0.0, 1.0]), np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    seeds = (i.to_bytes(32, "big") for i in range(1000))
    sketch = next(s for s in (Sketch(seed, 4) for seed in seeds) if not s.project(u)[0].any())
    scheme = scorer(name, sketch=sketch)
    for baseline, update in ((g, u), (u, g), (u, u)):
        score = ask(scheme, baseline, update)
        assert score == pytest.approx(0.0, abs=SCORE_ERROR)
        assert scheme.check(score, baseline, update)
        assert not scheme.check(0.3, baseline, update)


def test_a_zero_update_has_no_score_at_all(scheme, normal):
    g = normal(M, 0)
    with pytest.raises(UpdateError, match="non-zero entry"):
        scheme.score(scheme.generate().encrypt_baseline(g), np.zeros(M))
    assert not scheme.check(0.0, g, np.zeros(M))


# --- who cheats --------------------------------------------------------------------------------------------------


def test_scoring_one_update_and_delivering_another_is_caught(scheme, normal, integers):
    g, u = normal(M, 0), integers(1)
    polished = u + 0.01 * np.linalg.norm(u) / np.linalg.norm(g) * g
    reported = ask(scheme, g, polished)
    assert not scheme.check(reported, g, u)
    assert scheme.check(reported, g, polished)


def test_a_score_a_little_better_than_ones_own_is_caught(scheme, normal, integers):
    g, u = normal(M, 0), integers(1)
    honest = cosine(g, u, sketch=scheme.sketch)
    for gain in (1e-4, 1e-3, 0.05):
        assert not scheme.check(honest + gain, g, u)


def shaped(sketch, g):
    """The shortest vector with the sketch of g, for who knows the seed: Sᵀ·S·g / load."""
    target, position = sketch.project(g)[0], np.empty(sketch.entries, np.intp)
    position[sketch.order] = np.arange(sketch.entries)
    found = np.empty(-(-g.size // sketch.entries) * sketch.entries)
    for index, block in enumerate(found.reshape(-1, sketch.entries)):
        shift, signs = sketch.block(index)
        block[:] = (signs * np.roll(target, -shift))[position]
    return found[: g.size]


def test_only_who_knows_the_seed_before_it_commits_can_shape_an_update_to_it(normal):
    """Why the seed comes from a block after the commitments: before it, an update is as good as it scores."""
    entries = 2048
    g = normal(20 * entries, 0)
    known, fresh = Sketch(SEED, entries), Sketch(bytes(32), entries)
    update = shaped(known, g)
    truth = cosine(g, update)
    assert truth == pytest.approx(1 / math.sqrt(20), abs=0.02)
    assert cosine(g, update, sketch=known) > 0.99
    assert cosine(g, update, sketch=fresh) == pytest.approx(truth, abs=5 * score_error(entries).deviation)


def test_trying_many_updates_without_the_seed_gains_no_more_than_luck(normal):
    """A seller that could try a thousand seeds would gain what the largest of a thousand errors is: 3.2 sigma."""
    entries = 1024
    g, u = normal(8192, 0), normal(8192, 1)
    errors = [cosine(g, u, sketch=Sketch(i.to_bytes(32, "big"), entries)) - cosine(g, u) for i in range(1000)]
    assert max(errors) < math.sqrt(2 * math.log(1000)) * 1.3 * score_error(entries).deviation


def test_the_least_mixed_functional_still_mixes_every_block(normal):
    """Whatever a buyer asks of a sketch, a coordinate weighs at most 1/√load of it."""
    sketch, blocks = Sketch(SEED, 64), 12
    matrix = np.stack([sketch.project(row)[0] for row in np.eye(64 * blocks)], axis=1)  # [K, m], up to powers of two
    matrix = np.sign(matrix)
    loads = np.abs(matrix).sum(axis=1)
    assert set(loads) == {blocks}
    v = np.random.default_rng(0).standard_normal((200, 64))
    functionals = np.concatenate([v, np.eye(64)]) @ matrix  # [264, m]
    shares = np.abs(functionals).max(axis=1) / np.linalg.norm(functionals, axis=1)
    assert shares.max() <= 1 / math.sqrt(blocks) + 1e-12
