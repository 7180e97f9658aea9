"""The link over Flower's grid: who is who, who answers, who is refused. Runs in Flower's simulation engine."""

import logging
import threading
from dataclasses import replace

import pytest

from martfl.chain.state import Phase
from martfl.market import messages as ms
from martfl.market import wire
from martfl.market.steps import Offers


def ask_all(market, link, message, *, seconds=60.0, names=None):
    request = wire.encode(message, market=market.name, account=market.buyer)
    return link.ask(dict.fromkeys(names or link.members(), request), kind=message.kind, seconds=seconds)


def test_an_epoch_is_settled_in_the_simulation_engine(market):
    place = market()

    def main(grid):
        acquirer = place.acquirer(place.link(grid), seconds=60.0)
        acquirer.run(1)
        assert place.accuracy(acquirer, 1) > 0.6 > place.accuracy(acquirer, 0)

    place.run(main)
    assert place.trading.read_epoch(1).phase is Phase.SETTLED
    assert place.chain.balance(place.trading.address) == 0
    assert len(place.journal.recall(1, Offers).committed) == 4


def test_members_are_the_wallets_that_signed(market):
    place = market(providers=3)
    seen = {}

    def main(grid):
        link = place.link(grid, joined=lambda address, name: seen.update({address: name}))
        assert sorted(link.members()) == sorted(p.account.address for p in place.providers)

    place.run(main)
    assert seen == {p.account.address: p.name for p in place.providers}


def test_a_wallet_joins_once(market, caplog):
    place = market(providers=2)

    def main(grid):
        assert len(place.link(grid).members()) == 2

    with caplog.at_level(logging.WARNING):
        place.run(main, lambda number, request: place.providers[number % 2].handle(request), nodes=4)
    assert sum("has joined at node" in record.message for record in caplog.records) == 2


@pytest.mark.parametrize("lie", [b"", b"MFM2 garbage", "other nonce", "other market", "wrong kind", "raises"])
def test_a_node_that_proves_no_wallet_is_no_member(market, lie):
    place = market(providers=2)
    liar = place.providers[1]

    def answer(number, request):
        if number == 0:
            return place.providers[0].handle(request)
        if lie == "raises":
            raise ValueError("a provider that breaks")
        if isinstance(lie, bytes):
            return lie
        said = ms.Identity(epoch=0, nonce="00" * 16) if lie != "wrong kind" else ms.Refusal(epoch=0, reason="no")
        other = replace(place.name, contract="0x" + "11" * 20)
        return wire.encode(said, market=other if lie == "other market" else place.name, account=liar.account)

    def main(grid):
        assert place.link(grid).members() == [place.providers[0].account.address]

    place.run(main, answer)


def test_who_is_silent_is_missing_and_the_others_answer(market):
    place = market(providers=3)
    over = threading.Event()

    def answer(number, request):
        if number == 1 and not isinstance(wire.decode(request, market=place.name)[0], ms.Challenge):
            over.wait(120)
        return place.providers[number].handle(request)

    def main(grid):
        link = place.link(grid)
        try:
            answers = ask_all(place, link, ms.Closed(epoch=1), seconds=5.0)
        finally:
            over.set()
        assert set(answers) == {place.providers[i].account.address for i in (0, 2)}

    place.run(main, answer, workers=3)


def test_a_late_answer_is_not_taken_for_the_next_question(market):
    place = market(providers=1)
    slow, held = threading.Event(), []

    def answer(number, request):
        message, _ = wire.decode(request, market=place.name)
        if isinstance(message, ms.Closed) and message.epoch == 1:
            held.append(True)
            slow.wait(120)
        return place.providers[number].handle(request)

    def main(grid):
        link = place.link(grid)
        assert ask_all(place, link, ms.Closed(epoch=1), seconds=1.0) == {}
        slow.set()
        (reply,) = ask_all(place, link, ms.Closed(epoch=2)).values()
        assert wire.decode(reply, market=place.name)[0].epoch == 2

    place.run(main, answer)
    assert held


def test_twenty_megabytes_go_through(market):
    place = market(providers=2)
    body = bytes(range(256)) * 80_000  # 20.5 MB
    received = []

    def answer(number, request):
        message, _ = wire.decode(request, market=place.name)
        if isinstance(message, ms.Challenge):
            return place.providers[number].handle(request)
        received.append(message.body)
        reply = ms.Sealed(epoch=message.epoch, body=body[::-1])
        return wire.encode(reply, market=place.name, account=place.providers[number].account)

    def main(grid):
        answers = ask_all(place, place.link(grid), ms.TrainRequest(epoch=1, body=body))
        assert [wire.decode(a, market=place.name)[0].body for a in answers.values()] == [body[::-1]] * 2

    place.run(main, answer)
    assert received == [body, body]


def test_asking_somebody_unknown_waits_and_gives_nothing(market):
    place = market(providers=1)

    def main(grid):
        link = place.link(grid)
        assert ask_all(place, link, ms.Closed(epoch=1), seconds=0.5, names=["0x" + "22" * 20]) == {}

    place.run(main)


def test_an_error_of_the_server_app_is_raised(market):
    place = market(providers=1)

    def main(grid):
        raise RuntimeError("the acquirer broke")

    with pytest.raises(RuntimeError, match="the acquirer broke"):
        place.run(main)
