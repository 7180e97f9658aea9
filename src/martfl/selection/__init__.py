"""Whom to buy, and at which weight: the paper's rule and `evidence`. Pure and seeded."""

from martfl.selection.evidence import Evidence
from martfl.selection.explain import explain
from martfl.selection.gap import GapStatistic, gap_statistic
from martfl.selection.kappa import choose_baseline, cohen_kappa
from martfl.selection.kmeans import Clustering, kmeans
from martfl.selection.paper import Paper
from martfl.selection.reasons import Code, Reason, Role, reason_from_json
from martfl.selection.registry import STRATEGIES, make_strategy
from martfl.selection.result import Clusters, Distribution, Selection
from martfl.selection.select import RULES, check_scores, select
from martfl.selection.strategy import Buyer, Strategy
from martfl.selection.words import sentence

__all__ = [
    "RULES",
    "STRATEGIES",
    "Buyer",
    "Clustering",
    "Clusters",
    "Code",
    "Distribution",
    "Evidence",
    "GapStatistic",
    "Paper",
    "Reason",
    "Role",
    "Selection",
    "Strategy",
    "check_scores",
    "choose_baseline",
    "cohen_kappa",
    "explain",
    "gap_statistic",
    "kmeans",
    "make_strategy",
    "reason_from_json",
    "select",
    "sentence",
]
