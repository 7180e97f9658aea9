"""commit_models: anybody sends what providers signed; what is bad is skipped, nothing reverts."""

from dataclasses import replace

import pytest

from martfl.chain.events import ModelCommitted
from martfl.chain.state import MAX_PROVIDERS, SignedCommit


def committed(done) -> list[str]:
    return [event.provider for event in done.events if isinstance(event, ModelCommitted)]


def test_all_in_one_transaction(market):
    market.open()
    done = market.relay()
    assert done.events == tuple(
        ModelCommitted(epoch=1, provider=seller.name, digest=market.digest(i))
        for i, seller in enumerate(market.sellers)
    )
    market.after("commit")
    market.buy(0, 1, 2)


def test_order_and_sender_do_not_matter(market):
    market.open()
    entries = [market.signed(i) for i in (2, 0, 1)]
    done = market.relay(entries, account=market.acquirer)
    assert committed(done) == [market.sellers[i].name for i in (2, 0, 1)]


def test_known_entries_are_skipped_whoever_came_first(market):
    market.open()
    market.commit(1)
    assert committed(market.relay()) == [market.sellers[0].name, market.sellers[2].name]
    assert committed(market.relay()) == []
    assert committed(market.relay([])) == []


def test_twice_in_one_batch_counts_once(market):
    market.open()
    first, other = market.signed(0), market.signed(0, digest=market.digest(1))
    assert committed(market.relay([first, first, other])) == [market.sellers[0].name]
    assert market.trading.commitments(1)[market.sellers[0].name] == market.digest(0)


def forged(market) -> dict[str, SignedCommit]:
    good, other = market.signed(0), market.signed(1)
    high = (2**256 - 1).to_bytes(32, "big")
    return {
        "another's signature": replace(good, signature=other.signature),
        "another's name": replace(good, provider=market.sellers[1].name),
        "another digest": replace(good, digest=other.digest),
        "another epoch": market.signed(0, epoch=2),
        "another chain": market.signed(0, chain_id=1),
        "another market": market.signed(0, market=market.stranger.address),
        "no signature": replace(good, signature=b""),
        "zeros": replace(good, signature=bytes(65)),
        "v is not 27 or 28": replace(good, signature=good.signature[:64] + b"\x01"),
        "r too large": replace(good, signature=high + good.signature[32:]),
        "nobody's name": SignedCommit(provider="0x" + "00" * 20, digest=good.digest, signature=bytes(65)),
        "acquirer": market_signed_by_acquirer(market),
    }


def market_signed_by_acquirer(market) -> SignedCommit:
    seller = replace(market.sellers[0], account=market.acquirer)
    market.sellers.append(seller)
    try:
        return market.signed(len(market.sellers) - 1)
    finally:
        market.sellers.pop()


def test_what_was_not_signed_is_skipped_and_stops_nobody(market):
    market.open()
    bad = forged(market)
    assert committed(market.relay([*bad.values(), market.signed(2)])) == [market.sellers[2].name]
    assert list(market.trading.commitments(1)) == [market.sellers[2].name]


def test_signature_for_a_claim_is_none_for_a_commitment(market):
    market.open()
    claim = market.signed_claim(0, market.stranger.address)
    digest = bytes(12) + bytes.fromhex(market.stranger.address[2:])
    entry = SignedCommit(provider=claim.provider, digest=digest, signature=claim.signature)
    assert committed(market.relay([entry])) == []


def test_mirrored_signature_commits_to_the_same_and_once(market):
    order = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
    market.open()
    good = market.signed(0)
    s, v = int.from_bytes(good.signature[32:64], "big"), good.signature[64]
    mirrored = good.signature[:32] + (order - s).to_bytes(32, "big") + bytes([55 - v])
    assert committed(market.relay([replace(good, signature=mirrored), good])) == [good.provider]


def test_last_second_counts_and_the_next_does_not(market, to_the_second):
    market.open()
    entries = [market.signed(i) for i in range(2)]
    market.last_second("commit")
    market.relay(entries[:1])
    with market.refused("commitments are closed"):
        market.relay(entries[1:])


def test_no_work_before_there_is_money(market):
    market.open(999)
    with market.refused("deposit is below the minimum"):
        market.relay()


def test_unknown_epoch(market):
    market.epoch = 1
    with market.refused("no such epoch"):
        market.relay()


@pytest.mark.parametrize("count", [MAX_PROVIDERS])
def test_as_many_as_one_transaction_can_carry(make_market, count):
    market = make_market(providers=count)
    market.open()
    done = market.relay()
    assert len(committed(done)) == count
    assert done.gas < 16_000_000  # within the cap that Osaka puts on one transaction
