"""Markets whose parties talk over Flower: in its simulation engine, and as processes of their own."""

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # `tiny_task`, here and in the processes that tests start
import tiny_task
from simulation import PARTITION, simulate

from martfl.chain.embedded import EmbeddedChain
from martfl.chain.trading import Trading
from martfl.federation.flower.apps import make_client_app, make_server_app
from martfl.federation.flower.link import FlowerLink
from martfl.federation.local import EmbeddedClock
from martfl.market import wire
from martfl.market.acquirer import Acquirer, deploy_market
from martfl.market.journal import Journal
from martfl.market.meter import Meter
from martfl.market.provider import Provider
from martfl.market.settling import make_settler
from martfl.market.terms import read_terms


@dataclass
class Market:
    """The parties, before anybody talks."""

    chain: EmbeddedChain
    trading: Trading
    terms: object
    settler: object
    buyer: object
    journal: Journal
    providers: list[Provider]

    @property
    def name(self):
        return wire.MarketId(self.chain.chain_id, self.trading.address)

    def acquirer(self, link, **options):
        task, root = tiny_task.task(), tiny_task.part(-1)
        clock = EmbeddedClock(self.chain, self.providers)
        return Acquirer(
            *(self.terms, task, root, self.trading, self.settler, link, clock, self.journal), self.buyer, **options
        )

    def accuracy(self, acquirer, epoch):
        model, test = self.settler.floats(acquirer.model_file(epoch)), tiny_task.part(-2)
        return acquirer.task.quality(model, test)["accuracy"]

    def link(self, grid, **options):
        return FlowerLink(grid, self.name, self.buyer, **({"pause": 0.02, "patience": 60.0} | options))

    def run(self, main, answer=None, *, nodes=None, workers=2):
        """Run `main(grid)` as the ServerApp; nodes answer as their provider, or as `answer(number, request)`."""
        answer = answer or (lambda number, request: self.providers[number].handle(request))
        client = make_client_app(lambda request, context: answer(context.node_config[PARTITION], request))
        server = make_server_app(lambda grid, context: main(grid))
        count = len(self.providers) if nodes is None else nodes
        simulate(server_app=server, client_app=client, nodes=count, workers=workers)


@pytest.fixture
def market(tmp_path):
    """`market(providers=4)`: a deployed market on an embedded chain."""
    opened = []

    def make(*, providers=4, folder=tmp_path, **more):
        given = {"name": "tiny", "task": {"entry": "tiny_task:task"}, "settlement": {"scale": 2.0**-12}, **more}
        terms, task = read_terms(given), tiny_task.task()
        settler = make_settler(terms, parameters=task.initial().size)
        chain = EmbeddedChain(folder / "chain.sqlite", accounts=providers + 1)
        buyer, *sellers = chain.accounts
        parts = {"terms": terms, "settler": settler, "initial": task.initial(), "account": buyer}
        trading = deploy_market(chain, **parts, key="deploy")
        journals = [Journal(folder / name) for name in ("acquirer", *(f"provider{i}" for i in range(providers)))]
        meters = [Meter(folder / f"meter{i}.sqlite") for i in range(providers)]
        opened.extend([chain, *journals, *meters])
        members = [
            Provider(
                terms, task, tiny_task.part(i), trading, settler, journals[i + 1], meters[i], account, name=f"p{i}"
            )
            for i, account in enumerate(sellers)
        ]
        return Market(chain, trading, terms, settler, buyer, journals[0], members)

    yield make
    for thing in opened:
        thing.close()


@pytest.fixture
def site(tmp_path):
    """`site(providers=3)`: anvil, wallets, certificates and terms in a folder, ready for processes."""
    import processes

    if not processes.ANVIL.exists():
        pytest.skip("anvil is not installed (npm install)")
    opened = []

    def make(*, providers=3):
        opened.append(processes.Site(tmp_path, providers=providers))
        return opened[-1]

    yield make
    for place in opened:
        place.close()
