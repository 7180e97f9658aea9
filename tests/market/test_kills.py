"""Parties killed at every point where something becomes permanent, and started again: the epoch ends as it would have.

Keys are drawn at random, so runs are compared by weights, models, payments and counts.
"""

import logging

import pytest

from martfl.chain.state import Phase, SaleState
from martfl.market.errors import MarketError
from martfl.market.provider import Provider
from martfl.market.steps import Collected, KeyGiven

log = logging.getLogger(__name__)
EPOCHS = 2
PROVIDERS = 3


def setting(kit, folder, fuse=None, **options):
    """Three providers, of which one is only looked at; another is not relayed and sends its own commitment."""
    made = kit.Setting(folder, providers=PROVIDERS, terms=kit.PLAIN, **options)
    made.fuse = fuse or made.fuse
    return made


def market_of(kit, made):
    market = kit.Market(made)
    made.rule = market.acquirer.strategy = kit.Everybody(unweighed=frozenset(market.names[-1:]))
    return market


@pytest.fixture(scope="module")
def undisturbed(kit, tmp_path_factory):
    """How the epochs end when nobody is killed."""
    market = market_of(kit, setting(kit, tmp_path_factory.mktemp("undisturbed")))
    market.run(EPOCHS)
    ends = [market.outcome(epoch) for epoch in range(1, EPOCHS + 1)]
    market.close()
    assert [end["accepted"] for end in ends] == [market.names[-1:]] * EPOCHS
    return ends


def check_same(market, undisturbed):
    for epoch, expected in enumerate(undisturbed, start=1):
        assert market.outcome(epoch) == expected
    assert market.money_in(EPOCHS) == market.money_out(EPOCHS)
    assert market.chain.balance(market.trading.address) == 0
    assert market.offences() == []


def killed_everywhere(kit, tmp_path, undisturbed, party):
    """Runs the market while a party is killed at every point; what came of it is what comes of it undisturbed."""
    fuse = kit.Fuse(parties=(party,))
    market = market_of(kit, setting(kit, tmp_path, fuse))
    market.run(EPOCHS)
    check_same(market, undisturbed)
    market.close()
    log.info("killed %d times", fuse.kills)
    assert fuse.kills == len(fuse.points) >= 60
    return fuse


@pytest.mark.long
def test_the_acquirer_killed_at_every_point(kit, tmp_path, undisturbed):
    killed_everywhere(kit, tmp_path, undisturbed, "acquirer")


@pytest.mark.long
def test_providers_killed_at_every_point(kit, tmp_path, undisturbed):
    fuse = killed_everywhere(kit, tmp_path, undisturbed, "provider")
    assert any("count" in point for point in fuse.points) and any("sold" in point for point in fuse.points)


# --- epochs in which not everything goes well ------------------------------------------------------------------------


class Late(Provider):
    """Trains too late to be relayed, gives no key when it is asked, and does both on its own."""

    def train(self, request):
        super().train(request)
        raise MarketError("not ready")

    def key(self, request):
        raise MarketError("not now")


class Silent(Late):
    """… and never reveals either."""

    def watch(self):
        self.watching._reveal_in_time = lambda epoch: None
        return super().watch()


BAD = {1: Late, 2: Silent}


def bad_market(kit, folder, fuse=None):
    return kit.Market(setting(kit, folder, fuse, cheats=BAD))


@pytest.fixture(scope="module")
def bad_end(kit, tmp_path_factory):
    """How an epoch ends in which one reveals and one is silent, when nobody is killed."""
    market = bad_market(kit, tmp_path_factory.mktemp("bad"))
    market.run(1)
    end, remarks = market.outcome(1), market.offences()
    market.close()
    assert end["revealed"] == market.names[1:2] == end["accepted"]
    assert remarks == [(market.names[2], "missing key")]
    return end, remarks


@pytest.mark.long
@pytest.mark.parametrize("party", ["acquirer", "provider"])
def test_killed_at_every_point_of_an_epoch_with_keys_on_chain_and_silence(kit, tmp_path, bad_end, party):
    fuse = kit.Fuse(parties=(party,))
    market = bad_market(kit, tmp_path, fuse)
    market.run(1)
    assert (market.outcome(1), market.offences()) == bad_end
    sent = [point for point in fuse.points if ": send" in point]
    wanted = "answer" if party == "acquirer" else "reveal"
    assert any(wanted in point for point in sent), sent
    market.close()
    log.info("killed %d times", fuse.kills)
    assert fuse.kills == len(fuse.points) >= 35


def test_a_provider_that_is_killed_and_loses_its_request_is_asked_again(kit, tmp_path, undisturbed):
    """Each request is lost once; the acquirer asks twice, and nobody is blamed for anything."""
    fuse = kit.Fuse(parties=("provider",), limit=PROVIDERS)
    market = market_of(kit, setting(kit, tmp_path, fuse, deaf=True))
    market.run(EPOCHS)
    check_same(market, undisturbed)
    assert fuse.kills == PROVIDERS
    market.close()


def test_a_provider_killed_before_it_reveals_still_does(build, kit):
    """Between the key that it gave and the chain that it must bring it to."""
    market = build(providers=1)
    hand = kit.Hand(market).begin()
    hand.buy(0)
    assert isinstance(hand.ask_key(0), bytes)
    market.chain.travel_to(market.times().keys - market.terms.deadlines.margin)
    market.fuse.parties, market.fuse.armed, market.fuse.where = ("provider",), True, "reveal"
    with pytest.raises(kit.Killed, match="reveal"):
        market.providers[0].watch()
    assert market.state(0) is SaleState.BOUGHT
    market.restart_provider(0)
    market.watch()
    assert market.state(0) is SaleState.REVEALED
    assert market.providers[0].journal.recall(1, KeyGiven).price == market.price(0)


def test_a_provider_killed_between_training_and_its_answer_commits_all_the_same(build, kit):
    market = build(providers=1)
    hand = kit.Hand(market)
    hand.open()
    hand.train()
    market.restart_provider(0)
    hand.close_commitments()
    assert market.outcome(1)["committed"] == market.names
    hand.market.travel_to(market.times().buy + 1)
    hand.market.watch()
    assert market.trading.read_epoch(1).phase is Phase.EMPTY
    assert market.providers[0].journal.recall(1, Collected).amount == 0


# --- sampled settlement ----------------------------------------------------------------------------------------------


@pytest.mark.long
def test_everybody_killed_at_every_point_of_a_sampled_epoch(kit, tmp_path, short_delay):
    """Root, draw, delay function, openings and proof are steps of their own."""
    terms = {**kit.PLAIN, "settlement": kit.SAMPLED}
    expected = kit.Market(kit.Setting(tmp_path / "undisturbed", providers=2, terms=terms))
    expected.run(1)
    fuse = kit.Fuse()
    market = kit.Market(kit.Setting(tmp_path / "killed", providers=2, terms=terms, fuse=fuse))
    market.run(1)
    assert market.outcome(1) == expected.outcome(1)
    assert market.outcome(1)["phase"] == "SETTLED" and market.chain.balance(market.trading.address) == 0
    log.info("killed %d times", fuse.kills)
    sent = [name.rpartition("/")[2] for name in fuse.points if name.startswith("acquirer: send")]
    steps = ["open", "relay 0", "buy 0", "publish", "draw", "randomness", "inputs", "proof"]
    assert sent[:8] == steps and sent[-1] == "claim"
    assert fuse.kills == len(fuse.points)
    expected.close()
    market.close()


# --- one by one ------------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("party", ["acquirer", "provider"])
def test_one_kill_at_each_point_in_turn(kit, tmp_path, undisturbed, party):
    """As above, but every kill in a market of its own: nothing that a later kill repairs can hide."""
    number = 0
    while True:
        fuse = kit.Fuse(parties=(party,), at=number)
        market = market_of(kit, setting(kit, tmp_path / str(number), fuse))
        market.run(EPOCHS)
        check_same(market, undisturbed)
        market.close()
        if not fuse.kills:
            break
        number += 1
    assert number >= 60


@pytest.mark.long
@pytest.mark.parametrize("party", ["acquirer", "provider"])
def test_one_kill_at_each_point_of_an_epoch_with_keys_on_chain(kit, tmp_path, bad_end, party):
    number = 0
    while True:
        fuse = kit.Fuse(parties=(party,), at=number)
        market = bad_market(kit, tmp_path / str(number), fuse)
        market.run(1)
        assert (market.outcome(1), market.offences()) == bad_end
        market.close()
        if not fuse.kills:
            break
        number += 1
    assert number >= 35
