"""Money: whole wei, all of the reward, in proportion."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from martfl.errors import InputError
from martfl.valuation import pay

shares = st.lists(st.floats(0, 1e6, allow_subnormal=False), min_size=1, max_size=40).filter(any)
rewards = st.integers(0, 10**30)


@given(rewards, shares)
def test_all_of_the_reward_is_paid_to_the_wei(reward, given_shares) -> None:
    assert sum(pay(reward, given_shares)) == reward


@given(rewards, shares)
def test_nobody_is_off_by_a_wei_or_more(reward, given_shares) -> None:
    total = sum(map(int_fraction, given_shares))
    for wei, share in zip(pay(reward, given_shares), given_shares, strict=True):
        assert abs(wei - reward * int_fraction(share) / total) < 1


@given(rewards, shares)
def test_who_has_no_share_gets_nothing(reward, given_shares) -> None:
    assert all(not wei for wei, share in zip(pay(reward, given_shares), given_shares, strict=True) if not share)


def int_fraction(share: float):
    from fractions import Fraction

    return Fraction(share)


@pytest.mark.parametrize(
    ("reward", "given_shares", "says"),
    [(-1, [1.0], "negative"), (1, [-1.0], "not negative"), (1, [float("nan")], "finite"), (1, [0.0], "positive")],
)
def test_impossible_rewards_and_shares_are_refused(reward, given_shares, says) -> None:
    with pytest.raises(InputError, match=says):
        pay(reward, given_shares)
