"""Markets that settle by sampling: honest epochs, acquirers that prove something else, and sellers of false updates."""

from dataclasses import replace

import numpy as np
import pytest

from martfl.chain import events as ev
from martfl.chain.sampled import SampledTrading
from martfl.chain.state import WHOLE, Phase, State
from martfl.federation.local import LocalLink
from martfl.market import messages as ms
from martfl.market import purchases, wire
from martfl.market.acquirer import contract_terms
from martfl.market.auditor import audit
from martfl.market.conduct import Honest
from martfl.market.errors import MarketError
from martfl.market.provider import Provider
from martfl.market.settling import drawing
from martfl.market.settling.sampled import SampledSettler
from martfl.settlement import SettlementError
from martfl.settlement.integer_file import from_bytes, peek, to_bytes
from martfl.settlement.sampled import Shape, ceremony, keys, sealed
from martfl.settlement.sampled.vdf import VdfProof, evaluate

SAMPLED = {"scheme": "sampled", "samples": 4, "providers": 3, "vdf_steps": 300, "update_limit": 8.0, "setup": "alone"}


@pytest.fixture
def sample(build, short_delay):
    """`sample(providers=3, …)`: a sampled market."""

    def make(settlement=None, **options):
        terms = {"settlement": {**SAMPLED, **(settlement or {})}, "deadlines": options.pop("deadlines", {})}
        return build(**options, terms=terms)

    return make


class Standing:
    """A clock that does not wait for windows: providers act first."""

    def __init__(self, chain):
        self.chain = chain

    def wait_until(self, timestamp):
        pass

    def wait_for_block(self, number):
        while self.chain.web3.eth.block_number < number:
            self.chain.travel(1)


def settler_of(kind, honest):
    return kind(honest.shape, honest.quantisation, honest.parameters, honest.squarings, honest.optimistic, honest.setup)


def proved_by(market, kind):
    """The acquirer runs the first epoch with a settler of its own up to its proof, and goes away."""
    market.acquirer.settler = settler_of(kind, market.settler)
    market.acquirer._close = lambda *_: None
    market.acquirer.run_epoch(1, seed=0)
    assert market.trading.read_epoch(1).phase is Phase.PROVED
    return market


def check_failed(market):
    """The proof fell: whoever delivered has its price, the penalty is nobody's, the rest returns."""
    market.travel_to(market.times().publish + 1)
    market.watch()
    state = market.trading.read_epoch(1)
    assert state.phase is Phase.FAILED
    assert market.paid(1) == {name: market.price(market.names.index(name)) for name in market.trading.bought(1)}
    market.trading.claim_reward(1, account=market.buyer)
    assert market.chain.balance(market.trading.address) == state.penalty
    assert market.money_in(1) == market.money_out(1) + state.penalty


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
        raise KeyboardInterrupt


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
    with pytest.raises(KeyboardInterrupt):
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


# --- acquirers that prove something else -----------------------------------------------------------------------------


class Lying(SampledSettler):
    """Proves and aggregates with another update in the place of the first provider's."""

    def _swapped(self, shares):
        first = next(iter(shares))
        share = shares[first]
        other = np.clip(share.delivery.values + 1, 0, 4095)
        return {**shares, first: replace(share, delivery=replace(share.delivery, values=other))}

    def aggregate(self, file, shares, *, epoch):
        return super().aggregate(file, self._swapped(shares), epoch=epoch)

    def prove(self, act, base, file, shares):
        return super().prove(replace(act, clock=Standing(act.trading.chain)), base, file, self._swapped(shares))


class Guessing(SampledSettler):
    """Submits an output of the delay function that suits it, instead of computing the right one."""

    def prove(self, act, base, file, shares):
        act = replace(act, clock=Standing(act.trading.chain))
        act.clock.wait_for_block(act.trading.publication(act.epoch).number + 1)
        drawn = act.trading.draw_samples(act.epoch, account=act.account, key=act.key("draw"))
        other = evaluate(drawn.event(ev.SamplesDrawn).seed, squarings=self.squarings - 1)
        act.trading.submit_randomness(act.epoch, proof=other, account=act.account, key=act.key("randomness"))
        return super().prove(act, base, file, shares)


def test_a_proof_about_another_update_is_refuted_by_its_provider(sample):
    market = proved_by(sample(providers=3), Lying)
    cheated = market.names.index(next(iter(market.weights(1))))
    for i in range(3):  # only who is lied about can tell
        if i != cheated:
            market.providers[i].watch()
    assert market.trading.read_epoch(1).phase is Phase.PROVED
    market.providers[cheated].watch()
    assert "false inputs" in {r.kind for r in market.providers[cheated].journal.remarks()}
    check_failed(market)


def test_a_false_file_does_not_keep_a_provider_from_refuting(sample, kit):
    """Handed a model that is not the one on chain, it says so, and looks after its update as before."""
    market = proved_by(sample(providers=2), Lying)
    hand, cheated = kit.Hand(market), market.names.index(next(iter(market.weights(1))))
    vector = from_bytes(market.acquirer.model_file(1), kind="model", parameters=170)
    vector.values[0] += 1
    verdict = hand.say(ms.PublishedFile(epoch=1, body=to_bytes(vector)), cheated)
    assert isinstance(verdict, ms.FileVerdict) and not verdict.accepted
    market.watch()
    check_failed(market)


def test_false_randomness_in_an_optimistic_market_is_challenged_by_a_provider(sample):
    market = proved_by(sample(settlement={"optimistic": True}, providers=2), Guessing)
    market.watch()
    check_failed(market)


class MadeUp(SampledSettler):
    """Does not even begin to compute the delay function."""

    def prove(self, act, base, file, shares):
        act.clock.wait_for_block(act.trading.publication(act.epoch).number + 1)
        act.trading.draw_samples(act.epoch, account=act.account, key=act.key("draw"))
        made_up = VdfProof(y=12345 << 1500, pi=7, nonce=0)
        act.trading.submit_randomness(act.epoch, proof=made_up, account=act.account, key=act.key("randomness"))
        return {}


def test_made_up_randomness_is_challenged_without_computing_the_delay(sample):
    """The terms allow a delay of hours. What was submitted with its proof is checked in milliseconds."""
    market = sample(settlement={"optimistic": True, "vdf_steps": 1 << 40}, providers=2)
    market.acquirer.settler = settler_of(MadeUp, market.settler)
    market.acquirer._close = lambda *_: None
    market.acquirer.run_epoch(1, seed=0)
    market.watch()
    check_failed(market)


def test_right_randomness_in_an_optimistic_market_is_not_challenged(sample):
    market = sample(settlement={"optimistic": True}, providers=2)
    market.run(1)
    market.check_honest((0, 1))


def test_an_acquirer_that_never_proves_loses_its_penalty_and_pays_prices(sample):
    market = sample(providers=2)
    market.acquirer._close = lambda *_: None
    market.acquirer.settler = settler_of(type("Mute", (SampledSettler,), {"prove": lambda *_: {}}), market.settler)
    market.acquirer.run_epoch(1, seed=0)
    assert market.trading.read_epoch(1).phase is Phase.PUBLISHED
    market.chain.travel_to(market.trading.read_epoch(1).deadline + 1)
    check_failed(market)


# --- sellers ---------------------------------------------------------------------------------------------------------


class FalseLeaf(Provider):
    """Seals other values than it commits to."""

    def __post_init__(self):
        super().__post_init__()
        honest = self.settler

        class Tampered:
            def __getattr__(self, name):
                return getattr(honest, name)

            def seal(self, update, secret):
                made = honest.seal(update, secret)
                body = bytes([made.body[5] ^ 1]).join([made.body[:5], made.body[6:]])
                return replace(made, body=body, root=sealed._tree(body, honest._words).root)

        self.shelf.settler = Tampered()


def test_a_false_leaf_is_refuted(sample):
    market = sample(providers=3, cheats={1: FalseLeaf})
    market.run(1)
    assert market.outcome(1)["refuted"] == market.names[1:2] and market.state(1) is State.REFUTED
    assert market.offences() == [(market.names[1], "false update")]
    market.check_honest((0, 2))
    checks = audit(market.trading, market.settler, {1: market.acquirer.model_file(1)})
    assert [check for check in checks if not check.ok] == []
    assert "refutations" in {check.name for check in checks}


class OnChainOnly(FalseLeaf):
    """Puts the key of a false update on chain, and gives it to nobody before."""

    def key(self, request):
        raise MarketError("look at the chain")


def test_a_false_leaf_is_refuted_though_the_proof_may_be_refuted_for_longer(sample):
    """The settle window ends long after the publish window, in which keys on chain are answered."""
    market = sample(providers=3, cheats={1: OnChainOnly}, deadlines={"settle": 36_000})
    market.run(1)
    assert market.state(1) is State.REFUTED and market.names[1] not in market.paid(1)
    market.check_honest((0, 2))


def test_a_false_leaf_is_refuted_while_the_delay_function_is_computed(sample, monkeypatch):
    """Here it takes until a second before the publish window ends."""
    market = sample(providers=3, cheats={1: OnChainOnly}, deadlines={"settle": 36_000})

    def slow(seed, *, squarings, progress):
        for second in (market.times().keys + 1, market.times().publish - 1, market.times().publish + 1):
            market.travel_to(second)
            progress(1)
        return evaluate(seed, squarings=squarings)

    monkeypatch.setattr(drawing, "evaluate", slow)
    monkeypatch.setattr(purchases, "PAUSE", 0.0)
    market.run(1)
    assert market.state(1) is State.REFUTED and market.names[1] not in market.paid(1)
    market.check_honest((0, 2))


class Pushing(Honest):
    """Moves every parameter as far as an update can."""

    def update(self, lesson):
        return np.full(lesson.model.size, 8.0)


def test_who_pushes_the_model_out_of_its_range_is_left_out_and_paid(sample):
    market = sample(settlement={"model_limit": 8.0}, providers=3, conducts={1: Pushing()})
    market.run(2)
    assert market.trading.read_epoch(2).phase is Phase.SETTLED
    assert market.names[1] in market.weights(1) and set(market.weights(2)) == {market.names[0], market.names[2]}
    assert "out of range" in {remark.kind for remark in market.acquirer.journal.remarks(subject=market.names[1])}
    assert market.paid(2)[market.names[1]] == market.price(1)


class AtTheEdge(Honest):
    """Brings the model to the edge of its range, and then keeps it inside by a hair."""

    def update(self, lesson):
        return np.full(lesson.model.size, 8.0 if lesson.before is None else -0.05)


def test_who_brought_the_model_to_its_edge_has_no_gain_from_who_steps_over_it(sample):
    """Nobody in particular pushes: nobody is listed, all have their prices, and the bonus is nobody's."""
    market = sample(settlement={"model_limit": 5.9}, providers=2, conducts={1: AtTheEdge()})
    market.run(2)
    assert market.weights(1) and market.weights(2) == {} and market.trading.read_epoch(2).phase is Phase.SETTLED
    assert all(market.paid(2)[name] == market.price(i, 2) for i, name in enumerate(market.names))
    assert "out of range" in {r.kind for r in market.acquirer.journal.remarks(subject=market.acquirer.account.address)}


def test_a_key_on_chain_is_paid_in_a_sampled_market_too(sample, kit):
    class Late(Provider):
        def key(self, request):
            raise MarketError("not now")

    market = sample(providers=2, cheats={1: Late})
    market.run(1)
    assert market.outcome(1)["revealed"] == market.names[1:] == market.outcome(1)["accepted"]
    market.check_honest((0, 1), listed=False)


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


OTHER = {
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
    for field, other in OTHER.items():
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
