"""What a coalition may play: every call, with right and wrong arguments, at the second at which it is asked.

A move is aimed, at somebody for whom it may succeed, three times out of four. Before or after it the honest move.
"""

from dataclasses import replace

from book import WHOLE
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule
from world import PLACE, World

from martfl.chain.state import Offer, SignedClaim

EPOCHS, POOR, RICH = 3, 10_001, 10**15 + 7
NAMES = ("p0", "p1", "p2", "p3")
first = st.booleans()  # whether honest parties move before the coalition does
aimed = st.sampled_from((True, True, True, False))
who = st.integers(0, 9)
picks = st.lists(st.integers(0, 3), max_size=4)
back = st.sampled_from((0, 0, 0, 1, 2))  # how many epochs ago
WARES = ("true", "true", "false", "false", "copy", "stolen", "greedy")
CHANGES = ("", "", "", "", "ask", "free", "root", "commitment", "key_hash", "provider")


class Moves(RuleBasedStateMachine):
    """The rules; `coalition.py` says who plays, how time passes and what must hold."""

    world: World
    wallets: list[str]  # sellers of the coalition
    members: list[str]  # who may send
    mode: str

    def turn(self, honest_first: bool, play) -> None:
        raise NotImplementedError

    # --- who, what, when --------------------------------------------------------------------------------------

    @property
    def page(self):
        return self.world.book.page

    def actor(self, number: int, aim: bool = True) -> str:
        """The acquirer, where the coalition has it and means it; else any of its members."""
        return "acquirer" if aim and "acquirer" in self.members else self.members[number % len(self.members)]

    def ago(self, number: int) -> int:
        return max(1, self.world.epoch - number)

    def those(self, epoch: int, *states: str) -> list[str]:
        return [name for name, sale in self.world.page(epoch).sales.items() if sale.state in states]

    def pick(self, chosen: list[int], aim: bool, candidates: list[str]) -> list[str]:
        pool = candidates if aim and candidates else NAMES
        found = [pool[number % len(pool)] for number in chosen]
        return list(dict.fromkeys(found)) if aim else found

    def offer_of(self, epoch: int, name: str) -> Offer:
        """What a provider bound itself to; for others whatever they have."""
        sale = self.world.page(epoch).sales.get(name)
        return sale.offer if sale is not None and sale.offer is not None else self.world.true[name].offer

    def named(self, address: str) -> str:
        return next(name for name in NAMES if self.world.accounts[name].address == address)

    def other(self, address: str) -> str:
        """Somebody else's address."""
        return next(a for name in NAMES if (a := self.world.accounts[name].address) != address)

    def secret_of(self, epoch: int, name: str) -> bytes:
        """The key that the coalition has for what `name` sells; a guess where it has none."""
        offer, world = self.offer_of(epoch, name), self.world
        own = {world.true[wallet].secret for wallet in self.wallets}
        heard = {s for secrets in world.facts.keys.values() for s in secrets} if self.mode == "buyer" else set()
        on_chain = {s for key, s in world.facts.revealed.items()}
        return next((s for s in sorted(own | heard | on_chain) if world.fits(offer, s)), bytes(32))

    # --- opening and committing -------------------------------------------------------------------------------

    @rule(n=who, amount=st.sampled_from((0, 999, POOR, RICH)), f=first)
    def new_epoch(self, n, amount, f):
        if self.world.epoch < EPOCHS:
            self.turn(f, lambda: self.world.new_epoch(self.actor(n), amount))

    @rule(n=who, aim=aimed, ago=back, amount=st.sampled_from((0, 1, 5_000)), f=first)
    def deposit(self, n, aim, ago, amount, f):
        self.turn(f, lambda: self.world.deposit(self.actor(n, aim), self.ago(ago), amount))

    def wares(self, name: str, kind: str) -> Offer:
        """What a wallet may commit to: its own update, a false one, another's, or another's under its own name."""
        mine, other = self.world.true[name].offer, self.world.true["p0"].offer
        return {
            "true": mine,
            "false": self.world.false[name].offer,
            "copy": other,
            "stolen": replace(other, provider=mine.provider),
            "greedy": replace(mine, ask=RICH),
        }[kind]

    @rule(n=who, kind=st.sampled_from(WARES), old=st.booleans(), f=first)
    def commit(self, n, kind, old, f):
        name, epoch = self.wallets[n % len(self.wallets)], self.world.epoch
        of = epoch - 1 if old and epoch > 1 else None
        self.turn(f, lambda: self.world.commit(name, epoch, self.wares(name, kind), of_epoch=of))

    @rule(
        n=who,
        chosen=picks,
        kinds=st.tuples(*[st.sampled_from(("good", "good", "digest", "name", "epoch", "none"))] * 4),
        f=first,
    )
    def relay(self, n, chosen, kinds, f):
        """Send what others signed, in any order, as often as it likes, changed or not."""

        def play() -> None:
            epoch = self.world.epoch
            entries = [self.entry(NAMES[i], kind, epoch) for i, kind in zip(chosen, kinds, strict=False)]
            self.world.relay(self.actor(n, aim=False), epoch, entries)

        self.turn(f, play)

    def entry(self, name: str, kind: str, epoch: int):
        world, offer = self.world, self.world.true[name].offer
        good = world.facts.pool.get((epoch, name))
        if name in self.wallets:
            good = world.signed(name, epoch, offer)
        if good is None:  # an honest seller that has signed nothing
            good, kind = world.signed(self.wallets[0], epoch, offer), "name"
        changed = {
            "good": good,
            "digest": replace(good, digest=bytes(32)),
            "name": replace(good, provider=self.other(good.provider)),
            "epoch": world.facts.pool.get((epoch - 1, name), replace(good, signature=bytes(65))),
            "none": replace(good, signature=b""),
        }[kind]
        return self.named(changed.provider), changed, offer if kind == "good" else None

    # --- buying and delivering --------------------------------------------------------------------------------

    @rule(n=who, kind=st.sampled_from(("hide", "cheaper", "false")), f=first)
    def show(self, n, kind, f):
        """A seller shows another offer than the one it committed to, or none."""
        name = self.wallets[n % len(self.wallets)]
        sale = self.page.sales.get(name)
        if sale is not None and sale.offer is not None:
            false = {"cheaper": replace(sale.offer, ask=0), "false": self.world.false[name].offer}
            self.world.facts.shown[self.world.epoch, name] = false.get(kind)
        self.turn(f, lambda: None)

    @rule(n=who, aim=aimed, chosen=picks, change=st.sampled_from(CHANGES), ago=back, f=first)
    def buy(self, n, aim, chosen, change, ago, f):
        def play() -> None:
            epoch, other = self.ago(ago), self.world.true["p0"].offer
            names = self.pick(chosen, aim, self.those(epoch, "committed"))
            offers = [(name, self.offer_of(epoch, name)) for name in names]
            if offers and change:
                offer = offers[0][1]
                value = {"ask": max(0, offer.ask - 1), "free": 0, "provider": self.other(offer.provider)}
                changed = replace(
                    offer, **{"ask" if change == "free" else change: value.get(change, getattr(other, change, 0))}
                )
                offers[0] = (self.named(changed.provider), changed)
            self.world.buy(self.actor(n, aim), epoch, offers)

        self.turn(f, play)

    @rule(n=who, aim=aimed, chosen=picks, ago=back, f=first)
    def accept(self, n, aim, chosen, ago, f):
        def play() -> None:
            names = self.pick(chosen, aim, self.those(self.ago(ago), "bought", "revealed"))
            self.world.accept(self.actor(n, aim), self.ago(ago), names)

        self.turn(f, play)

    @rule(n=who, right=st.sampled_from((True, True, False)), ago=back, f=first)
    def give_key(self, n, right, ago, f):
        """A seller of the coalition sends a key, its own or another."""
        name, epoch = self.wallets[n % len(self.wallets)], self.ago(ago)
        secret = self.secret_of(epoch, name) if right else bytes(32)
        self.world.facts.keys.setdefault((epoch, name), set()).add(secret)
        self.turn(f, lambda: None)

    @rule(n=who, aim=aimed, change=st.sampled_from(("", "", "", "key", "root", "commitment")), ago=back, f=first)
    def reveal(self, n, aim, change, ago, f):
        def play() -> None:
            epoch, other = self.ago(ago), self.world.true["p0"].offer
            name = self.pick([n], aim, self.those(epoch, "bought"))[0]
            offer, secret = self.offer_of(epoch, name), self.secret_of(epoch, name)
            if change in ("root", "commitment"):
                offer = replace(offer, **{change: getattr(other, change)})
            sent = bytes(32) if change == "key" else secret
            self.world.reveal(self.actor(n, aim=False), epoch, name, offer, sent)

        self.turn(f, play)

    @rule(
        n=who, aim=aimed, source=st.sampled_from((None, None, None, *NAMES)), kind=st.integers(0, 20), ago=back, f=first
    )
    def refute(self, n, aim, source, kind, ago, f):
        def play() -> None:
            epoch = self.ago(ago)
            name = self.pick([n], aim, self.those(epoch, "revealed"))[0]
            offer, secret = self.offer_of(epoch, source or name), self.secret_of(epoch, source or name)
            how = self.world.refutations[kind % len(self.world.refutations)]
            self.world.refute(self.actor(n, aim=False), epoch, name, offer, secret, how)

        self.turn(f, play)

    # --- publishing and claiming ------------------------------------------------------------------------------

    @rule(
        n=who,
        aim=aimed,
        chosen=picks,
        cut=st.integers(1, WHOLE - 4),
        over=st.sampled_from((0, 0, 0, 0, 1, -1)),
        spoil=st.integers(0, 20),
        f=first,
    )
    def publish(self, n, aim, chosen, cut, over, spoil, f):
        def play() -> None:
            epoch = self.world.epoch
            names = self.pick(chosen, aim, self.those(epoch, "bought", "accepted", "revealed", "refuted"))
            parts = [*[1] * (len(names) - 1), cut][: len(names)]
            if parts:
                parts[0] += WHOLE + over - sum(parts)
            how = self.world.spoils[spoil % len(self.world.spoils)]
            self.world.publish(self.actor(n, aim), epoch, list(zip(names, parts, strict=True)), how)

        self.turn(f, play)

    @rule(n=who, aim=aimed, ago=back, f=first)
    def claim(self, n, aim, ago, f):
        self.turn(f, lambda: self.world.claim(self.actor(n, aim), self.ago(ago)))

    @rule(n=who, chosen=picks, kind=st.sampled_from(("own", "own", "signed", "thief", "replayed")), ago=back, f=first)
    def claim_for(self, n, chosen, kind, ago, f):
        epoch = self.ago(ago)
        payees = [self.payee(NAMES[i], kind, epoch) for i in chosen]
        self.turn(f, lambda: self.world.claim_for(self.actor(n, aim=False), epoch, payees))

    def payee(self, name: str, kind: str, epoch: int):
        """(provider, what is sent, whether the provider really signed it)."""
        world, address = self.world, self.world.accounts[name].address
        if kind == "signed" and name in self.wallets:
            return name, world.signed_claim(name, epoch, PLACE), True
        if kind == "thief":
            stolen = world.signed_claim(self.wallets[0], epoch, world.accounts["stranger"].address)
            return name, replace(stolen, provider=address), name == self.wallets[0]
        if kind == "replayed":
            return name, world.signed_claim(name, epoch + 1, PLACE), False
        return name, SignedClaim(provider=address), True
