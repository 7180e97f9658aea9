"""refute_commitment: somebody shows that the posted commitment is not about a provider's update."""

from dataclasses import replace

import numpy as np
import pytest

import martfl.chain.sampled as client
from martfl.chain.events import CommitmentRefuted, EpochFailed
from martfl.chain.state import Phase
from martfl.settlement.sampled.poseidon import constants_words


def spoil(market, index: int) -> None:
    market.randomised()
    market.state_samples()
    name = market.sellers[index].name
    market.commit_inputs(commitments={**market.commitments, name: market.commitments[name] ^ 1})


def test_wrong_commitment_costs_the_penalty(market):
    spoil(market, 1)
    done = market.refute_commitment(1, account=market.stranger)
    name, address = market.sellers[1].name, market.trading.address
    assert set(done.events) == {CommitmentRefuted(market=address, epoch=1, provider=name), EpochFailed(epoch=1)}
    paid = market.claim_all()
    state = market.state()
    assert paid[market.acquirer.address] == state.reward - state.spent
    assert [paid[market.sellers[i].name] for i in range(3)] == [market.price(i) for i in range(3)]
    assert market.held() == state.penalty


def test_right_commitment_stands(market):
    market.with_inputs()
    for index in range(3):
        with market.refused("commitment is right", by="prover"):
            market.refute_commitment(index)


def test_substituted_update_is_refuted_after_the_proof_until_the_model_stands(market, to_the_second):
    """The acquirer proves a model with another update in place of what seller 1 bound itself to."""
    true = market.sellers[1]
    market.bought()
    market.sellers[1] = replace(true, update=np.roll(true.update, 1))
    market.publish()
    market.draw()
    market.randomise()
    market.commit_inputs()
    market.verify()
    market.sellers[1] = true
    before = market.chain.snapshot()
    market.next_at(market.state().deadline)
    market.refute_commitment(1)
    assert market.state().phase == Phase.FAILED
    market.chain.revert(before)
    market.next_at(market.state().deadline + 1)
    with market.refused("wrong phase"):
        market.refute_commitment(1)


def test_not_once_the_epoch_has_failed(market):
    spoil(market, 1)
    market.pass_deadline()
    with market.refused("wrong phase"):
        market.refute_commitment(1)


def test_not_before_the_inputs(market):
    market.randomised()
    market.state_samples()
    call = market.trading.prover.functions.refute_commitment
    arguments = ([], [], 0, bytes(32), 0, b"", [], [])
    with market.refused("not the committed inputs", by="prover"):
        market.chain.send(call(market.trading.address, 1, *arguments), account=market.stranger)


@pytest.mark.parametrize("kind", ["blinding", "cap", "word", "salt", "sibling", "position", "fewer"])
def test_openings_must_be_the_providers(market, kind):
    spoil(market, 1)
    good = market.objection(1)
    path, rest = good.paths[0], good.paths[1:]
    leads = "path does not lead to the provider's root"
    bad, reason = {
        "blinding": (replace(good, blinding=good.blinding ^ 1), "not the provider's root"),
        "cap": (replace(good, cap=good.cap[::-1]), "not the provider's root"),
        "word": (replace(good, paths=(replace(path, word=bytes(32)), *rest)), leads),
        "salt": (replace(good, paths=(replace(path, salt=bytes(32)), *rest)), leads),
        "sibling": (replace(good, paths=(replace(path, siblings=(bytes(32), *path.siblings[1:])), *rest)), leads),
        "position": (replace(good, paths=good.paths[::-1]), leads),
        "fewer": (replace(good, paths=good.paths[:3]), "one opening for each sample"),
    }[kind]
    with market.refused(reason, by="prover"):
        market.refute_commitment(1, objection=bad)


def test_opening_of_another_provider_does_not_serve(market):
    spoil(market, 1)
    with market.refused("not the provider's root", by="prover"):
        market.refute_commitment(0, objection=market.objection(1))
    offer = replace(market.sellers[1].offer, root=market.sellers[0].offer.root)
    with market.refused("not the provider's root", by="prover"):
        market.refute_commitment(1, offer=offer)


def test_constants_are_poseidons(market, monkeypatch):
    spoil(market, 1)
    real = constants_words(3)
    for wrong in ([*real[:-1], real[-1] ^ 1], real[:-1], [*real, 1]):
        monkeypatch.setattr(client, "constants_words", lambda width, wrong=wrong: wrong)
        with market.refused("not Poseidon's constants", by="prover"):
            market.refute_commitment(1)


def test_blinding_beyond_the_field_is_refused(market):
    spoil(market, 1)
    good = market.objection(1)
    with market.refused("blinding is not in the field", by="prover"):
        market.refute_commitment(1, objection=replace(good, blinding=2**255))


def test_failed_epoch_still_waits_for_keys(market):
    market.bought()
    market.publish({0: 65_536})
    market.draw()
    market.randomise()
    market.state_samples()
    name = market.sellers[0].name
    market.commit_inputs(commitments={name: market.commitments[name] ^ 1})
    market.refute_commitment(0)
    assert market.state().phase == Phase.FAILING
    market.reveal(1)
    market.past("publish")
    paid = market.claim_all()
    assert [paid[market.sellers[i].name] for i in (0, 1)] == [market.price(0), market.price(1)]
    assert market.held() == market.state().penalty
