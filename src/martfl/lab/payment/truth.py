"""The true worth of a seller's data: what test rows gain when its rows join those of others, over all orders.

A group is worth the mean chance that a model trained on the group's rows alone gives a test row's true class (data
Shapley, Ghorbani and Zou, ICML 2019). No rule sees test rows, and none could afford it: it trains hundreds of models.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import softmax
from torch import Tensor

from martfl.lab.attacks import Rows
from martfl.lab.clients import Client, make_clients
from martfl.lab.evaluate import scores_one
from martfl.lab.payment.market import Market
from martfl.lab.randomness import stream
from martfl.lab.runtime import Runtime

Group = frozenset[int]


def true_worth(market: Market, *, groups: int, epochs: int, runtime: Runtime) -> np.ndarray:
    """[wallets] Shapley values by weighted least squares over about so many groups (Lundberg and Lee, NeurIPS 2017).

    Most of a group's worth is a smooth function of its rows, whose own Shapley values are cheap: only the rest is
    estimated from trained models (a control variate).
    """
    n, rng = len(market.wallets), stream(market.config.seed, "truth")
    drawn, weights = draw_groups(n, groups, rng)
    everybody = frozenset(range(n))
    worth = _worths(market, sorted({*drawn, everybody}, key=sorted), epochs, runtime)
    nobody = 1.0 / market.dataset.num_classes
    found = np.array([worth[group] for group in drawn]) - nobody
    total = worth[everybody] - nobody
    curve = Curve.fit(market.sizes, [*drawn, everybody], np.append(found, total))
    rest = found - np.array([curve.worth(group) for group in drawn])
    left = shapley(n, drawn, weights, rest, total=total - curve.worth(everybody))
    return np.asarray(curve.shapley(rng) + left)


@dataclass(frozen=True)
class Curve:
    """A group's worth by its rows alone: a cubic in their logarithm."""

    sizes: np.ndarray  # [n]
    factors: np.ndarray

    @staticmethod
    def fit(sizes: np.ndarray, groups: list[Group], worth: np.ndarray) -> Curve:
        """Least squares."""
        rows = np.array([sizes[list(group)].sum() for group in groups])
        return Curve(sizes, np.polyfit(np.log(rows), worth, 3))

    def worth(self, group: Group) -> float:
        """Nothing for nobody."""
        return float(np.polyval(self.factors, np.log(self.sizes[list(group)].sum()))) if group else 0.0

    def shapley(self, rng: np.random.Generator, orders: int = 4000) -> np.ndarray:
        """[n] the mean of marginal gains over random orders."""
        n = len(self.sizes)
        order = rng.permuted(np.tile(np.arange(n), (orders, 1)), axis=1)
        chain = np.polyval(self.factors, np.log(np.cumsum(self.sizes[order], axis=1)))
        gains = np.diff(chain, axis=1, prepend=0.0)
        return np.bincount(order.ravel(), weights=gains.ravel(), minlength=n) / orders


def draw_groups(n: int, count: int, rng: np.random.Generator) -> tuple[list[Group], np.ndarray]:
    """Everybody alone and everybody but one; between them random groups, each with its rest. Weights by size:

    (n − 1) / (s·(n − s)) for all groups of size s together.
    """
    alone = [frozenset([i]) for i in range(n)]
    ends = [*alone, *(frozenset(range(n)) - group for group in alone)]
    mass = [(n - 1) / (s * (n - s)) for s in range(1, n)]
    inner = np.array(mass[1:-1])
    pairs = max(1, (count - len(ends)) // 2) if inner.size else 0
    middle: list[Group] = []
    for size in rng.choice(np.arange(2, n - 1), size=pairs, p=inner / inner.sum()) if pairs else ():
        group = frozenset(rng.permutation(n)[:size].tolist())
        middle += [group, frozenset(range(n)) - group]
    weights = [mass[0] / n] * len(ends) + [inner.sum() / max(len(middle), 1)] * len(middle)
    return ends + middle, np.array(weights)


def shapley(n: int, groups: list[Group], weights: np.ndarray, worth: np.ndarray, *, total: float) -> np.ndarray:
    """φ that minimises Σ w·(Σ_{i in group} φ_i − worth)² with Σ φ = total."""
    member = np.array([[i in group for i in range(n)] for group in groups], dtype=np.float64)
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = member.T @ (weights[:, None] * member)
    system[n, :n] = system[:n, n] = 1.0
    return np.linalg.solve(system, np.append(member.T @ (weights * worth), total))[:n]


def _worths(market: Market, groups: list[Group], epochs: int, runtime: Runtime) -> dict[Group, float]:
    """Every group trains as one client, all from the same start."""
    config = replace(market.config, epochs=epochs)
    who = [Client(i + 1, _together(market, group)) for i, group in enumerate(groups)]
    clients = make_clients(who, market.model, config, device=market.device, runtime=runtime)
    start = market.model.start(stream(config.seed, "model")).to(market.device)
    trained = start + clients.train(start, seed=config.seed, index=0)
    return {group: _mean_chance(market, model) for group, model in zip(groups, trained, strict=True)}


def _mean_chance(market: Market, flat: Tensor) -> float:
    test = market.exam.test
    chances = softmax(scores_one(market.model, flat, test.x).astype(np.float64), axis=1)
    return float(chances[np.arange(len(test.labels)), test.labels].mean())


def _together(market: Market, group: Group) -> Rows:
    rows = [market.wallets[i].rows for i in sorted(group)]
    return Rows(np.concatenate([part.x for part in rows]), np.concatenate([part.y for part in rows]))
