"""Ethereum's keccak-256, by the fastest implementation that is installed (trees hash many short strings)."""

from collections.abc import Callable

Keccak = Callable[[bytes], bytes]


def _fastest() -> Keccak:
    try:
        from sha3 import keccak_256  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        from eth_hash.auto import keccak

        return keccak

    def digest(data: bytes) -> bytes:
        result: bytes = keccak_256(data).digest()
        return result

    return digest


keccak: Keccak = _fastest()


def word(value: int) -> bytes:
    """A 32-byte big-endian word, as the EVM holds an integer."""
    return value.to_bytes(32, "big")
