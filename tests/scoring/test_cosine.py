"""The exact cosine, the check after delivery, and what can be imported without TenSEAL."""

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from martfl.scoring import CHEAT_TOLERANCE, SCORE_ERROR, ScoringKey, UpdateError, check_score, cosine
from martfl.scoring import score_under_encryption as answer

finite = st.floats(-1e300, 1e300, allow_subnormal=False).map(lambda x: 0.0 if abs(x) < 1e-300 else x)
vectors = st.integers(1, 20).flatmap(lambda m: arrays(float, (2, m), elements=finite))


@given(vectors)
def test_matches_exact_arithmetic(pair):
    g, u = ([Fraction(float(x)) for x in vector] for vector in pair)
    squares = sum(x * x for x in g), sum(x * x for x in u)
    if 0 in squares:
        with pytest.raises(UpdateError, match="non-zero entry"):
            cosine(*pair)
        return
    dot = sum(x * y for x, y in zip(g, u, strict=True))
    exact = math.sqrt(dot * dot / (squares[0] * squares[1])) * (-1 if dot < 0 else 1)
    assert cosine(*pair) == pytest.approx(exact, abs=1e-12)


def test_long_vectors_are_summed_across_blocks(normal):
    g, u = normal(700_001, 0), normal(700_001, 1)
    assert cosine(g, u) == pytest.approx(float(g @ u / np.linalg.norm(g) / np.linalg.norm(u)), abs=1e-14)


def test_lengths_must_match():
    with pytest.raises(UpdateError, match="same length, got 3 and 2"):
        cosine([1, 2, 3], [1, 2])


def test_an_honest_reply_passes_the_check(key, normal):
    g, u = normal(5000, 0), normal(5000, 1)
    found = check_score(key.decrypt_score(answer(key.encrypt_baseline(g), u)), g, u)
    assert found and found.honest
    assert found.expected == cosine(g, u)


def test_scoring_one_update_and_delivering_another_is_caught(key, normal):
    g, u = normal(5000, 0), normal(5000, 1)
    polished = u + 0.05 * np.linalg.norm(u) / np.linalg.norm(g) * g  # a slightly better update for the scoring only
    reported = key.decrypt_score(answer(key.encrypt_baseline(g), polished))
    assert not check_score(reported, g, u)
    assert check_score(reported, g, polished)


def test_the_tolerance_is_the_border():
    g, u = [1.0, 0.0], [1.0, 1.0]
    honest = math.sqrt(0.5)
    assert SCORE_ERROR < CHEAT_TOLERANCE
    assert check_score(honest + 0.9 * CHEAT_TOLERANCE, g, u)
    assert not check_score(honest + 1.1 * CHEAT_TOLERANCE, g, u)
    assert check_score(honest + 0.09, g, u, tolerance=0.1)
    assert check_score(1.0, g, g, tolerance=0.0) and not check_score(0.999, g, g, tolerance=0.0)
    with pytest.raises(UpdateError, match=r"tolerance must lie in \[0, 2\), got nan"):
        check_score(0.0, g, u, tolerance=float("nan"))


@pytest.mark.parametrize("delivered", [[0.0, 0.0], [float("nan"), 1.0], [1.0], []])
def test_a_delivery_without_a_cosine_is_not_honest(delivered):
    found = check_score(0.0, [1.0, 2.0], delivered)
    assert not found
    assert found.expected is None


def test_a_score_that_is_not_a_number_is_not_honest():
    assert not check_score(float("nan"), [1.0, 2.0], [2.0, 1.0])


def test_a_bad_baseline_is_the_callers_own_error():
    with pytest.raises(UpdateError, match="baseline must be finite"):
        check_score(0.0, [1.0, float("inf")], [2.0, 1.0])


def test_the_plain_scorer_does_not_load_tenseal():
    code = (
        "import sys, martfl.scoring, martfl.scoring.plain, martfl.scoring.cosine;"
        "martfl.scoring.scorer('plain').generate().encrypt_baseline([1.0]);"
        "assert not {'tenseal', 'zstandard'} & set(sys.modules);"
        "martfl.scoring.ScoringKey; assert 'tenseal' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_names_of_the_package_are_refused():
    import martfl.scoring

    assert martfl.scoring.ScoringKey is ScoringKey
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = martfl.scoring.Nothing
