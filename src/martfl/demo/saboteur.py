"""Providers that do not play fair: the lab's attacks on updates, and a seller that forges its score."""

from dataclasses import dataclass

import numpy as np
import torch

from martfl.lab.attacks import Attack, CraftView
from martfl.market import messages as ms
from martfl.market.provider import Provider
from martfl.market.task import Floats
from martfl.scoring import scorer

MODELS = 0  # the journal's epoch for what outlives its epoch


@dataclass
class Saboteur(Provider):
    """Trains on poisoned rows where the attack poisons, and crafts its update where the attack crafts."""

    attack: Attack | None = None
    sellers: int = 1
    previous: torch.Tensor | None = None

    def _prepare_update(self, epoch: int, file: bytes) -> None:
        """Remember every model, on disk: some attacks hand in what the model did in the epoch before."""
        self.journal.keep(MODELS, str(epoch), file)
        before = self.journal.blob(MODELS, str(epoch - 1))
        self.previous = torch.from_numpy(self.settler.floats(before)) if before else None
        super()._prepare_update(epoch, file)

    def make_update(self, model: Floats, *, seed: int) -> Floats:
        """The attack's update in place of an honest one."""
        assert self.attack is not None
        alone = 0 if self.attack.name == "sybil" else seed  # Sybils hand in one update in many names
        trained = self.task.train(model, self.data, seed=alone) if self.attack.trains else np.zeros_like(model)
        generator = torch.Generator().manual_seed(alone)
        updates = torch.from_numpy(trained)[None]
        view = CraftView(0, torch.from_numpy(model), self.previous, updates, self.sellers, generator)
        return np.asarray(self.attack.craft(view)[0].numpy() if self.attack.craft else trained, dtype=np.float64)


@dataclass
class Forger(Provider):
    """Commits to noise, and answers the request for a score with an honestly trained update."""

    honest: Floats | None = None

    def _prepare_update(self, epoch: int, file: bytes) -> None:
        super()._prepare_update(epoch, file)
        assert self.honest is not None
        self.journal.keep(epoch, "honest", self.honest.tobytes())

    def make_update(self, model: Floats, *, seed: int) -> Floats:
        """Random signs on what was trained: worth nothing."""
        self.honest = np.asarray(self.task.train(model, self.data, seed=seed), dtype=np.float64)
        return np.asarray(self.honest * np.random.default_rng(seed).choice([-1.0, 1.0], self.honest.size))

    def score(self, request: ms.ScoreRequest) -> ms.ScoreReply:
        """A score that the committed update does not have."""
        kept = self.journal.blob(request.epoch, "honest")
        if kept is None:
            return super().score(request)
        body = scorer(self.terms.selection.scorer).score(request.body, np.frombuffer(kept))
        return ms.ScoreReply(epoch=request.epoch, baseline=request.baseline, body=body)
