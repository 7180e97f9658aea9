"""What a party keeps is bound to its market: journals, limits of answers, updates."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from martfl.federation.compose import role_folder
from martfl.market.errors import MarketError
from martfl.market.journal import Journal
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


def test_who_is_known_longest_stands_first_so_that_a_late_twin_is_the_copy(build):
    market = build(providers=3)
    market.run(1)
    known = market.acquirer.known(before=2)
    assert set(known) == set(market.weights(1)) and {one.since for one in known.values()} == {1}
    assert all(one.paid == market.price(market.names.index(name)) for name, one in known.items())
    since = [known[name].since if name in known else 2 for name in market.acquirer.known(before=3)]
    assert np.all(np.diff(since) >= 0)
