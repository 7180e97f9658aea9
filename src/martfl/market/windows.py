"""When something of a seller's wallet may have to go on chain, in all its markets, and from when on it must.

Transactions of one wallet wait for each other, and one may be kept out for a margin. So keys stand in a row, by the
ends of their windows, and each has a margin of its own before the next one is due:

    due_i = min(end_i, due_{i+1}) − margin

What can wait (claims, commitments of other markets) is not sent when a key may fall due before it is through. The
margin is always that of the market that asks: another market's terms say when its windows end, and no more.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from eth_account.signers.local import LocalAccount

from martfl.chain.state import SaleState
from martfl.chain.trading import Trading
from martfl.market.journal import Journal
from martfl.market.meter import Meter, Stall, Window
from martfl.market.shelf import Shelf
from martfl.market.steps import Collected, KeyGiven

AHEAD = 2  # margins before something is due from which what can wait does: kept out for one, deep by the second


@dataclass(frozen=True)
class Windows:
    """Of one seller, as one of its markets sees them."""

    margin: int
    trading: Trading
    journal: Journal
    account: LocalAccount
    shelf: Shelf
    meter: Meter
    stall: Stall

    def epochs(self) -> list[int]:
        """The epochs of this market that we have something in."""
        epochs = range(1, self.trading.epoch_count() + 1)
        return [e for e in epochs if self.journal.recall(e, Collected) is None and self.shelf.holds(e)]

    def announce(self) -> None:
        """Tell the other markets of the wallet."""
        self.meter.announce(self.stall, self._own())

    def leave(self) -> None:
        """Nothing new is wanted here any more. Only keys that are out may still have to go on chain."""
        out = {entry.epoch for entry in self.journal.entries() if isinstance(entry.value, KeyGiven)}
        known = self.meter.announced(chain_id=self.stall.chain_id)
        self.meter.announce(self.stall, [w for w in known if self._is_own(w) and w.key and w.epoch in out])

    def moments(self) -> list[int]:
        """The seconds at which something of this market is due."""
        return [due for window, due in self._dues().items() if self._is_own(window)]

    def key_due(self, epoch: int) -> int:
        """The second at which the key of an epoch must be on its way, where it must go on chain."""
        last = self.trading.deadlines(epoch).keys - self.margin
        own = (due for w, due in self._dues().items() if self._is_own(w) and w.key and w.epoch == epoch)
        return min(own, default=last)

    def keys(self) -> int:
        """How many keys may have to go on chain, in all markets of the wallet."""
        return sum(window.key for window in self._dues())

    def pressing(self, *, besides: int = 0) -> int | None:
        """The end of a window in which a key or a commitment may have to go on chain soon; or none.

        Of other markets, a commitment (of the epoch `besides`) waits for keys alone: two that waited for each other
        would both be late.
        """
        now, found = self.trading.chain.next_second(), []
        for window, due in self._dues().items():
            own = self._is_own(window)
            counts = not besides or (window.epoch != besides if own else window.key)
            if counts and due - AHEAD * self.margin <= now <= window.last:
                found.append(window.last)
        return max(found, default=None)

    # --- parts ---------------------------------------------------------------------------------------------------

    def _dues(self) -> Mapping[Window, int]:
        """Every window of the wallet on this chain that is not over, and when what it is for is due."""
        now, dues = self.trading.chain.now(), dict[Window, int]()
        others = [one for one in self.meter.announced(chain_id=self.stall.chain_id) if not self._is_own(one)]
        known = [window for window in (*self._own(), *others) if window.last >= now]
        following: int | None = None
        for window in sorted(known, key=lambda w: (w.last, w.market, w.epoch), reverse=True):
            if window.key:
                following = min(window.last, window.last if following is None else following) - self.margin
                dues[window] = following
            else:
                dues[window] = window.last - self.margin
        return dues

    def _own(self) -> list[Window]:
        return [window for epoch in self.epochs() for window in self._of(epoch)]

    def _of(self, epoch: int) -> list[Window]:
        """When something of an epoch may have to go on chain."""
        times, now = self.trading.deadlines(epoch), self.trading.chain.now()
        state, market = self.trading.read_provider(epoch, self.account.address).state, self.stall.place[1]
        commits = state is SaleState.ABSENT and now <= times.commit
        sells = commits or (state is SaleState.COMMITTED and now <= times.buy) or state is SaleState.BOUGHT
        commit = Window(market=market, epoch=epoch, key=False, last=times.commit)
        key = Window(market=market, epoch=epoch, key=True, last=times.keys)
        return [commit] * commits + [key] * sells

    def _is_own(self, window: Window) -> bool:
        return window.market == self.stall.place[1]
