"""Kept for importers of the old place: `martfl.settlement.keccak` is the new one."""

from martfl.settlement.keccak import keccak, word

__all__ = ["keccak", "word"]
