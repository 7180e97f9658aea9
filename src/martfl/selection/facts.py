"""What a buyer can establish by itself: which root data may be trusted, who is noise, what is known about kinds."""

from collections.abc import Mapping, Sequence

import numpy as np

from martfl.selection.contrast import Leans, add_up, find_contrast, worse
from martfl.selection.halves import directions
from martfl.selection.kappa import cohen_kappa, kappa_deviation
from martfl.selection.kmeans import Floats
from martfl.selection.noise import noisy, tie
from martfl.selection.rows import sureness
from martfl.selection.strategy import Buyer, State, Vector


def root_is_even(buyer: Buyer, evenness: float) -> bool:
    """Whether no half of the classes dominates: the rarer half holds at least this share of the root data."""
    counts = np.sort(np.bincount(buyer.labels, minlength=buyer.classes))
    return counts.size < 2 or bool(counts[: counts.size // 2].sum() >= evenness * counts.sum())


def judge(buyer: Buyer, model: Vector) -> tuple[float, float]:
    """Kappa and its standard error, the model choosing among the classes that the root data hold.

    The root data cannot judge a model's belief in other classes, so that it is not held against the model.
    """
    held = np.unique(buyer.labels)
    (logits,) = buyer.logits([model])  # [r, classes]
    row = held[logits[:, held].argmax(axis=-1)]
    return cohen_kappa(row, buyer.labels), kappa_deviation(row, buyer.labels)


def known_directions(state: State, buyer: Buyer) -> list[Vector]:
    """What honest updates have something in common with: late in training often little more than the model itself."""
    known = (buyer.own_update, buyer.model, state["left"], state["right"])
    return [vector for vector in known if vector is not None]


def noise_among(state: State, buyer: Buyer, delivered: Mapping[int, Vector], *, agreement: float) -> list[int]:
    """Who delivered something that has nothing in common with what is known, nor with the others' sum."""
    units, known = directions(delivered), known_directions(state, buyer)
    total = sum(units.values())
    return noisy({i: tie(unit, [*known, total - unit]) for i, unit in units.items()}, agreement=agreement)


def findings_on_kinds(
    state: State, buyer: Buyer, delivered: Mapping[int, Vector], *, deviations: float
) -> Leans | None:
    """What is known of who is of which kind after these deliveries; None where they show no kinds."""

    def sure(means: Sequence[Vector]) -> Floats:
        return sureness(buyer.logits([buyer.model + mean for mean in means]), buyer.labels)

    named = {buyer.providers[i]: vector for i, vector in delivered.items()}
    known = worse(state["leans"], deviations)
    found = find_contrast(named, buyer.own_update, sure, shares=state["shares"], known=known)
    return add_up(state["leans"], found) if found else None
