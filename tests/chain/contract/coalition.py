"""A coalition plays any calls at any second beside honest parties; the book and the promises say what must come of it.

The coalition owns the acquirer and some wallets (`buyer`), or some sellers (`sellers`); who is left is honest. It knows
what it would know: its own keys, the keys that were given to it, and everything on chain.
"""

from honest import FAR, MARGIN, HonestAcquirer, HonestSeller
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule, run_state_machine_as_test
from moves import EPOCHS, NAMES, POOR, RICH, Moves, first
from prober import Prober
from properties import check
from script import Script, plans
from world import FALSE, PLACE, REVERTS

from martfl.chain.state import SignedClaim

TOKENS = ("coin", "coin", "coin", "token_plain", "token_silent", "token_moody", "token_fee", "token_false")
prices = st.sampled_from((0, 1, 1_200, 2_500, 7_000))


class Coalition(Moves):
    """`make_world(token, asks)` gives the market; a scheme may add rules of its own."""

    def __init__(self, chain, make_world) -> None:
        super().__init__()
        self.chain, self.make_world, self.start = chain, make_world, chain.snapshot()
        self.world, self.seen = None, 0

    @initialize(
        mode=st.sampled_from(("buyer", "sellers")),
        token=st.sampled_from(TOKENS),
        asks=st.tuples(prices, prices, prices, prices),
        censored=st.sampled_from((0, 7, MARGIN - 5)),
        lists=st.sampled_from((0, 1, 128)),
        frown=st.tuples(st.sampled_from(NAMES), st.sampled_from((FALSE, REVERTS))),
        plan=plans,
        ready=st.sampled_from(("", "commit", "buy", "keys", "publish")),
    )
    def begin(self, mode, token, asks, censored, lists, frown, plan, ready):
        self.mode, self.world = mode, self.make_world(token, asks)
        outside = NAMES[:2] if mode == "buyer" else NAMES[:1]
        self.honest = [HonestSeller(self.world, name, censored) for name in outside]
        if mode == "sellers":
            amounts = tuple(min(amount, self.world.most) for amount in (RICH, POOR, RICH))
            self.honest.append(HonestAcquirer(self.world, amounts, lists))
        self.wallets = [name for name in NAMES if name not in outside]
        self.members = [*self.wallets, "stranger", *(["acquirer"] if mode == "buyer" else [])]
        if token == "token_moody":
            self.world.frown(*frown)
        self.script = Script(self.world, plan, self.wallets, buyer=mode == "buyer", wares=self.wares)
        parties = [*self.honest, self.script] if lists else [self.script, *self.honest]
        self.parties = [Prober(self.world), *parties]
        self.tick()
        if ready:
            self.until(self.page.end(ready))

    # --- time -------------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Sellers of the coalition have shown what they committed to, unless they chose otherwise; all parties move."""
        for name, sale in self.page.sales.items():
            if name in self.wallets and sale.offer is not None:
                self.world.facts.shown.setdefault((self.world.epoch, name), sale.offer)
        for party in self.parties:
            party.tick()

    def turn(self, honest_first: bool, play) -> None:
        if honest_first:
            self.tick()
        play()
        if not honest_first:
            self.tick()

    def until(self, second: int) -> None:
        """Let time pass; honest parties wake up on the way. In `second` itself the coalition may come first."""
        for _ in range(200):
            alarm = min(party.alarm(self.world.now()) for party in self.parties)
            if alarm >= second or alarm == FAR:
                break
            self.travel(alarm)
            self.tick()
        self.travel(second)

    def travel(self, second: int) -> None:
        if second - 1 > self.chain.now():
            self.chain.travel_to(second - 1)

    @rule(which=st.integers(0, 2), offset=st.sampled_from((-31, -30, -1, 0, 1, 2)), f=first)
    def wait(self, which, offset, f):
        """The next call comes around the end of a window, or around the margin before it."""
        if f:
            self.tick()
        ends = [self.page.end(window) for window in ("commit", "buy", "keys", "publish")] + [self.page.due]
        coming = sorted(end + offset for end in ends if end + offset > self.world.now())
        if coming:
            self.until(coming[min(which, len(coming) - 1)])

    # --- always, and in the end -------------------------------------------------------------------------------

    @invariant()
    def stands_where_the_book_says(self):
        if self.world is None or self.seen == self.chain.now():
            return
        self.seen = self.chain.now()
        assert self.world.balance(self.world.trading.address) == self.world.book.held()
        state = self.world.trading.read_epoch(self.world.epoch)
        assert state.phase.name.lower() == self.page.phase(self.chain.now())
        delivered = sum(sale.price for sale in self.page.sales.values() if sale.delivered)
        assert (state.spent, state.delivered, state.base) == (self.page.spent, delivered, self.page.base)

    def teardown(self):
        """All windows pass; strangers have everybody paid; then nothing claimable is left, and the promises hold."""
        try:
            if self.world is not None:
                self.finish()
                outside = [party.name for party in self.honest if isinstance(party, HonestSeller)]
                check(self.world, honest=outside + (["acquirer"] if self.mode == "sellers" else []))
        finally:
            self.chain.revert(self.start)

    def finish(self) -> None:
        for _ in range(EPOCHS + 1):  # an honest acquirer opens its next epoch as soon as it may
            last = max(page.end("publish") for page in self.world.book.pages)
            self.until(max(last, self.world.now()) + 2 * self.world.book.rules.settle + 2)
            self.tick()
        for epoch in range(1, self.world.epoch + 1):
            payees = [(name, SignedClaim(provider=self.world.accounts[name].address), True) for name in NAMES]
            self.world.claim_for("stranger", epoch, payees)
            elsewhere = [(name, self.world.signed_claim(name, epoch, PLACE), True) for name in self.world.facts.frowned]
            self.world.claim_for("stranger", epoch, elsewhere)
            self.world.claim("acquirer", epoch)


def run(machine, *, runs: int, steps: int) -> None:
    run_state_machine_as_test(machine, settings=settings(max_examples=runs, stateful_step_count=steps, deadline=None))
