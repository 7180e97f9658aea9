"""commit_inputs and verify_aggregation: the contract assembles the public inputs, anybody hands in the proof."""

import dataclasses

import numpy as np
import pytest

from martfl.chain.events import InputsCommitted
from martfl.chain.sampled import proof_words
from martfl.chain.state import Phase
from martfl.settlement.sampled.keys import key_words


def test_inputs_are_those_of_the_statement(market):
    market.randomised()
    done = market.commit_inputs()
    posted = done.event(InputsCommitted)
    assert list(posted.inputs) == market.statement.epoch_inputs()
    assert list(posted.providers) == sorted(market.names, key=lambda name: int(name, 16))
    assert market.state().phase == Phase.INPUTS


def test_only_the_acquirer_commits_inputs(market):
    market.randomised()
    with market.refused("only the acquirer"):
        market.commit_inputs(account=market.stranger)


def test_not_before_the_randomness(market):
    market.published()
    call = market.trading.contract.functions.commit_inputs(1, [], [], b"", b"", [])
    with market.refused("wrong phase"):
        market.chain.send(call, account=market.acquirer)


def test_values_come_from_the_published_roots(market):
    market.randomised()
    market.state_samples()
    other = market.tree(market.aggregated.model[::-1].copy())
    with market.refused("not the cap of the root"):
        market.commit_inputs(new=other)
    with market.refused("not the cap of the root"):
        market.commit_inputs(old=market.new)


def test_changed_value_does_not_lead_to_the_root(market):
    market.randomised()
    index = market.trading.indices()[2]
    changed = np.array(market.aggregated.model)
    changed[index] ^= 1
    lying = dataclasses.replace(market.new, words=market.tree(changed).words)
    with market.refused("path does not lead to the new root"):
        market.commit_inputs(new=lying)
    lying = dataclasses.replace(market.old, words=market.tree(changed).words)
    with market.refused("path does not lead to the old root"):
        market.commit_inputs(old=lying)


def test_every_bought_provider_has_a_slot(market):
    market.randomised()
    market.state_samples()
    some = dict(list(market.commitments.items())[:2])
    with market.refused("a bought provider is missing"):
        market.commit_inputs(commitments=some)
    with market.refused("provider has not committed"):
        market.commit_inputs(commitments={**some, market.stranger.address: 1})


def test_proof_settles_after_the_window(market):
    market.with_inputs()
    market.verify()
    assert market.state().phase == Phase.PROVED
    with market.refused("epoch is not settled"):
        market.claim(market.providers[0])
    market.pass_deadline()
    assert market.state().phase == Phase.SETTLED
    with market.refused("wrong phase"):
        market.verify()


def test_false_proofs_are_refused_and_change_nothing(market):
    market.with_inputs()
    good = market.prove()
    posted, words = market.trading.inputs(1), proof_words(good)
    verify = market.trading.contract.functions.verify_aggregation
    key = key_words(market.key)
    swapped = [*words[6:], *words[2:6], *words[:2]]
    for bad in (swapped, [1, 2, *words[2:]], [*words[:6], 1, 2], [words[0], words[1] + 1, *words[2:]], [0] * 8):
        call = verify(1, list(posted.providers), list(posted.inputs), key, bad)
        with market.refused("proof does not verify"):
            market.chain.send(call, account=market.stranger)
    other = [posted.inputs[0] ^ 1, *posted.inputs[1:]]
    with market.refused("not the committed inputs"):
        market.chain.send(verify(1, list(posted.providers), other, key, words), account=market.stranger)
    spoiled = [*key[:-2], 1, 2]
    with market.refused("not the market's key"):
        market.chain.send(
            verify(1, list(posted.providers), list(posted.inputs), spoiled, words), account=market.stranger
        )
    market.verify(proof=good)


def test_proof_of_another_epoch_is_refused(market):
    market.settled()
    old = market.prove()
    market.with_inputs()
    with market.refused("proof does not verify"):
        market.verify(proof=old)


def test_wrong_commitment_makes_the_proof_fail(market):
    market.randomised()
    market.state_samples()
    name = market.names[0]
    market.commit_inputs(commitments={**market.commitments, name: market.commitments[name] ^ 1})
    with market.refused("proof does not verify"):
        market.verify()
    market.pass_deadline()
    market.expire()
    assert market.state().phase == Phase.FAILED


def test_false_model_cannot_be_proved(market):
    # The acquirer publishes another model than the aggregate; sooner or later a sample shows it, here all do.
    market.prepared()
    market.aggregate()
    honest = market.aggregated
    update = dataclasses.replace(honest.update, values=honest.update.values + 1)
    lying = dataclasses.replace(honest, update=update)
    market.aggregate = lambda: (setattr(market, "aggregated", lying), setattr(market, "old", market.tree(market.model)))
    market.new = market.tree(lying.model)
    market.publish()
    market.randomise()
    market.commit_inputs()
    with pytest.raises(Exception, match="do not satisfy the circuit"):
        market.prove()
    market.pass_deadline()
    market.expire()
    paid = market.claim_all()
    assert paid[market.acquirer.address] < 65_536
