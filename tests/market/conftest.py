"""Markets for tests: small enough to run many times, with parties that can be killed, and an acquirer by hand.

Unless a test names a rule, the acquirer buys everybody who answers, and weighs all who deliver alike.
"""

import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the parts of a market, here and in the processes that tests start
from fuse import Fuse, Killed
from hand import Hand
from small_task import Everybody, Softmax
from whole import Market, Setting

from martfl.market import terms_rules

PLAIN = {"scoring": {"scheme": "plain", "sketch": 0}}  # scores without noise, so that two runs give the same weights
SAMPLED = {"scheme": "sampled", "samples": 4, "providers": 3, "vdf_steps": 300, "update_limit": 8.0, "setup": "alone"}


@pytest.fixture
def build(tmp_path):
    """`build(providers=4, cheats={1: Forger}, terms={...})`; building again on the same folder resumes."""
    opened = []

    def make(folder=tmp_path, **options):
        options["terms"] = {**PLAIN, **options.get("terms", {})}
        market = Market(Setting(folder, **options))
        opened.append(market)
        return market

    def close():
        while opened:
            opened.pop().close()

    make.close = close
    yield make
    close()


@pytest.fixture
def short_delay(monkeypatch):
    """Sampled markets for tests: a delay function of 300 squarings, which the rules of real terms forbid.

    With the least that they allow, 2^24, an epoch would take half a minute; what is tried here does not depend on it.
    """
    monkeypatch.setattr(terms_rules, "LEAST_STEPS", 1)


@pytest.fixture
def sample(build, short_delay):
    """`sample(providers=3, …)`: a sampled market."""

    def make(settlement=None, **options):
        terms = {"settlement": {**SAMPLED, **(settlement or {})}, "deadlines": options.pop("deadlines", {})}
        return build(**options, terms=terms)

    return make


@pytest.fixture
def copy_folder(tmp_path):
    """A market's folder once more, to go on from there; nobody may have it open."""
    return lambda folder: shutil.copytree(folder, tmp_path / "copy")


@pytest.fixture(scope="session")
def kit():
    """What tests need from here by name: modules of tests cannot be imported."""
    return SimpleNamespace(
        Everybody=Everybody, Fuse=Fuse, Hand=Hand, Killed=Killed, Market=Market, Setting=Setting, Softmax=Softmax,
        PLAIN=PLAIN, SAMPLED=SAMPLED,
    )  # fmt: skip
