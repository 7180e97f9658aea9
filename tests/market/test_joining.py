"""Joining a market: the contract holds the terms that were agreed on, and nothing else."""

from dataclasses import replace

import numpy as np
import pytest

from martfl.chain.exact import ExactTrading
from martfl.chain.network import UnsignedCall
from martfl.market.acquirer import contract_terms
from martfl.market.errors import MarketError
from martfl.market.provider import Provider


def honest_terms(market):
    return contract_terms(market.terms, market.settler, np.zeros(market.settler.parameters), market.buyer.address)


def join(market, trading):
    """The first provider, at another contract."""
    first = market.providers[0]
    parts = (market.terms, first.task, first.data, trading, market.settler, first.journal, first.meter, first.account)
    return Provider(*parts)


ENFORCED = [
    "token", "commit_window", "buy_window", "key_window", "publish_window", "settle_window", "penalty_ratio",
    "minimum_deposit",
]  # fmt: skip


@pytest.mark.parametrize("field", ENFORCED)
def test_a_contract_that_enforces_other_numbers_than_its_terms_is_not_joined(build, field):
    market = build(providers=1)
    other = "0x" + "11" * 20 if field == "token" else 1
    cheap = ExactTrading.deploy(
        market.chain, terms=replace(honest_terms(market), **{field: other}), account=market.buyer
    )
    with pytest.raises(MarketError, match=f"the terms state {field}"):
        join(market, cheap)


def test_other_terms_than_those_on_chain_are_not_joined(build):
    market = build(providers=1)
    posted = replace(honest_terms(market), terms_hash=bytes(32))
    with pytest.raises(MarketError, match="not those of the file"):
        join(market, ExactTrading.deploy(market.chain, terms=posted, account=market.buyer))


@pytest.mark.parametrize(("field", "value"), [("bits", 15), ("parameters", 171), ("generators", b"\1" * 32)])
def test_a_contract_that_packs_or_commits_otherwise_is_not_joined(build, field, value):
    market = build(providers=1)
    honest = honest_terms(market)
    layout = replace(honest.settlement.layout, **{field: value})
    posted = replace(honest, settlement=replace(honest.settlement, layout=layout))
    with pytest.raises(MarketError, match="packs updates as"):
        join(market, ExactTrading.deploy(market.chain, terms=posted, account=market.buyer))


def test_the_right_code_with_other_books_is_not_joined(build):
    """A constructor of the acquirer's own could leave the same code, and a record that claims others' money."""
    market = build(providers=1)
    real = market.trading.code_at(market.trading.address)
    copy = bytes.fromhex(f"61{len(real):04x}80600a3d393df3") + real  # returns what follows it, whatever came before
    receipt = market.chain._send(UnsignedCall(to=None, data=copy, value=0), account=market.buyer, key=None)
    twin = ExactTrading(market.chain, receipt.contract)
    assert twin.code_at(twin.address) == real and twin.terms() == market.trading.terms()
    with pytest.raises(MarketError, match="the code at"):
        join(market, twin)
    opened = twin.new_epoch(account=market.buyer, amount=1)  # its first event is no constructor's
    assert opened.epoch == 1 and not twin.has_our_code() and market.trading.has_our_code()


def test_another_judge_is_not_trusted(build):
    market = build(providers=1)
    honest = honest_terms(market)
    posted = replace(honest, settlement=replace(honest.settlement, judge=market.trading.address))
    with pytest.raises(MarketError, match="the code at"):
        join(market, ExactTrading.deploy(market.chain, terms=posted, account=market.buyer))


def test_an_ask_beyond_the_reward_is_refused_at_once(build):
    market = build(providers=1)
    market.setting.asks[0] = market.terms.money.reward + 1
    with pytest.raises(MarketError, match="an ask lies in"):
        market.restart_provider(0)


def test_an_acquirer_with_another_wallet_or_an_older_journal_is_stopped(build, tmp_path):
    market = build(providers=1)
    market.run(2)
    market.buyer = market.sellers[0]
    with pytest.raises(MarketError, match="the market's acquirer is"):
        market.restart_acquirer()
    market.buyer, market.folder = market.chain.accounts[0], tmp_path / "elsewhere"
    with pytest.raises(MarketError, match="the chain is ahead of the journal"):
        market.restart_acquirer()
