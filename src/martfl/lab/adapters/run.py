"""One run: sellers train adapters, a rule decides, the model is measured on speeches that nobody saw."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np
import torch

from martfl.lab.adapters.texts import SpeechSplit, success
from martfl.lab.rules.base import RoundView
from martfl.lab.rules.registry import make_rule
from martfl.lab.rules.shared import cosines
from martfl.selection import STRATEGIES, make_strategy
from martfl.selection.strategy import State
from martfl.tasks.layout import Vector
from martfl.tasks.lora_task import LoraTask
from martfl.values import Json, Settings

Updates = Sequence[Vector]
PROMPTS = 32  # on which attacks are measured


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The model after an epoch."""

    epoch: int
    loss: float
    success: float
    bought: float  # share of the sellers
    kept_bad: float  # weight of bad sellers


class TextBuyer:
    """An epoch as `martfl.selection.Buyer`, in the clear: a task without classes."""

    strata = None
    held_words = None
    score_error = 0.0

    def __init__(self, task: LoraTask, model: Vector, own: Vector, updates: Updates, root: Sequence[str]) -> None:
        self.task, self.model, self.own_update, self.root = task, model, own, root
        self._updates, self.bought = updates, set[int]()
        self.providers = [str(i) for i in range(len(updates))]
        self.asks = np.full(len(updates), 1.0 / len(updates))

    def score(self, baseline: Vector) -> np.ndarray:
        """[n] cosines."""
        return cosines(torch.from_numpy(np.stack(self._updates)), torch.from_numpy(np.asarray(baseline, np.float32)))

    def buy(self, providers: Sequence[int]) -> Mapping[int, Vector]:
        """Everybody delivers."""
        self.bought.update(providers)
        return {i: self._updates[i] for i in providers}

    def goodness(self, models: Sequence[Vector]) -> np.ndarray:
        """[k, r]."""
        return self.task.goodness_together(models, self.root)

    def logits(self, models: Sequence[Vector]) -> None:
        """There are no classes."""

    def by_word(self, models: Iterable[Vector], *, seed: int) -> Iterator[np.ndarray]:
        """Words have no answers without others before them."""
        return iter(())


@dataclass
class AdapterRun:
    """A run in progress."""

    task: LoraTask
    split: SpeechSplit
    rule: str
    seed: int
    rule_params: Settings = field(default_factory=dict)

    def epochs(self, count: int) -> Iterator[Json]:
        """What is measured after each."""
        model, state = self.task.initial(), self._start()
        for epoch in range(1, count + 1):
            seeds = [1000 * self.seed + epoch, *[epoch] * len(self.split.sellers)]
            own, *updates = self.task.train_together(model, [self.split.root, *self.split.sellers], seeds=seeds)
            state, step, weights, bought = self._decide(state, model, own, updates, epoch)
            model = model + step
            bad = float(sum(w for w, good in zip(weights, self.split.honest, strict=True) if not good))
            loss = self.task.quality(model, self.split.test)["loss"]
            hit = success(self.task, model, self.split.test[:PROMPTS])
            yield asdict(Measured(epoch=epoch, loss=loss, success=hit, bought=bought, kept_bad=bad))

    def _start(self) -> State:
        if self.rule in STRATEGIES:
            return make_strategy(self.rule, **self.rule_params).start()
        return make_rule(self.rule, **self.rule_params).init()

    def _decide(
        self, state: State, model: Vector, own: Vector, updates: Updates, epoch: int
    ) -> tuple[State, Vector, np.ndarray, float]:
        """The rule's memory, its step, its weights, and the share that it bought."""
        rng = np.random.default_rng([self.seed, epoch, 7])
        if self.rule in STRATEGIES:
            buyer = TextBuyer(self.task, model, own, updates, self.split.root)
            state, chosen = make_strategy(self.rule, **self.rule_params).trade(state, buyer, rng)
            step = np.tensordot(chosen.weights.astype(np.float32), np.stack(updates), axes=1)
            return state, step, chosen.weights, len(buyer.bought) / len(updates)
        sizes = torch.tensor([float(len(texts)) for texts in self.split.sellers])
        view = RoundView(
            index=epoch - 1, model=torch.from_numpy(model), updates=torch.from_numpy(np.stack(updates)),
            own_update=torch.from_numpy(own), sizes=sizes, honest=torch.tensor(self.split.honest),
            judge=None, rng=rng,  # type: ignore[arg-type]
        )  # fmt: skip
        state, decision = make_rule(self.rule, **self.rule_params).step(state, view)
        return state, decision.update.numpy(), decision.weights, float(decision.bought.mean())
