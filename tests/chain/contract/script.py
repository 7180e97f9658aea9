"""What the coalition does unless a move of its own comes in between: a plan that is drawn once for every run.

Plans make the far corners likely: garbage that is bought and revealed in the last second, keys taken and nobody listed,
a model published by own wallets only. The moves of `moves.py` then disturb them.
"""

from dataclasses import dataclass

from honest import FAR, MARGIN
from hypothesis import strategies as st
from world import World

NAMES = ("p0", "p1", "p2", "p3")
bits = st.integers(0, 15)  # a set of sellers


@dataclass(frozen=True)
class Plan:
    """Sellers are p0 to p3; of the honest ones a plan says nothing but whether they are bought and listed."""

    wares: tuple[str, ...]  # what each commits to
    delivers: tuple[str, ...]  # "silent", "key" or "reveal"
    before: int  # seconds before the end of the key window at which keys come
    refutes: bool  # whether what is false and revealed is refuted
    buys: int = 0  # the rest is for coalitions that own the acquirer
    accepts: int = 0
    lists: int | None = None  # None: nothing is published
    at: str = "keys"  # the window at whose end it is published
    epochs: int = 1
    proves: int = 4  # sampled: steps of the proof that are taken
    lies: str = ""  # sampled: in which of them a lie is told


plans = st.builds(
    Plan,
    wares=st.tuples(*[st.sampled_from(("true", "false", "stolen", "none"))] * 4),
    delivers=st.tuples(*[st.sampled_from(("silent", "key", "reveal"))] * 4),
    before=st.sampled_from((0, 1, 5, MARGIN, 500)),
    refutes=st.booleans(),
    buys=bits | st.just(15),
    accepts=bits | st.just(0),
    lists=st.none() | bits | st.just(0),
    at=st.sampled_from(("buy", "keys", "publish")),
    epochs=st.integers(1, 3),
    proves=st.integers(0, 4) | st.just(4),
    lies=st.sampled_from(("", "", "", "randomness", "commitment", "proof")),
)


class Script:
    """Carries a plan out, step by step, as far as the rules let it."""

    def __init__(self, world: World, plan: Plan, wallets: list[str], *, buyer: bool, wares) -> None:
        self.world, self.plan, self.wallets, self.buyer, self.wares = world, plan, wallets, buyer, wares

    def chosen(self, mask: int) -> list[str]:
        return [name for i, name in enumerate(NAMES) if mask >> i & 1]

    def of(self, values: tuple[str, ...], name: str) -> str:
        return values[NAMES.index(name)]

    def times(self, page) -> list[int]:
        keys = page.end("keys")
        return [page.end("commit") + 1, keys - self.plan.before, page.end(self.plan.at), keys + 2, page.end("buy") + 1]

    def alarm(self, now: int) -> int:
        times = [t for page in self.world.book.pages for t in self.times(page)] + self.world.alarms()
        return min((t for t in times if t > now), default=FAR)

    def tick(self) -> None:
        if self.buyer:
            self.open()
        for epoch in range(1, self.world.epoch + 1):
            page = self.world.page(epoch)
            self.sell(epoch, page)
            if self.buyer:
                self.shop(epoch, page)
            if self.plan.refutes:
                self.refute(epoch, page)
        if self.buyer:
            self.world.prove(self.plan.proves, self.plan.lies)

    def open(self) -> None:
        amount = min(10_001, self.world.most)
        if self.world.epoch < self.plan.epochs and self.world.book.may_open(amount, self.world.now()):
            self.world.new_epoch("acquirer", amount)

    def sell(self, epoch: int, page) -> None:
        for name in self.wallets:
            kind, how = self.of(self.plan.wares, name), self.of(self.plan.delivers, name)
            if kind != "none" and page.may_commit(name, self.world.now()):
                self.world.commit(name, epoch, self.wares(name, kind))
            sale = page.sales.get(name)
            due = page.end("keys") - self.plan.before
            if sale is None or sale.state != "bought" or not due <= self.world.now() <= page.end("keys"):
                continue
            secret = self.world.secret_for(sale.offer)
            if how == "key":
                self.world.facts.keys.setdefault((epoch, name), set()).add(secret)
            if how == "reveal":
                self.world.reveal(name, epoch, name, sale.offer, secret)

    def shop(self, epoch: int, page) -> None:
        for name in self.chosen(self.plan.buys):
            sale = page.sales.get(name)
            if sale is not None and sale.offer is not None and page.may_buy([(name, sale.offer)], self.world.now()):
                self.world.buy("acquirer", epoch, [(name, sale.offer)])
        for name in self.chosen(self.plan.accepts):
            if page.end("buy") < self.world.now() and page.may_accept([name], self.world.now()):
                self.world.accept("acquirer", epoch, [name])
        if self.plan.lists is None or self.world.now() < page.end(self.plan.at):
            return
        listed = [n for n in self.chosen(self.plan.lists) if n in page.sales and page.sales[n].bought]
        listed = listed[: self.world.slots]
        weights = [(name, 1) for name in listed[:-1]] + [(name, 65_537 - len(listed)) for name in listed[-1:]]
        if page.may_publish(weights, self.world.now()):
            self.world.publish("acquirer", epoch, weights)

    def refute(self, epoch: int, page) -> None:
        for name, sale in page.sales.items():
            secret = self.world.facts.revealed.get((epoch, name), b"")
            if page.may_refute(name, self.world.now()) and not self.world.opens(sale.offer, secret):
                self.world.refute("stranger", epoch, name, sale.offer, secret)
