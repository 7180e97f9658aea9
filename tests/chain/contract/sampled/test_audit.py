"""An audit of a sampled epoch computes seed, delay function, slots and proof again."""

from dataclasses import replace

import pytest

from martfl.market import auditor
from martfl.market.history import read_history


@pytest.fixture
def settled(make_market):
    market = make_market()
    market.settled()
    return market


def failed(market):
    return {check.name for check in auditor.audit(market.trading, None, {}) if not check.ok}


def test_a_settled_epoch_passes(settled):
    names = {check.name for check in auditor.audit(settled.trading, None, {})}
    assert {"randomness", "inputs", "proof", "weights", "deadlines", "shares", "money", "phase"} <= names
    assert failed(settled) == set()


@pytest.mark.parametrize(
    ("kind", "change", "caught"),
    [
        ("RandomnessSubmitted", lambda e: {"output": (*e.output[:-1], e.output[-1] ^ 2)}, "randomness"),
        ("RandomnessSubmitted", lambda e: {"randomness": bytes(32)}, "randomness"),
        ("RootPublished", lambda e: {"nonce": bytes(32)}, "randomness"),
        ("ModelCommitted", lambda e: {"nonce": bytes(32)}, "randomness"),
        ("InputsCommitted", lambda e: {"providers": e.providers[::-1]}, "inputs"),
        ("InputsCommitted", lambda e: {"inputs": (e.inputs[0] + 1, *e.inputs[1:])}, "inputs"),
    ],
)
def test_what_was_changed_is_found(settled, monkeypatch, kind, change, caught):
    history = read_history(settled.trading)
    entries = list(history.entries)
    at = next(i for i, e in enumerate(entries) if type(e.event).__name__ == kind and e.event.epoch == 1)
    entries[at] = replace(entries[at], event=replace(entries[at].event, **change(entries[at].event)))
    monkeypatch.setattr(auditor, "read_history", lambda trading: replace(history, entries=tuple(entries)))
    assert failed(settled) == {caught}
