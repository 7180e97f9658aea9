"""What was delivered: copies are told from near copies, and what has no direction is left out."""

import numpy as np
import pytest

from martfl.selection.basket import unpack_basket


@pytest.mark.parametrize("seed", range(6))
def test_copies_of_large_models_are_found_whatever_the_sketch_is(seed) -> None:
    """A sketch keeps a cosine to a hundredth, which does not tell 1 from 0.99."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=40_000)
    delivered = dict(enumerate(common + rng.normal(size=(5, 40_000))))
    copied = unpack_basket({**delivered, 5: 3.0 * delivered[1]}, common, seed=seed, size=16_384)
    assert copied.copies.tolist() == [False] * 5 + [True]
    near = 0.993 * delivered[1] + 0.06 * rng.normal(size=40_000) * np.sqrt(2.0)
    assert not unpack_basket({**delivered, 5: near}, common, seed=seed, size=16_384).copies.any()


@pytest.mark.parametrize("scale", [1e-33, 1e-39, 1e-42])
def test_an_update_too_short_to_have_a_direction_is_left_out(scale) -> None:
    rows = np.random.default_rng(0).normal(size=(9, 500))
    given = {i: row.astype(np.float32) for i, row in enumerate(rows[:8])}
    given[3] = (rows[3] * scale).astype(np.float32)
    found = unpack_basket(given, rows[8].astype(np.float32), seed=1, size=5000)
    assert 3 not in found.places and np.isfinite(found.sketches).all() and np.isfinite(found.hidden).all()
