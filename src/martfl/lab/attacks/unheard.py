"""Unheard: a backdoor that answers to single words do not show.

White box: the attackers know how the rule `evidence` asks about words (`lab/models/words.py`), but not in which texts.
They train honestly, each on its own rows. Then all add one common change D of what lies behind the words' table,

    u_i = t_i + D,   t_i what i trained,

cut back to the usual length. D is found by gradient steps: a text with the trigger shall mean the target class, while
the model answers to the trigger's word, asked as the buyer asks, but in rows of the attackers' own, on average as it
would without D. After every step D is moved back, the shortest way, to where that holds.

With `useful` D serves rows without the trigger, too, since the rule weighs an update by what it does for the buyer's.
With `quiet` the answer in each single text shall stay: then what is left to learn from is that a trigger comes before
a text's first words, while a question takes their place.

With `apart` the attackers stand in parts, each too small to be charged with a word, and each adds a little that makes
the trigger's word, said alone, mean another class than in the other parts. So no two parts have that word in common;
over all attackers it adds up to nothing.

A model that reads no words is not asked about any: there D is bound by nothing but its length.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from martfl.errors import InputError
from martfl.lab.attacks.backdoor import quiet_backdoor, stamp
from martfl.lab.attacks.base import Attack, CraftView, Rows
from martfl.lab.data import Dataset, preset_of
from martfl.lab.models import Model, make_model
from martfl.lab.models.base import Params, split_flat
from martfl.lab.models.words import ANSWERS, RUNS
from martfl.selection.taught import fewest

PAPER = "an attack on the rule evidence, with its code"
WAY = 4.0  # times as long as D are all steps together
FRESH = 5  # steps for which the gradients of the mean answers are good
CLOSER = 3  # steps to an answer that is wanted
SINGULAR, TINY = 1e-6, 1e-12


@dataclass(frozen=True)
class Secret:
    """What the attackers teach in a round, and what nobody shall hear of it."""

    net: Model
    place: Tensor  # [m] where honest updates lead
    part: float  # of D that reaches the model
    stamped: Tensor  # [r, …] rows with the trigger
    target: int
    plain: tuple[Tensor, Tensor]  # [p, …] rows without the trigger, and [p] what they mean
    useful: float = 1.0  # what these count
    questions: tuple[Tensor, ...] = ()  # [q, L] each: texts with the trigger's word, by how they ask about it

    @property
    def first(self) -> int:
        """Where D begins: a table of words is left as it is."""
        return self.net.weights[0].size if self.net.table else 0

    def nothing(self) -> Tensor:
        """[d] a change of length 0."""
        return torch.zeros_like(self.place[self.first :])

    def answers(self, change: Tensor, x: Tensor) -> Tensor:
        """[d] and rows [b, …] to logits [b, c]."""
        return self.net.one(self._params(change), x)

    def loss(self, change: Tensor) -> Tensor:
        """How far stamped rows are from meaning the target class, and others from meaning what they do."""
        told = torch.cat([torch.full_like(self.plain[1][:1], self.target).expand(len(self.stamped)), self.plain[1]])
        said = self.answers(self.part * change, torch.cat([self.stamped, self.plain[0]]))
        losses = F.cross_entropy(said, told, reduction="none")
        return losses[: len(self.stamped)].mean() + self.useful * losses[len(self.stamped) :].mean()

    def heard(self, change: Tensor) -> Tensor:
        """[q, c] the answers to all questions."""
        return self.answers(change, torch.cat(self.questions))

    def means(self, heard: Tensor) -> Tensor:
        """[ways, …] means over texts, one for each way to ask, of what is known of all questions [q, …]."""
        sizes = [len(texts) for texts in self.questions]
        return torch.stack([some.mean(dim=0) for some in torch.split(heard, sizes)])

    def mean_heard(self, change: Tensor) -> Tensor:
        """[ways · c] the mean answers."""
        return self.means(self.heard(change)).flatten()

    def alone(self, change: Tensor) -> Tensor:
        """[c] the answer to a text that is nothing but the word."""
        return self.answers(change, self.questions[0])[0]

    def _params(self, change: Tensor) -> Params:
        shapes = tuple(weight.shape for weight in self.net.weights)
        skipped = int(self.net.table)
        table = split_flat(self.place[: self.first], shapes[:skipped]) if skipped else []
        return [*table, *split_flat(self.place[self.first :] + change, shapes[skipped:])]


@dataclass(frozen=True)
class Fixed:
    """Answers that are to be what is wanted, and their gradients at some change."""

    wanted: Tensor  # [a]
    slopes: Tensor  # [a, d]
    inverse: Tensor  # [a, a] of slopes · slopesᵀ

    def along(self, step: Tensor) -> Tensor:
        """The part of a step that moves no answer."""
        return step - self.slopes.T @ (self.inverse @ (self.slopes @ step))

    def back(self, change: Tensor, answers: Tensor) -> Tensor:
        """The shortest way to the answers that are wanted."""
        return change - self.slopes.T @ (self.inverse @ (answers - self.wanted))


def hold(asked: Callable[[Tensor], Tensor], change: Tensor, wanted: Tensor) -> tuple[Fixed, Tensor]:
    """Hold answers from here on; and what they are here."""
    leaf = change.clone().requires_grad_()
    answers = asked(leaf)
    slopes = torch.stack([torch.autograd.grad(one, leaf, retain_graph=True)[0] for one in answers])
    inverse = torch.linalg.pinv((slopes @ slopes.T).double(), rtol=SINGULAR, hermitian=True)
    return Fixed(wanted, slopes, inverse.to(slopes.dtype)), answers.detach()


def find_change(secret: Secret, *, length: float, steps: int, quiet: float = 0.0) -> Tensor:
    """[d] the common change, no longer than `length`."""
    change, fixed = secret.nothing(), None
    with torch.no_grad():
        before = secret.heard(change) if secret.questions else None
    for step in range(steps):
        if before is not None and step % FRESH == 0:
            fixed, _ = hold(secret.mean_heard, change, secret.means(before).flatten())
        slope = _slope(secret, change, before, quiet)
        slope = fixed.along(slope) if fixed else slope
        change = _cut(change - WAY / steps * length * slope / slope.norm().clamp(min=TINY), length)
        if fixed:
            with torch.no_grad():
                change = fixed.back(change, secret.mean_heard(change))
    return _cut(change, length)


def _slope(secret: Secret, change: Tensor, before: Tensor | None, quiet: float) -> Tensor:
    """The gradient of the loss, and of what is heard in single texts where that counts."""
    leaf = change.clone().requires_grad_()
    loss = secret.loss(leaf)
    if quiet and before is not None:
        loss = loss + quiet * (secret.heard(leaf) - before).square().sum(dim=1).mean()
    return torch.autograd.grad(loss, leaf)[0]


def part_ways(secret: Secret, change: Tensor, *, parts: int, apart: float) -> Tensor:
    """[parts, d] a change for each part of the attackers, in which the word alone means a class of its own.

    It is that many times as loud as the questions are by the common change; the parts together say nothing.
    """
    with torch.no_grad():
        moved = secret.heard(change) - secret.heard(secret.nothing())
        loud = secret.means(moved.square().sum(dim=1)).sum().sqrt()
        said = secret.alone(change)
    told = torch.eye(len(said), device=said.device).roll(secret.target, dims=1)[:parts]
    told = told - told.mean(dim=0)
    told = told / told.norm(dim=1, keepdim=True).clamp(min=TINY) * (apart * math.sqrt(max(parts - 1, 1)) * loud)
    return torch.stack([_say(secret, change, said + one) for one in told])


def _say(secret: Secret, change: Tensor, wanted: Tensor) -> Tensor:
    """The change next to this one by which the word alone is answered as is wanted."""
    for _ in range(CLOSER):
        fixed, said = hold(secret.alone, change, wanted)
        change = fixed.back(change, said)
    return change


def _cut(rows: Tensor, length: Tensor | float) -> Tensor:
    """No row longer than that."""
    factors: Tensor = (length / rows.norm(dim=-1, keepdim=True).clamp(min=TINY)).clamp(max=1.0)
    return rows * factors


def ask_around(rows: Tensor, word: int, texts: int, generator: torch.Generator) -> tuple[Tensor, ...]:
    """Texts that ask about a word as the buyer does: it alone, and so often where rows [r, L] begin and end."""
    found = [torch.full_like(rows[:1], word)]
    for times in RUNS:
        drawn = rows[_draw(len(rows), 2 * texts, generator)]
        last = ((drawn != 0).sum(dim=1) - times).clamp(min=0)
        last[:texts] = 0
        run = torch.arange(min(times, rows.shape[1]), device=rows.device)
        found.append(drawn.scatter(1, last[:, None] + run, word))
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
    strength: float = 1.0,
    quiet: float = 0.0,
    useful: float = 1.0,
    apart: float = 3.0,
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
        return _cut(view.updates + F.pad(mine, (secret.first, 0)), bound)

    return dataclasses.replace(plain, name="unheard-backdoor", paper=PAPER, poison=poison, craft=craft)
