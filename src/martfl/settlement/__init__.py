"""Settlement: aggregation that proves itself. Schemes `exact` (every parameter) and `sampled` (the paper's Groth16).

Only what needs numpy alone is imported here; `settlement.exact` and `settlement.sampled` bring their cryptographic
libraries when they are used. What both offer to a market is `market.settling.Settler`.
"""

from martfl.settlement.errors import SettlementError
from martfl.settlement.fixed_point import FixedPoint, Quantised, scale_for
from martfl.settlement.weights import WEIGHT_BITS, WEIGHT_TOTAL, check_weights, integer_weights

__all__ = [
    "WEIGHT_BITS",
    "WEIGHT_TOTAL",
    "FixedPoint",
    "Quantised",
    "SettlementError",
    "check_weights",
    "integer_weights",
    "scale_for",
]
