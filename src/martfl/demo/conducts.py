"""How the demo's sellers behave: honestly, by an attack of the lab, or with a score that is not their update's."""

from dataclasses import dataclass

import numpy as np
import torch

from martfl.arrays import Reals
from martfl.lab.attacks import Attack, CraftView, make_attack
from martfl.market.conduct import Conduct, Honest, Lesson

HONEST, FORGED = "honest", "forged-score"


@dataclass(frozen=True)
class Attacker:
    """Hands in what an attack makes of training. Rows that the attack poisons are poisoned before."""

    attack: Attack
    sellers: int  # in the market, attackers included

    def update(self, lesson: Lesson) -> Reals:
        """The attack's update; Sybils hand in one update in many names."""
        seed = 0 if self.attack.name == "sybil" else lesson.seed
        trained = np.zeros_like(lesson.model)
        if self.attack.trains:
            trained = np.asarray(lesson.task.train(lesson.model, lesson.data, seed=seed), dtype=np.float32)
        return trained if self.attack.craft is None else self._crafted(lesson, trained, seed)

    def scored(self, lesson: Lesson, update: Reals) -> Reals:
        """What it committed to: the attack is in the update."""
        return update

    def _crafted(self, lesson: Lesson, trained: Reals, seed: int) -> Reals:
        assert self.attack.craft is not None
        before = None if lesson.before is None else torch.from_numpy(lesson.before)
        view = CraftView(
            index=0,
            model=torch.from_numpy(lesson.model),
            previous=before,
            updates=torch.from_numpy(trained)[None],  # [1, m]
            providers=self.sellers,
            generator=torch.Generator().manual_seed(seed),
        )
        return np.asarray(self.attack.craft(view)[0].numpy(), dtype=np.float32)


@dataclass(frozen=True)
class Forger:
    """Commits to noise, and has itself scored by an honestly trained update."""

    def update(self, lesson: Lesson) -> Reals:
        """Random signs on what was trained: worth nothing."""
        trained = Honest().update(lesson)
        return np.asarray(trained * np.random.default_rng(lesson.seed).choice([-1.0, 1.0], trained.size))

    def scored(self, lesson: Lesson, update: Reals) -> Reals:
        """A score that the committed update does not have."""
        return Honest().update(lesson)


def make_conduct(behaviour: str, *, sellers: int) -> Conduct:
    """The conduct of this name."""
    if behaviour == HONEST:
        return Honest()
    return Forger() if behaviour == FORGED else Attacker(make_attack(behaviour), sellers)
