"""commit_model: a provider binds itself to one update of one epoch."""

import pytest

from martfl.chain.events import ModelCommitted
from martfl.chain.network import RevertedError

P = 0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB


def off_subgroup() -> bytes:
    """A point on the curve that is not in the subgroup."""
    x = 1
    while pow(y := pow((x**3 + 4) % P, (P + 1) // 4, P), 2, P) != (x**3 + 4) % P:
        x += 1
    return x.to_bytes(64, "big") + y.to_bytes(64, "big")


def test_is_kept_and_announced(market):
    market.open()
    done = market.commit(0)
    name = market.names[0]
    expected = ModelCommitted(epoch=1, provider=name, commitment=market.point(2), nonce=market.word("nonce 0"))
    assert done.events == (expected,)
    assert market.standing(0).committed
    assert market.state().providers == 1
    assert market.trading.commitments(1) == {name: market.point(2)}


def test_once_per_provider_and_epoch(market):
    market.open()
    market.commit(0)
    for number in (2, 9):
        with market.refused("already committed"):
            market.commit(0, commitment=market.point(number))


def test_again_in_the_next_epoch(market):
    market.settled()
    market.open()
    market.commit(0)
    assert market.state().providers == 1


def test_anybody_but_the_acquirer(market):
    market.open()
    market.commit(0, account=market.stranger)
    with market.refused("the acquirer cannot sell"):
        market.commit(0, account=market.acquirer)


def test_last_second_counts_and_the_next_does_not(market):
    market.open()
    market.chain.travel_to(market.state().deadline - 1)
    market.commit(0)
    with market.refused("commitments are closed"):
        market.commit(1)


def test_unknown_epoch(market):
    market.epoch = 1
    with market.refused("wrong phase"):
        market.commit(0)


def test_no_work_before_there_is_money(market):
    market.open(999)
    with market.refused("deposit is below the minimum"):
        market.commit(0)
    market.trading.deposit(1, amount=1, account=market.acquirer)
    market.commit(0)


@pytest.mark.parametrize(
    ("commitment", "reason"),
    [
        (bytes(128), "point at infinity"),
        (off_subgroup(), "point is not in the group"),
        ((5).to_bytes(64, "big") * 2, "point is not in the group"),
        ((P + 1).to_bytes(64, "big") * 2, "point is not in the group"),
        (b"\1" * 128, "point is not in the group"),
        (b"", "point is not 128 bytes"),
        (bytes(127), "point is not 128 bytes"),
    ],
    ids=["infinity", "subgroup", "off-curve", "coordinate", "padding", "empty", "short"],
)
def test_bad_point_is_refused(market, commitment, reason):
    market.open()
    with market.refused(reason):
        market.commit(0, commitment=commitment)


def test_little_endian_coordinates_are_refused(market):
    good = market.point(2)
    market.open()
    with market.refused("point is not in the group"):
        market.commit(0, commitment=bytes(16) + good[63:15:-1] + bytes(16) + good[127:79:-1])


def test_bad_point_cannot_burn_more_than_the_price_of_a_check(market):
    market.open()
    call = market.trading.contract.functions.commit_model(1, off_subgroup(), bytes(32))
    with pytest.raises(RevertedError):
        market.chain.send(call, account=market.providers[0])
    # The call reverts within 100,000 gas: enough for an honest commitment, and the precompile takes no more.
    transaction = {"from": market.names[0], "gas": 100_000}
    with pytest.raises(Exception, match="point is not in the group"):
        call.call(transaction)


def test_too_long_a_commitment_is_refused(market):
    market.open()
    with pytest.raises(RevertedError):
        market.commit(0, commitment=market.point(2) + b"\0")
