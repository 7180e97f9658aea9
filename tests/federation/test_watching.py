"""A seller that looks at the chain often enough, and the one version of Flower that fits."""

import re
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from martfl.errors import InputError
from martfl.federation import flower
from martfl.federation.flower.roles import Connecting, Selling
from martfl.federation.local import LocalLink
from martfl.market import messages as ms
from martfl.market import wire
from martfl.market.errors import MarketError

# --- watching ----------------------------------------------------------------------------------------------------


def selling(place, number=0, **options):
    return Selling(place.providers[number], place.journal.folder, Connecting("localhost:1"), **options)


@pytest.mark.parametrize(("margin", "every"), [(900, 113.0), (60, 8.0), (60, 0.0), (60, -1.0)])
def test_a_seller_that_looks_too_seldom_does_not_start(market, margin, every):
    place = market(providers=1, deadlines={"margin": margin})
    with pytest.raises(InputError, match=f"margin is {margin} s"):
        selling(place, every=every)


@pytest.mark.parametrize("margin", [1, 8, 60, 900, 1700])
def test_by_default_a_seller_looks_often_enough(market, margin):
    pause = selling(market(providers=1, deadlines={"margin": margin})).pause
    assert 0 < pause <= min(15.0, margin / 8)


def test_a_seller_watches_while_it_trains(market):
    """A buyer that keeps its seller busy with training does not keep its key off the chain."""
    place = market(providers=2)
    busy, over = threading.Event(), threading.Event()
    seller = place.providers[0]
    train, done = seller.task.train, []

    class Slow:
        def __getattr__(self, name):
            return getattr(place.providers[1].task, name)

        def train(self, model, data, *, seed):
            if done:  # in the second epoch
                busy.set()
                assert over.wait(120)
            return train(model, data, seed=seed)

    seller.task = Slow()
    link = LocalLink({p.account.address: p.handle for p in place.providers})
    acquirer = place.acquirer(link)
    acquirer.run(1)
    done.append(True)
    place.trading.new_epoch(amount=place.terms.money.deposit, account=place.buyer)
    request = ms.TrainRequest(epoch=2, body=acquirer.model_file(1))
    packed = wire.encode(request, market=place.name, account=place.buyer)
    training = threading.Thread(target=seller.handle, args=(packed,))
    training.start()
    try:
        assert busy.wait(120)
        watched = threading.Thread(target=seller.watch)
        watched.start()
        watched.join(120)
        assert not watched.is_alive()
    finally:
        over.set()
        training.join(120)


def test_an_eye_that_fails_looks_again(market):
    place = market(providers=1)
    looked, seen = threading.Event(), []

    def watch():
        seen.append(True)
        if len(seen) > 2:
            looked.set()
            return {7: 3 * 10**16}
        raise ValueError("a node's words") if len(seen) == 1 else MarketError("away")

    said = []
    eye = selling(place, every=0.01, say=said.append)
    eye.provider = SimpleNamespace(watch=watch, terms=place.terms)
    thread = threading.Thread(target=eye._watch)
    thread.start()
    assert looked.wait(120)
    eye.stop.set()
    thread.join(120)
    assert "epoch 7: final; it paid 0.0300 ETH" in said


# --- Flower's version --------------------------------------------------------------------------------------------


def test_another_version_of_flower_is_refused_with_the_remedy(monkeypatch):
    monkeypatch.setattr(flower.metadata, "version", lambda name: "1.42.0")
    with pytest.raises(flower.FlowerError, match=r"in version 1\.41\.x; installed is 1\.42\.0: pip install"):
        flower.check_version()


def test_a_missing_flower_is_named_with_the_remedy(monkeypatch):
    def missing(name):
        raise flower.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(flower.metadata, "version", missing)
    with pytest.raises(flower.FlowerError, match="needs Flower: pip install"):
        flower.check_version()


def test_private_parts_of_flower_are_used_in_one_file_only():
    public = {"flwr.app", "flwr.clientapp", "flwr.serverapp"}
    source = Path(flower.__file__).parents[2]
    users = set()
    for path in source.rglob("*.py"):
        found = re.findall(r"^\s*(?:from|import) (flwr[\w.]*)", path.read_text(encoding="utf-8"), re.MULTILINE)
        users |= {path.name} if set(found) - public else set()
    assert users == {"private.py"}
