"""A whole market in one process, small enough to run many times: softmax regression on digits, ten providers."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from martfl.chain.embedded import EmbeddedChain
from martfl.chain.trading import Trading
from martfl.federation.local import EmbeddedClock, LocalLink
from martfl.market.acquirer import Acquirer, contract_terms
from martfl.market.journal import Journal
from martfl.market.provider import Provider
from martfl.market.settling import make_settler
from martfl.market.terms import read_terms

PIXELS, CLASSES = 16, 10


class Softmax:
    """Softmax regression on digits shrunk to 4×4 pixels: 170 parameters, trained by plain gradient descent."""

    def initial(self):
        return np.zeros((PIXELS + 1) * CLASSES)

    def logits(self, model, data):
        table = model.reshape(PIXELS + 1, CLASSES)
        return data[0] @ table[:-1] + table[-1]

    def train(self, model, data, *, seed):
        (x, y), start = data, model.copy()
        model, target = model.copy(), np.eye(CLASSES)[data[1]]
        for _ in range(60):
            z = self.logits(model, data)
            p = np.exp(z - z.max(axis=1, keepdims=True))
            error = (p / p.sum(axis=1, keepdims=True) - target) / len(y)
            model -= 4.0 * np.concatenate([x.T @ error, error.sum(axis=0, keepdims=True)]).ravel()
        return model - start

    def labels(self, data):
        return data[1]


def small_digits():
    bunch = load_digits()
    x = bunch.images.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, PIXELS) / 16
    order = np.random.default_rng(0).permutation(len(x))
    return x[order], bunch.target[order]


def softmax_task():
    return Softmax()


@dataclass
class Market:
    """The parties and what they stand on."""

    folder: Path
    chain: EmbeddedChain
    trading: Trading
    terms: object
    settler: object
    acquirer: Acquirer
    providers: list[Provider]
    test: tuple

    def accuracy(self, epoch):
        model = self.settler.floats(self.acquirer.model_file(epoch))
        return float(np.mean(self.acquirer.task.logits(model, self.test).argmax(axis=1) == self.test[1]))

    def claimed(self):
        return sum(int(p.journal.recall(e, "claim").value) for p in self.providers for e in self.epochs_of(p))

    def epochs_of(self, provider):
        return [step.epoch for step in provider.journal.steps() if step.name == "claim"]


@pytest.fixture
def build(tmp_path):
    """`build(providers=4, cheats={1: Forger}, terms={...})`; building again on the same folder resumes."""
    opened = []

    def make(*, providers=4, cheats=None, terms=None, folder=tmp_path, rows=80):
        x, y = small_digits()
        task = Softmax()
        given = {"settlement": {"scale": 2.0**-12}, **(terms or {})}
        agreed = read_terms({"name": "digits", "task": {"entry": "conftest:softmax_task"}, **given})
        settler = make_settler(agreed, parameters=task.initial().size)
        chain = EmbeddedChain(folder / "chain.sqlite", accounts=providers + 1)
        opened.append(chain)
        buyer, *sellers = chain.accounts
        on_chain = contract_terms(agreed, settler, task.initial(), buyer.address)
        trading = Trading.deploy(chain, terms=on_chain, account=buyer, key="deploy")

        def journal(name):
            opened.append(Journal(folder / name))
            return opened[-1]

        def seller(i, account):
            kind = (cheats or {}).get(i, Provider)
            data = (x[i * rows : (i + 1) * rows], y[i * rows : (i + 1) * rows])
            return kind(agreed, task, data, trading, settler, journal(f"provider{i}"), account, name=f"p{i}")

        members = [seller(i, account) for i, account in enumerate(sellers)]
        link = LocalLink({p.account.address: p.handle for p in members})
        root = (x[-300:-200], y[-300:-200])
        acquirer = Acquirer(
            agreed, task, root, trading, settler, link, EmbeddedClock(chain), journal("acquirer"), buyer
        )
        return Market(folder, chain, trading, agreed, settler, acquirer, members, (x[-200:], y[-200:]))

    def close():
        while opened:
            opened.pop().close()

    make.close = close
    yield make
    close()
