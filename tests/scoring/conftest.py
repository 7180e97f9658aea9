"""Keys and vectors that the tests of private scoring share."""

import hashlib
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from martfl.scoring import Scorer, ScoringKey, scorer
from martfl.scoring.wire import DIGEST_BYTES


@pytest.fixture(scope="session")
def key() -> ScoringKey:
    return ScoringKey.generate()


@pytest.fixture(scope="session", params=["ckks", "plain"])
def scheme(request: pytest.FixtureRequest) -> Scorer:
    return scorer(request.param)


@pytest.fixture(scope="session")
def normal() -> Callable[[int, int], NDArray[np.float64]]:
    """`normal(m, seed)`: m Gaussian numbers."""
    return lambda m, seed: np.random.default_rng(seed).standard_normal(m)


@pytest.fixture(scope="session")
def reseal() -> Callable[[bytes], bytes]:
    """Give a tampered message a digest that fits: what a liar does, and damage does not."""

    def fitted(message: bytes) -> bytes:
        body = message[:-DIGEST_BYTES]
        return body + hashlib.sha256(body).digest()

    return fitted
