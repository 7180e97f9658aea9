"""Who is paid what: every way to pay in the same markets, and what splitting, copying and cheating gains."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.stats import spearmanr

from martfl.errors import InputError
from martfl.lab.attacks import Rows
from martfl.lab.config import RunConfig, make_config
from martfl.lab.data import Dataset
from martfl.lab.payment import sellers as by
from martfl.lab.payment.market import Make, Paid, make_market, run_market
from martfl.lab.payment.sellers import Wallet
from martfl.lab.payment.truth import true_worth
from martfl.lab.rules import make_rule
from martfl.lab.runtime import Runtime
from martfl.lab.splits import Split
from martfl.lab.valuers import VALUERS, Valuer, make_valuer
from martfl.lab.valuers.ours import ByRule

OURS, NEUTRAL = "ours", "size"
WALLETS = (2, 4, 8)
MIXING = (2, 4)
NOISE = 0.6  # largest share of wrong labels


@dataclass(frozen=True)
class Figures:
    """What is measured of a way to pay; means over seeds, and of several gains the largest."""

    spearman_size: float | None  # pay and true worth, sellers of unlike sizes; None where all are paid alike
    spearman_noise: float | None  # the same, with wrong labels from 0 to 60 %
    split_gain: float  # pay of a seller in 2, 4 or 8 wallets, over that in one
    copy_gain: float  # the same for copies, exact and with noise
    inflate_gain: float  # pay of a seller that cheats, over its honest pay
    mix_gain: float  # pay of one of two or four sellers that mix their updates, over its honest pay
    free_rider_share: float  # pay of a seller without data, over the mean honest pay
    pay_cv: float  # deviation over mean of an honest seller's pay over rounds
    accuracy_iid: float  # of the model that is aggregated by it
    accuracy_size: float
    accuracy_noise: float
    gains: Mapping[str, float]  # every single gain


def honest(data: Dataset, split: Split, parts: Sequence[Rows], rng: np.random.Generator) -> list[Wallet]:
    """A wallet each."""
    return by.honest(parts)


def noisy(data: Dataset, split: Split, parts: Sequence[Rows], rng: np.random.Generator) -> list[Wallet]:
    """Wrong labels from none to many."""
    return by.noisy(parts, most=NOISE, classes=data.num_classes, rng=rng)


def _root_fit(others: float) -> Make:
    """The first seller sells what the root data hold, and this share of its other rows."""
    return lambda data, split, parts, rng: by.only_classes(parts, split.root_classes, others=others)


def _parts(make: Callable[[Sequence[Rows]], list[Wallet]]) -> Make:
    return lambda data, split, parts, rng: make(parts)


CHEATS: dict[str, Make] = {
    **{f"split {n}": _parts(partial(by.split_first, wallets=n)) for n in WALLETS},
    "copies 4": _parts(partial(by.copy_first, wallets=4, noise=0.0)),
    "near copies 4": _parts(partial(by.copy_first, wallets=4, noise=0.3)),
    "near copies 8": _parts(partial(by.copy_first, wallets=8, noise=1.0)),
    "same rows 8": _parts(partial(by.retrain_first, wallets=8)),
    "scale 3": _parts(partial(by.craft_first, craft=by.scaled(3.0))),
    "scale 0.3": _parts(partial(by.craft_first, craft=by.scaled(0.3))),
    "aligned noise": _parts(partial(by.craft_first, craft=by.aligned_noise)),
    "public step added": _parts(partial(by.craft_first, craft=by.with_public)),
    "own predictions": _parts(by.parrot_first),
    "own noise taken out": _parts(partial(by.craft_first, craft=by.without_own())),
    "half of own noise taken out": _parts(partial(by.craft_first, craft=by.without_own(0.5))),
    "noise in 4 pairs": _parts(partial(by.paired_noise, pairs=4)),
    "8 wallets share noise": _parts(partial(by.secret_noise, wallets=8)),
    **{f"{n} sellers mix": _parts(partial(by.mix_first, sellers=n)) for n in MIXING},
    "root classes": _root_fit(0.0),
    "root classes favoured": _root_fit(0.75),
    "free rider": _parts(partial(by.craft_first, craft=by.last_step(0.0))),
    "free rider, noise": _parts(partial(by.craft_first, craft=by.last_step(0.7))),
}
BIASED = ("root classes", "root classes favoured")  # are measured where the root data lack half of the classes
GROUPS = {
    "split_gain": tuple(f"split {n}" for n in WALLETS),
    "copy_gain": ("copies 4", "near copies 4", "near copies 8"),
    "inflate_gain": (
        "scale 3",
        "scale 0.3",
        "aligned noise",
        "public step added",
        "own predictions",
        "own noise taken out",
        "half of own noise taken out",
        "noise in 4 pairs",
        "8 wallets share noise",
        *BIASED,
    ),
    "mix_gain": tuple(f"{n} sellers mix" for n in MIXING),
    "free_rider_share": ("free rider", "free rider, noise"),
}


def ways() -> dict[str, Valuer]:
    """Ours, the rivals, the paper's rule, today's rule, and this with our weights, in turn or with everybody bought."""
    rivals = {name: make_valuer(name) for name in VALUERS if name != "information"}
    rules = {"martfl": make_rule("martfl"), "evidence": make_rule("evidence")}
    rules["evidence, ours"] = make_rule("evidence", value="information")
    rules["evidence, ours, all bought"] = make_rule("evidence", value="information", budget=1.0)
    return {OURS: make_valuer("information"), **rivals, **{name: ByRule(rule) for name, rule in rules.items()}}


def bench_payment(
    *,
    dataset: str = "digits",
    rounds: int = 20,
    participants: int = 13,
    seeds: int = 2,
    groups: int = 300,
    epochs: int = 15,
    runtime: Runtime = Runtime(),
    names: Sequence[str] = (),
) -> dict[str, Figures]:
    """Every way to pay by its name; `names` for some of them only, `groups` = 0 for rows with right labels as truth."""
    every = ways()
    if unknown := set(names) - set(every):
        raise InputError(f"unknown ways to pay {sorted(unknown)}: choose among {', '.join(every)}")
    chosen = {name: valuer for name, valuer in every.items() if not names or name in (*names, NEUTRAL)}
    base = make_config({"dataset": dataset, "rounds": rounds, "participants": participants, "rule": "evidence"})
    found = [_seed(replace(base, seed=seed), chosen, runtime, groups, epochs) for seed in range(seeds)]
    return {name: _figures([one[name] for one in found]) for name in chosen}


def _seed(
    config: RunConfig, chosen: Mapping[str, Valuer], runtime: Runtime, groups: int, epochs: int
) -> dict[str, dict[str, float]]:
    """All measurements of one seed, by way to pay."""
    unlike, biased = replace(config, sizes="pow"), replace(config, root="biased")
    paid = {
        "iid": _paid(config, honest, chosen, runtime),
        "size": _paid(unlike, honest, chosen, runtime),
        "noise": _paid(config, noisy, chosen, runtime),
        "biased": _paid(biased, honest, chosen, runtime),
    }
    truth = {
        "size": _truth(unlike, honest, paid["size"], groups, epochs, runtime),
        "noise": _truth(config, noisy, paid["noise"], groups, epochs, runtime),
    }
    cheats = {cheat: _paid(biased if cheat in BIASED else config, CHEATS[cheat], chosen, runtime) for cheat in CHEATS}
    found: dict[str, dict[str, float]] = {}
    for name in chosen:
        row = {f"spearman_{key}": spearman(paid[key].by_owner(name), truth[key]) for key in truth}
        row["pay_cv"] = steadiness(paid["iid"].pay[name])
        for cheat, after in cheats.items():
            before = paid["biased" if cheat in BIASED else "iid"].by_owner(name)
            alone = before[0] if cheat not in GROUPS["free_rider_share"] else before.mean()
            row[cheat] = float(after.by_owner(name)[0] / alone) if alone > 0 else np.nan
        for key, make in (("iid", honest), ("size", honest), ("noise", noisy)):
            own = _paid(unlike if key == "size" else config, make, {name: chosen[name]}, runtime, driver=name)
            row[f"accuracy_{key}"] = own.accuracy
        found[name] = row
    return found


def _paid(
    config: RunConfig, make: Make, chosen: Mapping[str, Valuer], runtime: Runtime, *, driver: str = NEUTRAL
) -> Paid:
    return run_market(make_market(config, make, runtime), chosen, driver=driver)


def _truth(config: RunConfig, make: Make, paid: Paid, groups: int, epochs: int, runtime: Runtime) -> np.ndarray:
    if not groups:
        return np.array([wallet.good for wallet in paid.wallets], dtype=np.float64)
    return true_worth(make_market(config, make, runtime), groups=groups, epochs=epochs, runtime=runtime)


def spearman(pay: np.ndarray, truth: np.ndarray) -> float:
    """Rank correlation; not a number where all are paid alike."""
    return float(spearmanr(pay, truth).statistic) if np.ptp(pay) > 1e-12 else np.nan


def steadiness(pay: np.ndarray) -> float:
    """[rounds, n] -> the mean over sellers; who was never paid has no deviation."""
    mean = pay.mean(axis=0)
    return float((pay.std(axis=0)[mean > 0] / mean[mean > 0]).mean())


def _figures(rows: Sequence[Mapping[str, float]]) -> Figures:
    """Means over seeds; a gain that has no honest pay to compare with is left out."""
    mean = {key: _mean([row[key] for row in rows]) for key in rows[0]}
    most = {group: max(mean[cheat] or 0.0 for cheat in cheats) for group, cheats in GROUPS.items()}
    return Figures(
        spearman_size=mean["spearman_size"],
        spearman_noise=mean["spearman_noise"],
        **most,
        pay_cv=mean["pay_cv"] or 0.0,
        **{key: mean[key] or 0.0 for key in ("accuracy_iid", "accuracy_size", "accuracy_noise")},
        gains={cheat: mean[cheat] or 0.0 for cheat in CHEATS},
    )


def _mean(values: Sequence[float]) -> float | None:
    known = [value for value in values if np.isfinite(value)]
    return float(np.mean(known)) if known else None
