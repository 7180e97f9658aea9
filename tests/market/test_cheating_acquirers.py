"""Acquirers that break the rules or stop: providers end with what the rules give them, by looking after themselves."""

from dataclasses import replace

import numpy as np
import pytest

from martfl.chain import events as ev
from martfl.chain.network import RevertedError, Step
from martfl.chain.state import Phase
from martfl.chain.trading import Trading
from martfl.market import messages as ms
from martfl.market.acquirer import Acquirer, contract_terms
from martfl.market.errors import MarketError
from martfl.market.provider import Provider
from martfl.market.sealing import SealingKey
from martfl.scoring import scorer
from martfl.settlement.integer_file import from_bytes, to_bytes

EVERYBODY = {"selection": {"rule": "martfl", "scorer": "plain", "options": {"threshold": 2.0}}}


def say(market, message, provider=0):
    """What a provider answers to a request that is rightly signed."""
    request = ms.encode(message, market=market.trading.address, account=market.buyer)
    return ms.decode(market.providers[provider].handle(request), market=market.trading.address)[0]


def refused(market, message, words):
    answer = say(market, message)
    assert isinstance(answer, ms.Refusal) and words in answer.reason, answer
    return True


def changed(file, parameters):
    vector = from_bytes(file, kind="model", parameters=parameters)
    values = vector.values.copy()
    values[0] += 1
    return to_bytes(replace(vector, values=values))


@pytest.fixture
def opened(build):
    """A market whose first epoch is open."""
    market = build(providers=2, terms=EVERYBODY)
    market.acquirer._open(1)
    return market


@pytest.fixture
def committed(opened):
    """… and takes no more commitments."""
    for i in range(2):
        assert isinstance(say(opened, ms.TrainRequest(epoch=1, body=opened.acquirer.model_file(0)), i), ms.Committed)
    opened.chain.travel_to(opened.trading.read_epoch(1).deadline + 1)
    return opened


# --- stopping --------------------------------------------------------------------------------------------------------

STOPS = {  # the last step done → how the second epoch ends, and what part of reward and penalty the providers share
    "open": (Phase.ABANDONED, 0, 0),
    "invite": (Phase.ABANDONED, 0, 1),
    "scores 0": (Phase.ABANDONED, 0, 1),
    "select": (Phase.ABANDONED, 0, 1),
    "prepare": (Phase.FAILED, 1, 1),
    "collect": (Phase.FAILED, 1, 1),
    "aggregate": (Phase.FAILED, 1, 1),
    "publish": (Phase.SETTLED, 1, 0),
    "hand out": (Phase.SETTLED, 1, 0),
}


class Stopped(BaseException):
    """The acquirer is gone."""


@pytest.fixture(scope="module")
def one_epoch_done(kit, tmp_path_factory):
    """A market after its first epoch; the second begins with the purchase of a baseline."""
    market = kit.Market(kit.Setting(tmp_path_factory.mktemp("stops"), providers=2, terms=EVERYBODY))
    market.run(1)
    market.close()
    return market.folder


@pytest.mark.parametrize("step", STOPS)
def test_an_acquirer_that_stops_after_a_step(build, copy_folder, one_epoch_done, step):
    market = build(copy_folder(one_epoch_done), providers=2, terms=EVERYBODY)
    journal, record = market.acquirer.journal, market.acquirer.journal.record

    def stop(epoch, name, value, **options):
        record(epoch, name, value, **options)
        if name == step:
            raise Stopped

    journal.record = stop
    with pytest.raises(Stopped):
        market.acquirer.run(2)
    market.chain.travel(4 * 3_600)  # every deadline
    earned = sum(provider.watch().get(2, 0) for provider in market.providers)
    phase, reward, penalty = STOPS[step]
    state = market.trading.read_epoch(2)
    fees = market.terms.money.advance_fee * len([n for e in market.events(ev.AdvanceBought, 2) for n in e.providers])
    promised = reward * state.reward + penalty * state.penalty + fees
    if step != "open":  # nobody had committed: nobody is there to expire the epoch
        assert state.phase is phase
        assert promised - (1 << 16) < earned <= promised
    market.restart_acquirer()  # back again, it takes what is left and goes on
    market.run(3)
    assert market.trading.read_epoch(2).phase is phase
    assert market.trading.read_epoch(3).phase is Phase.SETTLED
    for provider in market.providers:
        provider.watch()
    assert market.chain.balance(market.trading.address) == 0
    assert market.money_in(3) == market.money_out(3)


# --- false models ----------------------------------------------------------------------------------------------------


class HandsOutAnother(Acquirer):
    """The file is not the one that was settled."""

    def _hand_out(self, desk, file):
        return super()._hand_out(desk, changed(file, desk.settler.parameters))


class PublishesAnother(Acquirer):
    """The file's hash is on chain, but it is not what the commitments add up to."""

    def _publish(self, desk, shares):
        honest = self.settler.aggregate(desk.file, shares, epoch=desk.act.epoch)
        self.journal.keep(desk.act.epoch, "model", changed(honest, self.settler.parameters))
        super()._publish(desk, shares)


@pytest.mark.parametrize("kind", [HandsOutAnother, PublishesAnother])
def test_an_acquirer_that_publishes_another_model_loses_the_penalty(build, kind):
    market = build(providers=2, terms=EVERYBODY)
    market.restart_acquirer(kind)
    market.acquirer.run(1)
    state = market.trading.read_epoch(1)
    assert state.phase is Phase.FAILED and 2 * state.objected > state.weight
    earned = sum(provider.claim(1) for provider in market.providers)
    assert state.deposit - (1 << 16) < earned <= state.deposit
    assert {r.kind for r in market.providers[0].journal.remarks()} == {"false model"}
    market.restart_acquirer()
    market.run(2)  # from the initial model again
    assert market.trading.read_epoch(2).base == 0 and market.trading.read_epoch(2).phase is Phase.SETTLED


def test_a_provider_killed_before_it_objects_still_does(build, kit):
    market = build(providers=2, terms=EVERYBODY, link=kit.DeafLink)
    market.restart_acquirer(HandsOutAnother)
    false_file, record = [], market.acquirer.journal.record

    def stop(epoch, name, value, **options):
        record(epoch, name, value, **options)
        if name == "publish":
            false_file.append(changed(market.acquirer.model_file(1), market.settler.parameters))
            raise Stopped

    market.acquirer.journal.record = stop
    with pytest.raises(Stopped):
        market.acquirer.run(1)
    market.fuse.parties, market.fuse.armed, market.fuse.where = ("provider",), True, "/object"
    for i in range(2):  # the remark and the file's hash are written, the transaction is not sent
        with pytest.raises(kit.Killed, match="object"):
            say(market, ms.Published(epoch=1, body=false_file[0]), i)
        market.restart_provider(i)
        market.providers[i].watch()
    assert market.trading.read_epoch(1).phase is Phase.FAILED


def test_a_published_model_before_anything_is_published_is_refused_not_fatal(committed):
    answer = say(committed, ms.Published(epoch=1, body=committed.acquirer.model_file(0)))
    assert isinstance(answer, ms.Refusal)


def test_training_on_another_model_is_refused(opened):
    file = changed(opened.acquirer.model_file(0), opened.settler.parameters)
    assert refused(opened, ms.TrainRequest(epoch=1, body=file), "hash is not the one")
    assert refused(opened, ms.TrainRequest(epoch=1, body=b"nothing"), "malformed")


# --- purchases -------------------------------------------------------------------------------------------------------


def test_weights_cannot_change_after_prepare(committed):
    trading, buyer = committed.trading, committed.buyer
    names = [account.address for account in committed.sellers]
    trading.prepare(1, providers=names, weights=[30_000, 35_536], account=buyer)
    with pytest.raises(RevertedError, match="wrong phase"):
        trading.prepare(1, providers=names[:1], weights=[65_536], account=buyer)
    bought = trading.bought(1)
    cheating = [replace(bought[0], weight=30_001), replace(bought[1], weight=35_535)]
    with pytest.raises(RevertedError, match="not the commitment and weight"):
        trading.publish_model(1, content=bytes(32), blinding=1, account=buyer, bought=cheating)
    with pytest.raises(RevertedError, match="a bought provider is missing"):
        trading.publish_model(1, content=bytes(32), blinding=1, account=buyer, bought=bought[:1])


def test_nothing_is_delivered_that_is_not_bought(committed):
    request = ms.DeliverRequest(epoch=1, key=SealingKey.generate().public.hex())
    assert refused(committed, request, "nothing was bought")
    other = committed.sellers[1].address
    committed.trading.buy_advance(1, providers=[other], account=committed.buyer)
    assert refused(committed, request, "nothing was bought")
    assert isinstance(say(committed, request, 1), ms.Delivery)
    for key in ("zz", "00" * 5, "00" * 32):  # no key, a short one, a point of small order
        assert isinstance(say(committed, ms.DeliverRequest(epoch=1, key=key), 1), ms.Refusal)


def test_scores_are_given_once_for_each_baseline_and_at_the_right_time(opened):
    market = opened
    key = scorer("plain").generate()
    rng = np.random.default_rng(0)
    bodies = [key.encrypt_baseline(rng.normal(size=market.settler.parameters)) for _ in range(2)]
    say(market, ms.TrainRequest(epoch=1, body=market.acquirer.model_file(0)))
    assert refused(market, ms.ScoreRequest(epoch=1, baseline=0, body=bodies[0]), "after commitments close")
    market.chain.travel_to(market.trading.read_epoch(1).deadline + 1)
    first = say(market, ms.ScoreRequest(epoch=1, baseline=0, body=bodies[0]))
    assert isinstance(first, ms.ScoreReply)
    assert refused(market, ms.ScoreRequest(epoch=1, baseline=0, body=bodies[1]), "each is answered once")
    assert refused(market, ms.ScoreRequest(epoch=1, baseline=4, body=bodies[1]), "the terms allow 4 baselines")
    assert refused(market, ms.ScoreRequest(epoch=1, baseline=-1, body=bodies[1]), "the terms allow 4 baselines")
    assert isinstance(say(market, ms.ScoreRequest(epoch=1, baseline=1, body=b"rubbish")), ms.Refusal)
    market.restart_provider(0)  # a restart forgets nothing
    assert say(market, ms.ScoreRequest(epoch=1, baseline=0, body=bodies[0])) == first
    market.trading.prepare(1, providers=[], weights=[], account=market.buyer)
    assert refused(market, ms.ScoreRequest(epoch=1, baseline=2, body=bodies[0]), "before weights are set")


def test_an_epoch_that_does_not_hold_the_promised_reward_gets_no_update(build):
    market = build(providers=1, terms=EVERYBODY)
    market.trading.new_epoch(nonce=bytes(32), amount=10**17, account=market.buyer)
    assert refused(market, ms.TrainRequest(epoch=1, body=market.acquirer.model_file(0)), "the terms promise")
    assert market.events(ev.ModelCommitted, 1) == []


def test_epochs_that_do_not_exist_are_refused(opened):
    for message in (ms.TrainRequest(epoch=7), ms.ScoreRequest(epoch=7), ms.Closed(epoch=7), ms.Published(epoch=7)):
        assert isinstance(say(opened, message), ms.Refusal)
    assert isinstance(say(opened, ms.Verdict(epoch=1, accepted=True)), ms.Refusal)


# --- terms -----------------------------------------------------------------------------------------------------------


def join(market, trading):
    """The first provider, at another contract."""
    first = market.providers[0]
    Provider(market.terms, first.task, first.data, trading, market.settler, first.journal, first.account)


def honest_terms(market):
    return contract_terms(market.terms, market.settler, np.zeros(market.settler.parameters), market.buyer.address)


@pytest.mark.parametrize("field", ["settle_window", "penalty_ratio", "advance_fee", "minimum_deposit", "token"])
def test_a_contract_that_enforces_other_numbers_than_its_terms_is_not_joined(build, field):
    market = build(providers=1, terms=EVERYBODY)
    other = "0x" + "11" * 20 if field == "token" else 1
    cheap = Trading.deploy(market.chain, terms=replace(honest_terms(market), **{field: other}), account=market.buyer)
    with pytest.raises(MarketError, match=f"the terms state {field}"):
        join(market, cheap)


def test_the_right_code_with_other_books_is_not_joined(build):
    """A constructor of the acquirer's own could leave the same code, and a record that claims others' money."""
    market = build(providers=1, terms=EVERYBODY)
    real = market.trading.code_at(market.trading.address)
    copy = bytes.fromhex(f"61{len(real):04x}80600a3d393df3") + real  # returns what follows it, whatever came before
    receipt = market.chain._send(Step(to=None, data=copy, value=0), account=market.buyer, key=None)
    twin = Trading(market.chain, receipt.contract)
    assert twin.code_at(twin.address) == real and twin.terms() == market.trading.terms()
    with pytest.raises(MarketError, match="the code at"):
        join(market, twin)
    opened = twin.new_epoch(nonce=bytes(32), account=market.buyer, amount=1)  # its first event is no constructor's
    assert opened.epoch == 1 and not twin.has_our_code() and market.trading.has_our_code()


def test_an_acquirer_with_another_wallet_or_an_older_journal_is_stopped(build, tmp_path):
    market = build(providers=1, terms=EVERYBODY)
    market.run(2)
    market.buyer = market.sellers[0]
    with pytest.raises(MarketError, match="the market's acquirer is"):
        market.restart_acquirer()
    market.buyer, market.folder = market.chain.accounts[0], tmp_path / "elsewhere"
    with pytest.raises(MarketError, match="the chain is ahead of the journal"):
        market.restart_acquirer()


def test_a_contract_with_other_code_is_not_joined(build, monkeypatch):
    market = build(providers=1, terms=EVERYBODY)
    real = market.trading.code_at(market.trading.address)
    monkeypatch.setattr(Trading, "code_at", lambda self, address: b"\x60" + real[1:])
    with pytest.raises(MarketError, match="the code at"):
        join(market, market.trading)
