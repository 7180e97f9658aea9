"""`evidence` at work: buyers with two kinds of providers, and short ways to let it decide."""

import numpy as np

from martfl.selection import Role, make_strategy

HALF = (0, 1)  # root data with half of the classes cannot judge everybody
KEPT = (Role.HIGH_QUALITY, Role.SPARED)  # bought, or good enough to be


def evidence(**options):
    return make_strategy("evidence", **options)


def once(strategy, buyer, *, seed=0):
    return strategy.decide(strategy.start(), buyer, np.random.default_rng(seed))[1]


def kept(selection):
    return {i for i, role in enumerate(selection.roles) if role in KEPT}


def signs(rows, seed=9):
    return rows * np.random.default_rng(seed).choice([-1.0, 1.0], rows.shape)


def trade(strategy, state, buyer, *, seed=0):
    state, selection = strategy.decide(state, buyer, np.random.default_rng(seed))
    return strategy.learn(state, selection, buyer, buyer.deliver(selection)), selection


TRUTH, POISON = (v / np.linalg.norm(v) for v in np.random.default_rng(99).normal(size=(2, 4000)))  # in every epoch


def two_kinds(*, good, bad, seed=0, poison=0.5):
    """Updates that are mostly noise of their own; the bad ones also share a direction that clean training lacks."""
    rng, size = np.random.default_rng(seed), TRUTH.size
    updates = 0.4 * TRUTH + rng.normal(size=(good + bad, size)) / np.sqrt(size)
    updates[good:] += poison * POISON
    return updates, TRUTH + rng.normal(size=size) / np.sqrt(size)


def blind(buyer):
    """The same with root data on which nothing shows."""
    nothing = np.zeros((buyer.labels.size, buyer.classes))
    buyer.logits = lambda models: np.stack([nothing] * len(models))
    return buyer


def kind_buyer(world, *, good, bad, seed=0, poison=0.5, own=None):
    updates, clean = two_kinds(good=good, bad=bad, seed=seed, poison=poison)
    return blind(world.buyer(updates, own_update=clean if own is None else own, model=np.zeros(updates.shape[1])))
