"""Commitments and offers that do not hold: skipped, named, and no trouble for anybody else."""

from dataclasses import replace

from eth_account import Account

from martfl.chain.signing import sign_commit
from martfl.chain.state import WHOLE
from martfl.market.provider import Provider
from martfl.market.steps import Relayed


def signing(how):
    class Signing(Provider):
        def train(self, request):
            return how(self, super().train(request))

        def watch(self):  # and does not send its own
            return {}

    return Signing


def of_another_wallet(provider, reply):
    return replace(reply, signature=sign(provider, reply, Account.create()))


def of_another_market(provider, reply):
    return replace(reply, signature=sign(provider, reply, provider.account, market="0x" + "11" * 20))


def of_another_chain(provider, reply):
    return replace(reply, signature=sign(provider, reply, provider.account, chain_id=1))


def of_another_epoch(provider, reply):
    return replace(reply, signature=sign(provider, reply, provider.account, epoch=2))


def no_hexadecimal(provider, reply):
    return replace(reply, signature="zz")


def too_short(provider, reply):
    return replace(reply, digest=reply.digest[:-2])


def two_words(provider, reply):
    return replace(reply, digest=f"{reply.digest} 00")


def sign(provider, reply, account, **changes):
    place = {"chain_id": provider.market.chain_id, "market": provider.market.contract, "epoch": 1, **changes}
    return sign_commit(account, **place, digest=bytes.fromhex(reply.digest)).signature.hex()


SIGNATURES = (
    of_another_wallet, of_another_market, of_another_chain, of_another_epoch, no_hexadecimal, too_short, two_words,
)  # fmt: skip


def test_bad_signatures_are_skipped_and_spoil_nobodys_batch(build):
    cheats = {i + 2: signing(how) for i, how in enumerate(SIGNATURES)}
    market = build(providers=2 + len(SIGNATURES), cheats=cheats, rows=60)
    market.run(1)
    assert set(market.outcome(1)["committed"]) == set(market.names[:2])
    assert len(market.acquirer.journal.recall(1, Relayed).sent) == 1
    market.check_honest((0, 1))


def offering(**changes):
    class Offering(Provider):
        def offer(self, request):
            return replace(super().offer(request), **changes)

    return Offering


class AsksMore(Provider):
    """Commits to an ask that nobody can pay."""

    def __post_init__(self):
        super().__post_init__()
        self.shelf.ask = self.terms.money.reward + 1


BAD_OFFERS = [
    offering(ask="0"), offering(ask=str(2 * 10**16)), offering(ask="-1"), offering(ask="a fortune"),
    offering(ask=str(2**96)), offering(root="00" * 32), offering(key_hash="11" * 32), offering(root="zz"),
    offering(key_hash="11"), offering(body=b""), offering(body=b"\1" * 128), AsksMore,
]  # fmt: skip


def test_offers_that_do_not_open_the_commitment_or_cannot_be_paid_are_not_bought(build):
    market = build(providers=2 + len(BAD_OFFERS), cheats=dict(enumerate(BAD_OFFERS, start=2)), rows=50)
    market.run(1)
    assert set(market.outcome(1)["bought"]) == set(market.names[:2])
    assert {r.subject for r in market.acquirer.journal.remarks()} == set(market.names[2:])
    market.check_honest((0, 1))


def test_an_ask_of_the_whole_reward_is_paid_and_no_more(build):
    market = build(providers=2, asks={0: 10**18, 1: 10**18}, terms={"reputation": {"dearest": 2.0}})
    market.run(1)
    ((name, amount),) = market.paid(1).items()
    assert amount == 10**18 and market.weights(1) == {name: WHOLE}
