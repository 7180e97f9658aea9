"""Agreement with the public implementations of byzfl, where that package is installed (development only)."""

import importlib
import importlib.util
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import torch

from martfl.lab.rules import make_rule


@pytest.fixture
def aggregators(monkeypatch):
    """byzfl's aggregators alone: the package's own __init__ also wants torchvision, which they do not need."""
    found = importlib.util.find_spec("byzfl")
    if found is None or found.origin is None:
        pytest.skip("byzfl is not installed")
    bare = types.ModuleType("byzfl")
    bare.__path__ = [str(Path(found.origin).parent)]
    monkeypatch.setitem(sys.modules, "byzfl", bare)
    return importlib.import_module("byzfl.aggregators.aggregators")


def update_of(name, view, **params):
    rule = make_rule(name, **params)
    return rule.step(rule.init(), view)[1].update.numpy()


@pytest.mark.parametrize("seed", range(5))
def test_krum_and_multi_krum(aggregators, seed, view_of) -> None:
    """byzfl sums over n − f − 1 neighbours, the paper over n − f − 2: compared at byzfl's number."""
    updates = np.random.default_rng(seed).normal(size=(12, 30)) * np.linspace(0.5, 2.0, 12)[:, None]
    given = {"byzantine": 0.25, "neighbours": 12 - 3 - 1}
    assert update_of("krum", view_of(updates), **given) == pytest.approx(aggregators.Krum(3)(updates))
    assert update_of("multi-krum", view_of(updates), **given) == pytest.approx(aggregators.MultiKrum(3)(updates))


@pytest.mark.parametrize("n", [7, 8])
def test_median_and_trimmed_mean(aggregators, n, view_of) -> None:
    updates = torch.as_tensor(np.random.default_rng(n).normal(size=(n, 30))).numpy()
    assert update_of("median", view_of(updates)) == pytest.approx(aggregators.Median()(updates))
    assert update_of("trimmed-mean", view_of(updates), trim=2 / n) == pytest.approx(aggregators.TrMean(2)(updates))
