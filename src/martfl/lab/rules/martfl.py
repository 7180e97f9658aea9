"""martFL: clusters of scores against a baseline that moves to the best provider (Li, Liu, Li, Xu, ACM CCS 2023).

`baseline_data="test"` chooses the baseline on test data: only to explain published figures, never for a result.
Strategies that `martfl.selection` knows beside the paper's are rules under their own names.
"""

from __future__ import annotations

from collections.abc import Callable

from martfl.lab.rules.base import Rule
from martfl.lab.rules.strategy import strategy_rule
from martfl.selection import STRATEGIES

PAPER = "Li, Liu, Li, Xu, martFL: Enabling Utility-Driven Data Marketplace with a Robust and Verifiable FL, CCS 2023"


def _summary(name: str) -> str:
    """The first line of the strategy's own description."""
    return (STRATEGIES[name].__doc__ or name).strip().splitlines()[0]


STRATEGY_RULES: dict[str, Callable[..., Rule]] = {
    name: strategy_rule(name, PAPER if name == "martfl" else f"After martFL: {_summary(name)}") for name in STRATEGIES
}
