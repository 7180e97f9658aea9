"""What an experiment is to show, and whether it does: one rule held against another, market by market, seed by seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from martfl.errors import InputError
from martfl.lab.tables import MISSING, OLD, Outcome, TableSpec, distinct, in_groups, markdown_lines, text_of
from martfl.values import Settings

Pair = tuple[Outcome, Outcome]  # ours, theirs


@dataclass(frozen=True)
class Goal:
    """Rules' models are to be hardly worse than another rule's; an entry of `[[goal]]` in an experiment file."""

    rules: tuple[str, ...]
    against: str
    below: float | None = None  # points of accuracy that they may be below
    above: float | None = None  # points of attack success that they may be above

    def met(self, ours: Mapping[str, float | None], theirs: Mapping[str, float | None]) -> bool:
        """Whether these figures, in percent, are good enough.

        Examples:
            >>> goal = Goal(('evidence',), 'oracle', below=3, above=10)
            >>> goal.met({'mta': 70.0, 'asr': 20.0}, {'mta': 72.0, 'asr': 5.0})
            False
        """
        accuracy, success = (_difference(ours, theirs, metric) for metric in ("mta", "asr"))
        good = self.below is None or (accuracy or 0.0) >= -self.below
        return good and (self.above is None or (success or 0.0) <= self.above)


def read_goals(meta: Settings) -> list[Goal]:
    """The goals of an experiment file."""
    try:
        return [Goal(**{**part, "rules": tuple(part["rules"])}) for part in meta.get("goal", ())]
    except (KeyError, TypeError):
        raise InputError(f"[[goal]] takes rules, against, below and above, got {meta['goal']}") from None


def judge(goal: Goal, spec: TableSpec, plan: Sequence[Settings], outcomes: Sequence[Outcome]) -> Iterator[str]:
    """A table of the markets in which the rules were run, and in how many of them the first one is as wanted."""
    axes = tuple(axis for axis in spec.rows + spec.columns if axis != "rule")
    rows, met = [], []
    for place in in_groups(distinct(plan, axes)):
        names = [text_of(axis, value) for axis, value in zip(axes, place, strict=True)]
        for rule in goal.rules:
            if pairs := _pairs((rule, goal.against), outcomes, dict(zip(axes, place, strict=True))):
                good, cells = _verdict(goal, pairs)
                met += [good] if rule == goal.rules[0] else []
                rows.append([*names, *([rule] if goal.rules[1:] else []), *cells])
    if rows:
        yield f"{_words(goal)} Met in {sum(met)} of {len(met)} markets."
        names = [*axes, *(["rule"] if goal.rules[1:] else [])]
        heads = [*names, "accuracy", "attack success", "seeds that fail", "mean"]
        yield markdown_lines([heads, ["---"] * len(names) + ["---:"] * 3 + ["---"], *rows])


def _verdict(goal: Goal, pairs: Sequence[Pair]) -> tuple[bool, list[str]]:
    """Of one market: whether the means are as wanted; the means, the seeds that are not, and the same in a word."""
    ours, theirs = ({metric: _mean(pairs, side, metric) for metric in ("mta", "asr")} for side in (0, 1))
    failed = sum(not goal.met(mine.metrics, other.metrics) for mine, other in pairs)
    good = goal.met(ours, theirs)
    shown = [_against(ours, theirs, metric) for metric in ("mta", "asr")]
    old = OLD * any(outcome.old for pair in pairs for outcome in pair)
    return good, [*shown, f"{failed} of {len(pairs)}", ("met" if good else "**missed**") + old]


def _pairs(rules: tuple[str, str], outcomes: Sequence[Outcome], where: Settings) -> list[Pair]:
    """Seeds of which both rules have a run."""
    here = [o for o in outcomes if all(o.settings.get(axis) == value for axis, value in where.items())]
    ours, theirs = (
        {o.settings["seed"]: o for o in here if o.settings["rule"] == rule and o.metrics.get("mta") is not None}
        for rule in rules
    )
    return [(ours[seed], theirs[seed]) for seed in ours if seed in theirs]


def _mean(pairs: Sequence[Pair], side: int, metric: str) -> float | None:
    known = [value for pair in pairs if (value := pair[side].metrics.get(metric)) is not None]
    return fmean(known) if known else None


def _difference(ours: Mapping[str, float | None], theirs: Mapping[str, float | None], metric: str) -> float | None:
    mine, other = ours.get(metric), theirs.get(metric)
    return None if mine is None or other is None else mine - other


def _against(ours: Mapping[str, float | None], theirs: Mapping[str, float | None], metric: str) -> str:
    mine, other = ours.get(metric), theirs.get(metric)
    return MISSING if mine is None or other is None else f"{mine:.1f} / {other:.1f}"


def _words(goal: Goal) -> str:
    wanted = []
    if goal.below is not None:
        wanted.append(f"at most {goal.below:g} point{'s' * (goal.below != 1)} of accuracy below")
    if goal.above is not None:
        wanted.append(f"attack success at most {goal.above:g} above")
    return f"**Goal** of `{goal.rules[0]}` beside `{goal.against}`: {', '.join(wanted)}."
