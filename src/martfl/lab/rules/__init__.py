"""Aggregation rules: one small file each, found by name."""

from __future__ import annotations

from martfl.lab.rules.base import Decision, Judge, RoundView, Rule
from martfl.lab.rules.registry import RULES, make_rule

__all__ = ["RULES", "Decision", "Judge", "RoundView", "Rule", "make_rule"]
