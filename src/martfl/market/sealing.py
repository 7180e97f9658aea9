"""Deliveries sealed to the acquirer: X25519 with a fresh key, HKDF-SHA256, ChaCha20-Poly1305.

    sealed = sender's fresh public key (32) ‖ ciphertext and tag;   the context is authenticated with it
The key pair is one epoch's, so that a stolen journal of a later epoch opens no earlier delivery.
"""

from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from martfl.market.errors import MessageError

KEY_BYTES = 32
OVERHEAD = KEY_BYTES + 16
_NONCE = bytes(12)  # every key seals one message only


@dataclass(frozen=True)
class SealingKey:
    """The acquirer's key pair for one epoch."""

    secret: bytes = field(repr=False)

    @classmethod
    def generate(cls) -> "SealingKey":
        """A fresh pair."""
        return cls(X25519PrivateKey.generate().private_bytes_raw())

    @property
    def public(self) -> bytes:
        """What providers seal to."""
        return X25519PrivateKey.from_private_bytes(self.secret).public_key().public_bytes_raw()

    def open(self, sealed: bytes, *, context: bytes) -> bytes:
        """What was sealed to this key in this context."""
        if len(sealed) < OVERHEAD:
            raise MessageError(f"a sealed delivery has at least {OVERHEAD} bytes, got {len(sealed)}")
        sender = sealed[:KEY_BYTES]
        try:
            shared = X25519PrivateKey.from_private_bytes(self.secret).exchange(
                X25519PublicKey.from_public_bytes(sender)
            )
            return ChaCha20Poly1305(_derive(shared, sender + self.public)).decrypt(_NONCE, sealed[KEY_BYTES:], context)
        except (InvalidTag, ValueError) as error:
            raise MessageError("the delivery cannot be opened with this epoch's key") from error


def seal(data: bytes, *, to: bytes, context: bytes) -> bytes:
    """Bytes that only the holder of the key behind `to` can read."""
    if len(to) != KEY_BYTES:
        raise MessageError(f"a public key has {KEY_BYTES} bytes, got {len(to)}")
    mine = X25519PrivateKey.generate()
    public = mine.public_key().public_bytes_raw()
    try:
        shared = mine.exchange(X25519PublicKey.from_public_bytes(to))
    except ValueError as error:  # a point of small order
        raise MessageError("the public key is not usable") from error
    return public + ChaCha20Poly1305(_derive(shared, public + to)).encrypt(_NONCE, data, context)


def _derive(shared: bytes, publics: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=publics, info=b"martfl delivery v1").derive(shared)
