"""Keys of a few sizes and random vectors in range."""

import numpy as np
import pytest

from martfl.settlement.exact import CommitmentKey, Generators, SlotLayout

LAYOUTS = {
    "default": SlotLayout(),
    "dense": SlotLayout(bits=8, epochs=3, initial_bound=1000),
    "wide": SlotLayout(bits=24, epochs=100_000, initial_bound=1 << 50),
}


@pytest.fixture(scope="session")
def generators():
    return Generators.load(512)


@pytest.fixture(scope="session", params=LAYOUTS)
def any_key(request, generators):
    """A key of 50 parameters under each layout."""
    return CommitmentKey(layout=LAYOUTS[request.param], parameters=50, generators=generators)


@pytest.fixture(scope="session")
def key(generators):
    """A key of 100 parameters under the default layout."""
    return CommitmentKey(layout=SlotLayout(), parameters=100, generators=generators)


@pytest.fixture(scope="session")
def draw_update():
    """A random update in range for a key."""

    def draw(key, seed):
        bound = key.layout.update_bound
        dtype = np.int16 if key.layout.bits <= 16 else np.int32
        return np.random.default_rng(seed).integers(-bound, bound, key.parameters, endpoint=True).astype(dtype)

    return draw
