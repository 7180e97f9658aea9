"""From bought updates to their weights: sketches of directions, gains on the root rows, shares, lengths.

Gains are taken half way between the model and the aggregate. There they add up: what a seller's part of the aggregate
gains is its Aumann–Shapley value, which does not change where sellers split or merge, and the sum is the model's gain.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise

import numpy as np

from martfl.arrays import Floats
from martfl.selection.strategy import Vector
from martfl.selection.vectors import norm, sketches
from martfl.valuation.account import Account
from martfl.valuation.combine import combine, usual_length
from martfl.valuation.information import Information, Sale, Worth, nothing_sold

Goodness = Callable[[Sequence[Vector]], Floats]  # [k] models -> [k, r], higher is better
SKETCH = 16_384  # numbers of a sketch: cosines to 0.008
STEP = 0.1  # of the usual length, on which a gain is measured


@dataclass(frozen=True)
class Focus:
    """What the root rows can see of a model: a linear part of its parameters, and how good models are by that.

    Examples:
        >>> halves = Focus(lambda model: model[:2], lambda models: np.array([[model.sum()] for model in models]))
        >>> halves.goodness([halves.take(np.array([1.0, 2.0, 9.0]))]).tolist()
        [[3.0]]
    """

    take: Callable[[Vector], Vector]  # [m] -> [seen]
    goodness: Callable[[Iterable[Vector]], Floats]  # of models that were taken, each made when it is judged


@dataclass(frozen=True)
class Valued:
    """The kept updates of an epoch: their weights, and what each has added."""

    worth: Worth
    weights: Floats  # [k] of aggregation, and so of the reward
    added: Floats  # [k] to the mean goodness of a root row; the sum is what the model gains
    added_error: Floats  # [k] standard errors over rows


def value_updates(
    rule: Information,
    account: Account,
    *,
    names: Sequence[str],
    updates: Sequence[Vector],
    model: Vector,
    goodness: Goodness,
    rng: np.random.Generator,
    even: bool = False,
    trust: Floats | None = None,
    chosen: Floats | None = None,
    focus: Focus | None = None,
) -> tuple[Account, Valued]:
    """The kept updates of an epoch, each finite and not zero, and what is known after it.

    `even` says that the root rows stand for all classes alike. `trust` [k] and `chosen` [k] are the selection's: the
    chance of being honest, and the weights that it would give. With a `focus`, only what it takes is judged.

    added_i = reach_i · mean gain of a row on a step along i, reach_i = weight_i · ‖u_i‖ / usual length

    Examples:
        >>> rng, best = np.random.default_rng(0), np.ones(50)
        >>> goodness = lambda models: np.array([[-np.mean((model - best) ** 2)] * 20 for model in models])
        >>> updates = [0.1 * best + rng.normal(0, 0.02, 50), rng.normal(0, 0.1, 50)]
        >>> parts = {'names': ['good', 'noise'], 'updates': updates, 'model': np.zeros(50), 'goodness': goodness}
        >>> _, valued = value_updates(Information(), Account(), **parts, rng=rng)
        >>> bool(valued.added[0] > 10 * abs(valued.added[1])), float(valued.weights.sum().round(6))
        (True, 1.0)
    """
    seed = int(rng.integers(2**31)) if account.seed is None else account.seed
    steps = public_steps(account, model)
    if not updates:  # the model stands still, and its last steps stay public
        return replace(account, seed=seed), Valued(nothing_sold(), np.zeros(0), np.zeros(0), np.zeros(0))
    after = replace(account, seed=seed, **trail(account, model))
    lengths = np.array([norm(update) for update in updates])
    past = rule.past_shares(account, names)
    usual = usual_length(lengths, past)
    parts = combine(past, lengths, trust=trust)
    moved, far = [*updates, *steps], np.append(lengths, [norm(step) for step in steps])
    gains = _gains_near_middle(
        focus or Focus(lambda whole: whole, lambda models: goodness(list(models))), model, moved, parts / 2, usual / far
    )
    drawn = sketches(moved, seed=seed, size=SKETCH) / far[:, None]
    k = len(updates)
    public, public_gains = (drawn[k:], gains[k:]) if steps else (None, None)
    after, worth = rule.appraise(after, Sale(tuple(names), drawn[:k], gains[:k], public, public_gains, even))
    weights = combine(worth.shares, lengths, trust=trust, chosen=chosen, clarity=worth.clarity)
    reach = weights * lengths / usual  # of the measured steps, that each goes in the aggregate
    error = gains[:k].std(axis=1) / np.sqrt(gains.shape[1])
    return after, Valued(worth, weights, reach * gains[:k].mean(axis=1), reach * error)


def _gains_near_middle(focus: Focus, model: Vector, moved: Sequence[Vector], halves: Floats, factors: Floats) -> Floats:
    """[j, r] what rows gain per step of factor_i · moved_i from the model moved by Σ half_i · moved_i.

    There may be fewer halves. What is not finite counts as no gain.
    """
    seen = [focus.take(vector) for vector in moved]
    middle = focus.take(model) + sum(float(half) * vector for half, vector in zip(halves, seen, strict=False))
    near = (middle + STEP * float(factor) * vector for factor, vector in zip(factors, seen, strict=True))
    found = np.asarray(focus.goodness(chain([middle], near)), dtype=np.float64)
    return np.asarray(np.nan_to_num((found[1:] - found[0]) / STEP, nan=0.0, posinf=0.0, neginf=0.0))


def public_steps(account: Account, model: Vector) -> list[Vector]:
    """What the model has moved in the last two epochs in which it moved, the newest first."""
    known = [one for one in (account.model, account.earlier) if one is not None and len(one) == len(model)]
    steps = [new - old for new, old in pairwise([model, *(_alike(one, model) for one in known)])]
    return [step for step in steps if norm(step) > 0]


def _alike(known: Vector, model: Vector) -> Vector:
    """What was read back from bytes, where the model lies."""
    return model.new_tensor(known) if hasattr(model, "new_tensor") and isinstance(known, np.ndarray) else known


def trail(account: Account, model: Vector) -> dict[str, Vector]:
    """The models that the account holds after an epoch that began with this one; one that stood still counts once."""
    before = account.model
    if before is not None and len(before) == len(model) and not norm(model - _alike(before, model)) > 0:
        return {"model": before, "earlier": account.earlier}
    return {"model": model, "earlier": before}
