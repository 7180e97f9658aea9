"""Markets that settle by sampling: acquirers that prove something else, and sellers of false updates."""

from dataclasses import replace

import numpy as np
from sampled_parts import Standing, check_failed, proved_by, settler_of

from martfl.chain import events as ev
from martfl.chain.state import Phase, SaleState
from martfl.market import messages as ms
from martfl.market import purchases
from martfl.market.auditor import audit
from martfl.market.conduct import Honest
from martfl.market.errors import MarketError
from martfl.market.provider import Provider
from martfl.market.settling import drawing
from martfl.market.settling.sampled import SampledSettler
from martfl.settlement.integer_file import from_bytes, to_bytes
from martfl.settlement.sampled import sealed
from martfl.settlement.sampled.vdf import VdfProof, evaluate

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
    assert market.outcome(1)["refuted"] == market.names[1:2] and market.state(1) is SaleState.REFUTED
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
    assert market.state(1) is SaleState.REFUTED and market.names[1] not in market.paid(1)
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
    assert market.state(1) is SaleState.REFUTED and market.names[1] not in market.paid(1)
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
    told = []
    market.acquirer.tell = lambda epoch, step, text: told.append((epoch, step, text))
    market.run(2)
    near = [(epoch, text) for epoch, step, text in told if step == "range"]
    assert [epoch for epoch, _ in near] == [1, 2] and "of settlement.model_limit" in near[0][1]
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
