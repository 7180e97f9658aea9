"""Markets that settle by sampling: an honest epoch, and an acquirer that proves something about other updates."""

from dataclasses import replace

import numpy as np
import pytest

from martfl.chain.events import RootPublished
from martfl.chain.sampled import SampledTrading
from martfl.chain.state import Phase
from martfl.chain.trading import open_trading
from martfl.market.acquirer import contract_terms
from martfl.market.auditor import audit
from martfl.market.errors import MarketError
from martfl.market.provider import Provider
from martfl.market.settling.sampled import SampledSettler
from martfl.settlement import SettlementError
from martfl.settlement.integer_file import peek
from martfl.settlement.sampled import Shape, ceremony, keys
from martfl.settlement.sampled.vdf import evaluate

TERMS = {
    "settlement": {
        "scheme": "sampled",
        "samples": 4,
        "providers": 3,
        "vdf_steps": 200,
        "update_limit": 8.0,
        "setup": "alone",
    },
    "selection": {"rule": "martfl"},
}


class Lying(SampledSettler):
    """Proves and aggregates with another update in the place of the first provider's."""

    def _swapped(self, shares):
        first = min(shares, key=lambda name: int(name, 16))
        share = shares[first]
        other = np.clip(share.delivered.values + 1, 0, 4095)
        return {**shares, first: replace(share, delivered=replace(share.delivered, values=other))}

    def aggregate(self, file, shares, *, epoch):
        return super().aggregate(file, self._swapped(shares), epoch=epoch)

    def prove(self, act, base, file, shares):
        return super().prove(replace(act, clock=Standing()), base, file, self._swapped(shares))


class Guessing(SampledSettler):
    """Submits an output of the delay function that suits it, instead of computing the right one."""

    def prove(self, act, base, file, shares):
        seed = act.trading.events(RootPublished, epoch=act.epoch)[0].seed
        other = evaluate(seed, squarings=self.squarings - 1)
        act.trading.submit_randomness(act.epoch, proof=other, account=act.account, key=act.key("randomness"))
        return super().prove(replace(act, clock=Standing()), base, file, shares)


def test_false_randomness_in_an_optimistic_market_is_challenged_by_a_provider(build):
    settlement = {**TERMS["settlement"], "optimistic": True}
    market = build(providers=3, terms={**TERMS, "settlement": settlement})
    market.run(1)
    assert market.trading.read_epoch(1).phase is Phase.SETTLED  # nobody challenges what is right
    honest, acquirer = market.settler, market.acquirer
    acquirer.settler = Guessing(
        honest.shape, honest.terms, honest.parameters, honest.squarings, optimistic=True, setup="alone"
    )
    acquirer._close = lambda *_: None
    acquirer.run_epoch(2)
    assert market.trading.read_epoch(2).phase is Phase.PROVED  # the proof holds: of samples that were not drawn
    seller = next(p for p in market.providers if market.trading.read_provider(2, p.account.address).weight)
    seller.watch()
    assert market.trading.read_epoch(2).phase is Phase.FAILED
    deposit = market.trading.read_epoch(2).deposit
    earned = sum(provider.watch().get(2, 0) for provider in market.providers) + seller.claim(2)
    assert earned > deposit - (1 << 16)


class Standing:
    """A clock that does not wait: the providers act first."""

    def wait_until(self, timestamp):
        pass


def test_an_honest_epoch_is_proved_and_paid(build):
    market = build(providers=3, terms=TERMS)
    market.acquirer.run(1)
    assert market.trading.read_epoch(1).phase is Phase.SETTLED
    assert market.accuracy(1) > market.accuracy(0)
    assert market.chain.balance(market.trading.address) == 0
    assert market.claimed() >= market.terms.money.reward
    checks = audit(market.trading, market.settler, {t: market.acquirer.model_file(t) for t in (0, 1)})
    assert [check for check in checks if not check.ok] == []
    assert {"randomness", "inputs", "proof", "model file"} <= {check.name for check in checks}
    assert peek(market.acquirer.model_file(1)).epoch == 1


@pytest.mark.parametrize("field", ["samples", "parameters", "vdf_steps", "optimistic", "empty_commitment", "poseidon"])
def test_a_contract_that_samples_otherwise_than_its_terms_is_not_joined(build, field):
    """Fewer parameters to draw from, for example, and the others could be anything."""
    market = build(providers=1, terms=TERMS)
    honest = contract_terms(market.terms, market.settler, np.zeros(market.settler.parameters), market.buyer.address)
    other = {"optimistic": True, "poseidon": bytes(32), "parameters": 10}.get(field, 1)
    changed = replace(honest, settlement=replace(honest.settlement, **{field: other}))
    trading, first = SampledTrading.deploy(market.chain, terms=changed, account=market.buyer), market.providers[0]
    with pytest.raises(MarketError, match=f"the terms state {field}"):
        Provider(market.terms, first.task, first.data, trading, market.settler, first.journal, first.account)


def test_proofs_checked_by_other_code_are_not_trusted(build):
    market = build(providers=1, terms=TERMS)
    honest = contract_terms(market.terms, market.settler, np.zeros(market.settler.parameters), market.buyer.address)
    changed = replace(honest, settlement=replace(honest.settlement, proofs=market.trading.address))
    trading = SampledTrading.deploy(market.chain, terms=changed, account=market.buyer)
    assert not open_trading(market.chain, trading.address, since=trading.since).has_our_code()
    assert open_trading(market.chain, market.trading.address).has_our_code()


def test_a_proof_about_another_update_is_refuted_by_its_provider(build):
    market = build(providers=3, terms=TERMS)
    honest, acquirer = market.settler, market.acquirer
    acquirer.settler = Lying(honest.shape, honest.terms, honest.parameters, honest.squarings, setup="alone")
    acquirer._close = lambda *_: None  # the acquirer goes away with its proof accepted
    acquirer.run_epoch(1)
    assert market.trading.read_epoch(1).phase is Phase.PROVED
    cheated = min(market.providers, key=lambda p: int(p.account.address, 16))
    claimed = cheated.watch()
    assert market.trading.read_epoch(1).phase is Phase.FAILED
    fair = market.terms.money.reward * market.trading.read_provider(1, cheated.account.address).weight >> 16
    assert claimed[1] > fair


SMALL = {**TERMS, "settlement": {**TERMS["settlement"], "samples": 1, "providers": 2, "setup": "ceremony"}}


@pytest.fixture
def hold_ceremony(tmp_path, monkeypatch):
    """Hold one for the market of `SMALL` and install its key, in a cache of its own."""
    monkeypatch.setenv("MARTFL_CACHE", str(tmp_path / "cache"))
    shape = Shape(providers=2, samples=1)
    circuit = ceremony.compile_circuit(shape)
    powers = ceremony.prepare(ceremony.contribute(ceremony.start(circuit), by="first provider"), circuit)

    def hold():
        keys.install(ceremony.check(ceremony.contribute(powers, by="second provider"), circuit), shape=shape)

    return hold


def test_a_market_does_not_start_without_a_ceremony(build, monkeypatch, tmp_path):
    monkeypatch.setenv("MARTFL_CACHE", str(tmp_path / "cache"))
    with pytest.raises(SettlementError, match="no key of a ceremony is installed for 2 providers and 1 samples"):
        build(providers=2, terms=SMALL)


def test_the_key_of_a_ceremony_settles_and_another_one_is_not_trusted(build, hold_ceremony):
    hold_ceremony()
    market = build(providers=2, terms=SMALL)
    market.acquirer.run(1)
    assert market.trading.read_epoch(1).phase is Phase.SETTLED
    first = market.acquirer.model_file(0)
    market.settler.check(market.trading, first, epoch=0)
    hold_ceremony()  # whoever was told of another ceremony than the contract's
    other = SampledSettler.load(market.terms, parameters=market.settler.parameters)
    with pytest.raises(MarketError, match="not that of the ceremony"):
        other.check(market.trading, first, epoch=0)
