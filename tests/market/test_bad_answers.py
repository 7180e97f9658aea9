"""Answers of every bad kind to requests of every kind: silence is the worst that they amount to."""

import json

import pytest
from eth_account import Account

from martfl.chain import events as ev
from martfl.chain.state import Phase
from martfl.market import messages as ms
from martfl.market import wire
from martfl.market.journal import Journal
from martfl.market.meter import Meter
from martfl.market.provider import Provider

# --- answers of all bad kinds to requests of all kinds ---------------------------------------------------------------


def never(provider, request):
    raise TimeoutError("no answer")


def late(provider, request):
    Provider.handle(provider, request)
    raise TimeoutError("the answer came too late")


def garbage(provider, request):
    return b"\x00garbage" * 5


def truncated(provider, request):
    return Provider.handle(provider, request)[:-9]


def changed(provider, request, **changes):
    message, _ = wire.decode(Provider.handle(provider, request), market=provider.market)
    return type(message)(**{**vars(message), **changes})


def oversized(provider, request):
    return wire.encode(
        changed(provider, request, body=bytes(3 << 20)), market=provider.market, account=provider.account
    )


def other_epoch(provider, request):
    return wire.encode(changed(provider, request, epoch=2), market=provider.market, account=provider.account)


def other_chain(provider, request):
    elsewhere = wire.MarketId(provider.market.chain_id + 1, provider.market.contract)
    return wire.encode(changed(provider, request), market=elsewhere, account=provider.account)


def impostor(provider, request):
    return wire.encode(changed(provider, request), market=provider.market, account=Account.create())


def steering(provider, request):
    """Well signed, with a text that no journal can keep and that would rewrite a terminal."""
    head, _, body = wire._split(Provider.handle(provider, request))
    values = json.loads(head)
    head = json.dumps({**values, "kind": "refusal", "fields": {"epoch": 1, "reason": "\ud800\x1b[2J"}}).encode()
    signature = bytes(provider.account.sign_message(wire._signed(head)).signature)
    return wire.MAGIC + len(head).to_bytes(4, "big") + head + signature + body


WAYS = (never, late, garbage, truncated, oversized, other_epoch, other_chain, impostor, steering)


def misbehaving(way, kind):
    """A provider that answers requests of one kind in a bad way and is honest otherwise."""

    class Misbehaving(Provider):
        def handle(self, request):
            message, _ = wire.decode(request, market=self.market)
            return way(self, request) if isinstance(message, kind) else super().handle(request)

    return Misbehaving


@pytest.fixture
def tried(build):
    """A market in which every way is tried at one kind of request, beside two honest providers."""

    def run(kind):
        cheats = {i + 2: misbehaving(way, kind) for i, way in enumerate(WAYS)}
        market = build(providers=2 + len(WAYS), cheats=cheats, rows=60)
        market.run(1)
        market.check_honest((0, 1))
        assert market.offences() == []
        return market

    return run


def test_training_requests(tried):
    """The chain says who committed, whatever was answered: who trained sends its own, only who never did is out."""
    market = tried(ms.TrainRequest)
    trained = {name for i, name in enumerate(market.names) if i not in (2, 4)}  # never, garbage
    assert set(market.outcome(1)["committed"]) == trained == set(market.weights(1))


@pytest.mark.parametrize("kind", [ms.OfferRequest, ms.ScoreRequest, ms.SealedRequest])
def test_requests_before_the_purchase(tried, kind):
    """Who gives no valid answer is not bought, and owes nothing."""
    market = tried(kind)
    assert set(market.outcome(1)["bought"]) == set(market.names[:2]) == set(market.paid(1))
    accused = {r.subject for r in market.acquirer.journal.remarks()}
    assert accused == set(market.names[4:])  # the silent said nothing wrong


@pytest.mark.long
def test_key_requests(tried):
    """Whose key does not arrive puts it on chain in time, and has its price; nobody is accused of silence."""
    market = tried(ms.KeyRequest)
    assert set(market.weights(1)) == set(market.names[:2])
    assert market.outcome(1)["revealed"] == sorted(market.names[2:]) == market.outcome(1)["accepted"]
    assert market.outcome(1)["refuted"] == []
    market.check_honest(range(len(market.names)), listed=False)


def test_published_models_and_closings(tried):
    """Nothing hangs on these answers: everybody is paid."""
    market = tried((ms.PublishedFile, ms.Closed))
    market.check_honest(range(len(market.names)))


# --- the rest --------------------------------------------------------------------------------------------------------


class Boaster(Provider):
    """Says that it was paid what no number can be."""

    def collect(self, request):
        super().collect(request)
        return ms.ClaimPaid(epoch=request.epoch, amount="a fortune")


class Rejecter(Provider):
    """Calls every model false."""

    def judge(self, request):
        super().judge(request)
        return ms.FileVerdict(epoch=request.epoch, accepted=False, reason="I do not like it")


@pytest.mark.parametrize("kind", [Boaster, Rejecter])
def test_words_that_nothing_hangs_on(build, kind):
    market = build(providers=2, cheats={1: kind})
    market.run(1)
    market.check_honest((0, 1))


def test_who_does_not_answer_but_is_on_chain_is_not_bought(build, tmp_path, kit):
    """Anybody can commit; who cannot be asked is not judged."""
    market = build(providers=3)
    stranger = market.providers[2]
    market.link.handlers = {name: handler for name, handler in market.link.handlers.items() if name != market.names[2]}
    market.acquirer._epoch(1).open()
    request = wire.encode(
        ms.TrainRequest(epoch=1, body=market.acquirer.model_file(0)), market=market.place, account=market.buyer
    )
    stranger.handle(request)
    market.run(1)
    assert set(market.outcome(1)["committed"]) == set(market.names)
    assert set(market.outcome(1)["bought"]) == set(market.names[:2])
    market.check_honest((0, 1))


def test_one_wallet_on_two_machines_gives_no_key_of_what_was_not_bought(build, tmp_path, kit):
    """The second machine has an update of its own, to which nobody is committed."""
    market = build(providers=2)
    hand = kit.Hand(market)
    first, folder = market.providers[0], tmp_path / "second"
    parts = (market.terms, first.task, first.data, market.trading, market.settler)
    second = Provider(*parts, Journal(folder), Meter(folder / "meter.sqlite"), first.account)
    hand.begin()
    train = wire.encode(ms.TrainRequest(epoch=1, body=hand.file(0)), market=market.place, account=market.buyer)
    second.handle(train)  # too late: it has nothing
    hand.buy(0)
    second.shelf.fill(1, hand.file(0), second.conduct, second.task, second.data)
    key = wire.encode(ms.KeyRequest(epoch=1, key="07" * 32), market=market.place, account=market.buyer)
    answer, _ = wire.decode(second.handle(key), market=market.place)
    assert isinstance(answer, ms.Refusal) and "no commitment" in answer.reason
    assert isinstance(hand.ask_key(0), bytes)
    second.journal.close()
    second.meter.close()


def test_after_its_limit_a_seller_refuses_scores_until_it_sells(build, kit):
    """Refused scores are no answers: it is not judged and not bought, and the market goes on."""

    class Nobody(kit.Everybody):
        def trade(self, state, buyer, rng):
            if self.unweighed:
                buyer.buy = lambda providers: {}
            return super().trade(state, buyer, rng)

    terms = {"scoring": {"scheme": "plain", "sketch": 0, "baselines": 4, "answers": 4}}
    market = build(providers=2, terms=terms, rule=Nobody(unweighed=frozenset({"nobody is bought"})))
    market.run(4)  # one score an epoch
    assert all(p.meter.count(buyer=market.buyer.address) == 4 for p in market.providers)
    market.acquirer.strategy = kit.Everybody()
    market.run(5)
    assert market.outcome(5)["bought"] == [] and market.trading.read_epoch(5).phase is Phase.EMPTY
    assert {r.subject for r in market.acquirer.journal.remarks()} == set(market.names)


def test_a_sale_starts_the_count_anew(build):
    terms = {"scoring": {"scheme": "plain", "sketch": 0, "baselines": 4, "answers": 4}}
    market = build(providers=2, terms=terms)
    market.run(6)
    for epoch in range(1, 7):
        assert set(market.weights(epoch)) == set(market.names)
    assert all(p.meter.count(buyer=market.buyer.address) == 0 for p in market.providers)
    assert market.events(ev.Revealed, 6) == []
