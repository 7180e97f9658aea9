"""Parties killed at every point where something becomes permanent, and started again: the epoch ends as it would have.

A blinding, a nonce and a key are drawn at random, so runs are compared by weights, models, payments and counts.
"""

import logging

import pytest
from martfl.market.buying import OFFENCES

from martfl.chain.state import Phase
from martfl.market import messages as ms
from martfl.market.errors import MarketError
from martfl.market.provider import Provider

log = logging.getLogger(__name__)
EPOCHS = 2  # the second buys its baseline in advance
PROVIDERS = 3


@pytest.fixture(scope="module")
def undisturbed(kit, tmp_path_factory):
    """How the epochs end when nobody is killed."""
    market = kit.Market(kit.Setting(tmp_path_factory.mktemp("undisturbed"), providers=PROVIDERS, terms=kit.PLAIN))
    market.run(EPOCHS)
    ends = [market.outcome(epoch) for epoch in range(1, EPOCHS + 1)]
    market.close()
    return ends


def check_same(market, undisturbed):
    for epoch, expected in enumerate(undisturbed, start=1):
        assert market.outcome(epoch) == expected
    assert market.money_in(EPOCHS) == market.money_out(EPOCHS)
    assert market.chain.balance(market.trading.address) == 0
    assert not [r for r in market.acquirer.journal.remarks() if r.kind != "no valid answer"]


def test_the_acquirer_killed_at_every_point(build, kit, undisturbed):
    fuse = kit.Fuse(parties=("acquirer",))
    market = build(providers=PROVIDERS, terms=kit.PLAIN, fuse=fuse)
    market.run(EPOCHS)
    check_same(market, undisturbed)
    log.info("killed %d times", fuse.kills)
    assert fuse.kills == len(fuse.points) >= 60


def test_providers_killed_at_every_point(build, kit, undisturbed):
    fuse = kit.Fuse(parties=("provider",))
    market = build(providers=PROVIDERS, terms=kit.PLAIN, fuse=fuse, link=kit.RevivingLink)
    market.run(EPOCHS)
    check_same(market, undisturbed)
    log.info("killed %d times", fuse.kills)
    assert fuse.kills == len(fuse.points) >= 60


class Withholder(Provider):
    """Commits and answers, but never hands over what was bought."""

    def deliver(self, request):
        raise MarketError("not today")


def test_the_acquirer_killed_at_every_point_of_an_epoch_with_a_drop(build, kit, tmp_path):
    bad = {"providers": PROVIDERS, "terms": kit.PLAIN, "cheats": {1: Withholder}}
    expected = build(tmp_path / "undisturbed", **bad)
    expected.run(1)
    fuse = kit.Fuse(parties=("acquirer",))
    market = build(tmp_path / "killed", **bad, fuse=fuse)
    market.run(1)
    assert market.outcome(1) == expected.outcome(1)
    assert market.outcome(1)["dropped"] == [market.sellers[1].address]
    offences = [(r.subject, r.kind) for r in market.acquirer.journal.remarks() if r.kind in OFFENCES]
    assert offences == [(market.sellers[1].address, "missing delivery")]
    log.info("killed %d times", fuse.kills)
    assert fuse.kills == len(fuse.points) >= 35


def test_a_provider_killed_once_is_asked_again(build, kit, undisturbed):
    fuse = kit.Fuse(parties=("provider",), at=3)
    market = build(providers=PROVIDERS, terms=kit.PLAIN, fuse=fuse, link=kit.DeafLink)
    market.run(EPOCHS)
    assert fuse.kills == 1
    check_same(market, undisturbed)


def test_a_commitment_that_was_ready_is_sent_by_the_provider_itself(build, kit):
    market = build(providers=1, terms=kit.PLAIN)
    acquirer, provider = market.acquirer, market.providers[0]
    acquirer._open(1)
    request = ms.encode(
        ms.TrainRequest(epoch=1, body=acquirer.model_file(0)), market=market.trading.address, account=market.buyer
    )
    market.fuse.parties, market.fuse.armed, market.fuse.where = ("provider",), True, "send"
    with pytest.raises(kit.Killed, match="send"):
        provider.handle(request)
    assert not market.trading.read_provider(1, provider.account.address).committed
    market.restart_provider(0)
    assert market.providers[0].watch() == {}
    assert market.trading.read_provider(1, provider.account.address).committed
    market.run(1)
    assert market.trading.read_epoch(1).phase is Phase.SETTLED


SAMPLED = {"scheme": "sampled", "samples": 4, "providers": 3, "vdf_steps": 200, "update_limit": 8.0, "setup": "alone"}


def test_everybody_killed_at_every_point_of_a_sampled_epoch(build, kit, tmp_path):
    """Root, delay function, openings and proof are steps of their own."""
    terms = {**kit.PLAIN, "settlement": SAMPLED}
    expected = build(tmp_path / "undisturbed", providers=2, terms=terms)
    expected.run(1)
    fuse = kit.Fuse()
    market = build(tmp_path / "killed", providers=2, terms=terms, fuse=fuse, link=kit.RevivingLink)
    market.run(1)
    assert market.outcome(1) == expected.outcome(1)
    assert market.outcome(1)["phase"] == "SETTLED" and market.chain.balance(market.trading.address) == 0
    log.info("killed %d times", fuse.kills)
    sent = [name for name in fuse.points if name.startswith("acquirer: send")]
    assert [name.rpartition("/")[2] for name in sent][-5:] == ["publish", "randomness", "inputs", "proof", "claim"]
    assert fuse.kills == len(fuse.points)


@pytest.mark.long
@pytest.mark.parametrize("party", ["acquirer", "provider"])
def test_one_kill_at_each_point_in_turn(kit, tmp_path, undisturbed, party):
    """As above, but every kill in a market of its own: nothing that a later kill repairs can hide."""
    tried, number = 0, 0
    while True:
        fuse = kit.Fuse(parties=(party,), at=number)
        market = kit.Market(
            kit.Setting(tmp_path / str(number), providers=PROVIDERS, terms=kit.PLAIN, fuse=fuse, link=kit.RevivingLink)
        )
        market.link.market = market
        market.run(EPOCHS)
        check_same(market, undisturbed)
        market.close()
        if not fuse.kills:
            break
        tried, number = tried + 1, number + 1
    assert tried >= 60
