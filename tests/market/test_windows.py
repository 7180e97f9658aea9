"""One wallet in many markets: what is due in one of them, and what others may make of that."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from martfl.bench.exchange.play import second_market
from martfl.bench.exchange.world import ASK, RogueEpoch, first_file, open_world
from martfl.chain.embedded import EmbeddedChain
from martfl.federation.local import EmbeddedClock
from martfl.market.journal import Journal
from martfl.market.meter import Meter, Stall, Window
from martfl.market.windows import AHEAD, Windows

MARGIN = 200


def stall(market, chain_id=1):
    return Stall(chain_id=chain_id, market=f"0x{market}", buyer="0xb", token="0x0")


def key(market, last, epoch=1):
    return Window(market=f"0x{market}", epoch=epoch, key=True, last=last)


def test_markets_of_a_wallet_see_each_others_windows_on_one_chain(tmp_path):
    meter = Meter(tmp_path / "meter.sqlite")
    ours, theirs = [key(1, 20), replace(key(1, 40), key=False)], [key(2, 30)]
    meter.announce(stall(1), ours)
    meter.announce(stall(2), theirs)
    assert meter.announced(chain_id=1) == ours + theirs and meter.announced(chain_id=2) == []
    meter.announce(stall(1), [])
    assert meter.announced(chain_id=1) == theirs


class Seen(Windows):
    """As one market sees it, at a second; its own windows are given."""

    def _own(self):
        return [window for window in self.meter.known if window.market == self.stall.market]


def seen(windows, market=1, now=0):
    others = SimpleNamespace(known=windows, announced=lambda chain_id: windows)
    times = SimpleNamespace(keys=0)
    chain = SimpleNamespace(now=lambda: now, next_second=lambda: now)
    trading = SimpleNamespace(chain=chain, deadlines=lambda epoch: times)
    return Seen(MARGIN, trading, None, None, None, others, stall(market))


ENDS = st.lists(st.integers(5000, 7000), min_size=1, max_size=6)


@given(ends=ENDS)
def test_every_key_of_a_wallet_has_a_margin_of_its_own(ends):
    """Each is sent when it is due and when the one before is through, which takes the whole margin: all are in time."""
    windows = [key(i, last) for i, last in enumerate(ends)]
    due = {w: seen(windows, i).key_due(1) for i, w in enumerate(windows)}
    through = 0
    for window in sorted(windows, key=due.__getitem__):
        through = max(through, due[window]) + MARGIN
        assert through <= window.last


@given(ends=ENDS, now=st.integers(0, 7500))
def test_what_can_wait_waits_for_a_bounded_time_by_our_own_margin(ends, now):
    """However far away windows end: nothing waits for longer than the row of keys and two margins before them."""
    windows = [key(i, last) for i, last in enumerate(ends)]
    held = seen(windows, market=99, now=now).pressing() is not None
    first = min(last - (len(ends) + AHEAD) * MARGIN for last in ends)
    assert not held or first <= now <= max(ends)
    assert held or not any(last - (1 + AHEAD) * MARGIN <= now <= last for last in ends)


def test_a_wallet_pays_for_the_keys_of_all_its_markets():
    assert seen([key(1, 1000), key(2, 2000), replace(key(3, 1000), key=False)]).keys() == 2
    assert seen([key(1, 1000), key(2, 2000)], now=1500).keys() == 1, "a window that is over wants nothing"


def test_a_commitment_waits_for_keys_alone():
    commit = replace(key(2, 1000), key=False)
    assert seen([commit], now=900).pressing() == 1000
    assert seen([commit], now=900).pressing(besides=1) is None
    assert seen([key(2, 1000)], now=900).pressing(besides=1) == 1000


class SlowChain(EmbeddedChain):
    """Keeps every transaction of a wallet out for almost the margin."""

    victim = ""

    def _send(self, call, *, account, key):
        if account.address == self.victim:
            self.travel(MARGIN - 2)
        return super()._send(call, account=account, key=key)


@pytest.fixture
def one():
    with open_world(honest=1, chain=SlowChain) as world:
        yield world


def test_keys_that_are_due_at_once_in_many_markets_are_all_paid(one):
    """A buyer of three markets takes every key and lists nobody; the seller's transactions are kept out."""
    places = [f"seller-{i}" for i in (1, 2)]
    worlds = [one, *(second_market(one, replace(one.terms, name=place), place=place) for place in places)]
    programs = [world.honest[0] for world in worlds]
    for world in worlds:
        world.clock = lambda: EmbeddedClock(one.chain, programs)
    epochs = [
        RogueEpoch(world, one.stack.enter_context(Journal(one.folder / f"rogue-{world.terms.name}")))
        for world in worlds
    ]
    base = first_file(one)
    for epoch in epochs:
        epoch.steps.relay(epoch.invited(base, one.names))
    for epoch in epochs:
        epoch.close()
    assert all(epoch.shop().buy(one.names) for epoch in epochs)
    for epoch in epochs:
        epoch.publish_nobody()
    one.chain.victim = one.names[0]
    for world in worlds:
        world.settle_all()
    assert all(world.income(one.names) >= ASK for world in worlds)


def test_a_market_with_far_deadlines_holds_no_claim_of_another(one):
    year = 366 * 86_400
    times = replace(one.terms.deadlines, commit=year, keys=year, publish=year, margin=year // 2 - 1)
    far = second_market(one, replace(one.terms, name="far", deadlines=times), place="far")
    epoch = RogueEpoch(far, one.stack.enter_context(Journal(one.folder / "rogue-far")))
    epoch.invited(first_file(one), one.names)
    far.honest[0].watch()
    assert len(one.honest[0].meter.announced(chain_id=one.chain.chain_id)) == 2
    near, _ = one.taken()
    near.publish_nobody()
    one.settle_all()
    assert one.income(one.names) >= ASK


def test_a_seller_that_leaves_a_market_takes_its_windows_along_but_for_keys_that_are_out(one):
    seller = one.honest[0]

    def announced():
        return [(w.epoch, w.key) for w in seller.meter.announced(chain_id=one.chain.chain_id)]

    one.taken()
    seller.watch()
    seller.leave()
    assert announced() == [(1, True)]
    one.settle_all()
    one.rogue_epoch(place="again").invited(first_file(one), one.names)
    seller.watch()
    assert announced() == [(2, False), (2, True)]
    seller.leave()
    assert announced() == []
