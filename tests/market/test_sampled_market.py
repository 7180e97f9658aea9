"""Markets that settle by sampling: honest epochs, strangers that are faster, terms and ceremonies."""

from dataclasses import replace

import numpy as np
import pytest
from sampled_parts import settler_of

from martfl.chain import events as ev
from martfl.chain.sampled import SampledTrading
from martfl.chain.state import WHOLE, Phase
from martfl.federation.local import LocalLink
from martfl.market import messages as ms
from martfl.market import wire
from martfl.market.acquirer import contract_terms
from martfl.market.auditor import audit
from martfl.market.errors import MarketError
from martfl.market.provider import Provider
from martfl.market.settling.sampled import SampledSettler
from martfl.settlement import SettlementError
from martfl.settlement.integer_file import peek
from martfl.settlement.sampled import Shape, ceremony, keys
from martfl.settlement.sampled.vdf import evaluate

# --- honest ----------------------------------------------------------------------------------------------------------


def test_honest_epochs_are_proved_paid_and_audited(sample):
    market = sample(providers=3)
    market.run(2)
    market.check_honest(range(3), epoch=2)
    assert len(market.weights(1)) == len(market.weights(2)) == 3
    assert market.accuracy(2) > market.accuracy(0)
    checks = audit(market.trading, market.settler, {t: market.acquirer.model_file(t) for t in (0, 1, 2)})
    assert [check for check in checks if not check.ok] == []
    assert {"listing", "randomness", "inputs", "proof", "model file"} <= {check.name for check in checks}
    assert peek(market.acquirer.model_file(1)).epoch == 1


def test_looks_only_keep_the_model_and_need_no_proof(sample, kit):
    market = sample(providers=2)
    market.acquirer.strategy = kit.Everybody(unweighed=frozenset(market.names))
    market.run(1)
    market.check_honest((0, 1), listed=False)
    assert market.weights(1) == {} and market.acquirer.model_file(1) == market.acquirer.model_file(0)


def test_more_than_the_circuits_slots_are_bought_and_the_heaviest_are_listed(sample):
    market = sample(settlement={"providers": 2}, providers=3)
    market.run(1)
    assert len(market.weights(1)) == 2 and sum(market.weights(1).values()) == WHOLE
    market.check_honest(range(3), listed=False)


# --- strangers -------------------------------------------------------------------------------------------------------


class Overtaken(SampledSettler):
    """Before each step that anybody may take, somebody else takes it."""

    stranger = None

    def prove(self, act, base, file, shares):
        chain = act.trading
        act.clock.wait_for_block(chain.publication(act.epoch).number + 1)
        drawn = chain.draw_samples(act.epoch, account=self.stranger)
        delay = evaluate(drawn.event(ev.SamplesDrawn).seed, squarings=self.squarings)
        chain.submit_randomness(act.epoch, proof=delay, account=self.stranger)
        return super().prove(act, base, file, shares)


def test_who_is_overtaken_by_a_stranger_goes_on(sample):
    market = sample(providers=2)
    market.acquirer.settler = settler_of(Overtaken, market.settler)
    object.__setattr__(market.acquirer.settler, "stranger", market.sellers[1])
    market.run(1)
    market.check_honest((0, 1))


class Mute(Provider):
    """Commits, and never says anything again."""

    def handle(self, request):
        message, _ = wire.decode(request, market=self.market)
        if isinstance(message, ms.TrainRequest):
            return super().handle(request)
        raise TimeoutError("no answer")


class Broken(SampledSettler):
    """The acquirer's machine goes down between publication and proof."""

    def prove(self, act, base, file, shares):
        raise KeyboardInterrupt("killed")


class Patient(LocalLink):
    """Waits for the silent as a network does; time passes on the chain too, a block every three seconds."""

    chain = None

    def ask(self, requests, *, kind, seconds):
        answers = super().ask(requests, kind=kind, seconds=seconds)
        if len(answers) < len(requests):
            for _ in range(int(seconds) // 3):
                self.chain.travel(3)
        return answers


def test_the_silent_do_not_keep_the_acquirer_from_drawing(sample):
    """The block that draws is out of reach after 256 others; who only commits must not hold the proof that long."""
    market = sample(providers=3, cheats={2: Mute}, deadlines={"settle": 7200}, link=Patient)
    market.link.chain = market.chain
    market.run(1)
    market.check_honest((0, 1))


def test_a_proof_that_cannot_come_any_more_does_not_stop_the_market(sample):
    """Nobody drew in time. The epoch fails, and when that is decided the acquirer goes on."""
    market = sample(providers=2)
    honest, market.acquirer.settler = market.settler, settler_of(Broken, market.settler)
    with pytest.raises(KeyboardInterrupt, match="killed"):
        market.run(1)
    market.travel_to(max(market.times().publish, market.trading.read_epoch(1).deadline) + 1)
    market.restart_acquirer()
    market.acquirer.settler = honest
    market.run(2)
    assert [market.trading.read_epoch(epoch).phase for epoch in (1, 2)] == [Phase.FAILED, Phase.SETTLED]
    assert market.weights(2)
    failed, stood = market.acquirer.journal.blob(1, "model"), market.acquirer.journal.blob(2, "model")
    checks = [check for check in audit(market.trading, honest, {1: failed, 2: stood}) if check.name == "model file"]
    assert [check.ok for check in checks] == [False, True] and "does not stand" in checks[0].detail


# --- terms -----------------------------------------------------------------------------------------------------------


def join(market, trading):
    first = market.providers[0]
    parts = (market.terms, first.task, first.data, trading, market.settler, first.journal, first.meter, first.account)
    return Provider(*parts)


def posted(market, **changes):
    honest = contract_terms(market.terms, market.settler, np.zeros(market.settler.parameters), market.buyer.address)
    sampling = replace(honest.settlement.sampling, **changes)
    terms = replace(honest, settlement=replace(honest.settlement, sampling=sampling))
    return SampledTrading.deploy(market.chain, terms=terms, account=market.buyer)


OTHER_SAMPLING = {
    "samples": 1,
    "parameters": 10,
    "vdf_steps": 264,
    "optimistic": True,
    "empty_commitment": 1,
    "poseidon": bytes(32),
}


def test_a_contract_that_samples_otherwise_than_its_terms_is_not_joined(sample):
    """Fewer parameters to draw from, for example, and the others could be anything."""
    market = sample(providers=1)
    for field, other in OTHER_SAMPLING.items():
        with pytest.raises(MarketError, match="the contract samples as"):
            join(market, posted(market, **{field: other}))


def test_proofs_checked_by_other_code_are_not_trusted(sample):
    market = sample(providers=1)
    with pytest.raises(MarketError, match="the code at"):
        join(market, posted(market, prover=market.trading.address))


SMALL = {"samples": 1, "providers": 2, "setup": "ceremony"}


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


def test_a_market_does_not_start_without_a_ceremony(sample, monkeypatch, tmp_path):
    monkeypatch.setenv("MARTFL_CACHE", str(tmp_path / "cache"))
    with pytest.raises(SettlementError, match="no key of a ceremony is installed for 2 providers and 1 samples"):
        sample(settlement=SMALL, providers=2)


def test_the_key_of_a_ceremony_settles_and_another_one_is_not_trusted(sample, hold_ceremony):
    hold_ceremony()
    market = sample(settlement=SMALL, providers=2)
    market.run(1)
    market.check_honest((0, 1))
    hold_ceremony()  # whoever was told of another ceremony than the contract's
    market.settler = SampledSettler.load(market.terms, parameters=market.settler.parameters)
    with pytest.raises(MarketError, match="the contract samples as"):
        join(market, market.trading)
