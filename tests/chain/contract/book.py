"""An independent book of the rules: what every call may do in every second, and who is owed what in the end.

It knows nothing of how the contract stores things: it keeps sales by name, looks at the clock, and adds up.
"""

from dataclasses import dataclass, field

WHOLE, BASIS, MOST = 65_536, 10_000, 2**96 - 1
FINAL = ("settled", "failed", "empty")
STANDS = ("standing", "settled")


@dataclass(frozen=True)
class Rules:
    """The terms that the book is about."""

    commit: int
    buy: int
    keys: int
    publish: int
    settle: int
    ratio: int
    minimum: int
    slots: int = 128  # places in one aggregate
    proved: bool = False  # an aggregate must be proved


@dataclass
class Sale:
    """One provider in one epoch."""

    offer: object | None  # what opens its digest; None where nothing does
    state: str = "committed"
    price: int = 0
    weight: int = 0
    claimed: bool = False

    @property
    def bought(self) -> bool:
        return self.state != "committed"

    @property
    def delivered(self) -> bool:
        return self.state in ("accepted", "revealed", "listed")


@dataclass
class Page:
    """One epoch."""

    rules: Rules
    opened: int
    deposit: int
    base: int
    sales: dict[str, Sale] = field(default_factory=dict)
    published: bool = False
    proof: str = ""  # "", "due", "proved" or "failed"
    due: int = 0
    refunded: bool = False
    paid: dict[str, int] = field(default_factory=dict)  # by whom it was earned

    # --- the clock --------------------------------------------------------------------------------------------

    def end(self, window: str) -> int:
        windows = ("commit", "buy", "keys", "publish")
        return self.opened + sum(getattr(self.rules, name) for name in windows[: windows.index(window) + 1])

    def phase(self, now: int) -> str:
        if not self.published:
            if now <= self.end("commit"):
                return "open"
            if not any(sale.bought for sale in self.sales.values()):
                return "trading" if now <= self.end("buy") else "empty"
            return "trading" if now <= self.end("publish") else "failed"
        if self.proof in ("due", "proved") and now <= self.due:
            return {"due": "published", "proved": "proved"}[self.proof]
        stands = self.proof in ("", "proved")
        if self.waiting(now):
            return "standing" if stands else "failing"
        return "settled" if stands else "failed"

    def waiting(self, now: int) -> bool:
        """Whether a key may still come, or a key that came may still be refuted."""
        states = [sale.state for sale in self.sales.values()]
        return ("bought" in states and now <= self.end("keys")) or ("revealed" in states and now <= self.end("publish"))

    # --- money ------------------------------------------------------------------------------------------------

    @property
    def reward(self) -> int:
        return self.deposit * BASIS // (BASIS + self.rules.ratio)

    @property
    def penalty(self) -> int:
        return self.deposit - self.reward

    @property
    def spent(self) -> int:
        return sum(sale.price for sale in self.sales.values())

    def price_of(self, ask: int) -> int:
        """The least whole number of 65536ths of the reward that covers the ask."""
        units = 0 if ask == 0 else -(-ask * WHOLE // self.reward)
        return self.reward * units // WHOLE

    def owed(self, name: str, phase: str) -> int:
        """What a provider earns when the epoch ends like this."""
        sale = self.sales.get(name)
        if sale is None or not sale.delivered:
            return 0
        bonus = (self.reward - self.spent) * sale.weight // WHOLE if phase == "settled" else 0
        return sale.price + bonus

    def refund(self, phase: str) -> int:
        """What the acquirer gets back: all that nobody earns, less the penalty of a failed epoch."""
        lost = self.penalty if phase == "failed" else 0
        return self.deposit - lost - sum(self.owed(name, phase) for name in self.sales)

    def claimable(self, name: str, now: int) -> int:
        phase, sale = self.phase(now), self.sales.get(name)
        if phase not in FINAL or sale is None or sale.claimed:
            return 0
        return self.owed(name, phase)

    # --- what a call may do -----------------------------------------------------------------------------------

    def may_commit(self, name: str, now: int) -> bool:
        inside = now <= self.end("commit") and self.deposit >= self.rules.minimum
        return inside and name not in self.sales and name != "acquirer"

    def may_buy(self, offers: list[tuple[str, object]], now: int) -> bool:
        inside = not self.published and self.end("commit") < now <= self.end("buy")
        names = [name for name, _ in offers]
        if not inside or len(set(names)) != len(names):
            return False
        for name, offer in offers:
            sale = self.sales.get(name)
            if sale is None or sale.state != "committed" or sale.offer != offer or offer.ask > self.reward:
                return False
        return self.spent + sum(self.price_of(offer.ask) for _, offer in offers) <= self.reward

    def may_accept(self, names: list[str], now: int) -> bool:
        last = {"bought": self.end("keys"), "revealed": self.end("publish")}
        states = [self.sales[name].state if name in self.sales else "" for name in names]
        return len(set(names)) == len(names) and all(s in last and now <= last[s] for s in states)

    def may_reveal(self, name: str, now: int) -> bool:
        return name in self.sales and self.sales[name].state == "bought" and now <= self.end("keys")

    def may_refute(self, name: str, now: int) -> bool:
        return name in self.sales and self.sales[name].state == "revealed" and now <= self.end("publish")

    def may_publish(self, weights: list[tuple[str, int]], now: int) -> bool:
        if self.phase(now) != "trading" or not any(sale.bought for sale in self.sales.values()):
            return False
        names = [name for name, _ in weights]
        known = all(name in self.sales and self.sales[name].bought for name in names)
        once = len(set(names)) == len(names) <= self.rules.slots
        whole = not weights or (sum(w for _, w in weights) == WHOLE and all(0 < w <= WHOLE for _, w in weights))
        return known and once and whole

    # --- what it does -----------------------------------------------------------------------------------------

    def buy(self, offers: list[tuple[str, object]]) -> None:
        for name, offer in offers:
            self.sales[name].state, self.sales[name].price = "bought", self.price_of(offer.ask)

    def publish(self, weights: list[tuple[str, int]], now: int) -> None:
        for name, weight in weights:
            self.sales[name].state, self.sales[name].weight = "listed", weight
        self.published = True
        if self.rules.proved and weights:
            self.enter("due", now)

    def enter(self, proof: str, now: int) -> None:
        self.proof, self.due = proof, now + self.rules.settle

    def pay(self, name: str, amount: int) -> None:
        self.sales[name].claimed = True
        self.paid[name] = amount


@dataclass
class Book:
    """All epochs of one market."""

    rules: Rules
    pages: list[Page] = field(default_factory=list)

    @property
    def page(self) -> Page:
        """The latest; before the first, one that is over and empty."""
        return self.pages[-1] if self.pages else Page(self.rules, opened=-(10**9), deposit=0, base=0)

    def may_open(self, amount: int, now: int) -> bool:
        over = (*STANDS, "failed", "failing", "empty")
        return amount <= MOST and (not self.pages or self.page.phase(now) in over)

    def open(self, amount: int, now: int) -> None:
        number = len(self.pages)
        base = 0
        if self.pages:
            base = number if self.page.phase(now) in STANDS else self.page.base
        self.pages.append(Page(self.rules, opened=now, deposit=amount, base=base))

    def held(self) -> int:
        """What the contract has: everything paid in and not yet claimed."""
        return sum(page.deposit - sum(page.paid.values()) for page in self.pages)

    def unclaimable(self, now: int) -> int:
        return sum(page.penalty for page in self.pages if page.phase(now) == "failed")
