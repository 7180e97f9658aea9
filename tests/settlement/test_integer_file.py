"""Integer files: exact round trips, size, and every kind of damage refused."""

from io import BytesIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from martfl.settlement import SettlementError
from martfl.settlement.errors import FileError
from martfl.settlement.integer_file import HEADER_BYTES, IntegerVector, content_hash, from_bytes, read, to_bytes, write


def vector(values, kind="update", bits=16, scale=0.25, epoch=3):
    return IntegerVector(kind=kind, values=np.asarray(values), scale=scale, epoch=epoch, bits=bits)


@given(st.integers(2, 64), st.data())
def test_round_trip_at_every_width(bits, data):
    limit = 2 ** (bits - 1)
    values = np.array(data.draw(st.lists(st.integers(-limit, limit - 1), min_size=1, max_size=20)), np.int64)
    back = from_bytes(to_bytes(vector(values, bits=bits)), kind="update", parameters=values.size)
    assert np.array_equal(back.values, values)
    assert (back.scale, back.epoch, back.kind) == (0.25, 3, "update")


def test_more_values_than_one_chunk_stream_through_a_file(tmp_path):
    values = np.random.default_rng(1).integers(-(2**41), 2**41, 600_000)
    with (tmp_path / "model").open("wb") as file:
        digest = write(vector(values, "model", bits=42), file)
    with (tmp_path / "model").open("rb") as file:
        back = read(file, kind="model", parameters=values.size)
    assert np.array_equal(back.values, values)
    assert digest == content_hash(back.__class__(**{**vars(back), "bits": 42}))
    assert (tmp_path / "model").stat().st_size == HEADER_BYTES + 6 * values.size


def test_a_16_bit_update_takes_at_most_2_2_bytes_a_parameter():
    values = np.random.default_rng(1).integers(-32767, 32768, 2000).astype(np.int16)
    assert len(to_bytes(vector(values))) <= 2.2 * values.size


@given(st.integers(0, HEADER_BYTES + 2 * 50 - 1), st.integers(1, 255))
def test_any_changed_byte_gets_some_refusal(position, change):
    data = bytearray(to_bytes(vector(np.arange(50, dtype=np.int16))))
    data[position] ^= change
    with pytest.raises(FileError):
        from_bytes(bytes(data), kind="update", parameters=50)


@given(st.integers(0, HEADER_BYTES + 2 * 50 - 1))
def test_truncation_anywhere_is_refused(size):
    data = to_bytes(vector(np.arange(50, dtype=np.int16)))
    with pytest.raises(FileError, match=r"header of 64 bytes expected|the file ends in value"):
        from_bytes(data[:size], kind="update", parameters=50)


def test_other_kind_other_size_and_trailing_bytes_are_refused():
    data = to_bytes(vector(np.arange(5, dtype=np.int16)))
    with pytest.raises(FileError, match="kind 'model'"):
        from_bytes(data, kind="model", parameters=5)
    with pytest.raises(FileError, match="6 parameters expected, the file has 5"):
        from_bytes(data, kind="update", parameters=6)
    with pytest.raises(FileError, match="goes on after"):
        read(BytesIO(data + b"\0"), kind="update", parameters=5)


@pytest.mark.parametrize(
    "settings",
    [
        {"values": [40_000]},
        {"values": [0.5]},
        {"values": [[1]]},
        {"values": np.array([], np.int16)},
        {"values": [1], "scale": np.inf},
        {"values": [1], "epoch": -1},
        {"values": [1], "kind": "other"},
        {"values": [1], "bits": 65},
    ],
)
def test_bad_vectors_are_refused(settings):
    with pytest.raises(SettlementError, match=r"values lie in|one flat vector|epoch|scale|kind"):
        vector(**settings)
