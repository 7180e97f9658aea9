"""Quality-aware selection (paper §4, Algorithm 1): scores in, weights and reasons out. Pure and seeded."""

from martfl.selection.cosine import cosine_scores
from martfl.selection.explain import explain, plot
from martfl.selection.gap import GapStatistic, gap_statistic
from martfl.selection.kappa import choose_baseline, cohen_kappa, kappa_deviation
from martfl.selection.kmeans import Clustering, kmeans
from martfl.selection.registry import STRATEGIES, make_strategy
from martfl.selection.result import Distribution, Role, Selection
from martfl.selection.select import RULES, check_scores, select
from martfl.selection.strategy import Buyer, Strategy

__all__ = [
    "RULES",
    "STRATEGIES",
    "Buyer",
    "Clustering",
    "Distribution",
    "GapStatistic",
    "Role",
    "Selection",
    "Strategy",
    "check_scores",
    "choose_baseline",
    "cohen_kappa",
    "cosine_scores",
    "explain",
    "gap_statistic",
    "kappa_deviation",
    "kmeans",
    "make_strategy",
    "plot",
    "select",
]
