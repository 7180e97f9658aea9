"""Under which conditions results were made, told from the results themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from martfl.lab.late import late_gain
from martfl.lab.tables import Outcome
from martfl.values import Settings


def describe_conditions(plan: Sequence[Settings], outcomes: Sequence[Outcome]) -> list[str]:
    """Rounds by dataset, seeds by rule, the machine, and how far training still was from standing still."""
    rounds = _by(plan, outcomes, "dataset", lambda o: int(o.metrics.get("rounds") or 0))
    seeds = _by(plan, outcomes, "rule", lambda o: o.settings["seed"])
    lines = [
        "Rounds: " + ", ".join(f"{name} {_span(found)}" for name, found in rounds.items()) + ".",
        "Seeds: " + _grouped({rule: len(found) for rule, found in seeds.items()}) + ".",
    ]
    machines = {(o.made.device, o.made.torch, o.settings["precision"]) for o in outcomes}
    told = sorted(f"{device}, torch {torch or 'unknown'}, {precision}" for device, torch, precision in machines)
    gains = {name: late_gain(o.rounds for o in outcomes if o.settings["dataset"] == name) for name in rounds}
    lines.append(f"Made on {'; '.join(told)}.")
    shown = ", ".join(f"{name} {gain:+.1f}" for name, gain in gains.items() if gain is not None)
    if shown:
        lines.append(f"Accuracy in the last tenth of the rounds against the tenth before, in points: {shown}.")
    return lines


def coverage(plan: Sequence[Settings], outcomes: Sequence[Outcome], ignored: frozenset[str]) -> tuple[int, int]:
    """(planned runs that were made, planned runs); their length and precision may differ."""

    def kind(settings: Settings) -> str:
        return repr(sorted((k, v) for k, v in settings.items() if k not in ignored - {"seed"} and k != "diverged"))

    made = {kind(o.settings) for o in outcomes}
    wanted = {kind(settings) for settings in plan}
    return len(wanted & made), len(wanted)


def _by(
    plan: Iterable[Settings], outcomes: Iterable[Outcome], key: str, value: Callable[[Outcome], int]
) -> dict[str, set[int]]:
    """What the outcomes have, by a setting, in the order of the plan."""
    found: dict[str, set[int]] = {str(settings[key]): set() for settings in plan}
    for outcome in outcomes:
        found.setdefault(str(outcome.settings[key]), set()).add(value(outcome))
    return {name: values for name, values in found.items() if values}


def _grouped(counts: Mapping[str, int]) -> str:
    """`martfl, oracle 3; median 1`."""
    groups: dict[int, list[str]] = {}
    for name, count in counts.items():
        groups.setdefault(count, []).append(name)
    return "; ".join(f"{', '.join(names)} {count}" for count, names in sorted(groups.items(), reverse=True))


def _span(values: Iterable[int]) -> str:
    low, high = min(values := set(values)), max(values)
    return str(low) if low == high else f"{low} to {high}"
