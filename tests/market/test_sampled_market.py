"""Markets that settle by sampling: an honest epoch, and an acquirer that proves something about other updates."""

from dataclasses import replace

import numpy as np

from martfl.chain.state import Phase
from martfl.market.auditor import audit
from martfl.market.settling.sampled import SampledSettler
from martfl.settlement.integer_file import peek

TERMS = {
    "settlement": {"scheme": "sampled", "samples": 4, "providers": 3, "vdf_steps": 200, "update_limit": 8.0},
    "selection": {"rule": "martfl"},
}


class Lying(SampledSettler):
    """Proves and aggregates with another update in the place of the first provider's."""

    def _swapped(self, shares):
        first = min(shares, key=lambda name: int(name, 16))
        share = shares[first]
        other = np.clip(share.delivered.values + 1, 0, 4095)
        return {**shares, first: replace(share, delivered=replace(share.delivered, values=other))}

    def aggregate(self, file, shares, *, epoch):
        return super().aggregate(file, self._swapped(shares), epoch=epoch)

    def prove(self, act, base, file, shares):
        return super().prove(replace(act, clock=Standing()), base, file, self._swapped(shares))


class Standing:
    """A clock that does not wait: the providers act first."""

    def wait_until(self, timestamp):
        pass


def test_an_honest_epoch_is_proved_and_paid(build):
    market = build(providers=3, terms=TERMS)
    market.acquirer.run(1)
    assert market.trading.read_epoch(1).phase is Phase.SETTLED
    assert market.accuracy(1) > market.accuracy(0)
    assert market.chain.balance(market.trading.address) == 0
    assert market.claimed() >= market.terms.money.reward
    checks = audit(market.trading, market.settler, {t: market.acquirer.model_file(t) for t in (0, 1)})
    assert [check for check in checks if not check.ok] == []
    assert {"randomness", "inputs", "proof", "model file"} <= {check.name for check in checks}
    assert peek(market.acquirer.model_file(1)).epoch == 1


def test_a_proof_about_another_update_is_refuted_by_its_provider(build):
    market = build(providers=3, terms=TERMS)
    honest, acquirer = market.settler, market.acquirer
    acquirer.settler = Lying(honest.shape, honest.terms, honest.parameters, honest.squarings)
    acquirer._close = lambda *_: None  # the acquirer goes away with its proof accepted
    acquirer.run_epoch(1)
    assert market.trading.read_epoch(1).phase is Phase.PROVED
    cheated = min(market.providers, key=lambda p: int(p.account.address, 16))
    claimed = cheated.watch()
    assert market.trading.read_epoch(1).phase is Phase.FAILED
    fair = market.terms.money.reward * market.trading.read_provider(1, cheated.account.address).weight >> 16
    assert claimed[1] > fair
