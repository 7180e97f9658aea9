"""verify_aggregation: anybody hands in the proof of the committed inputs."""

from dataclasses import replace

import pytest
from sampled_market import keys, model_tree

from martfl.chain.events import EpochProved
from martfl.chain.sampled import proof_words
from martfl.chain.state import Phase
from martfl.settlement.sampled.keys import key_words
from martfl.settlement.sampled.r1cs import UnsatisfiedError


def test_proof_settles_after_the_window(market, to_the_second):
    market.with_inputs()
    done = market.verify()
    assert done.events == (EpochProved(epoch=1),)
    state = market.state()
    assert (state.phase, state.deadline) == (Phase.PROVED, market.chain.now() + market.window)
    market.next_at(state.deadline)
    with market.refused("epoch is not final"):
        market.claim(market.sellers[0].account)
    market.pass_deadline()
    assert market.state().phase == Phase.SETTLED
    bonus = state.reward - state.spent
    assert market.claim(market.sellers[0].account) == market.price(0) + bonus * market.weights()[0] // 65_536
    market.claim_all()
    assert market.held() == 0


def test_settles_once_keys_and_refutations_are_over_too(market):
    market.bought()
    market.publish({0: 65_536})
    market.draw()
    market.randomise()
    market.commit_inputs()
    market.verify()
    market.pass_deadline()
    assert market.state().phase == Phase.STANDING
    assert market.standing_digest() == market.new.root
    market.accept(1)
    market.past("keys")
    assert market.state().phase == Phase.SETTLED
    assert sum(market.claim_all().values()) == market.amount


def test_false_proofs_are_refused_and_change_nothing(market):
    market.with_inputs()
    good = market.prove()
    posted, words = market.trading.inputs(1), proof_words(good)
    providers, inputs, key = list(posted.providers), list(posted.inputs), key_words(keys()[1])

    def verify(*arguments):
        call = market.trading.prover.functions.verify_aggregation(market.trading.address, 1, *arguments)
        market.chain.send(call, account=market.stranger)

    swapped = [*words[6:], *words[2:6], *words[:2]]
    base = 21888242871839275222246405745257275088696311157297823662689037894645226208583
    mirrored = [words[0], base - words[1], *words[2:]]
    beyond = [words[0], words[1] + base, *words[2:]]
    others = ([1, 2, *words[2:]], [*words[:6], 1, 2], [words[0], words[1] + 1, *words[2:]], [0] * 8)
    for bad in (swapped, mirrored, beyond, *others):
        with market.refused("proof does not verify", by="prover"):
            verify(providers, inputs, key, bad)
    for changed in ([inputs[0] ^ 1, *inputs[1:]], inputs[:-1], [*inputs, 0]):
        with market.refused("not the committed inputs", by="prover"):
            verify(providers, changed, key, words)
    with market.refused("not the committed inputs", by="prover"):
        verify(providers[::-1], inputs, key, words)
    for changed in ([*key[:-2], 1, 2], key[:-2], [*key, 1, 2]):
        with market.refused("not the market's key", by="prover"):
            verify(providers, inputs, changed, words)
    assert market.state().phase == Phase.PUBLISHED
    market.verify(proof=good)


def test_once(market):
    market.with_inputs()
    proof, posted = market.prove(), market.trading.inputs(1)
    market.verify(proof=proof)
    words = (1, list(posted.providers), list(posted.inputs), key_words(keys()[1]), proof_words(proof))
    with market.refused("wrong phase"):
        market.at_prover("verify_aggregation", *words, account=market.acquirer)
    assert market.verify(proof=proof, account=market.acquirer).event(EpochProved) == EpochProved(epoch=1)


def test_not_after_the_window(market, to_the_second):
    market.with_inputs()
    proof = market.prove()
    before = market.chain.snapshot()
    market.next_at(market.state().deadline)
    market.verify(proof=proof)
    market.chain.revert(before)
    market.next_at(market.state().deadline + 1)
    with market.refused("wrong phase"):
        market.verify(proof=proof)


def test_proof_of_another_epoch_is_refused(market):
    market.settled()
    old = market.prove()
    market.with_inputs()
    with market.refused("proof does not verify", by="prover"):
        market.verify(proof=old)


def test_inputs_of_another_epoch_are_refused(market):
    market.settled()
    old, words = market.trading.inputs(1), proof_words(market.prove())
    market.drawn()
    arguments = (2, list(old.providers), list(old.inputs), key_words(keys()[1]), words)
    call = market.trading.prover.functions.verify_aggregation(market.trading.address, *arguments)
    with market.refused("not the committed inputs", by="prover"):
        market.chain.send(call, account=market.stranger)


def test_wrong_commitment_makes_the_proof_fail(market):
    market.randomised()
    market.state_samples()
    name = market.sellers[1].name
    market.commit_inputs(commitments={**market.commitments, name: market.commitments[name] ^ 1})
    with market.refused("proof does not verify", by="prover"):
        market.verify()
    market.pass_deadline()
    assert market.state().phase == Phase.FAILED


def test_false_model_cannot_be_proved(market):
    """The acquirer publishes another model than the aggregate; sooner or later a sample shows it, here all do."""
    market.bought()
    market.aggregate(market.weights())
    honest = market.aggregated
    lying = replace(honest, update=replace(honest.update, values=honest.update.values + 1))
    tree = model_tree(lying.model)
    market.publish(root=tree.root)
    market.aggregated, market.new = lying, tree
    market.draw()
    market.randomise()
    market.commit_inputs()
    with pytest.raises(UnsatisfiedError, match="do not satisfy the circuit"):
        market.prove()
    market.pass_deadline()
    assert market.state().phase == Phase.FAILED
    market.claim_all()
    assert market.held() == market.state().penalty
