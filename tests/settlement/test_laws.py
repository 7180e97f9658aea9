"""One suite of laws for every settlement scheme: honest accepts; any single change rejects."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from martfl.settlement import Settlement, SettlementError, integer_weights, load_scheme

PARAMETERS = 40
PROVIDERS = 3


@dataclass(frozen=True)
class Round:
    """An honest epoch, and how to change one number of what is in it."""

    scheme: Any
    before: Any
    updates: list[Any]
    commitments: list[Any]
    openings: list[Any]
    weights: list[int]
    settlement: Settlement[Any, Any]
    change_update: Any  # (update, position) → update
    change_model: Any  # (model, position) → model

    def verify(self, **changes: Any) -> bool:
        """The verifier's answer, with some of its inputs exchanged."""
        names = ("before", "settlement", "weights", "commitments")
        return self.scheme.verify(**{n: changes.get(n, getattr(self, n)) for n in names})


def bump(values, position):
    """One value moved by one step, towards zero, so that it stays in range."""
    changed = values.copy()
    changed[position] += 1 if changed[position] <= 0 else -1
    return changed


def exact_round() -> Round:
    from martfl.settlement.exact import BlindedModel

    scheme = load_scheme("exact", parameters=PARAMETERS)
    rng = np.random.default_rng(5)
    updates = [rng.integers(-32767, 32768, PARAMETERS).astype(np.int16) for _ in range(PROVIDERS)]
    before = BlindedModel(rng.integers(-(2**40), 2**40, PARAMETERS))
    return finish(scheme, before, updates, bump, lambda m, position: replace(m, values=bump(m.values, position)))


def sampled_round() -> Round:
    scheme = load_scheme(
        "sampled",
        parameters=PARAMETERS,
        providers=PROVIDERS,
        samples=4,
        update_limit=0.5,
        model_limit=4.0,
        squarings=300,
    )
    rng = np.random.default_rng(5)
    updates = [scheme.terms.update.quantise(rng.normal(0, 0.1, PARAMETERS)).values for _ in range(PROVIDERS)]
    before = scheme.terms.model.quantise(rng.normal(0, 0.5, PARAMETERS)).values
    return finish(scheme, before, updates, bump, bump)


def finish(scheme, before, updates, change_update, change_model) -> Round:
    """Commit and settle honestly."""
    commitments, openings = zip(*(scheme.commit(u) for u in updates), strict=True)
    weights = integer_weights([0.5, 1.0, 0.25])
    settled = scheme.settle(before=before, weights=weights, updates=updates, openings=openings)
    return Round(
        scheme=scheme,
        before=before,
        updates=updates,
        commitments=list(commitments),
        openings=list(openings),
        weights=weights,
        settlement=settled,
        change_update=change_update,
        change_model=change_model,
    )


ROUNDS = {"exact": exact_round, "sampled": sampled_round}


@pytest.fixture(scope="module", params=ROUNDS)
def honest(request):
    return ROUNDS[request.param]()


positions = st.integers(0, PARAMETERS - 1)
providers = st.integers(0, PROVIDERS - 1)


def test_honest_accepts(honest):
    assert honest.verify()
    for update, commitment, opening in zip(honest.updates, honest.commitments, honest.openings, strict=True):
        assert honest.scheme.verify_opening(update, commitment, opening)


@settings(max_examples=20)
@given(provider=providers, position=positions)
def test_a_changed_update_does_not_open(honest, provider, position):
    changed = honest.change_update(honest.updates[provider], position)
    assert not honest.scheme.verify_opening(changed, honest.commitments[provider], honest.openings[provider])


@settings(max_examples=20)
@given(position=positions)
def test_a_changed_model_is_rejected(honest, position):
    forged = replace(honest.settlement, model=honest.change_model(honest.settlement.model, position))
    assert not honest.verify(settlement=forged)
    assert not honest.verify(before=honest.change_model(honest.before, position))


@settings(max_examples=20)
@given(provider=providers, position=positions)
def test_a_model_from_an_update_that_was_not_committed_is_rejected(honest, provider, position):
    updates = list(honest.updates)
    updates[provider] = honest.change_update(updates[provider], position)
    try:
        settled = honest.scheme.settle(
            before=honest.before, weights=honest.weights, updates=updates, openings=honest.openings
        )
    except SettlementError:
        return
    assert not honest.verify(settlement=settled)


@settings(max_examples=20)
@given(taken=providers, given_=providers, units=st.integers(1, 5000))
def test_other_weights_are_rejected(honest, taken, given_, units):
    weights = list(honest.weights)
    weights[taken] -= units
    weights[given_] += units
    assert honest.verify(weights=weights) == (taken == given_)


def test_exchanged_commitments_and_wrong_counts_are_rejected(honest):
    first, second, *rest = honest.commitments
    assert not honest.verify(commitments=[second, first, *rest])
    assert not honest.verify(commitments=honest.commitments[:-1])
    for units in (-1, 1):
        assert not honest.verify(weights=[*honest.weights[:-1], honest.weights[-1] + units])
    assert not honest.scheme.verify_opening(honest.updates[0], second, honest.openings[0])


def test_weights_that_do_not_sum_are_refused(honest):
    weights = [*honest.weights[:-1], honest.weights[-1] - 1]
    with pytest.raises(SettlementError, match="must sum to 65536, got 65535"):
        honest.scheme.settle(before=honest.before, weights=weights, updates=honest.updates, openings=honest.openings)


def test_an_unknown_scheme_is_refused():
    with pytest.raises(SettlementError, match="scheme must be one of"):
        load_scheme("hopeful")
