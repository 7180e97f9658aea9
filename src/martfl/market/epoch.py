"""One epoch as the acquirer runs it, step by step. Each step is in the journal when it is done, and is recalled then.

    open → invite → relay → (commitments close) → offers → trade: score, buy, weigh → accept, publish → prove → hand out
    → answer keys on chain → pay → over

Whatever a step sends on chain is sent once, under the step's name. So a killed acquirer resumes by being started again.
"""

import hashlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from martfl.chain import events as ev
from martfl.chain.deployment import Deadlines
from martfl.chain.network import RevertedError
from martfl.chain.state import MAX_PROVIDERS, Offer, Phase, SaleState, SignedCommit
from martfl.market import messages as ms
from martfl.market.asking import Asking
from martfl.market.desk import Desk
from martfl.market.errors import MarketError
from martfl.market.journal import Journal
from martfl.market.offers import OfferContext, offer_of, read_offer, read_signed
from martfl.market.paying import goodbyes, pay_providers, take_refund
from martfl.market.purchases import Purchases
from martfl.market.settling import Acting, Settler, Share, Shares
from martfl.market.steps import (
    Acceptance,
    Aggregated,
    HandedOut,
    Invited,
    Measurement,
    ModelPosted,
    Offers,
    Opened,
    Over,
    PaidOut,
    Proved,
    Relayed,
    Sent,
    Shown,
)
from martfl.market.terms import Terms
from martfl.market.watching import sent
from martfl.settlement.errors import RangeError
from martfl.settlement.weights import integer_weights

log = logging.getLogger(__name__)
Tell = Callable[[int, str, str], None]  # epoch, step, what happened


@dataclass
class EpochSteps:
    """The steps of one epoch that concern the chain and the providers; judging is the desk's."""

    terms: Terms
    act: Acting
    asking: Asking
    settler: Settler
    journal: Journal
    tell: Tell

    @cached_property
    def times(self) -> Deadlines:
        """The ends of the epoch's windows."""
        return self.act.trading.deadlines(self.number)

    @property
    def number(self) -> int:
        """The epoch's number."""
        return self.act.epoch

    # --- before anything is sold -----------------------------------------------------------------------------------

    def open(self) -> Opened:
        """Open the epoch on chain with reward and penalty in one payment."""

        def send() -> Opened:
            amount, trading = self.terms.money.deposit, self.act.trading
            done = trading.new_epoch(amount=amount, account=self.act.account, key=self.act.key("open"))
            if done.epoch != self.number:
                raise MarketError(f"epoch {self.number} was to be opened, but the chain opened {done.epoch}")
            state, times = trading.read_epoch(self.number), self.times
            windows = {"commit": times.commit, "buy": times.buy, "keys": times.keys, "publish": times.publish}
            return Opened(deposit=amount, reward=state.reward, **windows, sent=sent(done, "new_epoch"))

        done = self.journal.once(self.number, Opened, send)
        self.tell(self.number, "open", f"{done.deposit} wei deposited for reward and penalty")
        return done

    def invite(self, file: bytes, invited: list[str], names: Mapping[str, str]) -> Invited:
        """Send the model to those who are invited; they train, and sign commitments for us to send.

        Providers that are not ready when the margin begins send their own.
        """

        def ask() -> Invited:
            request = ms.TrainRequest(epoch=self.number, body=file)
            until = self.times.commit - self.terms.deadlines.margin
            answers = self.asking.ask(ms.Committed, dict.fromkeys(invited, request), until=until)
            for name, answer in answers.items():
                self.journal.keep(self.number, f"signed {name}", f"{answer.digest} {answer.signature}".encode())
            return Invited(
                invited=tuple(invited),
                names={name: names.get(name, "") for name in invited},
                signed=tuple(answers),
                traffic=self.asking.traffic(),
            )

        return self.journal.once(self.number, Invited, ask)

    def relay(self, invited: Invited) -> None:
        """Send the signed commitments, many in one transaction; the contract skips whoever has sent its own."""

        def send() -> Relayed:
            signed = [entry for name in invited.signed if (entry := self._signed(name)) is not None]
            batches = [signed[at : at + MAX_PROVIDERS] for at in range(0, len(signed), MAX_PROVIDERS)]
            try:
                done = [self._relay(batch, f"relay {i}") for i, batch in enumerate(batches)]
            except RevertedError as error:  # too late: who was ready has sent its own
                log.warning("epoch %d: commitments were not relayed: %s", self.number, error.reason)
                done = []
            return Relayed(sent=tuple(done))

        self.journal.once(self.number, Relayed, send)
        count = len(self.act.trading.commitments(self.number))
        self.tell(self.number, "commit", f"{count} of {len(invited.invited)} providers committed")

    def offers(self, excluded: set[str]) -> dict[str, Offer]:
        """What opens the commitments of everybody who is not excluded, checked against the chain."""

        def ask() -> Offers:
            digests = dict(sorted(self.act.trading.commitments(self.number).items()))
            wanted = [name for name in digests if name not in excluded]
            request = ms.OfferRequest(epoch=self.number)
            answers = self.asking.ask(ms.Offered, dict.fromkeys(wanted, request), until=self.times.buy)
            shown = {name: self._shown(name, answers[name], digests[name]) for name in wanted if name in answers}
            good = {name: offer for name, offer in shown.items() if offer is not None}
            return Offers(committed=tuple(digests), shown=good, traffic=self.asking.traffic())

        found = self.journal.once(self.number, Offers, ask)
        return {name: offer_of(name, shown) for name, shown in found.shown.items()}

    # --- after the rule has decided ----------------------------------------------------------------------------------

    def shares(self, desk: Desk, weights: Mapping[str, float]) -> Shares:
        """Integer weights of what was delivered, such that the next model can be published.

        Providers that push it hard out of its range are left out, and still paid: a sum that no contract takes would
        cost the penalty. Where nobody is left, or nobody pushes hard, the model stays as it is.
        """
        left = dict(weights)
        while True:
            shares = self._weighed(desk, left)
            try:
                self.settler.aggregate(desk.file, shares, epoch=self.number)
                return shares
            except RangeError as error:
                pusher = desk.hardest_push(shares)
                blamed, what = (pusher, "left out") if pusher else (self.act.account.address, "nobody is listed")
                self.journal.remark(self.number, blamed, "out of range", f"{what}: {error}")
                left = {name: weight for name, weight in left.items() if pusher and name != pusher}

    def _weighed(self, desk: Desk, weights: Mapping[str, float]) -> Shares:
        """The heaviest, where there are more than fit."""
        here = {name: weight for name, weight in weights.items() if weight > 0 and name in desk.purchases.here}
        heaviest = sorted(sorted(here), key=lambda name: -here[name])[: self.settler.slots]
        kept = sorted(heaviest)
        units = integer_weights([here[name] for name in kept]) if kept else []
        pairs = ((name, unit) for name, unit in zip(kept, units, strict=True) if unit > 0)
        return {name: Share(desk.purchases.here[name], unit) for name, unit in pairs}

    def accept(self, purchases: Purchases, shares: Shares) -> None:
        """Say on chain who delivered but is not in the aggregate; publishing says it of those who are.

        Those left out here put their keys on chain, and are accepted then.
        """

        def send() -> Acceptance:
            open_ = (
                {SaleState.BOUGHT, SaleState.REVEALED} if self.asking.now() <= self.times.keys else {SaleState.REVEALED}
            )
            named, read = sorted(purchases.here.keys() - shares.keys()), self.act.trading.read_provider
            chosen = tuple(name for name in named if read(self.number, name).state in open_)[:MAX_PROVIDERS]
            if not chosen:
                return Acceptance(providers=(), sent=None)
            account, key = self.act.account, self.act.key("accept")
            try:
                done = self.act.trading.accept(self.number, providers=chosen, account=account, key=key)
            except RevertedError as error:
                log.warning("epoch %d: nobody was accepted: %s", self.number, error.reason)
                return Acceptance(providers=(), sent=None)
            return Acceptance(providers=chosen, sent=sent(done, "accept"))

        self.journal.once(self.number, Acceptance, send)

    def publish(self, base: bytes, shares: Shares) -> bytes:
        """Aggregate in integers and post the result; the new model's file."""

        def aggregate() -> Aggregated:
            file = self.settler.aggregate(base, shares, epoch=self.number)
            self.journal.keep(self.number, "model", file)
            return Aggregated(digest=hashlib.sha256(file).hexdigest())

        def send() -> ModelPosted:
            done = self.settler.publish(self.act, self.model(), shares)
            weights = {name: share.weight for name, share in shares.items()}
            return ModelPosted(weights=weights, sent=sent(done, "publish_model"))

        self.journal.once(self.number, Aggregated, aggregate)
        self.journal.once(self.number, ModelPosted, send)
        return self.model()

    def hand_out(self, file: bytes) -> None:
        """Send everybody who committed the new model."""

        def ask() -> HandedOut:
            found = self.journal.recall(self.number, Offers)
            committed = found.committed if found else ()
            request = ms.PublishedFile(epoch=self.number, body=file)
            times = self.terms.deadlines  # keys that come on chain are answered before the publish window ends
            until = min(self.asking.now() + times.settle // 4, self.times.publish - times.margin)
            verdicts = self.asking.ask(ms.FileVerdict, dict.fromkeys(committed, request), until=until)
            accepted = tuple(name for name, verdict in verdicts.items() if verdict.accepted)
            return HandedOut(asked=len(committed), accepted=accepted, traffic=self.asking.traffic())

        self.journal.once(self.number, HandedOut, ask)
        self.tell(self.number, "publish", f"model of epoch {self.number} is on chain and handed out")

    def prove(self, purchases: Purchases, base: bytes, file: bytes, shares: Shares) -> None:
        """Prove what the scheme wants proved; keys that come on chain meanwhile are answered."""

        def send() -> Proved:
            act = replace(self.act, meanwhile=purchases.look_now_and_then())
            done = self.settler.prove(act, base, file, shares)
            return Proved(sent=tuple(sent(one, name) for name, one in done.items()))

        self.journal.once(self.number, Proved, send)

    # --- the end -----------------------------------------------------------------------------------------------------

    def finish(self, purchases: Purchases | None) -> Phase:
        """Answer keys that come on chain, whenever a window has ended, until nothing can change any more."""
        trading, times = self.act.trading, self.times
        while True:
            if purchases is not None:
                purchases.answer_reveals()
            state, now = trading.read_epoch(self.number), trading.chain.now()
            ends = (times.buy, times.keys, times.publish, state.deadline)  # the last: of a proof, or of refutations
            if state.phase.final or now > max(ends):
                break
            self.act.clock.wait_until(min(end for end in ends if end >= now) + 1)
        if purchases is not None and now > times.keys:
            purchases.blame_silent()
        return state.phase

    def pay(self) -> PaidOut:
        """Have everybody paid who is owed something, take back what is ours, and say that the epoch is final."""

        def send() -> PaidOut:
            done = [*pay_providers(self.act), *take_refund(self.act)]
            until = self.asking.now() + self.terms.deadlines.settle
            self.asking.ask(ms.ClaimPaid, goodbyes(self.journal, self.number), until=until)
            claims = self.act.trading.events(ev.Claimed, epoch=self.number)  # how much is the chain's word, not theirs
            refunds = self.act.trading.events(ev.Refunded, epoch=self.number)
            return PaidOut(
                paid={event.provider: event.amount for event in claims},
                refunded=sum(event.amount for event in refunds),
                sent=tuple(done),
                traffic=self.asking.traffic(),
            )

        return self.journal.once(self.number, PaidOut, send)

    def over(self, phase: Phase, paid: PaidOut, quality: Measurement) -> None:
        """Write the end down."""
        end = Over(phase=phase.name, refunded=paid.refunded, quality=quality)
        self.journal.once(self.number, Over, lambda: end)
        self.tell(self.number, "over", f"{phase.name.lower()}; {paid.refunded} wei back to the acquirer")

    # --- parts -------------------------------------------------------------------------------------------------------

    def model(self) -> bytes:
        """The file that this epoch published."""
        return self.journal.blob(self.number, "model") or b""

    def _signed(self, name: str) -> SignedCommit | None:
        kept = self.journal.blob(self.number, f"signed {name}") or b""
        return self.asking.read(ms.Committed, name, lambda: read_signed(name, kept))

    def _shown(self, name: str, answer: ms.Offered, digest: bytes) -> Shown | None:
        place = OfferContext.of(self.act.trading, self.number)
        return self.asking.read(ms.Offered, name, lambda: read_offer(name, answer, digest=digest, place=place))

    def _relay(self, entries: list[SignedCommit], step: str) -> Sent:
        account, key = self.act.account, self.act.key(step)
        done = self.act.trading.commit_models(self.number, entries=entries, account=account, key=key)
        return sent(done, "commit_models")
