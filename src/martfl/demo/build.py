"""Put a demo market together in a folder; the same folder and scene give the same market again."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from martfl.chain.embedded import EmbeddedChain
from martfl.chain.trading import Trading
from martfl.demo.options import DemoOptions, remembered
from martfl.demo.scene import Scene
from martfl.demo.scenes import make_scene
from martfl.federation.local import EmbeddedClock, LocalLink
from martfl.market.acquirer import Acquirer, deploy_market
from martfl.market.epoch import Tell
from martfl.market.journal import Journal
from martfl.market.meter import Meter
from martfl.market.provider import Provider
from martfl.market.settling import Settler, make_settler
from martfl.market.terms import Terms, to_toml
from martfl.market.terms_parts import ChainTerms
from martfl.tasks.torch_task import Progress

Telling = Callable[[Journal], Tell]
CHAIN, TERMS = "chain.sqlite", "market.toml"  # a demo's files


@dataclass(frozen=True)
class Demo:
    """A market that is ready to run."""

    folder: Path
    scene: Scene
    terms: Terms
    chain: EmbeddedChain
    trading: Trading
    settler: Settler
    acquirer: Acquirer
    names: dict[str, str]  # address → name


@contextmanager
def open_demo(
    options: DemoOptions, folder: Path, *, telling: Telling | None = None, progress: Progress | None = None
) -> Iterator[Demo]:
    """Build the market, or find the one that was interrupted in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    options = remembered(options, folder)
    with open_scene(make_scene(options, progress=progress), folder, telling=telling) as demo:
        yield demo


@contextmanager
def open_scene(scene: Scene, folder: Path, *, telling: Telling | None = None) -> Iterator[Demo]:
    """The parties of a scene and what they stand on."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        chain = EmbeddedChain(folder / CHAIN, accounts=len(scene.sellers) + 1)
        stack.callback(chain.close)
        yield _compose(scene, folder, chain, stack, telling)


def _compose(scene: Scene, folder: Path, chain: EmbeddedChain, stack: ExitStack, telling: Telling | None) -> Demo:
    terms, trading, settler = _deployed(scene, folder, chain)
    buyer, *accounts = chain.accounts
    providers = []
    for i, (account, seller) in enumerate(zip(accounts, scene.sellers, strict=True)):
        journal, meter = stack.enter_context(Journal(folder / f"provider-{i}")), Meter(folder / f"meter-{i}.sqlite")
        stack.callback(meter.close)
        parts = (terms, scene.task, seller.data, trading, settler, journal, meter, account)
        providers.append(Provider(*parts, name=seller.name, ask=seller.ask, conduct=seller.conduct))
    names = {str(p.account.address): p.name for p in providers}
    link, clock = LocalLink({p.account.address: p.handle for p in providers}), EmbeddedClock(chain, providers)
    journal = stack.enter_context(Journal(folder / "acquirer"))
    parties = (terms, scene.task, scene.root, trading, settler, link, clock, journal, buyer)
    acquirer = Acquirer(*parties, seed=scene.seed, names=names)
    if telling is not None:
        acquirer.tell = telling(journal)
    return Demo(folder, scene, terms, chain, trading, settler, acquirer, names)


def _deployed(scene: Scene, folder: Path, chain: EmbeddedChain) -> tuple[Terms, Trading, Settler]:
    """The market's contract on the chain, and its terms in the folder."""
    terms, task = scene.terms(), scene.task
    settler = make_settler(terms, parameters=task.layout.size)
    account, initial = chain.accounts[0], task.initial()
    trading = deploy_market(chain, terms=terms, settler=settler, initial=initial, account=account, key="deploy")
    terms = replace(terms, chain=ChainTerms(profile="local", contract=trading.address))
    (folder / TERMS).write_text(to_toml(terms), encoding="utf-8")
    return terms, trading, settler
