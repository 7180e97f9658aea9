"""What a seller is told of its pay, in plain English."""

import math

from martfl.valuation.survey import Valued


def statement(valued: Valued, seller: int) -> str:
    """Two sentences: what its update added, and its share with the reason for it."""
    added, error = valued.added[seller], valued.added_error[seller]
    share, low, high = (x[seller] for x in (valued.worth.shares, valued.worth.low, valued.worth.high))
    weight = valued.weights[seller]
    first = f"Your update added {added:+.4f} ± {error:.4f} to the model's goodness on a row of the buyer's data."
    second = f"Your data hold {share:.1%} of what all sold ones hold together ({low:.1%} to {high:.1%})"
    if math.isclose(weight, share, rel_tol=0.01, abs_tol=1e-6):
        return f"{first} {second}, and that is your share of the reward."
    cause = "others' updates were cut back" if weight > share else "your update is long or under suspicion"
    return f"{first} {second}; since {cause}, your share of the reward is {weight:.1%}."
