"""Ways to weigh, and so to pay, bought updates: ours and the published rivals, found by name."""

from __future__ import annotations

from martfl.lab.valuers.base import PaidRound, Valuer
from martfl.lab.valuers.registry import VALUERS, make_valuer

__all__ = ["VALUERS", "PaidRound", "Valuer", "make_valuer"]
