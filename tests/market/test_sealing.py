"""Sealed deliveries open with the right key in the right context only."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from martfl.market.errors import MessageError
from martfl.market.sealing import OVERHEAD, SealingKey, seal

KEY = SealingKey.generate()
SEALED = seal(b"an update", to=KEY.public, context=b"market/1/provider")


@given(data=st.binary(max_size=200), context=st.binary(max_size=50))
def test_what_is_sealed_is_opened(data, context):
    sealed = seal(data, to=KEY.public, context=context)
    assert len(sealed) == len(data) + OVERHEAD
    assert KEY.open(sealed, context=context) == data


@given(at=st.integers(0, len(SEALED) - 1), bit=st.integers(0, 7))
def test_no_bit_can_be_changed(at, bit):
    data = bytearray(SEALED)
    data[at] ^= 1 << bit
    # X25519 ignores the last bit of a public key, the key derivation does not.
    with pytest.raises(MessageError, match="cannot be opened"):
        KEY.open(bytes(data), context=b"market/1/provider")


@pytest.mark.parametrize("length", [0, 1, 31, 47, len(SEALED) - 1])
def test_too_short(length):
    with pytest.raises(MessageError, match=r"at least 48 bytes|cannot be opened"):
        KEY.open(SEALED[:length], context=b"market/1/provider")


def test_another_key_or_context():
    with pytest.raises(MessageError, match="cannot be opened"):
        SealingKey.generate().open(SEALED, context=b"market/1/provider")
    with pytest.raises(MessageError, match="cannot be opened"):
        KEY.open(SEALED, context=b"market/2/provider")


def test_two_seals_differ_and_keys_stay_secret():
    assert seal(b"an update", to=KEY.public, context=b"") != seal(b"an update", to=KEY.public, context=b"")
    assert KEY.secret.hex() not in repr(KEY) and str(KEY.secret) not in repr(KEY)


@pytest.mark.parametrize("key", [b"", bytes(31), bytes(32), (1).to_bytes(32, "little")])
def test_unusable_public_keys(key):
    with pytest.raises(MessageError, match="public key"):
        seal(b"an update", to=key, context=b"")
