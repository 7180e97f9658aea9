"""Unheard: a backdoor that answers to single words do not show.

White box: the attackers know how the rule `evidence` asks about words (`lab/models/words.py`), but not in which texts.
They train honestly, each on its own rows. Then all add one common change D of what lies behind the words' table,

    u_i = t_i + D,   t_i what i trained,

cut back to the usual length. D is found by gradient steps: a text with the trigger shall mean the target class, while
the model answers to the trigger's word, asked as the buyer asks, but in rows of the attackers' own, on average as it
would without D. After every step D is moved back, the shortest way, to where that holds.

With `useful` D serves rows without the trigger, too, since the rule weighs an update by what it does for the buyer's.
With `quiet` the answer in each single text shall stay.

With `apart` the attackers stand in parts, each too small to be charged with a word, and each adds a little that makes
the trigger's word mean another class than in the other parts, however it is asked. So no two parts have that word in
common; over all attackers it adds up to nothing.

A model that reads no words is not asked about any: there D is bound by nothing but its length.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from martfl.errors import InputError
from martfl.lab.attacks.backdoor import quiet_backdoor, stamp
from martfl.lab.attacks.base import Attack, CraftView, Rows
from martfl.lab.attacks.unheard_change import Secret, cut, find_change, part_ways
from martfl.lab.data import Dataset, preset_of
from martfl.lab.models import Model, make_model
from martfl.lab.models.words import ANSWERS, RUNS
from martfl.selection.taught import fewest

PAPER = "an attack on the rule evidence, with its code"


def ask_around(rows: Tensor, word: int, texts: int, generator: torch.Generator) -> tuple[Tensor, ...]:
    """Texts that ask about a word as the buyer does: it alone, and so often before or after rows [r, L]."""
    found = [torch.full_like(rows[:1], word)]
    length = rows.shape[1]
    for times in (min(times, length) for times in RUNS):
        first, last = rows[_draw(len(rows), texts, generator)], rows[_draw(len(rows), texts, generator)]
        before = torch.cat([torch.full_like(first[:, :times], word), first[:, : length - times]], dim=1)
        places = (last != 0).sum(dim=1).clamp(max=length - times)
        after = last.scatter(1, places[:, None] + torch.arange(times, device=rows.device), word)
        found.append(torch.cat([before, after]))
    return tuple(found)


def _draw(among: int, wanted: int, generator: torch.Generator) -> Tensor:
    return torch.randint(among, (wanted,), generator=generator, device=generator.device)


@dataclass(frozen=True)
class Gang:
    """What the attackers know together from the start."""

    dataset: Dataset
    rows: Rows  # all of theirs
    target: int

    def secret(self, view: CraftView, net: Model, *, rows: int, texts: int, useful: float) -> Secret:
        """That of a round, out of rows of theirs drawn anew."""
        device = view.updates.device
        others = self.rows.x[self.rows.y != self.target]
        drawn = others[_draw(len(others), rows, view.generator).cpu().numpy()]
        places = _draw(len(self.rows.y), rows, view.generator).cpu().numpy()
        x, y = (torch.from_numpy(part[places]).to(device) for part in (self.rows.x, self.rows.y))
        questions: tuple[Tensor, ...] = ()
        if net.name in ANSWERS:
            own = torch.from_numpy(self.rows.x).to(device)
            questions = ask_around(own, self.dataset.vocabulary - 1, texts, view.generator)
        return Secret(
            net=net,
            place=view.model + view.updates.mean(dim=0),
            part=len(view.updates) / view.providers,
            stamped=torch.from_numpy(stamp(self.dataset, drawn)).to(device),
            target=self.target,
            plain=(x, y.long()),
            useful=useful,
            questions=questions,
        )


def meet(parts: Sequence[tuple[Dataset, Rows]], target: int | None) -> Gang:
    """All attackers' rows, one after the other."""
    if not parts:
        raise InputError("unheard-backdoor crafts from its attackers' rows, and was given none")
    dataset = parts[0][0]
    rows = Rows(np.concatenate([own.x for _, own in parts]), np.concatenate([own.y for _, own in parts]))
    return Gang(dataset, rows, preset_of(dataset.name).flip[1] if target is None else target)


def parts_of(view: CraftView, classes: int) -> int:
    """Into how many parts the attackers fall of which none can be charged with a word."""
    return min(math.ceil(len(view.updates) / (fewest(view.providers) - 1)), classes)


def net_of(dataset: Dataset, view: CraftView) -> Model:
    """The model that the attackers take the market's to be."""
    net = make_model(preset_of(dataset.name).model, dataset)
    if net.size != len(view.model):
        raise InputError(f"unheard-backdoor knows {dataset.name} by its usual model, {net.name}: run it with that one")
    return net


def usual_length(view: CraftView) -> float:
    """The median length of the honest updates, or of the attackers' own where they see no others."""
    seen = view.honest if view.honest is not None and len(view.honest) else view.updates
    return float(seen.norm(dim=1).median())


def unheard_backdoor(
    *,
    strength: float = 0.5,
    quiet: float = 0.0,
    useful: float = 1.0,
    apart: float = 0.7,
    rows: int = 200,
    texts: int = 24,
    steps: int = 20,
    target: int | None = None,
) -> Attack:
    """Add D, `strength` times as long as updates usually are, found in so many steps on so many stamped rows.

    Each way to ask about the word is tried in `texts` rows at either end. `quiet` weighs what is heard in single texts
    against the attack's success, `useful` what D does for as many rows without the trigger: who serves the buyer's rows
    gets more weight. With all three of `quiet`, `useful` and `apart` at 0 it is the plain form.
    """
    if not strength > 0 or not min(quiet, useful, apart) >= 0 or min(rows, texts, steps) < 1:
        raise InputError(
            "unheard-backdoor needs strength > 0, quiet, useful, apart ≥ 0 and rows, texts, steps ≥ 1, "
            f"got {strength}, {quiet}, {useful}, {apart}, {rows}, {texts} and {steps}"
        )
    plain = quiet_backdoor(target=target)
    known: list[tuple[Dataset, Rows]] = []

    def poison(dataset: Dataset, own: Rows, rng: np.random.Generator) -> Rows:
        known.append((dataset, own))
        return own

    def craft(view: CraftView) -> Tensor:
        gang = meet(known, target)
        if bool((gang.rows.y == gang.target).all()):
            return view.updates
        net = net_of(gang.dataset, view)
        secret, bound = gang.secret(view, net, rows=rows, texts=texts, useful=useful), usual_length(view)
        change = find_change(secret, length=strength * bound, steps=steps, quiet=quiet)
        parts = parts_of(view, gang.dataset.num_classes)
        changes = change.expand(1, -1)
        if apart and parts > 1 and secret.questions:
            changes = part_ways(secret, change, parts=parts, apart=apart)
        mine = changes[torch.arange(len(view.updates), device=changes.device) % len(changes)]
        return cut(view.updates + F.pad(mine, (secret.first, 0)), bound)

    return dataclasses.replace(plain, name="unheard-backdoor", paper=PAPER, poison=poison, craft=craft)
