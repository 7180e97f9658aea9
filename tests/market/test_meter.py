"""The count of answers: across epochs, markets, chains, processes and restarts; a sale, and only a sale, clears it."""

import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from martfl.market import messages as ms
from martfl.market.errors import JournalError, MarketError
from martfl.market.meter import Meter, Stall
from martfl.scoring import scorer

BUYER, OTHER_BUYER = "0x" + "aB" * 20, "0x" + "cd" * 20
COIN, TOKEN = "0x" + "00" * 20, "0x" + "Ee" * 20
MARKETS = ("0x" + "01" * 20, "0x" + "02" * 20)


@pytest.fixture
def meter(tmp_path):
    opened = Meter(tmp_path / "meter.sqlite")
    yield opened
    opened.close()


def stall(*, market=0, buyer=BUYER, chain=1, token=COIN):
    return Stall(chain_id=chain, market=MARKETS[market], buyer=buyer, token=token)


def spend(meter, *, epoch=1, baseline=0, digest="d", ask=10, limit=3, **where):
    meter.spend(stall(**where), epoch=epoch, baseline=baseline, digest=digest, ask=ask, limit=limit)


def sell(meter, *, epoch=1, price=10, **where):
    meter.sold(stall(**where), epoch=epoch, price=price)


def test_the_limit_holds_across_epochs_markets_and_chains(meter):
    spend(meter, epoch=1)
    spend(meter, epoch=2, market=1)
    spend(meter, epoch=1, chain=2)
    for about in ({"epoch": 3}, {"epoch": 1, "market": 1, "chain": 3}, {"baseline": 1}):
        with pytest.raises(MarketError, match=f"3 scores were given to {BUYER} since the last sale"):
            spend(meter, **about)
    spend(meter, buyer=OTHER_BUYER)
    assert (meter.count(buyer=BUYER), meter.count(buyer=OTHER_BUYER)) == (3, 1)
    assert meter.count(buyer=BUYER.lower()) == 3  # an address is one address in any spelling


def test_the_same_answer_again_counts_once(meter):
    for _ in range(5):
        spend(meter)
    assert meter.count(buyer=BUYER) == 1


def test_a_sale_clears_the_count_of_its_buyer_once_for_each_epoch(meter):
    for baseline in range(3):
        spend(meter, baseline=baseline)
    sell(meter, buyer=OTHER_BUYER)
    assert meter.count(buyer=BUYER) == 3
    sell(meter)
    assert meter.count(buyer=BUYER) == 0
    spend(meter, epoch=2)
    sell(meter)  # told again of the first sale
    assert meter.count(buyer=BUYER) == 1
    sell(meter, epoch=2)
    assert meter.count(buyer=BUYER) == 0


@pytest.mark.parametrize(
    ("sale", "left"),
    [
        ({"price": 10}, 0),
        ({"price": 11}, 0),
        ({"price": 9}, 2),  # cheaper than what was asked about
        ({"price": 10**30, "token": TOKEN}, 2),  # in other money
        ({"price": 10**30, "chain": 2}, 2),  # a test network's coins, for example
        ({"market": 1, "price": 1}, 0),  # the market itself: its offers are bought at their asks
    ],
)
def test_a_sale_elsewhere_forgives_what_it_pays_for(meter, sale, left):
    spend(meter, market=1, baseline=0)
    spend(meter, market=1, baseline=1)
    sell(meter, **{"market": 0, **sale})
    assert meter.count(buyer=BUYER) == left


def test_the_ask_of_now_counts_not_that_of_the_answer(meter):
    spend(meter, market=1, ask=10**20)  # more than a database's integers hold
    spend(meter, market=1, ask=3, epoch=2)
    sell(meter, market=0, price=3)
    assert meter.count(buyer=BUYER) == 0


def test_a_restart_forgets_nothing(meter, tmp_path):
    for baseline in range(3):
        spend(meter, baseline=baseline)
    meter.close()
    again = Meter(tmp_path / "meter.sqlite")
    with pytest.raises(MarketError, match="3 scores were given"):
        spend(again, baseline=3)
    spend(again, baseline=2)
    again.close()


def test_a_number_that_was_answered_is_answered_for_no_other_baseline(meter):
    """Though the journal comes from a copy that was made before the answer."""
    spend(meter, digest="first")
    spend(meter, digest="first")
    with pytest.raises(MarketError, match="baseline 0 of epoch 1 was answered, and it was another one"):
        spend(meter, digest="second")
    assert meter.count(buyer=BUYER) == 1


def test_a_count_of_an_older_version_goes_on_and_answers_nothing_again(tmp_path):
    place = tmp_path / "meter.sqlite"
    with closing(sqlite3.connect(place)) as old:
        old.execute(
            "CREATE TABLE answers (chain INTEGER, buyer TEXT, market TEXT, epoch INTEGER, baseline INTEGER, "
            "PRIMARY KEY (chain, buyer, market, epoch, baseline))"
        )
        where = stall()
        old.execute("INSERT INTO answers VALUES (?, ?, ?, 1, 0)", (where.chain_id, BUYER.lower(), where.place[1]))
        old.commit()
    with closing(Meter(place)) as meter:
        with pytest.raises(MarketError, match="it was another one"):
            spend(meter)
        spend(meter, baseline=1)
        assert meter.count(buyer=BUYER) == 2


def test_a_journal_from_a_copy_answers_no_second_baseline(build, kit):
    """A machine that is restored: its journal has forgotten what it answered, the count has not."""
    hand = kit.Hand(build(providers=1)).begin()
    market, place = hand.market, hand.market.providers[0].journal.folder
    chosen = [scorer("plain").generate().encrypt_baseline(np.full(170, value)) for value in (1.0, 2.0)]

    def score(number):
        return hand.say(ms.ScoreRequest(epoch=1, body=chosen[number]))

    market.providers[0].journal.close()
    copy = shutil.copytree(place, place.parent / "copy")
    market.restart_provider(0)
    assert isinstance(score(0), ms.Scored)
    market.providers[0].journal.close()
    shutil.rmtree(place)
    shutil.copytree(copy, place)
    market.restart_provider(0)
    refusal = score(1)
    assert isinstance(refusal, ms.Refusal) and "it was another one" in refusal.reason
    assert market.providers[0].meter.count(buyer=market.buyer.address) == 1


def test_programs_of_one_seller_share_one_count(meter, tmp_path):
    """Two markets of one buyer, each served by a process of its own."""
    code = f"""
import sys
from pathlib import Path
from martfl.market.meter import Meter, Stall
from martfl.scoring import scorer
meter, given = Meter(Path(sys.argv[1])), 0
for epoch in range(200):
    try:
        stall = Stall(chain_id=1, buyer={BUYER!r}, market=sys.argv[2], token="0x")
        meter.spend(stall, epoch=epoch, baseline=0, digest="d", ask=1, limit=100)
        given += 1
    except Exception:
        pass
print(given)
"""
    command = [sys.executable, "-c", code, str(tmp_path / "meter.sqlite")]
    running = [subprocess.Popen([*command, market], stdout=subprocess.PIPE, text=True) for market in MARKETS]
    given = [int(process.communicate()[0]) for process in running]
    assert sum(given) == 100 == meter.count(buyer=BUYER)


def test_threads_of_one_program_share_one_count(meter):
    done = []

    def work(thread):
        for epoch in range(50):
            try:
                spend(meter, epoch=epoch, baseline=thread, limit=120)
                done.append(1)
            except MarketError:
                pass

    threads = [threading.Thread(target=work, args=(t,)) for t in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 120 == meter.count(buyer=BUYER)


def test_a_file_that_is_none_is_named(tmp_path):
    (tmp_path / "meter.sqlite").write_bytes(b"not a database at all" * 300)
    with pytest.raises(JournalError, match=r"meter\.sqlite"):
        Meter(tmp_path / "meter.sqlite")


ACTS = st.lists(
    st.tuples(st.sampled_from(["spend", "sell"]), st.integers(1, 4), st.integers(0, 2), st.integers(0, 1)), max_size=40
)


@given(acts=ACTS, limit=st.integers(1, 4), asks=st.tuples(st.integers(0, 3), st.integers(0, 3)))
def test_never_more_answers_than_the_limit_since_a_sale(tmp_path_factory, acts, limit, asks):
    """A sale is at its market's ask, and pays for what was answered where no more is asked."""
    meter = Meter(tmp_path_factory.mktemp("meter") / "meter.sqlite")
    given_, sold = set(), set()
    for act, epoch, baseline, market in acts:
        about = {"epoch": epoch, "market": market}
        if act == "sell":
            sell(meter, **about, price=asks[market])
            if (epoch, market) not in sold:
                sold.add((epoch, market))
                given_ = {one for one in given_ if one[1] != market and asks[one[1]] > asks[market]}
            continue
        try:
            spend(meter, **about, baseline=baseline, ask=asks[market], limit=limit)
            given_.add((epoch, market, baseline))
        except MarketError:
            assert len(given_) >= limit
        assert len(given_) <= limit
        assert meter.count(buyer=BUYER) == len(given_)
    meter.close()
