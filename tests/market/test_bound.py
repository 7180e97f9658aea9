"""What a party keeps is bound to its market: journals, limits of answers, windows of one wallet in many markets."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from martfl.federation.compose import role_folder
from martfl.market.errors import MarketError
from martfl.market.journal import Journal
from martfl.market.meter import Meter, Stall, Window
from martfl.market.provider import Provider


def joined(market, i, journal, **given):
    """The same seller again, with another journal or other options."""
    first = market.providers[i]
    parts = (market.terms, first.task, first.data, market.trading, market.settler, journal, first.meter, first.account)
    return Provider(*parts, **given)


def test_a_journal_of_another_wallet_chain_or_contract_is_refused(build, tmp_path):
    market = build(providers=2)
    with Journal(tmp_path / "seller") as journal:
        joined(market, 0, journal)
        joined(market, 0, journal)  # again: it is its own
        with pytest.raises(MarketError, match=r"is of 0x.* in the market 0x.* on chain .*: this is 0x"):
            joined(market, 1, journal)


def test_an_acquirers_journal_of_another_market_is_refused(build, monkeypatch):
    market = build(providers=2)
    market.run(1)
    monkeypatch.setattr(market.chain, "chain_id", 77)
    with pytest.raises(MarketError, match=r"is of 0x.* on chain .*, not of 0x.* on chain 77"):
        market.acquirer.run(2)


def test_one_address_on_two_chains_has_two_folders(build):
    terms, account = build(providers=1).terms, SimpleNamespace(address="0xAb")
    contract = replace(terms.chain, contract="0x" + "1" * 40)
    places = {
        role_folder(replace(terms, chain=replace(contract, profile=name)), account, role="provider", folder=None)
        for name in ("ours", "theirs", "../theirs")
    }
    assert len(places) == 3 and len({place.parent.parent for place in places}) == 1


def test_terms_do_not_raise_a_sellers_own_limit(build):
    with pytest.raises(MarketError, match="asks for 40 scores, you give a buyer 16"):
        build(providers=1, terms={"scoring": {"scheme": "plain", "baselines": 40, "answers": 40}})


def test_no_two_markets_get_one_update(build):
    """Else what is asked about in a cheap market would be what is for sale in a dear one."""
    market = build(providers=1)
    seller = market.providers[0]
    other = replace(seller.shelf, market=replace(seller.market, contract="0x" + "2" * 40))
    seeds = [
        shelf._lesson(1, market.acquirer.model_file(0), seller.task, seller.data).seed
        for shelf in (seller.shelf, other)
    ]
    assert seeds[0] != seeds[1]


def test_windows_of_other_markets_of_the_wallet_are_seen(tmp_path):
    one, two = (Stall(chain_id=1, market=f"0x{i}", buyer="0xb", token="0x0") for i in (1, 2))
    elsewhere = Stall(chain_id=2, market="0x3", buyer="0xb", token="0x0")
    meter = Meter(tmp_path / "meter.sqlite")
    meter.announce(one, [Window(key=True, first=10, last=20), Window(key=False, first=30, last=40)])
    assert meter.pressing(two, now=15, keys_alone=False) == [20] == meter.pressing(two, now=20, keys_alone=True)
    assert meter.pressing(two, now=35, keys_alone=False) == [40] and not meter.pressing(two, now=35, keys_alone=True)
    assert not meter.pressing(one, now=15, keys_alone=False), "its own are read from the chain"
    assert not meter.pressing(elsewhere, now=15, keys_alone=False) and not meter.pressing(two, now=25, keys_alone=False)
    meter.announce(one, [])
    assert not meter.pressing(two, now=15, keys_alone=False)


def test_who_is_known_longest_stands_first_so_that_a_late_twin_is_the_copy(build):
    market = build(providers=3)
    market.run(1)
    known = market.acquirer.known(before=2)
    assert set(known) == set(market.weights(1)) and {one.since for one in known.values()} == {1}
    assert all(one.paid == market.price(market.names.index(name)) for name, one in known.items())
    since = [known[name].since if name in known else 2 for name in market.acquirer.known(before=3)]
    assert np.all(np.diff(since) >= 0)
