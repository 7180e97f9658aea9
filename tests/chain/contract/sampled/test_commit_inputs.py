"""commit_inputs: the prover assembles the public inputs from what was published, drawn and opened."""

from dataclasses import replace

import numpy as np
from sampled_market import model_tree

from martfl.chain.events import InputsCommitted
from martfl.chain.sampled import _opening
from martfl.chain.state import Phase
from martfl.settlement.sampled.statement import FIELD


def test_inputs_are_those_of_the_statement(market):
    market.randomised({2: 30_000, 0: 35_536})
    posted = market.commit_inputs().event(InputsCommitted)
    assert list(posted.inputs) == market.statement.epoch_inputs()
    assert list(posted.providers) == [market.sellers[i].name for i in (2, 0)]
    assert market.state().phase == Phase.PUBLISHED


def test_only_the_acquirer_and_once(market):
    market.randomised()
    with market.refused("only the acquirer", by="prover"):
        market.commit_inputs(account=market.stranger)
    market.commit_inputs()
    with market.refused("inputs are committed", by="prover"):
        market.commit_inputs()


def raw(market, **changes):
    """The call with parts of the test's own."""
    posted = market.trading.root(market.epoch)
    openings = [_opening(market.old.open(j), market.new.open(j)) for j in market.trading.indices(market.epoch)]
    values = {
        "providers": list(posted.providers),
        "weights": list(posted.weights),
        "commitments": list(market.commitments.values()),
        "old_cap": b"".join(market.old.cap),
        "new_cap": b"".join(market.new.cap),
        "openings": openings,
    }
    call = market.trading.prover.functions.commit_inputs
    arguments = (values | changes).values()
    return market.chain.send(call(market.trading.address, market.epoch, *arguments), account=market.acquirer)


def test_not_before_the_randomness(market):
    market.drawn()
    call = market.trading.prover.functions.commit_inputs(market.trading.address, 1, [], [], [], b"", b"", [])
    with market.refused("randomness is not known", by="prover"):
        market.chain.send(call, account=market.acquirer)


def test_slots_are_those_that_were_published(market):
    market.randomised()
    market.state_samples()
    posted = market.trading.root(1)
    reversed_ = {"providers": list(posted.providers)[::-1], "weights": list(posted.weights)[::-1]}
    fewer = {"providers": list(posted.providers)[:2], "weights": list(posted.weights)[:2]}
    heavier = {"weights": [posted.weights[0] + 1, posted.weights[1] - 1, posted.weights[2]]}
    for changes in (reversed_, fewer, heavier):
        with market.refused("not who was published", by="prover"):
            raw(market, **changes)
    values = list(market.commitments.values())
    for wrong in (values[:2], [*values, 1]):
        with market.refused("one commitment for each provider", by="prover"):
            raw(market, commitments=wrong)
    raw(market)


def test_values_come_from_the_published_roots(market):
    market.randomised()
    market.state_samples()
    other = model_tree(market.aggregated.model[::-1].copy())
    with market.refused("not the cap of the root", by="prover"):
        market.commit_inputs(new=other)
    with market.refused("not the cap of the root", by="prover"):
        market.commit_inputs(old=market.new)


def test_changed_value_does_not_lead_to_the_root(market):
    market.randomised()
    changed = np.array(market.aggregated.model)
    changed[market.trading.indices(1)[2]] ^= 1
    words = model_tree(changed).words
    with market.refused("path does not lead to the new root", by="prover"):
        market.commit_inputs(new=replace(market.new, words=words))
    with market.refused("path does not lead to the old root", by="prover"):
        market.commit_inputs(old=replace(market.old, words=words))


def test_every_sample_is_opened(market):
    market.randomised()
    market.state_samples()
    openings = [_opening(market.old.open(j), market.new.open(j)) for j in market.trading.indices(1)]
    for wrong in (openings[:3], [*openings, openings[0]], []):
        with market.refused("one opening for each sample", by="prover"):
            raw(market, openings=wrong)
    with market.refused("path does not lead to the old root", by="prover"):
        raw(market, openings=openings[::-1])


def test_commitments_lie_in_the_field(market):
    market.randomised()
    market.state_samples()
    names = list(market.commitments)
    market.commit_inputs(commitments={**market.commitments, names[0]: market.commitments[names[0]] + FIELD})
    with market.refused("input is not in the field", by="prover"):
        market.verify()


def test_not_after_the_window(market):
    market.randomised()
    market.pass_deadline()
    market.state_samples()
    with market.refused("wrong phase"):
        raw(market)
