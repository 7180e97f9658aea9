"""Selection strategies of the market as rules of the lab: the same code decides in both, only the buyer differs."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from martfl.errors import InputError
from martfl.lab.rules.base import Decision, Judge, RoundView, Rule
from martfl.lab.rules.shared import cosines, mix, norms
from martfl.lab.rules.sketched import SketchedScores, compare
from martfl.scoring import score_error
from martfl.scoring.sketch import MAX_ENTRIES
from martfl.selection import STRATEGIES, make_strategy
from martfl.selection.explain import headline
from martfl.selection.strategy import State, Strategy
from martfl.valuation import ByValue, Focus
from martfl.values import Settings

BASELINE_DATA = ("root", "test")


class LabBuyer:
    """A round as `martfl.selection.Buyer`: scores in the clear, and a record of what was scored and bought.

    With `sketch` entries, scores are those of sketches. Everybody asks for the same. A broken update gets no score; a
    broken or an all-zero one is not delivered.
    """

    def __init__(self, view: RoundView, judge: Judge, *, sketch: int = 0) -> None:
        self._view, self._judge = view, judge
        self._sketched = SketchedScores(view.updates, sketch, view.rng) if sketch else None
        self.score_error = score_error(sketch).deviation
        self._lengths = norms(view.updates)
        self.sound = np.isfinite(self._lengths)  # squares of float32 cannot overflow float64
        self.baselines: list[Tensor] = []
        self.bought: set[int] = set()

    @property
    def providers(self) -> Sequence[str]:
        return [str(i) for i in range(self.sound.size)]

    @property
    def asks(self) -> np.ndarray:
        return np.full(self.sound.size, 1.0 / self.sound.size)

    @property
    def model(self) -> Tensor:
        return self._view.model

    @property
    def own_update(self) -> Tensor:
        return self._view.own_update

    @property
    def strata(self) -> np.ndarray:
        return np.asarray(self._judge.labels.cpu().numpy())

    @property
    def held_words(self) -> np.ndarray | None:
        """[w] whether the judge's rows hold a word; None where the model reads no words."""
        return self._judge.held_words()

    def by_word(self, models: Iterable[Tensor], *, seed: int) -> Iterator[np.ndarray]:
        """[w, texts, classes] of each model."""
        for found in self._judge.by_word(models, seed):
            yield np.asarray(found.cpu().numpy())

    def score(self, baseline: Tensor) -> np.ndarray:
        """[n] cosines; NaN for a broken update."""
        self.baselines.append(baseline)
        if self._sketched is not None:
            return np.where(self.sound, self._sketched(baseline), np.nan)
        return np.where(self.sound, cosines(self._view.updates, baseline, lengths=self._lengths), np.nan)

    def buy(self, providers: Sequence[int]) -> Mapping[int, Tensor]:
        """The updates asked for, each paid for once."""
        able = [i for i in providers if self.sound[i] and self._lengths[i] > 0]
        self.bought.update(able)
        return {i: self._view.updates[i] for i in able}

    def goodness(self, models: Sequence[Tensor]) -> np.ndarray:
        """[k, r] log likelihood of every row's true class."""
        return _goodness(self._judge, models)

    @property
    def focus(self) -> Focus | None:
        """The part of a model that the judge's rows can see; None where that is all of it."""
        narrow = getattr(self._judge, "narrow", None)
        return None if narrow is None else Focus(narrow.take, partial(_goodness_each, narrow.judge))

    def logits(self, models: Sequence[Tensor]) -> np.ndarray:
        """[k, r, classes] on the judge's rows."""
        return np.asarray(self._judge.logits(torch.stack(list(models))).double().cpu().numpy())


def _goodness(judge: Judge, models: Sequence[Tensor]) -> np.ndarray:
    chances = torch.log_softmax(judge.logits(torch.stack(list(models))).double(), dim=-1)
    truth = judge.labels.expand(len(models), -1)[..., None]
    return np.asarray(chances.gather(-1, truth)[..., 0].cpu().numpy())


def _goodness_each(judge: Judge, models: Iterable[Tensor]) -> np.ndarray:
    """One model after the other: each fits into a processor's cache."""
    return np.concatenate([_goodness(judge, [model]) for model in models])


def judge_of(view: RoundView, baseline_data: str) -> Judge:
    """The root data's judge; the test data's only where it was asked for by name."""
    if baseline_data == "root":
        return view.judge
    if view.test_judge is None:
        raise InputError("baseline_data='test' needs a judge over test data, and this run gives none")
    return view.test_judge


VALUES = ("", "information")


def build(name: str, options: Settings, value: str) -> Strategy:
    """The strategy, with weights by what updates add where `value` says so."""
    inner = make_strategy(name, **options)
    return ByValue(inner=inner) if value else inner


def start(name: str, options: Settings, value: str) -> State:
    """The strategy's first state."""
    return build(name, options, value).start()


def step(
    state: State, view: RoundView, *, name: str, options: Settings, baseline_data: str, sketch: int, value: str
) -> tuple[State, Decision]:
    """One epoch: trade, aggregate.

    With sketches, the same epoch is decided beside it with exact cosines, to see whose fate the sketch changed.
    """
    strategy, judge = build(name, options, value), judge_of(view, baseline_data)
    before, rng = state, copy.deepcopy(view.rng)
    buyer = LabBuyer(view, judge, sketch=sketch)
    state, chosen = strategy.trade(state, buyer, view.rng)
    same = compare(chosen, strategy.trade(before, LabBuyer(view, judge), rng)[1]) if sketch else {}
    decision = Decision(
        mix(view.updates, chosen.weights),
        chosen.weights,
        np.isin(np.arange(buyer.sound.size), list(buyer.bought)),
        baseline=buyer.baselines[0] if buyer.baselines else None,
        baselines=len(buyer.baselines),
        note=headline(chosen),
        **same,
    )
    return state, decision


def strategy_rule(name: str, paper: str) -> Callable[..., Rule]:
    """A maker of rules from a registered strategy, with `baseline_data`, `sketch` and `value` beside its parameters."""

    def make(*, baseline_data: str = "root", sketch: int = 0, value: str = "", **options: Any) -> Rule:
        if baseline_data not in BASELINE_DATA:
            raise InputError(f"unknown baseline_data {baseline_data!r}: choose one of {', '.join(BASELINE_DATA)}")
        options = {key: tuple(value) if isinstance(value, list) else value for key, value in options.items()}
        if not 0 <= sketch <= MAX_ENTRIES:
            raise InputError(f"sketch must have 0 (none) to {MAX_ENTRIES} entries, got {sketch}")
        if value not in VALUES:
            raise InputError(f"unknown value {value!r}: choose one of {', '.join(filter(None, VALUES))}, or none")
        make_strategy(name, **options)  # refuse bad parameters now, not in the first round
        bound = partial(step, name=name, options=options, baseline_data=baseline_data, sketch=sketch, value=value)
        return Rule(name, paper, server_driven=True, init=partial(start, name, options, value), step=bound)

    own = list(inspect.signature(STRATEGIES[name]).parameters.values())
    extra = [
        inspect.Parameter("baseline_data", inspect.Parameter.KEYWORD_ONLY, default="root", annotation=str),
        inspect.Parameter("sketch", inspect.Parameter.KEYWORD_ONLY, default=0, annotation=int),
        inspect.Parameter("value", inspect.Parameter.KEYWORD_ONLY, default="", annotation=str),
    ]
    parts = sorted([*own, *extra], key=lambda part: part.kind)  # a variadic one comes last
    make.__signature__ = inspect.Signature(parts)  # type: ignore[attr-defined]
    make.__doc__ = STRATEGIES[name].__doc__
    return make
