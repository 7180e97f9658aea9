"""What terms must hold: sense, safety, and what the contract can store. Better refused here than once it is paid."""

import math
from collections.abc import Iterator

from eth_utils.address import is_address

from martfl.market.terms_parts import LEAST_STEPS, StatedTerms
from martfl.selection import STRATEGIES
from martfl.tasks.layout import Layout

SCHEMES = ("exact", "sampled")
SETUPS = ("ceremony", "alone")
SCORERS = ("ckks", "plain")
VALUES = ("information", "none")
YEAR = 366 * 86_400  # seconds; nobody waits longer for a phase of an epoch
Rule = tuple[bool, str]


def broken_rules(terms: StatedTerms) -> Iterator[str]:
    """Every rule that these terms break, as a sentence with the value."""
    rules = (*_names(terms), *_money(terms), *_times(terms), *_settlement(terms), *_judging(terms))
    return (text for holds, text in rules if not holds)


def _names(terms: StatedTerms) -> Iterator[Rule]:
    yield bool(terms.name.strip()) and len(terms.name) <= 100, "name must have 1 to 100 characters"
    yield ":" in terms.task.entry, f"task.entry must be 'module:function', got {terms.task.entry!r}"
    for name, options in (("task", terms.task.options), ("selection", terms.selection.options)):
        yield _is_plain(options), f"{name}.options must be texts, numbers, truth values, lists and tables of them"
    if terms.layout:
        listed = Layout.from_table(terms.layout).hash
        yield terms.task.layout == listed, f"task.layout must be the hash of [layout], {listed}"
    yield terms.chain.since >= 0, f"chain.since must not be negative, got {terms.chain.since}"


def _is_plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(_is_plain(item) for item in value.values())
    if isinstance(value, list):
        return all(_is_plain(item) for item in value)
    return isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value))


def _money(terms: StatedTerms) -> Iterator[Rule]:
    money = terms.money
    yield money.reward >= 1, f"money.reward must be at least 1, got {money.reward}"
    yield 1 <= money.penalty_ratio <= 10**6, f"money.penalty_ratio must be 1 to 1000000, got {money.penalty_ratio}"
    yield 0 <= money.ask <= money.reward, f"money.ask must be 0 to {money.reward} (the reward), got {money.ask}"
    yield (
        1 <= money.minimum_deposit <= money.deposit,
        f"money.minimum_deposit must be 1 to {money.deposit} (reward and penalty), got {money.minimum_deposit}",
    )
    yield money.deposit < 1 << 96, f"reward and penalty together must be below 2^96, got {money.deposit}"
    yield is_address(money.token), f"money.token must be an address (zero: the chain's coin), got {money.token!r}"


def _times(terms: StatedTerms) -> Iterator[Rule]:
    times = terms.deadlines
    windows = (times.commit, times.buy, times.keys, times.publish, times.settle)
    yield min(windows) >= 1, f"every deadline must be at least 1 second, got {min(windows)}"
    yield max(windows) <= YEAR, f"every deadline must be at most a year, {YEAR} seconds, got {max(windows)}"
    yield times.margin >= 1, f"deadlines.margin must be at least 1 second, got {times.margin}"
    yield (
        times.keys > 2 * times.margin,
        f"deadlines.keys must be more than twice the margin of {times.margin} s, got {times.keys}",
    )
    yield (
        times.commit > 2 * times.margin,  # so far apart, at least, are the keys of two epochs
        f"deadlines.commit must be more than twice the margin of {times.margin} s, got {times.commit}",
    )
    yield (
        times.publish > times.margin,
        f"deadlines.publish must be more than the margin of {times.margin} s, got {times.publish}",
    )
    yield (  # a refutation waits for a key that is due within three margins, and has one of its own then
        not terms.settlement.needs_proof or times.settle >= 4 * times.margin,
        f"deadlines.settle must be at least four times the margin of {times.margin} s, got {times.settle}",
    )


def _settlement(terms: StatedTerms) -> Iterator[Rule]:
    stated = terms.settlement
    yield stated.scheme in SCHEMES, f"settlement.scheme must be one of {SCHEMES}, got {stated.scheme!r}"
    yield stated.setup in SETUPS, f"settlement.setup must be one of {SETUPS}, got {stated.setup!r}"
    yield 2 <= stated.bits <= 32, f"settlement.bits must be 2 to 32, got {stated.bits}"
    yield 0 < stated.scale < math.inf, f"settlement.scale must be positive and finite, got {stated.scale}"
    yield stated.epochs >= 1, f"settlement.epochs must be at least 1, got {stated.epochs}"
    limits = (stated.update_limit, stated.model_limit)
    yield min(limits) > 0, f"settlement limits must be positive, got {limits[0]} and {limits[1]}"
    yield 1 <= stated.samples <= 126, f"settlement.samples must be 1 to 126, got {stated.samples}"
    yield 1 <= stated.providers <= 128, f"settlement.providers must be 1 to 128, got {stated.providers}"
    yield (
        not stated.needs_proof or LEAST_STEPS <= stated.vdf_steps < 1 << 63,
        f"settlement.vdf_steps must be {LEAST_STEPS} to 2^63 − 1: less can be tried out while a block is built; "
        f"got {stated.vdf_steps}",
    )


def _judging(terms: StatedTerms) -> Iterator[Rule]:
    scoring, rule = terms.scoring, terms.selection.rule
    known = ", ".join(STRATEGIES)
    least = STRATEGIES[rule].most_baselines if rule in STRATEGIES else 1
    yield rule in STRATEGIES, f"selection.rule must be one of {known}, got {rule!r}"
    value = terms.selection.value
    yield value in VALUES, f"selection.value must be one of {', '.join(VALUES)}, got {value!r}"
    yield (
        scoring.baselines >= least,
        f"scoring.baselines must be at least {least} for rule {rule!r}, got {scoring.baselines}",
    )
    yield scoring.scheme in SCORERS, f"scoring.scheme must be one of {SCORERS}, got {scoring.scheme!r}"
    yield (
        scoring.answers >= scoring.baselines,
        f"scoring.answers must be at least the {scoring.baselines} baselines of one epoch, got {scoring.answers}",
    )
    sketch = scoring.sketch
    yield sketch >= -1, f"scoring.sketch must be -1 (as suits the model), 0 (none) or more, got {sketch}"
    yield terms.reputation.exclude_after >= 0, "reputation.exclude_after must not be negative"
    share = terms.reputation.newcomers
    yield 0.0 < share <= 1.0, f"reputation.newcomers must lie in (0, 1], got {share}"
    dearest = terms.reputation.dearest
    yield dearest > 0.0, f"reputation.dearest must be positive, got {dearest}"
