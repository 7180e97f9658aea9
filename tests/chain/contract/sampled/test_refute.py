"""refute_commitment: a provider shows that the posted commitment is not about its update."""

import dataclasses

import pytest

from martfl.chain.events import CommitmentRefuted, EpochClosed
from martfl.chain.state import Phase


def spoil(market, index: int) -> dict[str, int]:
    market.randomised()
    market.state_samples()
    name = market.names[index]
    return {**market.commitments, name: market.commitments[name] ^ 1}


def test_wrong_commitment_costs_the_penalty(market):
    market.commit_inputs(commitments=spoil(market, 1))
    done = market.refute(1)
    assert done.events == (
        CommitmentRefuted(epoch=1, provider=market.names[1]),
        EpochClosed(epoch=1, phase=Phase.FAILED),
    )
    paid = market.claim_all()
    assert sum(paid.values()) == market.amount
    assert paid[market.acquirer.address] < 65_536


def test_right_commitment_stands(market):
    market.with_inputs()
    for index in range(3):
        with market.refused("commitment is right"):
            market.refute(index)


def test_until_the_window_ends_even_after_the_proof(market):
    market.with_inputs()
    market.verify()
    with market.refused("commitment is right"):
        market.refute(0)
    market.pass_deadline()
    with market.refused("wrong phase"):
        market.refute(0)


@pytest.mark.parametrize("kind", ["blinding", "cap", "word", "salt", "position"])
def test_openings_must_be_the_providers(market, kind):
    market.commit_inputs(commitments=spoil(market, 1))
    good = market.objection(1)
    path = good.paths[0]
    bad, reason = {
        "blinding": (dataclasses.replace(good, blinding=good.blinding ^ 1), "not the provider's root"),
        "cap": (dataclasses.replace(good, cap=good.cap[::-1]), "not the provider's root"),
        "word": (
            dataclasses.replace(good, paths=(dataclasses.replace(path, word=bytes(32)), *good.paths[1:])),
            "path does not lead to the provider's root",
        ),
        "salt": (
            dataclasses.replace(good, paths=(dataclasses.replace(path, salt=bytes(32)), *good.paths[1:])),
            "path does not lead to the provider's root",
        ),
        "position": (
            dataclasses.replace(good, paths=good.paths[::-1]),
            "path does not lead to the provider's root",
        ),
    }[kind]
    with market.refused(reason):
        market.refute(1, objection=bad)


def test_opening_of_another_provider_does_not_serve(market):
    market.commit_inputs(commitments=spoil(market, 1))
    with market.refused("not the provider's root"):
        market.refute(0, objection=market.objection(1))
