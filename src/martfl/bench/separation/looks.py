"""What a buyer can compute of every seller in an epoch: numbers by name, each for all sellers.

No feature of `plain` names a class, so that what is learnt of it holds for any target of an attack; `named` ones do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from martfl.arrays import Floats
from martfl.bench.separation.alike import NEAR, axes, beyond, likeness
from martfl.errors import InputError
from martfl.lab.models import Model
from martfl.lab.rules import RoundView
from martfl.lab.rules.strategy import LabBuyer
from martfl.selection import Evidence
from martfl.selection.basket import Basket, ask, unpack_basket
from martfl.selection.gains import STEP, mean_and_error, measure, models_towards
from martfl.selection.kinds import to_cosines, without_common
from martfl.selection.memory import Memory
from martfl.selection.taught import hear
from martfl.selection.vectors import to_floats, weighted_sum
from martfl.selection.verdict import Seen, judge

FEW = 0.25  # of the sellers: where they have changed a word by less than …
RARE = 0.1  # … this part of what three have, it is rare
TINY = 1e-12


@dataclass(frozen=True)
class Looks:
    """One epoch: [n] numbers by feature."""

    plain: Mapping[str, Floats]
    named: Mapping[str, Floats]


@dataclass(frozen=True)
class Served:
    """What a step towards each of n updates does to the root rows."""

    change: Floats  # [n, r, classes] of the logits, each row's mean taken out
    truth: np.ndarray  # [r]
    gains: Mapping[str, Floats]  # [n, r], with class shifts and without

    @property
    def shifts(self) -> Floats:
        """[n, classes] by which all rows move towards a class."""
        return np.asarray(self.change.mean(axis=1))

    def by_class(self, rows: Floats) -> Floats:
        """[n, r] -> [n, held classes] means."""
        return np.stack([rows[:, self.truth == held].mean(axis=1) for held in np.unique(self.truth)], axis=1)

    @property
    def pairs(self) -> Floats:
        """[n, held classes, classes] by which rows of one class move to another more than other rows do."""
        kinds = [self.truth == held for held in np.unique(self.truth)]
        found = [self.change[:, kind].mean(axis=1) - self.change[:, ~kind].mean(axis=1) for kind in kinds]
        return np.stack(found, axis=1)


def look(view: RoundView, model: Model) -> Looks:
    """All features of one epoch."""
    rule, buyer = Evidence(budget=1.0), LabBuyer(view, view.judge)
    basket = unpack_basket(dict(enumerate(view.updates)), view.own_update, seed=0, size=rule.direction)
    if len(basket.places) < len(view.updates):
        raise InputError("a seller handed in nothing, or what is not finite")
    served = _serve(buyer, basket)
    heard = hear(buyer, basket.units, basket.lengths, seed=0)
    seen = Seen(rule, Memory(), buyer, buyer.strata, ask(buyer, Memory()), basket, heard)
    plain = {
        **_numbers(view, basket),
        **_alike(view, basket, served),
        **_layers(view, model, basket),
        **_gains(served),
        **_shifts(served),
        **_rule(seen),
    }
    return Looks(plain, _named(model, basket, served))


def _serve(buyer: LabBuyer, basket: Basket) -> Served:
    """At the mean of all, cut to the median length, as the rule has it."""
    length = float(np.median(basket.lengths))
    mean = weighted_sum(basket.units, np.minimum(basket.lengths, length) / len(basket.lengths))
    models = models_towards(buyer.model + mean, basket.units, length=length, less=mean)
    logits, gains = buyer.logits(models), measure(buyer, models, buyer.strata)
    change = (logits[1:] - logits[0]) / STEP
    change = change - change.mean(axis=-1, keepdims=True)
    return Served(
        change / max(float(change.std()), TINY), buyer.strata, {"gain": gains.rows, "plain gain": gains.plain}
    )


def _numbers(view: RoundView, basket: Basket) -> dict[str, Floats]:
    """Of each update by itself."""
    dark = view.own_update == 0
    fourth = [float((unit**4).sum()) for unit in basket.units]
    return {
        "length": np.log(basket.lengths),
        "own": basket.own,
        "dark share": np.array([float((unit[dark] ** 2).sum()) for unit in basket.units]),
        "heavy numbers": np.log(fourth),
        "tie": np.log(np.maximum(basket.ties, TINY)),
    }


def _alike(view: RoundView, basket: Basket, served: Served) -> dict[str, Floats]:
    """What it has in common with others: as it stands, beside the common mean, beside classes, where no row reaches."""
    gram = _gram(basket.units)
    centred = without_common(gram)
    past = beyond(gram, np.column_stack([served.shifts, np.log(basket.lengths)]))
    hidden = basket.hidden @ basket.hidden.T
    cubes = (basket.units - basket.units.mean(dim=0)) ** 3
    lengths = np.log(basket.lengths)
    return {
        **likeness(gram, ""),
        **likeness(to_cosines(centred), "centred "),
        **axes(centred, lengths, "longer side"),
        **axes(centred, -basket.own, "side far from own"),
        **likeness(to_cosines(past), "beyond classes "),
        **axes(past, lengths, "beyond classes, longer side"),
        **likeness(hidden, "hidden "),
        "hidden weight": np.sqrt(np.diag(hidden)),
        **likeness(to_cosines(_gram(cubes / cubes.norm(dim=1, keepdim=True))), "heavy numbers, "),
        **likeness(to_cosines(without_common(_gram(basket.units * (view.own_update == 0)))), "where no row reaches, "),
    }


def _gram(rows: Tensor) -> Floats:
    return to_floats(rows @ rows.T)


def _layers(view: RoundView, model: Model, basket: Basket) -> dict[str, Floats]:
    """The first weights, and the last: their share of the update, and what they have in common with others'."""
    found: dict[str, Floats] = {}
    parts = model.split(basket.units)
    for name, part in (("first layer", parts[0]), ("head", parts[-2]), ("bias", parts[-1])):
        gram = _gram(part.flatten(1))
        found[f"{name} share"] = np.log(np.diag(gram) + TINY)
        found |= likeness(to_cosines(without_common(gram)), f"{name} ")
    return found | (words(parts[0], model.split(view.own_update)[0]) if model.table else {})


def words(table: Tensor, own: Tensor) -> dict[str, Floats]:
    """[n, words, width] and [words, width] -> the share of the heaviest word in the table's change, of all words.

    And of those that two others have changed as much: of all against what is usual, of those that most left alone, and
    of those that the buyer's own rows lack.
    """
    shares = to_floats((table**2).sum(dim=2))
    shares = shares / shares.sum(axis=1, keepdims=True)
    third, usual = np.sort(shares, axis=0)[-NEAR], np.quantile(shares, FEW, axis=0)
    shared, rare = np.minimum(shares, third), usual < RARE * third
    dark = (own == 0).all(dim=1).cpu().numpy()
    return {
        "heaviest word": np.log(shares.max(axis=1)),
        "heaviest shared word": (shared - usual).max(axis=1),
        "heaviest rare shared word": (shared * rare).max(axis=1),
        "heaviest dark shared word": (shared * (rare & dark)).max(axis=1),
    }


def _gains(served: Served) -> dict[str, Floats]:
    """On root rows: in all, and of classes the least, the most and the spread."""
    found: dict[str, Floats] = {}
    for name, rows in served.gains.items():
        mean, error = mean_and_error(rows, np.full(rows.shape[1], 1.0 / rows.shape[1]))
        classes = served.by_class(rows)
        found[name] = mean / error
        found |= {f"{name}, least class": classes.min(axis=1), f"{name}, best class": classes.max(axis=1)}
        found[f"{name}, spread of classes"] = classes.std(axis=1)
    return found


def _shifts(served: Served) -> dict[str, Floats]:
    """Which classes it moves rows to: all of them, and those of one class alone."""
    pairs, top = _off(served), np.sort(served.shifts, axis=1)
    odd, swaps = _odd(pairs), np.triu(pairs + pairs.transpose(0, 2, 1))
    toward = np.maximum(served.shifts, 0.0) + TINY
    share = toward / toward.sum(axis=1, keepdims=True)
    return {
        "classes held": np.exp(-(share * np.log(share)).sum(axis=1)),
        "push to a class": top[:, -1],
        "push beyond the second": top[:, -1] - top[:, -2],
        **_largest(pairs, "pair"),
        **_largest(odd, "odd pair"),
        **_largest(swaps, "swap"),
        **_largest(_odd(swaps), "odd swap"),
        "all pairs odd": np.abs(odd).mean(axis=(1, 2)),
    }


def _off(served: Served) -> Floats:
    """[n, c, c] the pairs of different classes that the root rows hold; 0 elsewhere."""
    held = np.unique(served.truth)
    pairs = served.pairs[:, :, held]
    return np.asarray(pairs * ~np.eye(len(held), dtype=bool))


def _odd(values: Floats) -> Floats:
    """By how many deviations each is above what is usual among sellers."""
    apart = values - np.median(values, axis=0)
    return np.asarray(apart / (1.4826 * np.median(np.abs(apart), axis=0) + 0.1 * np.abs(apart).mean() + TINY))


def _largest(values: Floats, name: str) -> dict[str, Floats]:
    flat = np.sort(values.reshape(len(values), -1), axis=1)
    return {name: flat[:, -1], f"second {name}": flat[:, -2]}


def _rule(seen: Seen) -> dict[str, Floats]:
    """What the rule itself finds in this epoch alone."""
    verdict = judge(seen)
    return {
        "the rule's evidence": np.array([verdict.records[name].evidence for name in seen.names]),
        "the rule's worth": np.array([verdict.gains[name] for name in seen.names]),
    }


def _named(model: Model, basket: Basket, served: Served) -> dict[str, Floats]:
    """Class by class; the classes of an attack are the same in all divisions of the data."""
    bias = to_floats(model.split(basket.units)[-1])
    tables = {
        "gain of": served.by_class(served.gains["gain"]),
        "plain gain of": served.by_class(served.gains["plain gain"]),
        "shift to": served.shifts,
        "bias of": bias,
    }
    found = {f"{name} {c}": values[:, c] for name, values in tables.items() for c in range(values.shape[1])}
    pairs = served.pairs
    held = np.unique(served.truth)
    found |= {f"{a} to {b}": pairs[:, i, b] for i, a in enumerate(held) for b in range(pairs.shape[2]) if a != b}
    return found
