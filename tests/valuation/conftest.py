"""The world of sellers for every test."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # `sellers_world`, which Hypothesis needs at import
from sellers_world import World


@pytest.fixture
def world() -> World:
    """The first of many."""
    return World()
