"""Coordinate-wise median and trimmed mean (Yin et al., ICML 2018)."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from torch import Tensor

from martfl.errors import InputError
from martfl.lab.rules.base import Decision, RoundView, Rule
from martfl.lab.rules.shared import blocks, check_share, count_of, everyone, nothing, shares

PAPER = "Yin et al., Byzantine-Robust Distributed Learning: Towards Optimal Statistical Rates, ICML 2018"


def middle_mean(updates: Tensor, trim: int) -> tuple[Tensor, np.ndarray]:
    """Per coordinate the mean without the ``trim`` lowest and highest, and how often each row was used.

    Sorting puts NaN last, so that up to ``trim`` broken updates are trimmed away like any other outlier.
    """
    n = updates.shape[0]
    parts, counts = [], torch.zeros(n, dtype=torch.int64, device=updates.device)
    for block in blocks(updates):
        values, rows = block.sort(dim=0)
        parts.append(values[trim : n - trim].mean(dim=0))
        counts += torch.bincount(rows[trim : n - trim].flatten(), minlength=n)
    return torch.cat(parts), shares(counts)


def step(state: None, view: RoundView, *, trim: float | None) -> tuple[None, Decision]:
    """The weights say which share of the aggregate's coordinates came from whom."""
    n = view.updates.shape[0]
    update, weights = middle_mean(view.updates, (n - 1) // 2 if trim is None else count_of(trim, n))
    return state, Decision(update, weights, everyone(view))


def check(providers: int, *, trim: float) -> None:
    """Something must be left: 2·⌊trim·n⌋ < n."""
    if 2 * count_of(trim, providers) >= providers:
        raise InputError(f"trimming {trim:g} of {providers} providers at both ends leaves nobody")


def median() -> Rule:
    """The middle value of every coordinate; the mean of the two in the middle where n is even."""
    return Rule("median", PAPER, server_driven=False, init=nothing, step=partial(step, trim=None))


def trimmed_mean(*, trim: float = 0.2) -> Rule:
    """The mean of every coordinate without its share ``trim`` of lowest and of highest values."""
    check_share("trim", trim, below=0.5)
    checked = partial(check, trim=trim)
    return Rule("trimmed-mean", PAPER, server_driven=False, init=nothing, step=partial(step, trim=trim), check=checked)
