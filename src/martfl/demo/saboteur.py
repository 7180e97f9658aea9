"""Providers that do not play fair: the lab's attacks on updates, and a seller that forges its score."""

from dataclasses import dataclass

import numpy as np
import torch

from martfl.lab.attacks import Attack, CraftView
from martfl.market import messages as ms
from martfl.market.provider import Provider
from martfl.market.task import Floats
from martfl.scoring import scorer


@dataclass
class Saboteur(Provider):
    """Trains on poisoned rows where the attack poisons, and crafts its update where the attack crafts."""

    attack: Attack | None = None
    sellers: int = 1
    previous: torch.Tensor | None = None

    def make_update(self, model: Floats, *, seed: int) -> Floats:
        """The attack's update in place of an honest one."""
        assert self.attack is not None
        alone = 0 if self.attack.name == "sybil" else seed  # Sybils hand in one update in many names
        trained = self.task.train(model, self.data, seed=alone) if self.attack.trains else np.zeros_like(model)
        current = torch.from_numpy(model)
        generator = torch.Generator().manual_seed(alone)
        view = CraftView(0, current, self.previous, torch.from_numpy(trained)[None], self.sellers, generator)
        self.previous = current
        return np.asarray(self.attack.craft(view)[0].numpy() if self.attack.craft else trained, dtype=np.float64)


@dataclass
class Forger(Provider):
    """Commits to noise, and answers the request for a score with an honestly trained update."""

    honest: Floats | None = None

    def make_update(self, model: Floats, *, seed: int) -> Floats:
        """Random signs on what was trained: worth nothing."""
        self.honest = self.task.train(model, self.data, seed=seed)
        return np.asarray(self.honest * np.random.default_rng(seed).choice([-1.0, 1.0], self.honest.size))

    def score(self, request: ms.ScoreRequest) -> ms.ScoreReply:
        """A score that the committed update does not have."""
        if self.honest is None:
            return super().score(request)
        body = scorer(self.terms.selection.scorer).score(request.body, self.honest)
        return ms.ScoreReply(epoch=request.epoch, baseline=request.baseline, body=body)
