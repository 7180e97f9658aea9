"""Providers that break the rules, one way for each: the honest end with what the rules give them."""

import json

import pytest
from eth_account import Account

from martfl.chain import events as ev
from martfl.chain.network import RevertedError
from martfl.chain.state import Phase
from martfl.market import messages as ms
from martfl.market.errors import MarketError
from martfl.market.journal import Journal
from martfl.market.provider import Provider
from martfl.scoring import scorer

# Whoever answers is bought.
EVERYBODY = {"selection": {"rule": "martfl", "scorer": "plain", "options": {"threshold": 2.0}}}


def never(provider, request):
    raise TimeoutError("no answer")


def late(provider, request):
    Provider.handle(provider, request)
    raise TimeoutError("the answer came too late")


def garbage(provider, request):
    return b"\x00garbage" * 5


def truncated(provider, request):
    return Provider.handle(provider, request)[:-9]


def oversized(provider, request):
    message, _ = ms.decode(Provider.handle(provider, request), market=provider.trading.address)
    changed = type(message)(**{**vars(message), "body": bytes(3 << 20)})
    return ms.encode(changed, market=provider.trading.address, account=provider.account)


def other_epoch(provider, request):
    message, _ = ms.decode(Provider.handle(provider, request), market=provider.trading.address)
    changed = type(message)(**{**vars(message), "epoch": message.epoch + 1})
    return ms.encode(changed, market=provider.trading.address, account=provider.account)


def impostor(provider, request):
    message, _ = ms.decode(Provider.handle(provider, request), market=provider.trading.address)
    return ms.encode(message, market=provider.trading.address, account=Account.create())


def steering(provider, request):
    """Well signed, with a text that no journal can keep and that would rewrite a terminal."""
    head, _, body = ms._split(Provider.handle(provider, request))
    values = json.loads(head)
    head = json.dumps({**values, "kind": "refusal", "fields": {"epoch": 1, "reason": "\ud800\x1b[2J"}}).encode()
    signature = bytes(provider.account.sign_message(ms._signed(head)).signature)
    return ms.MAGIC + len(head).to_bytes(4, "big") + head + signature + body


WAYS = (never, late, garbage, truncated, oversized, other_epoch, impostor, steering)


def misbehaving(way, kind):
    """A provider that answers requests of one kind in a bad way and is honest otherwise."""

    class Misbehaving(Provider):
        def handle(self, request):
            message, _ = ms.decode(request, market=self.trading.address)
            return way(self, request) if isinstance(message, kind) else super().handle(request)

    return Misbehaving


@pytest.fixture
def tried(build):
    """A market in which every way is tried at one kind of request, beside two honest providers."""

    def run(kind):
        cheats = {i + 2: misbehaving(way, kind) for i, way in enumerate(WAYS)}
        market = build(providers=2 + len(WAYS), terms=EVERYBODY, cheats=cheats, rows=60)
        market.run(1)
        assert market.trading.read_epoch(1).phase is Phase.SETTLED
        return market, [account.address for account in market.sellers]

    return run


def check_money(market):
    """Nothing is lost: what has not been claimed can be, and is by those who look after themselves."""
    for provider in market.providers:
        provider.watch()
    assert market.money_in(1) == market.money_out(1)
    assert market.chain.balance(market.trading.address) == 0


def weights(market):
    (prepared,) = market.events(ev.Prepared, 1)
    return dict(zip(prepared.providers, prepared.weights, strict=True))


def test_training_requests(tried):
    """The chain says who committed, whatever was answered: only who never trained is out."""
    market, names = tried(ms.TrainRequest)
    assert set(weights(market)) == {name for i, name in enumerate(names) if i not in (2, 4)}  # never, garbage
    check_money(market)


def test_score_requests(tried):
    """Who gives no valid answer is not judged, not bought, and owes nothing."""
    market, names = tried(ms.ScoreRequest)
    assert set(weights(market)) == set(names[:2])
    assert market.outcome(1)["dropped"] == []
    assert {r.subject for r in market.acquirer.journal.remarks()} == set(names[4:])  # the silent said nothing wrong
    check_money(market)
    assert [p.claim(1) > 0 for p in market.providers] == [True] * 2 + [False] * len(WAYS)


def test_delivery_requests(tried):
    """Who was bought and does not deliver is dropped; its part goes to the others."""
    market, names = tried(ms.DeliverRequest)
    assert set(weights(market)) == set(names)
    assert market.outcome(1)["dropped"] == sorted(names[2:])
    check_money(market)
    reward = market.trading.read_epoch(1).reward
    earned = [p.claim(1) for p in market.providers]
    assert earned[2:] == [0] * len(WAYS) and reward - (1 << 16) < sum(earned) <= reward
    kinds = {r.kind for r in market.acquirer.journal.remarks() if r.subject == names[2]}
    assert kinds == {"missing delivery"}


def test_published_models_and_claims(tried):
    """Nothing hangs on these answers: everybody is paid."""
    market, names = tried((ms.Published, ms.Closed))
    assert set(weights(market)) == set(names)
    check_money(market)
    assert all(p.claim(1) > 0 for p in market.providers)


class Forger(Provider):
    """Reports the score of something else than what it committed to."""

    def score(self, request):
        honest = super().score(request)
        other = -self._floats(request.epoch)
        body = scorer(self.terms.selection.scorer).score(request.body, other)
        return ms.ScoreReply(epoch=honest.epoch, baseline=honest.baseline, body=body)


class FalseDeliverer(Provider):
    """Delivers another update than the one it committed to."""

    def _integers(self, epoch):
        values = super()._integers(epoch).copy()
        values[3] += 1
        return values


@pytest.mark.parametrize(("cheat", "offence"), [(Forger, "forged score"), (FalseDeliverer, "false delivery")])
def test_who_cheats_is_dropped_remembered_and_excluded(build, cheat, offence):
    terms = {**EVERYBODY, "reputation": {"exclude_after": 1}}
    market = build(providers=3, terms=terms, cheats={1: cheat})
    market.run(1)
    bad = market.sellers[1].address
    assert market.outcome(1)["dropped"] == [bad]
    assert [(r.subject, r.kind) for r in market.acquirer.journal.remarks()] == [(bad, offence)]
    acquirer, cheater = market.acquirer, market.providers[1]
    acquirer._open(2)  # not invited, it commits on its own
    request = ms.TrainRequest(epoch=2, body=acquirer.model_file(1))
    cheater.train(request)
    market.run(2)
    assert bad not in acquirer.journal.recall(2, "invite").value["invited"]
    assert market.trading.read_provider(2, bad).committed
    assert not market.trading.read_provider(2, bad).weight
    assert market.trading.read_epoch(2).phase is Phase.SETTLED
    assert market.money_in(2) == market.money_out(2) + market.chain.balance(market.trading.address)


def test_a_baseline_provider_that_forges_its_score_loses_the_fee(build):
    market = build(providers=3, terms=EVERYBODY)
    market.run(1)
    state = market.acquirer._state(2)
    i = [account.address for account in market.sellers].index(state["baseline"])
    market.setting.cheats[i] = Forger
    market.restart_provider(i)
    market.run(2)
    assert market.outcome(2)["advance"] == [(state["baseline"],)]
    assert market.outcome(2)["dropped"] == [state["baseline"]]
    assert market.providers[i].claim(2) == 0
    others = [p.claim(2) for j, p in enumerate(market.providers) if j != i]
    promised = market.trading.read_epoch(2).reward + market.terms.money.advance_fee
    assert promised - (1 << 16) < sum(others) <= promised
    assert market.chain.balance(market.trading.address) == 0


class Boaster(Provider):
    """Says that it was paid what no number can be."""

    def collect(self, request):
        super().collect(request)
        return ms.Claimed(epoch=request.epoch, amount="a fortune")


class Objector(Provider):
    """Objects to every file, right or wrong, for a part of the penalty."""

    def judge(self, request):
        self.journal.once(request.epoch, "false file", lambda: "00" * 32)
        self._object(request.epoch)
        return super().judge(request)


def test_who_objects_to_a_right_file_is_remembered_and_excluded(build):
    terms = {**EVERYBODY, "reputation": {"exclude_after": 1}}
    market = build(providers=3, terms=terms, cheats={2: Objector})
    market.run(2)
    bad = market.sellers[2].address
    assert [(r.subject, r.kind) for r in market.acquirer.journal.remarks()] == [(bad, "false objection")]
    assert market.trading.read_epoch(1).objected == weights(market)[bad] > 0  # on record for auditors too
    assert market.trading.read_epoch(1).phase is Phase.SETTLED
    assert bad not in market.acquirer.journal.recall(2, "invite").value["invited"]


def test_what_was_paid_is_the_chain_s_word(build):
    market = build(providers=2, terms=EVERYBODY, cheats={1: Boaster})
    market.run(1)
    paid = {event.party: str(event.amount) for event in market.events(ev.Claimed, 1)}
    noted = market.acquirer.journal.recall(1, "closed").value["claimed"]
    assert noted == {account.address: paid[account.address] for account in market.sellers}


def test_nobody_claims_twice(build):
    market = build(providers=1, terms=EVERYBODY)
    market.run(1)
    provider = market.providers[0]
    before = market.chain.balance(provider.account.address)
    assert provider.claim(1) == provider.claim(1) > 0
    with pytest.raises(RevertedError, match="nothing to claim"):
        market.trading.claim_reward(1, account=provider.account)
    assert market.chain.balance(provider.account.address) == before
    assert len([e for e in market.events(ev.Claimed, 1) if e.party == provider.account.address]) == 1


def test_a_wallet_cannot_join_twice(build, tmp_path):
    market = build(providers=2, terms=EVERYBODY)
    first = market.providers[0]
    with Journal(tmp_path / "second") as journal:
        second = Provider(
            *(market.terms, first.task, market.providers[1].data, market.trading, market.settler, journal),
            first.account,
        )
        market.acquirer._open(1)
        request = ms.TrainRequest(epoch=1, body=market.acquirer.model_file(0))
        first.train(request)
        with pytest.raises(MarketError, match="another node has committed"):
            second.train(request)
        market.run(1)
        assert market.outcome(1)["committed"] == 2 and market.outcome(1)["dropped"] == []


def test_a_stranger_who_commits_without_joining_disturbs_nobody(build, kit):
    market = build(providers=3, terms=EVERYBODY)
    stranger, handlers = market.providers[2], dict(market.link.handlers)
    del handlers[stranger.account.address]
    market.link.handlers = handlers
    market.acquirer._open(1)
    stranger.train(ms.TrainRequest(epoch=1, body=market.acquirer.model_file(0)))
    market.run(1)
    assert set(weights(market)) == {account.address for account in market.sellers[:2]}
    check_money(market)


def test_requests_of_strangers_are_refused(build):
    market = build(providers=1, terms=EVERYBODY)
    market.acquirer._open(1)
    request = ms.TrainRequest(epoch=1, body=market.acquirer.model_file(0))
    for market_name, account in ((market.trading.address, Account.create()), ("0x" + "33" * 20, market.buyer)):
        answer = market.providers[0].handle(ms.encode(request, market=market_name, account=account))
        reply, _ = ms.decode(answer, market=market.trading.address)
        assert isinstance(reply, ms.Refusal)
    assert market.providers[0].journal.steps() == []
    assert market.events(ev.ModelCommitted, 1) == []
