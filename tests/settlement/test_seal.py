"""What both kinds of sealed updates share."""

import pytest

from martfl.settlement import SettlementError
from martfl.settlement.keccak import keccak
from martfl.settlement.seal import new_secret, seal_digest


def test_the_seal_binds_root_and_key():
    root, secret = b"r" * 32, b"k" * 32
    assert seal_digest(root, secret) == keccak(root + keccak(secret))


def test_secrets_are_fresh():
    assert len({new_secret() for _ in range(100)}) == 100
    assert len(new_secret()) == 32


def test_other_lengths_are_refused_without_showing_them():
    with pytest.raises(SettlementError, match="secret key has 32 bytes, got 31") as error:
        seal_digest(bytes(32), b"k" * 31)
    assert "kkk" not in str(error.value)
    with pytest.raises(SettlementError, match="root has 32 bytes, got 33"):
        seal_digest(bytes(33), bytes(32))
