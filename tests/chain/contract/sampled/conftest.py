"""Markets with sampled settlement."""

import functools

import pytest
from sampled_market import SampledMarket


@pytest.fixture
def make_market(chain):
    return functools.partial(SampledMarket, chain)
