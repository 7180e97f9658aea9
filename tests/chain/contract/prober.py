"""At the edges of every window, the calls that are not allowed there: the contract must refuse each of them.

A refused call leaves nothing behind, so this changes no run; it only looks.
"""

from book import FINAL
from honest import FAR
from world import World

EDGES = {  # (window, seconds after its end): what is too early there, or too late
    ("commit", 0): ("buy", "publish", "claim"),
    ("commit", 1): ("deposit", "commit"),
    ("buy", 1): ("buy",),
    ("keys", 0): ("claim",),
    ("keys", 1): ("accept", "reveal"),
    ("publish", 0): ("claim",),
    ("publish", 1): ("accept", "refute", "publish"),
}


class Prober:
    """Plays with the accounts of those who may call, one second too late and one too early."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.done: set[tuple[int, str, int]] = set()

    def alarm(self, now: int) -> int:
        times = [page.end(window) + after for page in self.world.book.pages for window, after in EDGES]
        return min((second for second in times if second > now), default=FAR)

    def tick(self) -> None:
        for epoch, page in enumerate(self.world.book.pages, 1):
            for (window, after), calls in EDGES.items():
                due = self.world.now() >= page.end(window) + after
                if due and (epoch, window, after) not in self.done:
                    self.done.add((epoch, window, after))
                    for call in calls:
                        getattr(self, call)(epoch, page, self.world.now())

    def deposit(self, epoch: int, page, now: int) -> None:
        self.world.deposit("acquirer", epoch, 1)

    def commit(self, epoch: int, page, now: int) -> None:
        name = self.world.names[-1]
        self.world.commit(name, epoch, self.world.true[name].offer)

    def buy(self, epoch: int, page, now: int) -> None:
        self.try_one(page, lambda n, s: page.may_buy([(n, s.offer)], now), lambda n, s: [(n, s.offer)], self.world.buy)

    def accept(self, epoch: int, page, now: int) -> None:
        self.try_one(page, lambda n, s: page.may_accept([n], now), lambda n, s: [n], self.world.accept)

    def publish(self, epoch: int, page, now: int) -> None:
        whole = 65_536
        self.try_one(
            page, lambda n, s: page.may_publish([(n, whole)], now), lambda n, s: [(n, whole)], self.world.publish
        )

    def try_one(self, page, allowed, argument, call) -> None:
        """An acquirer's call about the first provider for whom it is not allowed."""
        epoch = 1 + self.world.book.pages.index(page)
        for name, sale in page.sales.items():
            if sale.offer is not None and not allowed(name, sale):
                assert not call("acquirer", epoch, argument(name, sale))
                return

    def reveal(self, epoch: int, page, now: int) -> None:
        for name, sale in page.sales.items():
            if sale.bought and not page.may_reveal(name, now):
                assert not self.world.reveal("stranger", epoch, name, sale.offer, self.world.secret_for(sale.offer))
                return

    def refute(self, epoch: int, page, now: int) -> None:
        for (number, name), secret in self.world.facts.revealed.items():
            if number == epoch and not page.may_refute(name, now):
                assert not self.world.refute("stranger", epoch, name, page.sales[name].offer, secret)
                return

    def claim(self, epoch: int, page, now: int) -> None:
        if page.phase(now) not in FINAL or page.refunded:
            self.world.claim("acquirer", epoch)
        for name in self.world.names:
            if name in page.sales and not page.claimable(name, now):
                self.world.claim(name, epoch)
                return
