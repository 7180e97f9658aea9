"""What the sealed updates of both schemes have in common: one secret key K, drawn afresh for every update.

    seal = keccak(root ‖ keccak(K))          root: of the tree over the sealed leaves

Sealing is a one-time pad from K: whoever seals two different updates under one K shows their difference.
"""

import secrets

from martfl.settlement.errors import SettlementError
from martfl.settlement.keccak import keccak

SECRET_BYTES = 32
DIGEST_BYTES = 32


def new_secret() -> bytes:
    """A fresh K."""
    return secrets.token_bytes(SECRET_BYTES)


def seal_digest(root: bytes, secret: bytes) -> bytes:
    """What a seller commits to beside its vector commitment."""
    return keccak(check_root(root) + keccak(check_secret(secret)))


def check_secret(secret: bytes) -> bytes:
    """K has 32 bytes; its value is never shown."""
    if len(secret) != SECRET_BYTES:
        raise SettlementError(f"a secret key has {SECRET_BYTES} bytes, got {len(secret)}")
    return bytes(secret)


def check_root(root: bytes) -> bytes:
    """A root has 32 bytes."""
    if len(root) != DIGEST_BYTES:
        raise SettlementError(f"a root has {DIGEST_BYTES} bytes, got {len(root)}")
    return bytes(root)
