"""Amounts as people read them. Programs count in the smallest unit (wei), of which a coin has 10^18."""

from decimal import Decimal

from martfl.errors import InputError

COIN = 10**18
GWEI = 10**9
LEAST = COIN // 20_000  # what four decimals still show


def coins(amount: int, *, token: str = "") -> str:
    """`1.5000 ETH`, and what is smaller than four decimals show in gwei or wei.

    Of a `token`, whose decimals are not known here, the smallest units; the zero address is the chain's coin.
    """
    if token and int(token, 16):
        return f"{amount:,} units"
    if amount == 0:
        return "0 ETH"
    if abs(amount) >= LEAST:
        return f"{amount / COIN:,.4f} ETH"
    if abs(amount) < GWEI:
        return f"{amount:,} wei"
    return f"{amount / GWEI:,.2f}".rstrip("0").rstrip(".") + " gwei"


def parse_coins(text: str) -> int:
    """Wei of an amount in coins as a person types it, `0.02` for example."""
    try:
        amount = Decimal(text) * COIN
        whole = int(amount)
    except (ArithmeticError, ValueError) as error:
        raise InputError(f"an amount in coins must be a number such as 0.02, got {text!r}") from error
    if whole != amount or whole < 0:
        raise InputError(f"an amount in coins must be positive, with at most 18 decimals, got {text!r}")
    return whole
