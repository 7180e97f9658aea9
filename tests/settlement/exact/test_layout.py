"""The layout: widths follow from the bounds, packing is injective in range and is not beyond it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from martfl.settlement import SettlementError
from martfl.settlement.errors import RangeError
from martfl.settlement.exact import ORDER, SlotLayout
from martfl.settlement.exact.packing import combine_packed, slot_columns

layouts = st.builds(
    SlotLayout, bits=st.integers(2, 24), epochs=st.integers(1, 10_000), initial_bound=st.integers(0, 1 << 48)
)


def packed_integer(values, layout):
    """Σ v_l·2^(w·l) mod r, by definition."""
    return sum(int(v) << (layout.width * i) for i, v in enumerate(values)) % ORDER


@given(layouts)
def test_the_slot_holds_the_model_of_the_last_epoch_and_all_slots_fit_the_order(layout):
    worst = layout.initial_bound + layout.epochs * 2**16 * (2 ** (layout.bits - 1) - 1)
    assert layout.model_bound == worst <= 2 ** (layout.width - 1) - 1
    assert worst > 2 ** (layout.width - 2) - 1  # no bit to spare
    assert 2 ** (layout.width * layout.slots) <= 2**254 < ORDER
    assert layout.slots == 6 or layout.width * (layout.slots + 1) > 254  # one more slot would not fit


@given(
    layouts, st.lists(st.integers(-100, 100), min_size=1, max_size=20), st.sampled_from([np.int8, np.int32, np.int64])
)
def test_columns_hold_the_slots_in_order_and_zeros_at_the_end(layout, values, dtype):
    columns = slot_columns(np.array(values, dtype), layout)
    assert columns.shape == (layout.slots, layout.points(len(values)))
    flat = columns.T.ravel().tolist()
    assert flat[: len(values)] == values
    assert not any(flat[len(values) :])


@given(layouts, st.data())
def test_different_vectors_in_range_pack_differently(layout, data):
    bound = layout.model_bound
    slots = st.lists(st.integers(-bound, bound), min_size=layout.slots, max_size=layout.slots)
    one, two = data.draw(slots), data.draw(slots)
    assert (packed_integer(one, layout) == packed_integer(two, layout)) == (one == two)


@given(layouts, st.integers(0, 2))
def test_slots_that_trade_2_to_the_w_against_1_pack_alike_and_are_out_of_range(layout, slot):
    values = np.zeros(layout.slots, np.int64)
    traded = values.copy()
    slot = min(slot, layout.slots - 2)
    traded[slot] += 1 << layout.width
    traded[slot + 1] -= 1
    assert packed_integer(values, layout) == packed_integer(traded, layout)
    with pytest.raises(RangeError, match="every value must satisfy"):
        layout.check_model(traded)


@given(layouts, st.integers(1, 30), st.integers(1, 40), st.integers(0, 2**32))
def test_the_random_combination_is_exact(layout, providers, size, seed):
    rng = np.random.default_rng(seed)
    bound = layout.update_bound
    updates = [rng.choice([-bound, bound, 1], size).astype(np.int32) for _ in range(providers)]
    challenges = [int.from_bytes(rng.bytes(16), "little") for _ in updates]
    total = sum(c * u.astype(object) for c, u in zip(challenges, updates, strict=True))
    groups = [total[at : at + layout.slots] for at in range(0, size, layout.slots)]
    got = [int.from_bytes(row, "little") for row in combine_packed(updates, challenges, layout, 128)]
    assert got == [packed_integer(group, layout) for group in groups]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array([0, 32768], np.int32), "value 1 is 32768"),
        (np.array([-32768, 0], np.int16), "value 0 is -32768"),
        (np.array([0.0]), "signed integers"),
        (np.array([], np.int16), "signed integers"),
        (np.zeros((2, 2), np.int16), "signed integers"),
        (np.zeros(3, np.int16), "2 parameters expected, got 3"),
    ],
)
def test_updates_out_of_range_or_shape_are_refused(values, message):
    with pytest.raises(SettlementError, match=message):
        SlotLayout().check_update(values, parameters=2)


def test_the_most_negative_machine_integer_is_out_of_range():
    with pytest.raises(RangeError, match="every value must satisfy"):
        SlotLayout().check_model(np.array([np.iinfo(np.int64).min]))


@pytest.mark.parametrize(
    "terms", [{"bits": 1}, {"bits": 33}, {"epochs": 0}, {"initial_bound": -1}, {"initial_bound": 1 << 62}]
)
def test_terms_without_a_proven_bound_are_refused(terms):
    with pytest.raises(SettlementError, match=r"bit width lies in|epochs ≥ 1|bound must stay below"):
        SlotLayout(**terms)
