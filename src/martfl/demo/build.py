"""Put a demo market together in a folder; the same folder and options give the same market again."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from martfl.chain.embedded import EmbeddedChain
from martfl.chain.trading import Trading
from martfl.demo.cast import DemoOptions, Pairs, make_cast, remembered
from martfl.demo.conducts import make_conduct
from martfl.federation.local import EmbeddedClock, LocalLink
from martfl.lab.data import load_dataset
from martfl.lab.task import LabTask
from martfl.lab.task import digits as digits_task
from martfl.market.acquirer import Acquirer, deploy_market
from martfl.market.epoch import Tell
from martfl.market.journal import Journal
from martfl.market.meter import Meter
from martfl.market.provider import Provider
from martfl.market.settling import Settler, make_settler
from martfl.market.terms import Terms, read_terms, to_toml
from martfl.market.terms_parts import ChainTerms

Telling = Callable[[Journal], Tell]
SAMPLES = 16  # of sampled settlement: the demo makes its circuit's key itself, which takes long for more


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
    names: dict[str, str]  # address → name
    behaviours: dict[str, str]  # name → what the provider really does
    test: Pairs


@contextmanager
def open_demo(options: DemoOptions, folder: Path, *, telling: Telling | None = None) -> Iterator[Demo]:
    """Build the market, or find the one that was interrupted in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    options = remembered(options, folder)
    with ExitStack() as stack:
        chain = EmbeddedChain(folder / "chain.sqlite", accounts=options.providers + 1)
        stack.callback(chain.close)
        yield _compose(options, folder, chain, stack, telling)


def _compose(
    options: DemoOptions, folder: Path, chain: EmbeddedChain, stack: ExitStack, telling: Telling | None
) -> Demo:
    task = digits_task(learning_rate=0.1, epochs=4, batch=32, seed=options.seed)
    terms, trading, settler = _deployed(options, task, folder, chain)
    dataset = load_dataset("digits")
    root, cast = make_cast(options, dataset)
    buyer, *accounts = chain.accounts
    providers = []
    for i, (account, seller) in enumerate(zip(accounts, cast, strict=True)):
        journal, meter = stack.enter_context(Journal(folder / f"provider-{i}")), Meter(folder / f"meter-{i}.sqlite")
        stack.callback(meter.close)
        conduct = make_conduct(seller.behaviour, sellers=options.providers)
        parts = (terms, task, seller.rows, trading, settler, journal, meter, account)
        providers.append(Provider(*parts, name=seller.name, ask=seller.ask, conduct=conduct))
    names = {str(p.account.address): p.name for p in providers}
    link, clock = LocalLink({p.account.address: p.handle for p in providers}), EmbeddedClock(chain, providers)
    journal = stack.enter_context(Journal(folder / "acquirer"))
    acquirer = Acquirer(
        terms, task, root, trading, settler, link, clock, journal, buyer, seed=options.seed, names=names
    )
    if telling is not None:
        acquirer.tell = telling(journal)
    behaviours, test = {seller.name: seller.behaviour for seller in cast}, (dataset.test_x, dataset.test_y)
    return Demo(folder, options, terms, chain, trading, settler, acquirer, names, behaviours, test)


def _deployed(
    options: DemoOptions, task: LabTask, folder: Path, chain: EmbeddedChain
) -> tuple[Terms, Trading, Settler]:
    """The market's contract on the chain, and its terms in the folder."""
    terms = _terms(options, task)
    settler = make_settler(terms, parameters=task.model.size)
    account, initial = chain.accounts[0], task.initial()
    trading = deploy_market(chain, terms=terms, settler=settler, initial=initial, account=account, key="deploy")
    terms = replace(terms, chain=ChainTerms(profile="local", contract=trading.address))
    (folder / "market.toml").write_text(to_toml(terms), encoding="utf-8")
    return terms, trading, settler


def _terms(options: DemoOptions, task: LabTask) -> Terms:
    names = ("learning_rate", "epochs", "batch", "seed")
    settlement = {
        "scheme": options.settlement,
        "setup": "alone",  # all parties of a demo are one person
        "scale": 2.0**-14,
        "update_limit": 2.0,
        "providers": max(4, options.providers),
        "samples": SAMPLES,
    }
    return read_terms(
        {
            "name": "martfl demo",
            "task": {"entry": "martfl.lab.task:digits", "options": {name: getattr(task, name) for name in names}},
            "settlement": settlement,
            "selection": {"rule": options.rule},
        }
    )
