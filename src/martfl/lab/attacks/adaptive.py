"""Adaptive: a backdoor that goes as far as the rule `evidence`, which it knows with all its numbers, lets it go.

White box: the attackers see what the honest providers hand in, the buyer's own update and the rule itself. Their
trained updates differ from the honest ones by a common part, the backdoor, and by noise of each one's own. They hand in

    u_i = h + λ·(a − h) + (t_i − a),   h and a the honest and their own mean, t_i what i trained,

cut back to the honest median length, with the largest λ for which the rule's own evidence against them, computed by its
own code, stays below a bound. λ = 1 is a quiet backdoor; λ = 0 has nothing of it in the mean.

With `decoys` each also hands in so many numbers of its own, half as heavy again as its heaviest, where the buyer's own
update is zero, to cover what the attackers share there.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from martfl.errors import InputError
from martfl.lab.attacks.backdoor import quiet_backdoor
from martfl.lab.attacks.base import Attack, CraftView, Rows
from martfl.lab.data import Dataset, preset_of
from martfl.lab.models import Model, make_model
from martfl.lab.models.words import ANSWERS, answers_to_words, draw_texts
from martfl.selection import Evidence
from martfl.selection.basket import unpack_basket
from martfl.selection.charges import Known, charge_kinds
from martfl.selection.crowd import Crowd
from martfl.selection.taught import gather, hear

PAPER = "an attack on the rule evidence, with its code"
STEPS = 8  # of the bisection
HEAVIER = 1.5  # a decoy against the heaviest number beside it


def mixed(view: CraftView, strength: float, decoys: Tensor | None = None) -> Tensor:
    """[k, m] u_i(λ), with decoys [k, m] of ±1 and 0, no longer than most honest updates are."""
    assert view.honest is not None
    honest, own = view.honest.mean(dim=0), view.updates.mean(dim=0)
    crafted = honest + strength * (own - honest) + (view.updates - own)
    if decoys is not None:
        crafted = torch.where(decoys != 0, HEAVIER * crafted.abs().amax(dim=1, keepdim=True) * decoys, crafted)
    bound = view.honest.norm(dim=1).median()
    factors: Tensor = (bound / crafted.norm(dim=1, keepdim=True).clamp(min=1e-12)).clamp(max=1.0)
    return crafted * factors


def draw_decoys(view: CraftView, decoys: int) -> Tensor | None:
    """[k, m] of ±1 at `decoys` places of each attacker's own where the buyer's own update is zero, 0 elsewhere."""
    assert view.own is not None
    dark = torch.nonzero(view.own == 0)[:, 0]
    if not decoys or not len(dark):
        return None
    found = torch.zeros_like(view.updates)
    shape = (len(found), decoys)
    places = dark[torch.randint(len(dark), shape, generator=view.generator, device=found.device)]
    signs = 2.0 * torch.randint(2, shape, generator=view.generator, device=found.device) - 1.0
    return found.scatter_(1, places, signs)


@dataclass(frozen=True)
class Listener:
    """The buyer, as far as attackers can ask what it would hear of single words."""

    net: Model
    rows: Tensor  # [r, L] of attackers
    model: Tensor
    own_update: Tensor

    @property
    def held_words(self) -> np.ndarray | None:
        """Those whose rows the buyer's own update moves."""
        if self.net.name not in ANSWERS:
            return None
        return np.asarray((self.net.split(self.own_update)[0] != 0).any(dim=1)[1:].cpu().numpy())

    def by_word(self, models: Iterable[Tensor], *, seed: int) -> Iterator[np.ndarray]:
        """[w, texts, classes] of each model, in texts of an attacker's own: nobody sees the buyer's."""
        texts = draw_texts(self.rows, seed)
        for model in models:
            yield np.asarray(answers_to_words(self.net, model, texts).cpu().numpy())


def evidence_against(view: CraftView, crafted: Tensor, rule: Evidence, net: Model, texts: Tensor) -> float:
    """The strongest evidence that the rule would find in one epoch against a kind of which most are attackers."""
    assert view.honest is not None and view.own is not None
    rows = torch.cat([view.honest, crafted])
    seen = unpack_basket(dict(enumerate(rows)), view.own, seed=view.seed, size=rule.direction)
    listener = Listener(net, texts.to(crafted.device), view.model, view.own)
    heard = hear(listener, seen.units, seen.lengths, seed=view.seed + view.index)
    n, logs = len(seen.places), np.log(seen.lengths)
    known = Known(
        rows=np.zeros((n, 1)), weights=np.ones(1), cover=1.0, even=True, lengths=logs - np.median(logs), own=seen.own,
        own_error=0.0, directions=seen.sketches, ties=np.full(n, 9.0), hidden=seen.hidden,
        taught=None if heard is None else gather(heard.moved, heard.own, heard.held),
    )  # fmt: skip
    attackers = np.array(seen.places) >= len(view.honest)
    sides = charge_kinds(rule, known, Crowd(0.0, 1.0))
    return max((found for members, found, _ in sides if attackers[members].mean() > 0.5), default=-math.inf)


def adaptive(*, share: float = 0.3, bound: float = 0.0, most: float = 3.0, decoys: int = 0) -> Attack:
    """Train on `share` stamped rows; keep the evidence below `bound` (in logarithms), and λ below `most`."""
    if not most > 0 or decoys < 0:
        raise InputError(f"adaptive needs most > 0 and decoys ≥ 0, got {most} and {decoys}")
    rule, plain = Evidence(without=("harm",)), quiet_backdoor(share=share)
    known: list[tuple[Model, Tensor]] = []  # the network and the rows of the first to be poisoned

    def poison(dataset: Dataset, rows: Rows, rng: np.random.Generator) -> Rows:
        known.append((make_model(preset_of(dataset.name).model, dataset), torch.from_numpy(rows.x)))
        assert plain.poison is not None
        return plain.poison(dataset, rows, rng)

    def craft(view: CraftView) -> Tensor:
        if view.honest is None or view.own is None or len(view.honest) < 2 or len(view.updates) < 2:
            return view.updates
        drawn, low, high = draw_decoys(view, decoys), 0.0, most
        for _ in range(STEPS):
            middle = (low + high) / 2
            caught = evidence_against(view, mixed(view, middle, drawn), rule, *known[0]) > bound
            low, high = (low, middle) if caught else (middle, high)
        return mixed(view, low, drawn)

    return dataclasses.replace(plain, name="adaptive", paper=PAPER, poison=poison, craft=craft)
