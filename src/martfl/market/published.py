"""The model of a market for its owner: found beside a party's journal, checked against the chain, as named tensors."""

import tomllib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from martfl.chain.network import Chain
from martfl.chain.open import open_trading
from martfl.chain.trading import Trading
from martfl.market.errors import MarketError
from martfl.market.journal import NAME, Journal
from martfl.market.models import FOLDER, TERMS, find_models
from martfl.market.settling import make_settler
from martfl.market.steps import MarketOpened, Measurement, Over
from martfl.market.task import make_task
from martfl.market.terms import Terms, load_terms, read_terms
from martfl.settlement.integer_file import peek
from martfl.tasks.layout import Layout, Vector
from martfl.tasks.protocol import Task

PLACES = ("", "journal", "acquirer")  # of a journal: the folder itself, a role's, a demo's
OWN = "martfl.tasks."  # tasks that may write models in a form of their own


@dataclass(frozen=True)
class Held:
    """What a party holds of a market."""

    journal: Path
    terms: Terms
    models: Mapping[int, Path]  # by epoch
    measured: Mapping[int, Measurement]  # by epoch, on the acquirer's root data


@dataclass(frozen=True, eq=False)
class Published:
    """A model that is what the chain says of its epoch."""

    terms: Terms
    epoch: int
    content: str  # the hash that the chain holds
    model: Vector
    layout: Layout
    measured: Measurement | None
    task: Task | None  # where it was needed

    def about(self) -> dict[str, str]:
        """What a written model says of itself."""
        terms = self.terms
        return {"market": terms.name, "contract": terms.chain.contract, "epoch": str(self.epoch), "hash": self.content}


def find_held(folder: Path) -> Held:
    """A party's journal in or under a folder, with the market's terms and the models that are there."""
    journal = next((folder / place for place in PLACES if (folder / place / NAME).is_file()), None)
    if journal is None:
        raise MarketError(f"no journal in {folder}: it would be {NAME}, there or in its folder journal or acquirer")
    with closing(Journal(journal, read_only=True)) as opened:
        market = opened.recall(0, MarketOpened)
        overs = {entry.epoch: entry.value for entry in opened.entries() if isinstance(entry.value, Over)}
    stated = journal / FOLDER / TERMS
    if market is None and not stated.is_file():
        raise MarketError(f"the journal in {journal} has seen no published model yet")
    terms = read_terms(tomllib.loads(market.terms)) if market else load_terms(stated)
    return Held(journal, terms, find_models(journal), {epoch: over.quality for epoch, over in overs.items()})


def open_model(held: Held, chain: Chain, *, epoch: int | None = None) -> Published:
    """The model of an epoch, or the one that stands; every value is held against the chain."""
    trading = open_trading(chain, held.terms.chain.contract, since=held.terms.chain.since)
    chosen = _standing(held, trading) if epoch is None else epoch
    if chosen not in held.models:
        known = ", ".join(map(str, sorted(held.models))) or "none"
        raise MarketError(f"there is no model of epoch {chosen} beside the journal; there are: {known}")
    layout, task = _layout(held.terms)
    settler = make_settler(held.terms, parameters=layout.size)
    file = held.models[chosen].read_bytes()
    settler.check(trading, file, epoch=chosen)
    model = np.asarray(settler.floats(file), np.float32)
    content = peek(file).content.hex()
    return Published(held.terms, chosen, content, model, layout, held.measured.get(chosen), task)


def _standing(held: Held, trading: Trading) -> int:
    for epoch in sorted(held.models, reverse=True):
        if trading.read_epoch(epoch).phase.stands:
            return epoch
    raise MarketError(f"no model beside the journal in {held.journal} stands on chain yet")


def _layout(terms: Terms) -> tuple[Layout, Task | None]:
    """By name, as the terms list it; the task itself is loaded where they do not, or where it writes models itself."""
    if terms.layout and not terms.task.entry.startswith(OWN):
        return Layout.from_table(terms.layout), None
    task = make_task(terms)
    return task.layout, task
