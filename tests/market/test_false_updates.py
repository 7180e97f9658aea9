"""Updates that are not what they were committed to, and keys that are none: refused, or refuted, and never paid."""

from dataclasses import replace

import numpy as np
import pytest
from fuse import Fuse, FusedChain
from small_task import small_digits

from martfl.chain import events as ev
from martfl.chain.history import read_history
from martfl.chain.network import RevertedError
from martfl.chain.state import Phase, SaleState
from martfl.market.conduct import Honest
from martfl.market.errors import MarketError
from martfl.market.provider import Provider
from martfl.settlement.exact.sealed import leaf_tree, split_body

# --- what was sealed -------------------------------------------------------------------------------------------------


class Tampered:
    """Seals as `how` makes it of what is honestly sealed."""

    def __init__(self, inner, how):
        self.inner, self.how = inner, how

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def seal(self, update, secret):
        return self.how(self.inner, self.inner.seal(update, secret), update, secret)


def sealing(how):
    class Sealing(Provider):
        def __post_init__(self):
            super().__post_init__()
            self.shelf.settler = Tampered(self.settler, how)

    return Sealing


def with_root(settler, sealed, body):
    """The body with the root that it has, so that it is what was committed to."""
    return replace(sealed, body=body, root=leaf_tree(*split_body(body, settler.key), settler.key).root)


def garbage_leaf(settler, sealed, update, secret):
    """Points that add up, and values beside them that are others."""
    return with_root(settler, sealed, bytes([sealed.body[0] ^ 1]) + sealed.body[1:])


def garbage_sum(settler, sealed, update, secret):
    other = np.roll(update, 1)
    return with_root(settler, sealed, settler.seal(other, secret).body)


def garbage_point(settler, sealed, update, secret):
    return replace(sealed, body=sealed.body[:-48] + b"\xff" * 48)


def identity_point(settler, sealed, update, secret):
    return replace(sealed, body=sealed.body[:-48] + b"\xc0" + bytes(47))


def missing_leaf(settler, sealed, update, secret):
    return replace(sealed, body=sealed.body[:-48])


def wrong_size(settler, sealed, update, secret):
    return replace(sealed, body=sealed.body + bytes(48))


def other_commitment(settler, sealed, update, secret):
    return replace(sealed, commitment=settler.seal(np.roll(update, 1), secret).commitment)


def no_point(settler, sealed, update, secret):
    return replace(sealed, commitment=b"\x01" * 128)


NEVER_BOUGHT = (garbage_sum, garbage_point, identity_point, missing_leaf, wrong_size, other_commitment, no_point)


@pytest.mark.parametrize("how", NEVER_BOUGHT)
def test_what_is_not_sound_before_it_is_paid_is_not_bought(build, how):
    market = build(providers=3, cheats={1: sealing(how)})
    market.run(1)
    assert market.names[1] not in market.outcome(1)["bought"]
    assert market.names[1] in market.outcome(1)["committed"]
    market.check_honest((0, 2))


def test_a_false_leaf_is_refuted_and_the_price_returns(build):
    """It passes every check before the purchase, its key opens it, and it is not what was committed to."""
    market = build(providers=3, cheats={1: sealing(garbage_leaf)})
    market.run(1)
    bad = market.names[1]
    assert market.outcome(1)["revealed"] == [bad] == market.outcome(1)["refuted"]
    assert market.state(1) is SaleState.REFUTED and bad not in market.paid(1)
    assert market.offences() == [(bad, "false update")]
    market.check_honest((0, 2))
    (refunded,) = market.outcome(1)["refunded"]
    assert refunded >= market.terms.money.deposit - market.terms.money.reward + market.price(1)


@pytest.mark.long
def test_garbage_keys_at_once_cost_nobody_else_anything(build):
    """Every provider but two reveals something false in the same moment."""
    market = build(providers=6, cheats={i: sealing(garbage_leaf) for i in range(2, 6)}, rows=60)
    market.run(1)
    assert market.outcome(1)["refuted"] == sorted(market.names[2:])
    assert set(market.paid(1)) == set(market.names[:2])
    market.check_honest((0, 1))


# --- keys ------------------------------------------------------------------------------------------------------------


class Withholder(Provider):
    """Is bought, and never gives its key to anybody."""

    def key(self, request):
        raise MarketError("not today")

    def watch(self):
        return {}

    def due(self):
        return None


def test_who_gives_no_key_is_not_paid_and_harms_nobody(build):
    market = build(providers=3, cheats={1: Withholder})
    market.run(1)
    bad = market.names[1]
    assert bad in market.outcome(1)["bought"] and bad not in market.paid(1)
    assert market.state(1) is SaleState.BOUGHT
    assert market.offences() == [(bad, "missing key")]
    market.check_honest((0, 2))


def test_when_all_are_silent_the_acquirer_loses_nothing(build):
    market = build(providers=2, cheats=dict.fromkeys(range(2), Withholder))
    market.run(2)
    for epoch in (1, 2):
        assert market.trading.read_epoch(epoch).phase is Phase.SETTLED and market.weights(epoch) == {}
        assert market.outcome(epoch)["refunded"] == [market.terms.money.deposit]
    assert sorted(kind for _, kind in market.offences()) == ["missing key"] * 4
    market.run(3)  # both are excluded by now, and nobody is left
    assert market.trading.read_epoch(3).phase is Phase.EMPTY


def key_of(length):
    class OddKey(Provider):
        """Commits to a key that is no key: the chain would not take it, and nothing opens by it."""

        def __post_init__(self):
            super().__post_init__()
            honest = self.shelf.secret
            self.shelf.secret = lambda epoch: (honest(epoch) * 2)[:length]

    return OddKey


@pytest.mark.parametrize("length", [0, 31, 33, 64])
def test_a_key_of_another_length_is_none(build, length):
    """It opens nothing, it cannot come on chain, and it does not end the acquirer's program."""
    market = build(providers=3, cheats={1: key_of(length)})
    market.run(1)
    assert market.state(1) is SaleState.BOUGHT and market.names[1] not in market.paid(1)
    assert market.offences() == [(market.names[1], "missing key")]
    said = [remark.detail for remark in market.acquirer.journal.remarks(subject=market.names[1])]
    assert f"key: a secret key has 32 bytes, got {length}" in said
    market.check_honest((0, 2))


class WrongKey(Provider):
    """Gives another key than the one it committed to."""

    def key(self, request):
        honest = super().key(request)
        return replace(honest, body=self._sealed_to(request.key, bytes(32), request.epoch, "key"))


class KeyToAnother(Provider):
    """Seals the key to somebody else."""

    def key(self, request):
        honest = super().key(request)
        return replace(honest, body=self._sealed_to("07" * 32, self.shelf.secret(request.epoch), request.epoch, "key"))


@pytest.mark.parametrize("kind", [WrongKey, KeyToAnother])
def test_a_wrong_key_is_none_until_the_right_one_is_on_chain(build, kind):
    market = build(providers=3, cheats={1: kind})
    market.run(1)
    assert market.outcome(1)["revealed"] == [market.names[1]] == market.outcome(1)["accepted"]
    assert market.paid(1)[market.names[1]] == market.price(1)
    assert market.offences() == []
    market.check_honest((0, 2))


def test_a_key_after_publication_earns_the_price_and_no_weight(build):
    """Waiting until the others' model is public changes nothing for who waited."""

    class Waits(Provider):
        def key(self, request):
            raise MarketError("when the model is there")

    market = build(providers=3, cheats={1: Waits})
    market.run(1)
    history = read_history(market.trading)
    assert history.times(ev.Revealed, 1) > history.times(ev.ModelPublished, 1)
    assert market.paid(1)[market.names[1]] == market.price(1)
    market.check_honest((0, 2))


# --- updates that are sound, and mean harm ---------------------------------------------------------------------------


class ThenZeros(Honest):
    """The buyer's own update at first, so that it is the best of all; then zeros."""

    def __init__(self, root):
        self.root = root

    def update(self, lesson):
        trained = lesson.task.train(lesson.model, self.root, seed=0)
        return trained if lesson.before is None else np.zeros_like(trained)


def test_who_all_are_judged_by_cannot_sell_zeros_to_stop_the_market(build):
    """Rule `martfl` buys the best of the epoch before first, and scores all others by its update."""
    x, y = small_digits()
    conducts = {1: ThenZeros((x[-300:-200], y[-300:-200]))}
    market = build(providers=3, conducts=conducts, rule=None, terms={"selection": {"rule": "martfl"}})
    market.run(2)
    assert market.state(1, epoch=2) is SaleState.CLAIMED  # it was bought, and is paid what it asked
    assert market.trading.read_epoch(2).phase is Phase.SETTLED
    assert market.names[1] not in market.weights(2) and market.weights(2)


class OutOfGas(FusedChain):
    """Receivers may have code, and may burn more of a batch's gas than was estimated."""

    def _send(self, step, *, account, key):
        if key is not None and "/pay " in key:
            raise RevertedError("out of gas")
        return super()._send(step, account=account, key=key)


def test_receivers_that_make_a_batch_fail_do_not_stop_the_market(build, tmp_path):
    chain = OutOfGas(tmp_path / "chain.sqlite", 3, Fuse(parties=("nobody",)))
    market = build(providers=2, chain=chain)
    market.run(2)
    for epoch in (1, 2):
        assert market.trading.read_epoch(epoch).phase is Phase.SETTLED
        assert set(market.paid(epoch)) == set(market.names)  # each took its own
        assert market.outcome(epoch)["refunded"]
    chain.close()
