"""Baselines by which nobody is judged by its own past.

An update resembles the one that the same provider gave before, so that a mean of earlier updates flatters whoever is in
it: those who were bought score well and are bought again. Hence two baselines, each the mean over one half of what was
bought; who is in a half is judged by the other one, everybody else by both.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from martfl.selection.kmeans import Floats

Name = TypeVar("Name")


def split_halves(groups: Iterable[Sequence[int]]) -> tuple[list[list[int]], list[list[int]]]:
    """Every group dealt out to two halves in turn, so that both are alike."""
    halves: tuple[list[list[int]], list[list[int]]] = ([], [])
    turn = 0
    for group in groups:
        parts: tuple[list[int], list[int]] = ([], [])
        for member in group:
            parts[turn].append(member)
            turn = 1 - turn
        for half, part in zip(halves, parts, strict=True):
            if part:
                half.append(part)
    return halves


def mean_direction(groups: Iterable[Sequence[int]], units: Mapping[int, Any]) -> Any:
    """The mean over groups of the direction of their mean; None where there is none."""
    means = [sum(units[i] for i in group) / len(group) for group in groups]
    directions = [mean / length for mean in means if (length := norm(mean))]
    return sum(directions) / len(directions) if directions else None


def combine(scores: Sequence[Floats], halves: Mapping[str, int], providers: Sequence[str]) -> Floats:
    """The score of each provider by the half that it is not in; the mean of both for who is in neither."""
    if len(scores) == 1:
        return scores[0]
    left, right = scores
    return np.choose([halves.get(name, 2) for name in providers], [right, left, (left + right) / 2])


def directions(vectors: Mapping[Name, Any]) -> dict[Name, Any]:
    """Each vector at length 1; an all-zero one points nowhere and is left out."""
    return {i: vector / length for i, vector in vectors.items() if (length := norm(vector))}


def norm(vector: Any) -> float:
    """Euclidean length."""
    return math.sqrt(float(vector @ vector))
