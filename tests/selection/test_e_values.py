"""Evidence in one currency: what an e-value promises, and how findings of many epochs are put together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from martfl.selection.e_values import HIDDEN, MOST, against_rival, log_e, posterior


def test_the_mean_of_an_honest_providers_e_value_is_at_most_one() -> None:
    mean, _ = quad(lambda z: float(np.exp(log_e(z))) * norm.pdf(z), -30, 30)
    assert 0.95 < mean <= 1.0 + 1e-9, "below 1 only by what the cap takes away"


@pytest.mark.parametrize("rate", [0.1, 0.05, 0.01])
def test_an_honest_provider_is_dropped_no_more_often_than_promised(rate) -> None:
    draws = np.random.default_rng(0).normal(size=200_000)
    assert np.mean(log_e(draws) >= -np.log(rate)) <= rate


@given(st.floats(-50, 50), st.floats(0, 5))
def test_lower_deviations_are_stronger_evidence_within_bounds(z, step) -> None:
    assert log_e(z - step) >= log_e(z) - 1e-12
    assert np.log(HIDDEN) - 1e-12 <= log_e(z) <= MOST


def test_averaged_findings_of_dependent_epochs_keep_the_promise_and_added_ones_break_it() -> None:
    """As measured, an honest provider's findings in consecutive epochs correlate by 0.96."""
    rng, epochs, rate = np.random.default_rng(1), 20, 0.01
    shared = rng.normal(size=(20_000, 1))
    findings = np.sqrt(0.96) * shared + np.sqrt(0.04) * rng.normal(size=(20_000, epochs))
    averaged = log_e(findings.mean(axis=1)) >= -np.log(rate)
    added = log_e(findings).sum(axis=1) >= -np.log(rate)
    assert averaged.mean() <= rate < added.mean()


def test_the_chance_of_being_honest_falls_with_evidence() -> None:
    chances = posterior([-1.0, 0.0, 2.0, 60.0], 0.25)
    assert chances[1] == pytest.approx(0.8) and (np.diff(chances) < 0).all() and chances[-1] < 1e-9


def test_of_two_rival_charges_the_weaker_one_takes_from_the_stronger() -> None:
    assert against_rival(3.0, -50.0, 0.25) == pytest.approx(3.0)
    assert against_rival(3.0, 3.0, 0.25) < 3.0 - 1.0
    assert against_rival(3.0, 4.0, 0.25) < against_rival(3.0, 3.0, 0.25) < against_rival(3.0, 3.0, 0.1)
