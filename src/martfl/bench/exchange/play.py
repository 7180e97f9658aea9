"""Strategies by name, and what each came to: what its coalition gained against fair play, what honest sellers lack."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache

from martfl.bench.exchange.world import World, open_world
from martfl.chain.state import SignedClaim
from martfl.market.acquirer import deploy_market
from martfl.market.terms import Terms


@dataclass(frozen=True)
class PlayOutcome:
    """In the smallest unit: the gain of a coalition against fair play, and the most that an honest seller lacks."""

    gain: int
    short: int


@dataclass(frozen=True)
class UnfairPlay:
    """A named way not to play fair."""

    name: str
    play: Callable[[], PlayOutcome]
    limit: str = ""  # where it is a limit that is stated, not a hole: why


STRATEGIES: list[UnfairPlay] = []


def strategy(name: str, *, limit: str = "") -> Callable[[Callable[[], PlayOutcome]], Callable[[], PlayOutcome]]:
    """Register a strategy."""

    def register(play: Callable[[], PlayOutcome]) -> Callable[[], PlayOutcome]:
        STRATEGIES.append(UnfairPlay(name, play, limit))
        return play

    return register


def shortage(world: World) -> int:
    """The most by which an honest seller is short of the asks for what was read of it."""
    read = world.read()
    return max((asked - world.income([name]) for name, asked in read.items()), default=0)


def of_acquirer(world: World) -> PlayOutcome:
    """A coalition with the acquirer: poorer by the asks of what it read, and that is fair; anything less is a gain."""
    world.settle_all()
    world.take_refunds()
    own = [account.address for account in world.others]
    claim_for(world, own)
    money = world.income([world.buyer.address, *own]) - world.paid_in()
    return PlayOutcome(gain=money + sum(world.read().values()), short=max(0, shortage(world)))


def of_sellers(world: World, *, fair: int) -> PlayOutcome:
    """A coalition of sellers: what it has beyond what the same wallets earn by playing fair."""
    world.settle_all()
    own = [account.address for account in world.others]
    claim_for(world, own)
    return PlayOutcome(gain=world.income(own) - fair, short=max(0, shortage(world)))


def claim_for(world: World, wallets: Iterable[str]) -> None:
    """Everybody's claims, where there is anything to claim."""
    for epoch in world.epochs():
        owed = [n for n in wallets if world.trading.read_provider(epoch, n).claimable]
        if owed:
            payees = [SignedClaim(provider=name) for name in owed]
            world.trading.claim_rewards(epoch, payees=payees, account=world.buyer)


def second_market(world: World, terms: Terms, *, place: str = "seller-0-second-market") -> World:
    """Another market of the same buyer, in which the first seller sells, too; it keeps its journal at `place`."""
    seller, settler = world.honest[0], world.settler
    trading = deploy_market(
        world.chain, terms=terms, settler=settler, initial=seller.task.initial(), account=world.buyer
    )
    second = replace(world, terms=terms, trading=trading, honest=[], rogues=[])
    second.honest.append(second.provider(0, seller.account, place=place))
    return second


@cache
def fair_income(rogues: int, *, honest: int = 2, epochs: int = 1) -> int:
    """What so many wallets earn together when they play fair beside the honest ones."""
    with open_world(honest=honest, others=rogues) as world:
        for i in range(rogues):
            world.rogue(i)
        world.acquirer().run(epochs)
        return of_sellers(world, fair=0).gain
