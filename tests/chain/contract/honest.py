"""Honest programs in a world: they follow the product's rules, whatever everybody else does.

Each acts when it is asked to (`tick`), and names the next second at which it must be asked (`alarm`). A censor may hold
its transactions back for less than the margin.
"""

from dataclasses import dataclass

from world import World

MARGIN = 30  # seconds
FAR = 2**62


@dataclass
class HonestSeller:
    """Commits; shows its offer when commitments are closed; gives its key for a purchase; reveals at the last."""

    world: World
    name: str
    censored: int = 0  # seconds for which its transactions are held back, less than the margin

    @property
    def offer(self):
        return self.world.true[self.name].offer

    @property
    def secret(self) -> bytes:
        return self.world.true[self.name].secret

    def times(self, page) -> list[int]:
        last = self.censored - MARGIN
        return [page.end("commit") + last, page.end("keys") + last]

    def alarm(self, now: int) -> int:
        times = [t for page in self.world.book.pages for t in (*self.times(page), page.end("commit") + 1)]
        return min((t for t in times if t > now), default=FAR)

    def tick(self) -> None:
        for epoch in range(1, self.world.epoch + 1):
            page, now = self.world.page(epoch), self.world.now()
            own, reveal_at = self.times(page)
            sale, key = page.sales.get(self.name), (epoch, self.name)
            if sale is None and page.may_commit(self.name, now):
                self.world.facts.pool.setdefault(key, self.world.signed(self.name, epoch, self.offer))
                if now >= own:
                    assert self.world.commit(self.name, epoch, self.offer)
            if sale is None or now <= page.end("commit"):
                continue
            self.world.facts.shown[key] = self.offer
            if sale.state == "bought" and now <= page.end("keys") - MARGIN:
                self.give(key)
            if sale.state == "bought" and key in self.world.facts.given and now >= reveal_at:
                assert now <= page.end("keys"), "an honest seller came too late"
                assert self.world.reveal(self.name, epoch, self.name, self.offer, self.secret)

    def give(self, key: tuple[int, str]) -> None:
        """The key goes over; whoever has it may do with it what it likes."""
        self.world.facts.given.add(key)
        self.world.facts.keys.setdefault(key, set()).add(self.secret)


@dataclass
class HonestAcquirer:
    """Buys what is sound, accepts or lists what opens, refutes what does not, publishes in time."""

    world: World
    amounts: tuple[int, ...]  # one epoch for each
    lists: int = 128  # how many of those that open it puts into the aggregate; the others it accepts

    def times(self, page) -> list[int]:
        first, second = page.end("commit") + 10, page.end("buy") - MARGIN
        return [first, second, page.end("keys") - MARGIN - 10, page.end("keys") + 1, page.end("keys") + MARGIN]

    def alarm(self, now: int) -> int:
        times = [t for page in self.world.book.pages for t in self.times(page)]
        times += [page.end("buy") + 1 for page in self.world.book.pages] + self.world.alarms()
        return min((t for t in times if t > now), default=FAR)

    def tick(self) -> None:
        world = self.world
        if world.epoch < len(self.amounts) and world.book.may_open(self.amounts[world.epoch], world.now()):
            world.new_epoch("acquirer", self.amounts[world.epoch])
        for epoch in range(1, world.epoch + 1):
            page = world.page(epoch)
            self.shop(epoch, page)
            self.answer(epoch, page)
            self.publish(epoch, page)
        world.prove()

    def shop(self, epoch: int, page) -> None:
        """At two times: what was shown by then, the cheapest first, as far as the reward goes."""
        now, (first, second, *_) = self.world.now(), self.times(page)
        if page.published or not any(t <= now < t + 10 for t in (first, second)):
            return
        chosen, spent = [], page.spent
        offers = {name: offer for (number, name), offer in self.world.facts.shown.items() if number == epoch and offer}
        for name, offer in sorted(offers.items(), key=lambda entry: entry[1].ask):
            sale = page.sales.get(name)
            committed = sale is not None and sale.state == "committed" and sale.offer == offer
            if not committed or offer.ask > page.reward or not self.world.sound(offer):
                continue
            if spent + page.price_of(offer.ask) <= page.reward:
                chosen.append((name, offer))
                spent += page.price_of(offer.ask)
        if chosen:
            assert self.world.buy("acquirer", epoch, chosen)

    def has(self, epoch: int, page, name: str) -> bool:
        """Whether a key that arrived opens what was bought."""
        offer, keys = page.sales[name].offer, self.world.facts.keys.get((epoch, name), set())
        return any(self.world.opens_with(offer, key) for key in keys)

    def answer(self, epoch: int, page) -> None:
        for name, sale in page.sales.items():
            has = sale.bought and self.has(epoch, page, name)
            if sale.state == "revealed" and not has and page.may_refute(name, self.world.now()):
                (secret,) = (k for k in self.world.facts.keys[epoch, name] if self.world.fits(sale.offer, k))
                assert self.world.refute("acquirer", epoch, name, sale.offer, secret)
        late = self.times(page)[2]
        if not page.published and late <= self.world.now() <= page.end("keys"):
            rest = self.having(epoch, page)[self.lists :]
            if wanted := [name for name in rest if page.may_accept([name], self.world.now())]:
                assert self.world.accept("acquirer", epoch, wanted)

    def having(self, epoch: int, page) -> list[str]:
        return [name for name, sale in page.sales.items() if sale.bought and self.has(epoch, page, name)]

    def publish(self, epoch: int, page) -> None:
        now = self.world.now()
        _, second, _, _, last = self.times(page)
        bought = [name for name, sale in page.sales.items() if sale.bought]
        answered = all(page.sales[n].state in ("refuted", "accepted") or self.has(epoch, page, n) for n in bought)
        due = now >= last or (answered and now >= second + 10)
        if not bought or page.published or not due or now > page.end("publish"):
            return
        chosen = [n for n in self.having(epoch, page) if page.sales[n].state != "refuted"]
        chosen = chosen[: min(self.lists, self.world.slots)]
        weights = [(name, 65_536 // len(chosen)) for name in chosen]
        if weights:
            weights[0] = (chosen[0], 65_536 - sum(w for _, w in weights[1:]))
        assert self.world.publish("acquirer", epoch, weights)
