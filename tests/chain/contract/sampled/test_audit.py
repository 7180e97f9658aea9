"""An audit of a sampled epoch computes seed, delay function, slots and proof again."""

from dataclasses import replace

from martfl.market import auditor
from martfl.market.history import read_history

LIES = [
    ("RandomnessSubmitted", lambda e: {"output": (*e.output[:-1], e.output[-1] ^ 2)}, "randomness"),
    ("RandomnessSubmitted", lambda e: {"randomness": bytes(32)}, "randomness"),
    ("RootPublished", lambda e: {"nonce": bytes(32)}, "randomness"),
    ("ModelCommitted", lambda e: {"nonce": bytes(32)}, "randomness"),
    ("InputsCommitted", lambda e: {"providers": e.providers[::-1]}, "inputs"),
    ("InputsCommitted", lambda e: {"inputs": (e.inputs[0] + 1, *e.inputs[1:])}, "inputs"),
]


def failed(market):
    return {check.name for check in auditor.audit(market.trading, None, {}) if not check.ok}


def test_a_settled_epoch_passes_and_what_is_changed_is_found(make_market, monkeypatch):
    market = make_market()
    market.settled()
    names = {check.name for check in auditor.audit(market.trading, None, {})}
    assert {"randomness", "inputs", "proof", "weights", "deadlines", "shares", "money", "phase"} <= names
    assert failed(market) == set()
    history = read_history(market.trading)
    for kind, change, caught in LIES:
        entries = list(history.entries)
        at = next(i for i, e in enumerate(entries) if type(e.event).__name__ == kind and e.event.epoch == 1)
        entries[at] = replace(entries[at], event=replace(entries[at].event, **change(entries[at].event)))
        changed = replace(history, entries=tuple(entries))
        monkeypatch.setattr(auditor, "read_history", lambda trading, changed=changed: changed)
        assert failed(market) == {caught}, kind
