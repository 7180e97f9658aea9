"""One epoch as the acquirer runs it, step by step. Each step is in the journal when it is done, and is recalled then.

    open → invite → relay → (commitments close) → offers → trade: score, buy, weigh → accept, publish → hand out → prove
    → answer keys on chain → pay → over

Whatever a step sends on chain is sent once, under the step's name. So a killed acquirer resumes by being started again.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from martfl.chain import events as ev
from martfl.chain.network import RevertedError
from martfl.chain.state import MAX_PROVIDERS, Offer, Phase, SignedClaim, SignedCommit, State
from martfl.errors import InputError
from martfl.market import messages as ms
from martfl.market.asking import NO_ANSWER, Asking
from martfl.market.desk import Desk
from martfl.market.errors import MarketError
from martfl.market.journal import Journal
from martfl.market.purchases import Purchases
from martfl.market.settling import Acting, Settler, Share, Shares
from martfl.market.steps import (
    Accepted,
    Aggregated,
    HandedOut,
    Invited,
    ModelPosted,
    Offers,
    Opened,
    Over,
    Paid,
    Proved,
    Relayed,
    Sent,
    Shown,
)
from martfl.market.terms import Terms
from martfl.market.watching import sent
from martfl.settlement.weights import integer_weights

Tell = Callable[[int, str, str], None]  # epoch, step, what happened
PROOF = ("draw_samples", "submit_randomness", "commit_inputs", "verify_aggregation")  # what `prove` sends, in order


@dataclass
class Epoch:
    """The steps of one epoch that concern the chain and the providers; judging is the desk's."""

    terms: Terms
    act: Acting
    asking: Asking
    settler: Settler
    journal: Journal
    tell: Tell

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
                raise MarketError(f"epoch {self.number} was to be opened, the chain opened {done.epoch}")
            state, times = trading.read_epoch(self.number), trading.deadlines(self.number)
            windows = {"commit": times.commit, "buy": times.buy, "keys": times.keys, "publish": times.publish}
            return Opened(deposit=amount, reward=state.reward, **windows, sent=sent(done, "new_epoch"))

        done = self.journal.once(self.number, Opened, send)
        self.tell(self.number, "open", f"{done.deposit} wei deposited for reward and penalty")
        return done

    def invite(self, file: bytes, invited: list[str], names: Mapping[str, str]) -> Invited:
        """Send the model to who is invited; they train, and sign commitments for us to send."""

        def ask() -> Invited:
            request = ms.TrainRequest(epoch=self.number, body=file)
            answers = self.asking.ask(ms.Committed, dict.fromkeys(invited, request))
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
        """Send the signed commitments, many in one transaction; who has sent its own is skipped by the contract."""

        def send() -> Relayed:
            signed = [entry for name in invited.signed if (entry := self._signed(name)) is not None]
            batches = [signed[at : at + MAX_PROVIDERS] for at in range(0, len(signed), MAX_PROVIDERS)]
            done = [
                self.act.trading.commit_models(
                    self.number, entries=batch, account=self.act.account, key=self.act.key(f"relay {i}")
                )
                for i, batch in enumerate(batches)
            ]
            return Relayed(sent=tuple(sent(one, "commit_models") for one in done))

        self.journal.once(self.number, Relayed, send)
        count = len(self.act.trading.commitments(self.number))
        self.tell(self.number, "commit", f"{count} of {len(invited.invited)} providers committed")

    def offers(self, excluded: set[str]) -> dict[str, Offer]:
        """What opens the commitments of everybody who is not excluded, checked against the chain."""

        def ask() -> Offers:
            digests = dict(sorted(self.act.trading.commitments(self.number).items()))
            wanted = [name for name in digests if name not in excluded]
            answers = self.asking.ask(ms.Offered, dict.fromkeys(wanted, ms.OfferRequest(epoch=self.number)))
            shown = {name: self._shown(name, answers[name], digests[name]) for name in wanted if name in answers}
            good = {name: offer for name, offer in shown.items() if offer is not None}
            return Offers(committed=tuple(digests), shown=good, traffic=self.asking.traffic())

        found = self.journal.once(self.number, Offers, ask)
        return {name: _offer(name, shown) for name, shown in found.shown.items()}

    # --- after the rule has decided ----------------------------------------------------------------------------------

    def shares(self, desk: Desk, weights: Mapping[str, float]) -> Shares:
        """Integer weights of what was delivered, the heaviest first where there are more than fit."""
        here = {name: weight for name, weight in weights.items() if weight > 0 and name in desk.purchases.here}
        heaviest = sorted(sorted(here), key=lambda name: -here[name])[: self.settler.slots]
        kept = sorted(heaviest)
        units = integer_weights([here[name] for name in kept]) if kept else []
        pairs = ((name, unit) for name, unit in zip(kept, units, strict=True) if unit > 0)
        return {name: Share(desk.purchases.here[name], unit) for name, unit in pairs}

    def accept(self, purchases: Purchases, shares: Shares) -> None:
        """Say on chain who delivered and is not in the aggregate; who is, is said to by publication."""

        def send() -> Accepted:
            named = [name for name in sorted(purchases.here) if name not in shares]
            chosen = tuple(name for name in named if self._state(name) in (State.BOUGHT, State.REVEALED))
            if not chosen:
                return Accepted(providers=(), sent=None)
            done = self.act.trading.accept(
                self.number, providers=chosen, account=self.act.account, key=self.act.key("accept")
            )
            return Accepted(providers=chosen, sent=sent(done, "accept"))

        self.journal.once(self.number, Accepted, send)

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
            request = ms.Published(epoch=self.number, body=file)
            verdicts = self.asking.ask(ms.Verdict, dict.fromkeys(committed, request))
            accepted = tuple(name for name, verdict in verdicts.items() if verdict.accepted)
            return HandedOut(asked=len(committed), accepted=accepted, traffic=self.asking.traffic())

        self.journal.once(self.number, HandedOut, ask)
        self.tell(self.number, "publish", f"model of epoch {self.number} is on chain and handed out")

    def prove(self, base: bytes, file: bytes, shares: Shares) -> None:
        """Prove what the scheme wants proved."""

        def send() -> Proved:
            done = self.settler.prove(self.act, base, file, shares)
            return Proved(sent=tuple(sent(one, name) for one, name in zip(done, PROOF, strict=False)))

        self.journal.once(self.number, Proved, send)

    # --- the end -----------------------------------------------------------------------------------------------------

    def finish(self, purchases: Purchases | None) -> Phase:
        """Answer keys that come on chain, until nothing can change any more."""
        trading, times = self.act.trading, self.act.trading.deadlines(self.number)
        for moment in (times.buy, times.keys, times.publish):
            if purchases is not None:
                purchases.answer_reveals()
            state = trading.read_epoch(self.number)
            if state.phase.final:
                return state.phase
            self.act.clock.wait_until(moment + 1)
        if not (state := trading.read_epoch(self.number)).phase.final:  # sampled: a proof that is late, or refutable
            self.act.clock.wait_until(state.deadline + 1)
        return trading.read_epoch(self.number).phase

    def pay(self) -> Paid:
        """Have everybody paid who is owed something, take back what is ours, and say that the epoch is final."""

        def send() -> Paid:
            done = [*self._pay_providers(), *self._take_refund()]
            found = self.journal.recall(self.number, Offers)
            request = ms.Closed(epoch=self.number)
            self.asking.ask(ms.Claimed, dict.fromkeys(found.committed if found else (), request))
            claims = self.act.trading.events(ev.Claimed, epoch=self.number)  # how much is the chain's word, not theirs
            refunds = self.act.trading.events(ev.Refunded, epoch=self.number)
            return Paid(
                paid={event.provider: event.amount for event in claims},
                refunded=sum(event.amount for event in refunds),
                sent=tuple(done),
                traffic=self.asking.traffic(),
            )

        return self.journal.once(self.number, Paid, send)

    def over(self, phase: Phase, paid: Paid, quality: float) -> None:
        """Write the end down."""
        end = Over(phase=phase.name, refunded=paid.refunded, quality=quality)
        self.journal.once(self.number, Over, lambda: end)
        self.tell(self.number, "over", f"{phase.name.lower()}; {paid.refunded} wei back to the acquirer")

    # --- parts -------------------------------------------------------------------------------------------------------

    def model(self) -> bytes:
        """The file that this epoch published."""
        return self.journal.blob(self.number, "model") or b""

    def _state(self, name: str) -> State:
        return self.act.trading.read_provider(self.number, name).state

    def _signed(self, name: str) -> SignedCommit | None:
        kept = (self.journal.blob(self.number, f"signed {name}") or b"").decode().split()
        try:
            digest, signature = (bytes.fromhex(part) for part in kept)
        except ValueError:
            self.journal.remark(self.number, name, NO_ANSWER, "train: digest and signature must be hexadecimal")
            return None
        if len(digest) != 32 or len(signature) != 65:
            self.journal.remark(self.number, name, NO_ANSWER, "train: a digest has 32 bytes, a signature 65")
            return None
        return SignedCommit(provider=name, digest=digest, signature=signature)

    def _shown(self, name: str, answer: ms.Offered, digest: bytes) -> Shown | None:
        try:
            ask = int(answer.ask)
            shown = Shown(commitment=answer.body.hex(), root=answer.root, key_hash=answer.key_hash, ask=ask)
            offer = _offer(name, shown)
        except (ValueError, InputError) as error:
            self.journal.remark(self.number, name, NO_ANSWER, f"offer: {error}")
            return None
        trading = self.act.trading
        known = offer.digest(chain_id=trading.chain.chain_id, market=trading.address, epoch=self.number)
        if known != digest:
            self.journal.remark(self.number, name, NO_ANSWER, "offer: it does not open the commitment on chain")
            return None
        reward = self.act.trading.read_epoch(self.number).reward
        if ask > reward:
            self.journal.remark(self.number, name, NO_ANSWER, f"offer: asks {ask} wei, the reward is {reward}")
            return None
        return shown

    def _pay_providers(self) -> list[Sent]:
        names = self.act.trading.bought(self.number)
        owed = [n for n in names if self.act.trading.read_provider(self.number, n).claimable]
        done = []
        for i, at in enumerate(range(0, len(owed), MAX_PROVIDERS)):
            payees = [SignedClaim(provider=name) for name in owed[at : at + MAX_PROVIDERS]]
            key = self.act.key(f"pay {i}")
            paid = self.act.trading.claim_rewards(self.number, payees=payees, account=self.act.account, key=key)
            done.append(sent(paid, "claim_rewards"))
        return done

    def _take_refund(self) -> list[Sent]:
        state = self.act.trading.read_epoch(self.number)
        if state.refundable == 0 and not state.refunded:
            return []
        try:
            done = self.act.trading.claim_reward(self.number, account=self.act.account, key=self.act.key("claim"))
        except RevertedError:
            return []
        return [sent(done, "claim_reward")]


def _offer(name: str, shown: Shown) -> Offer:
    return Offer(
        provider=name,
        commitment=bytes.fromhex(shown.commitment),
        root=bytes.fromhex(shown.root),
        key_hash=bytes.fromhex(shown.key_hash),
        ask=shown.ask,
    )
