"""What an acquirer does, told while it does it: one line for each step, from what the journal says of it."""

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from martfl.amounts import coins

if TYPE_CHECKING:  # rooms are imported by the commands that use them
    from martfl.market.journal import Journal
    from martfl.market.steps import Opened
    from martfl.market.terms import Terms

progress = Console(stderr=True, highlight=False)
progress.soft_wrap = not progress.is_terminal  # a window breaks lines between words; a file keeps each in one


def say(text: str) -> None:
    """One line of progress, on stderr, so that results can be piped."""
    progress.print(f"[dim]{time.strftime('%H:%M:%S')}[/dim] {escape(text)}")


class Lines(logging.Handler):
    """What is logged, as lines of progress: above a bar where there is one, never in the middle of it."""

    def emit(self, record: logging.LogRecord) -> None:
        say(self.format(record))


def introduce(terms: "Terms", *, contract: str, wallet: str) -> None:
    """What a party is about to do, for whom and under which terms."""
    money, times = terms.money, terms.deadlines
    reward, ask = (coins(amount, token=money.token) for amount in (money.reward, money.ask))
    say(f"market {terms.name!r}, contract {contract}, terms {terms.hash.hex()[:16]}… as on chain; wallet {wallet}")
    say(
        f"task {terms.task.entry}; {terms.settlement.scheme} settlement; reward {reward} an epoch, penalty "
        f"{money.penalty_ratio / 100:g} % of it, ask {ask} unless a provider names another; {times.commit} s to "
        f"commit, {times.buy} s to buy, margin {times.margin} s"
    )


@dataclass
class Telling:
    """Listens to an acquirer; `line` takes epoch, step and what there is to say about it."""

    journal: "Journal"
    line: Callable[[int, str, str], None]
    token: str = ""
    _told: set[tuple[int, str, str]] = field(default_factory=set)

    def __call__(self, epoch: int, step: str, text: str) -> None:
        """A step is done, and in the journal."""
        for caught in self._caught(epoch):
            self.line(epoch, "caught", caught)
        self.line(epoch, step, self._words(epoch, step) or text)

    def _words(self, epoch: int, step: str) -> str:
        from martfl.market import steps as st

        journal = self.journal
        match step:
            case "open":
                return self._opened(journal.recall(epoch, st.Opened))
            case "select":
                return self._bought(epoch)
            case "publish":
                handed = journal.recall(epoch, st.HandedOut)
                found = f"; {len(handed.accepted)} of {handed.asked} providers found it right" if handed else ""
                return f"the new model is on chain and handed out{found}"
            case "over":
                return self._over(epoch)
        return ""

    def _opened(self, opened: "Opened | None") -> str:
        if opened is None:
            return ""
        penalty = opened.deposit - opened.reward
        return f"deposited {self._money(opened.reward)} as reward and {self._money(penalty)} as penalty"

    def _bought(self, epoch: int) -> str:
        from martfl.market.steps import Offers, Purchased, Selected

        prices = {n: p for one in self.journal.all_of(Purchased, epoch) for n, p in one.prices.items()}
        offers, selected = self.journal.recall(epoch, Offers), self.journal.recall(epoch, Selected)
        weighed = sum(judged.weight > 0 for judged in selected.judged.values()) if selected else 0
        count = len(offers.committed) if offers else 0
        spent = self._money(sum(prices.values()))
        return f"{len(prices)} of {count} bought, for {spent}; {weighed} of them are in the model"

    def _over(self, epoch: int) -> str:
        from martfl.market.steps import Over, PaidOut

        over, paid = self.journal.recall(epoch, Over), self.journal.recall(epoch, PaidOut)
        if over is None or paid is None:
            return ""
        total = self._money(sum(paid.paid.values()))
        lost = "; the penalty is forfeited" if over.phase == "FAILED" else ""
        return f"{over.phase.lower()}; {total} to the providers, {self._money(paid.refunded)} back{lost}"

    def _caught(self, epoch: int) -> Iterator[str]:
        """Offences that were not told yet; their numbers are for the report, when the epoch is over."""
        from martfl.market.purchases import OFFENCES

        for remark in self.journal.remarks():
            key = (remark.epoch, remark.subject, remark.kind)
            if remark.epoch == epoch and remark.kind in OFFENCES and key not in self._told:
                self._told.add(key)
                yield f"{self._name(epoch, remark.subject)}: {remark.kind}"

    def _name(self, epoch: int, address: str) -> str:
        from martfl.dashboard.words import short
        from martfl.market.steps import Invited

        invited = self.journal.recall(epoch, Invited)
        name = invited.names.get(address, "") if invited else ""
        return f"{name} ({short(address)})" if name else short(address)

    def _money(self, amount: int) -> str:
        return coins(amount, token=self.token)
