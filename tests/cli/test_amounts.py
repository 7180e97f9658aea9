"""Amounts as people type and read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from martfl.amounts import COIN, coins, parse_coins
from martfl.errors import InputError

TOKEN = "0x" + "11" * 20
NO_TOKEN = "0x" + "00" * 20


@pytest.mark.parametrize(
    ("amount", "said"),
    [
        (0, "0 ETH"),
        (1, "1 wei"),
        (999_999_999, "999,999,999 wei"),
        (10**9, "1 gwei"),
        (12_345 * 10**9, "12,345 gwei"),
        (5 * 10**13 - 10**7, "49,999.99 gwei"),  # the first that four decimals do not show
        (5 * 10**13, "0.0001 ETH"),
        (-(10**17), "-0.1000 ETH"),
        (15 * 10**17, "1.5000 ETH"),
        (1_234_567 * COIN, "1,234,567.0000 ETH"),
    ],
)
def test_amounts_are_said_in_coins(amount, said):
    assert coins(amount) == coins(amount, token=NO_TOKEN) == said


def test_a_tokens_decimals_are_not_guessed():
    assert coins(1_500_000, token=TOKEN) == "1,500,000 units"


@given(st.integers(0, 2**96))
def test_what_is_typed_is_what_is_meant(wei):
    assert parse_coins(f"{wei // COIN}.{wei % COIN:018d}") == wei


@pytest.mark.parametrize("text", ["", "a lot", "-0.1", "NaN", "Infinity", "1e-19", "0.1 ETH", "1,5"])
def test_what_is_no_amount_is_refused(text):
    with pytest.raises(InputError, match="an amount in coins must be"):
        parse_coins(text)
