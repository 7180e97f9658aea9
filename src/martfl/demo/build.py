"""Put a demo market together in a folder; the same folder and options give the same market again."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from eth_account.signers.local import LocalAccount

from martfl.chain.embedded import EmbeddedChain
from martfl.chain.trading import Trading
from martfl.demo.saboteur import Forger, Saboteur
from martfl.errors import InputError
from martfl.federation.local import EmbeddedClock, LocalLink
from martfl.lab.attacks import ATTACKS, Rows, make_attack
from martfl.lab.data import Dataset, load_dataset
from martfl.lab.task import LabTask
from martfl.lab.task import digits as digits_task
from martfl.market.acquirer import Acquirer, deploy_market
from martfl.market.journal import Journal
from martfl.market.provider import Provider
from martfl.market.settling import Settler, make_settler
from martfl.market.terms import ChainTerms, Terms, read_terms, to_toml

FORGED = "forged-score"
MIXED = "mixed"
CAST = ("sign-randomizing", "label-flipping", FORGED, "free-rider")  # who appears under `mixed`, in turn
ROOT_ROWS = 100
NAMES = (
    *("Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Ginkgo", "Hazel", "Ivy"),
    *("Juniper", "Kapok", "Larch", "Maple", "Nutmeg", "Oak", "Pine", "Quince", "Rowan"),
)


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """What may be chosen about a demo."""

    providers: int = 10
    epochs: int = 5
    attack: str = MIXED
    malicious: float = 0.3
    settlement: str = "exact"
    rule: str = "evidence"
    seed: int = 0

    def __post_init__(self) -> None:
        attacks = (*ATTACKS, FORGED, MIXED)
        if self.attack not in attacks:
            raise InputError(f"unknown attack {self.attack!r}; known: {', '.join(attacks)}")
        if not 1 <= self.providers <= 100 or self.epochs < 1:
            raise InputError(f"1 to 100 providers and at least 1 epoch, got {self.providers} and {self.epochs}")
        if not 0.0 <= self.malicious < 1.0:
            raise InputError(f"malicious must lie in [0, 1), got {self.malicious}")


@dataclass(frozen=True)
class Demo:
    """A market that is ready to run."""

    folder: Path
    options: DemoOptions
    terms: Terms
    chain: EmbeddedChain
    trading: Trading
    settler: Settler
    acquirer: Acquirer
    providers: list[Provider]
    behaviours: dict[str, str]  # address → what the provider really does
    test: tuple[Any, Any]


@contextlib.contextmanager
def open_demo(options: DemoOptions, folder: Path) -> Iterator[Demo]:
    """Build the market, or find the one that was interrupted in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    options = _remembered(options, folder / "demo.json")
    with contextlib.ExitStack() as stack:
        chain = stack.enter_context(EmbeddedChain(folder / "chain.sqlite", accounts=options.providers + 1))
        assert isinstance(chain, EmbeddedChain)
        yield _compose(options, folder, chain, stack)


def _compose(options: DemoOptions, folder: Path, chain: EmbeddedChain, stack: contextlib.ExitStack) -> Demo:
    task, dataset = digits_task(learning_rate=0.1, epochs=4, batch=32, seed=options.seed), load_dataset("digits")
    terms = _terms(options, task)
    settler = make_settler(terms, parameters=task.model.size)
    buyer, *sellers = chain.accounts
    initial = task.initial()
    trading = deploy_market(chain, terms=terms, settler=settler, initial=initial, account=buyer, key="deploy")
    terms = replace(terms, chain=ChainTerms(profile="local", contract=trading.address))
    (folder / "market.toml").write_text(to_toml(terms), encoding="utf-8")
    root, shares = _split(dataset, options)
    behaviours = _cast(options)

    def seller(i: int, account: LocalAccount) -> Provider:
        journal = stack.enter_context(Journal(folder / f"provider-{i}"))
        honest = Provider(terms, task, shares[i], trading, settler, journal, account, name_of(i))
        return _sabotaged(honest, behaviours[i], dataset, options)

    members = [seller(i, account) for i, account in enumerate(sellers)]
    link = LocalLink({p.account.address: p.handle for p in members})
    journal = stack.enter_context(Journal(folder / "acquirer"))
    acquirer = Acquirer(
        terms, task, root, trading, settler, link, EmbeddedClock(chain), journal, buyer, seed=options.seed
    )
    acquirer.names = {p.account.address: p.name for p in members}
    known = {str(p.account.address): behaviours[i] for i, p in enumerate(members)}
    test = (dataset.test_x, dataset.test_y)
    return Demo(folder, options, terms, chain, trading, settler, acquirer, members, known, test)


def name_of(i: int) -> str:
    """A provider's name."""
    return NAMES[i % len(NAMES)] + (f" {i // len(NAMES) + 1}" if i >= len(NAMES) else "")


def _sabotaged(provider: Provider, behaviour: str, dataset: Dataset, options: DemoOptions) -> Provider:
    if behaviour == "honest":
        return provider
    own: dict[str, Any] = {f.name: getattr(provider, f.name) for f in fields(provider) if f.init and f.repr}
    if behaviour == FORGED:
        return Forger(**own)
    attack = make_attack(behaviour)
    if attack.poison:
        poisoned = attack.poison(dataset, Rows(*provider.data), np.random.default_rng(options.seed))
        own["data"] = (poisoned.x, poisoned.y)
    return Saboteur(**own, attack=attack, sellers=options.providers)


def _cast(options: DemoOptions) -> list[str]:
    attackers = round(options.malicious * options.providers) if options.attack != "none" else 0
    kinds = CAST if options.attack == MIXED else (options.attack,)
    roles = ["honest"] * (options.providers - attackers) + [kinds[i % len(kinds)] for i in range(attackers)]
    order = np.random.default_rng([options.seed, 1]).permutation(options.providers)
    return [roles[i] for i in order]


def _split(dataset: Dataset, options: DemoOptions) -> tuple[tuple[Any, Any], list[tuple[Any, Any]]]:
    """Root rows for the acquirer, the rest in equal parts for the providers; Sybils share the first one's."""
    order = np.random.default_rng([options.seed, 2]).permutation(len(dataset.train_y))
    root, rest = order[:ROOT_ROWS], np.array_split(order[ROOT_ROWS:], options.providers)
    parts = [(dataset.train_x[rows], dataset.train_y[rows]) for rows in rest]
    if options.attack == "sybil":
        liars = [i for i, role in enumerate(_cast(options)) if role == "sybil"]
        parts = [parts[liars[0]] if i in liars else part for i, part in enumerate(parts)]
    return (dataset.train_x[root], dataset.train_y[root]), parts


def _terms(options: DemoOptions, task: LabTask) -> Terms:
    names = ("learning_rate", "epochs", "batch", "seed")
    return read_terms(
        {
            "name": "martfl demo",
            "task": {"entry": "martfl.lab.task:digits", "options": {name: getattr(task, name) for name in names}},
            "settlement": {
                "scheme": options.settlement,
                "setup": "alone",  # all parties of a demo are one person
                "scale": 2.0**-14,
                "update_limit": 2.0,
                "providers": max(4, options.providers),
            },
            "selection": {"rule": options.rule},
        }
    )


def _remembered(options: DemoOptions, path: Path) -> DemoOptions:
    """The options that the folder was made with; others are refused, because the market there follows the old ones."""
    if not path.exists():
        path.write_text(json.dumps(asdict(options), indent=2), encoding="utf-8")
        return options
    known = DemoOptions(**json.loads(path.read_text(encoding="utf-8")))
    if replace(options, epochs=known.epochs) != known:
        raise InputError(f"{path.parent} holds a demo with other options: {known}")
    return options


def remembered_options(folder: Path) -> DemoOptions:
    """The options of an interrupted demo."""
    path = folder / "demo.json"
    if not path.is_file():
        raise InputError(f"{folder} holds no demo to resume")
    return DemoOptions(**json.loads(path.read_text(encoding="utf-8")))
