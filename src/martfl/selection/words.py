"""Reasons in plain English: one sentence for one cause. Nowhere else are reasons put into words."""

from collections.abc import Callable, Mapping

from martfl.selection.reasons import Code, Reason

Numbers = Mapping[str, float]


def sentence(reason: Reason) -> str:
    """What to tell the provider.

    Examples:
        >>> from martfl.selection import Code, Reason
        >>> sentence(Reason(Code.FOLLOWS, {'cosine': 0.98}))
        "repeats the model's last step (cosine 0.980), so that it adds nothing"
    """
    return SENTENCES[reason.code](reason.data)


def odds(evidence: float) -> str:
    """Evidence e^x as the odds that it stands for."""
    return f"{2.718281828459045 ** min(evidence, 20.0):,.0f} to 1"


def _kind(n: Numbers) -> str:
    causes = {
        "its updates help less on the root data": n["harm"],
        "the buyer's own update is of the other kind": n["own"],
        "its updates are longer": n["length"],
        "it lies where the root data have nothing to say": n["hidden"],
    }
    strongest = max(causes, key=causes.__getitem__)
    return (
        f"belongs to {n['members']:.0f} providers that share a direction of their own, and {strongest}; "
        f"the evidence against them is {odds(n['evidence'])}"
    )


SENTENCES: Mapping[Code, Callable[[Numbers], str]] = {
    Code.BASELINE: lambda n: "bought as this epoch's baseline; not aggregated",
    Code.MISSING: lambda n: "was bought, but did not deliver",
    Code.BUDGET: lambda n: f"nothing speaks against it, but the budget went to others; it asked for {n['ask']:.1%}",
    Code.SILENT: lambda n: "gave no valid answer to the request for a score, so that it could not be judged",
    Code.GATHERED: lambda n: (
        f"score {n['score']:.3f}; all scores lie within {n['threshold']:g}, so that nobody stands out"
    ),
    Code.TOP_CLUSTER: lambda n: (
        f"score {n['score']:.3f} is in the best of {n['clusters']:.0f} clusters (centroid {n['centroid']:.3f})"
    ),
    Code.KEPT_CLUSTER: lambda n: (
        f"score {n['score']:.3f} is above the low group, {n['distance']:.3f} from the best centroid"
    ),
    Code.LOOKED_AT: lambda n: (
        f"score {n['score']:.3f} is in the low group; drawn at random for a look as a possible baseline"
    ),
    Code.LOW_CLUSTER: lambda n: f"score {n['score']:.3f} is in the low group; the best centroid is {n['centroid']:.3f}",
    Code.KEPT: lambda n: "nothing speaks against it",
    Code.NO_GAIN: lambda n: (
        f"nothing speaks against it, but its update would take from the model now what others have given "
        f"(by {-n['deviation']:.1f} deviations)"
    ),
    Code.EMPTY: lambda n: "delivered an update without a direction: all zeros, or not finite",
    Code.FOLLOWS: lambda n: f"repeats the model's last step (cosine {n['cosine']:.3f}), so that it adds nothing",
    Code.COPY: lambda n: "delivered a copy of another provider's update, so that it adds nothing",
    Code.HARM: lambda n: (
        f"its updates make the model worse on the root data, {-n['deviation']:.1f} deviations below the others; "
        f"the evidence against it is {odds(n['evidence'])}"
    ),
    Code.ALONE: lambda n: (
        f"its updates have no more in common with anybody's than random signs would ({n['tie']:.1f} deviations); "
        f"the evidence against it is {odds(n['evidence'])}"
    ),
    Code.KIND: _kind,
    Code.ON_RECORD: lambda n: f"dropped on what it delivered in epoch {n['epoch']:.0f}; it is looked at again in turn",
}
