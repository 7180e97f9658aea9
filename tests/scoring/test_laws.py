"""Laws of a score, over the scorer in the clear and the private one alike."""

import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from martfl.scoring import SCORE_ERROR, ScoreMessageError, ScoringError, cosine, scorer

SIZES = [1, 2, 3, 2047, 2048, 2049, 4095, 4096, 4097, 9000]
LAW = settings(max_examples=25)


@pytest.fixture(scope="module")
def ask(scheme):
    """The whole exchange: `ask(baseline, update)` is the score that the acquirer reads."""
    key = scheme.generate()
    return lambda g, u: key.decrypt_score(scheme.score(key.encrypt_baseline(g), u), parameters=len(u))


@pytest.mark.parametrize("m", SIZES)
def test_cosine_of_itself_is_one_and_of_its_negative_minus_one(ask, normal, m):
    g = normal(m, 1)
    assert ask(g, g) == pytest.approx(1.0, abs=SCORE_ERROR)
    assert ask(g, -g) == pytest.approx(-1.0, abs=SCORE_ERROR)


@pytest.mark.parametrize("m", SIZES)
def test_agrees_with_the_exact_cosine(ask, normal, m):
    for seed in range(5):
        g = normal(m, seed)
        u = normal(m, 100 + seed) + (seed - 1) * g
        assert ask(g, u) == pytest.approx(cosine(g, u), abs=SCORE_ERROR)


@LAW
@given(st.integers(0, 2**32), st.integers(1, 5000), st.integers(-300, 300), st.integers(-300, 300))
def test_scale_does_not_matter(ask, seed, m, first, second):
    g, u = np.random.default_rng(seed).standard_normal((2, m))
    assert ask(g * 10.0**first, u * 10.0**second) == pytest.approx(cosine(g, u), abs=SCORE_ERROR)


@LAW
@given(st.integers(0, 2**32), st.integers(2, 5000))
def test_orthogonal_vectors_score_zero(ask, seed, m):
    g, u = np.random.default_rng(seed).standard_normal((2, m))
    assert ask(g, u - g * (g @ u) / (g @ g)) == pytest.approx(0.0, abs=SCORE_ERROR)


def test_sparse_heavy_and_concentrated_vectors(ask):
    spike, flat, sparse = np.zeros(20_000), np.ones(20_000), np.zeros(20_000)
    spike[5000], sparse[::4096] = -7.0, 1.0  # whole chunks of the spike are zero
    heavy = np.random.default_rng(0).standard_cauchy(20_000)
    for g in (spike, flat, sparse, heavy):
        for u in (spike, flat, sparse, heavy):
            assert ask(g, u) == pytest.approx(cosine(g, u), abs=SCORE_ERROR)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.uint16, np.longdouble])
def test_any_real_dtype(ask, dtype):
    g, u = np.arange(1, 50).astype(dtype), np.arange(50, 1, -1).astype(dtype)
    assert ask(g, u) == pytest.approx(cosine(g, u), abs=SCORE_ERROR)


def test_streams_through_generators_and_files(scheme, normal, tmp_path):
    key, g = scheme.generate(), normal(10_000, 3)
    with (tmp_path / "baseline").open("wb") as file:
        written = key.write_baseline(g, file)
    assert written == (tmp_path / "baseline").stat().st_size
    with (tmp_path / "baseline").open("rb") as file:
        replies = [scheme.score(file, g)]
    whole = b"".join(key.encrypt_chunks(g))
    replies.append(scheme.score(key.encrypt_chunks(g), g))
    replies.append(scheme.score((whole[i : i + 999] for i in range(0, len(whole), 999)), g))
    replies.append(scheme.score(memoryview(whole), g))
    replies.append(scheme.score(memoryview(np.repeat(np.frombuffer(whole, np.uint8), 2))[::2], g))  # with gaps
    for reply in replies:
        assert key.decrypt_score(io.BytesIO(reply)) == pytest.approx(1.0, abs=SCORE_ERROR)


def test_one_encryption_serves_all_providers_at_once(scheme, normal):
    key, g = scheme.generate(), normal(5000, 0)
    message, updates = key.encrypt_baseline(g), [normal(5000, i) + g for i in range(1, 13)]
    with ThreadPoolExecutor(4) as pool:
        scores = list(pool.map(lambda u: key.decrypt_score(scheme.score(message, u)), updates))
    assert scores == pytest.approx([cosine(g, u) for u in updates], abs=SCORE_ERROR)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts descriptors where Linux shows them")
def test_threads_leave_no_open_files(scheme, normal):
    key, g = scheme.generate(), normal(5000, 0)
    message = key.encrypt_baseline(g)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        with ThreadPoolExecutor(1) as pool:
            pool.submit(scheme.score, message, g).result()
    assert len(list(Path("/proc/self/fd").iterdir())) < before + 10


def test_works_where_the_system_has_no_anonymous_files(ask, normal, monkeypatch):
    monkeypatch.delattr("os.memfd_create", raising=False)
    g = normal(5000, 0)
    assert ask(g, g) == pytest.approx(1.0, abs=SCORE_ERROR)


def test_a_restored_key_reads_replies_to_the_original(scheme, normal):
    key, g, u = scheme.generate(), normal(300, 0), normal(300, 1)
    reply = scheme.score(key.encrypt_baseline(g), u)
    restored = scheme.restore(key.to_bytes())
    assert restored.fingerprint == key.fingerprint
    assert restored.decrypt_score(reply) == key.decrypt_score(reply)
    again = restored.decrypt_score(scheme.score(restored.encrypt_baseline(g), u))
    assert again == pytest.approx(cosine(g, u), abs=SCORE_ERROR)


def test_another_key_another_length_and_another_kind_are_named(scheme, normal):
    key, other, g = scheme.generate(), scheme.generate(), normal(300, 0)
    message = key.encrypt_baseline(g)
    reply = scheme.score(message, g)
    with pytest.raises(ScoreMessageError, match=f"fingerprint must be {other.fingerprint.hex()}, got"):
        other.decrypt_score(reply)
    with pytest.raises(ScoreMessageError, match="length must be 301, got 300"):
        key.decrypt_score(reply, parameters=301)
    with pytest.raises(ScoreMessageError, match="length must be 299, got 300"):
        scheme.score(message, g[:299])
    with pytest.raises(ScoreMessageError, match="kind must be baseline, got reply"):
        scheme.score(reply, g)
    with pytest.raises(ScoreMessageError, match="kind must be reply, got baseline"):
        key.decrypt_score(message)
    with pytest.raises(ScoreMessageError, match="kind must be secret, got reply"):
        scheme.restore(reply)


def test_schemes_refuse_each_other(normal):
    plain, ckks, g = scorer("plain"), scorer("ckks"), normal(10, 0)
    with pytest.raises(ScoreMessageError, match="scheme must be ckks, got plain"):
        ckks.score(plain.generate().encrypt_baseline(g), g)
    with pytest.raises(ScoreMessageError, match="scheme must be plain, got ckks"):
        plain.score(ckks.generate().encrypt_baseline(g), g)
    with pytest.raises(ScoringError, match="must be ckks or plain, got 'bfv'"):
        scorer("bfv")
