"""The buyer: opens epochs, judges under encryption, buys, aggregates, publishes, settles, and moves its baseline.

An epoch is a list of steps. Each is in the journal when it is done, and may be run again when it is not: whatever it
sends on chain is sent once, under the step's name. So a killed acquirer resumes by being started again.
"""

import hashlib
import logging
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from eth_account.signers.local import LocalAccount

from martfl.chain import events as ev
from martfl.chain.network import Chain, ChainError, RevertedError
from martfl.chain.state import MAX_PROVIDERS, EpochState, Phase
from martfl.chain.state import Terms as ContractTerms
from martfl.chain.trading import Trading
from martfl.market import messages as ms
from martfl.market.buying import OBJECTION, OFFENCES, Desk, sent
from martfl.market.errors import MarketError
from martfl.market.journal import Journal
from martfl.market.link import Clock, Link
from martfl.market.memory import pack_state, unpack_state, write_model
from martfl.market.rules import check_contract, last_second
from martfl.market.settling import Acting, Settler, Share, Shares
from martfl.market.task import Floats, Task
from martfl.market.terms import Terms
from martfl.selection import Role, Selection, make_strategy
from martfl.selection.strategy import State
from martfl.settlement.weights import integer_weights

log = logging.getLogger(__name__)
Tell = Callable[[int, str, str], None]  # epoch, step, what happened
KEPT_BLOBS = frozenset({"model", "state"})  # of an epoch that is over
GENESIS = 0  # the journal's epoch for what concerns the whole market


def contract_terms(terms: Terms, settler: Settler, initial: Floats, acquirer: str) -> ContractTerms:
    """The part of the terms that the contract enforces."""
    return ContractTerms(
        acquirer=acquirer,
        commit_window=terms.deadlines.commit,
        prepare_window=terms.deadlines.prepare,
        publish_window=terms.deadlines.publish,
        settle_window=terms.deadlines.settle,
        advance_fee=terms.money.advance_fee,
        penalty_ratio=terms.money.penalty_ratio,
        minimum_deposit=terms.money.minimum_deposit,
        settlement=settler.start(initial),
        terms_hash=terms.hash,
        token=terms.money.token,
    )


def deploy_market(
    chain: Chain, *, terms: Terms, settler: Settler, initial: Floats, account: LocalAccount, key: str | None = None
) -> Trading:
    """Put the market's contract on chain; with a `key`, once."""
    posted = contract_terms(terms, settler, initial, account.address)
    if terms.settlement.scheme == "exact":
        return Trading.deploy(chain, terms=posted, account=account, key=key)
    from martfl.chain.sampled import SampledTrading  # its prover's libraries load slowly

    return SampledTrading.deploy(chain, terms=posted, account=account, key=key)


@dataclass
class Acquirer:
    """One buyer in one market."""

    terms: Terms
    task: Task
    root: Any
    trading: Trading
    settler: Settler
    link: Link
    clock: Clock
    journal: Journal
    account: LocalAccount
    seed: int = 0
    seconds: float = 600.0  # how long to wait for answers
    names: Mapping[str, str] = field(default_factory=dict)  # address → what people call the provider
    tell: Tell = field(default=lambda epoch, step, text: log.info("epoch %d, %s: %s", epoch, step, text))

    def __post_init__(self) -> None:
        posted = self.trading.terms()
        check_contract(self.terms, self.trading, parameters=self.settler.parameters)
        if posted.acquirer != self.account.address:
            raise MarketError(f"the market's acquirer is {posted.acquirer}, this wallet is {self.account.address}")
        if self.trading.epoch_count() > self.finished() + 1:
            raise MarketError("the chain is ahead of the journal: go on with the journal that the market was run with")
        self.strategy = make_strategy(self.terms.selection.rule, **self.terms.selection.options)

    def run(self, epochs: int) -> None:
        """Trade until `epochs` epochs are over, going on with one that was interrupted."""
        self.journal.once(GENESIS, "market", self._introduce)
        while (epoch := self.finished() + 1) <= epochs:
            self.run_epoch(epoch)

    def _introduce(self) -> dict[str, Any]:
        """The market in the words of its terms, for whoever reads the journal alone."""
        where = {"contract": self.trading.address, "since": self.trading.since, "chain": self.trading.chain.chain_id}
        start = {"acquirer": self.account.address, "root accuracy": self._measure(GENESIS)}
        return {**where, **start, "parameters": self.settler.parameters, "terms": asdict(self.terms)}

    def finished(self) -> int:
        """How many epochs are over, whatever their end."""
        done = [step.epoch for step in self.journal.steps() if step.name == "over"]
        return max(done, default=0)

    def run_epoch(self, epoch: int) -> None:
        """All steps of one epoch; those done before are recalled."""
        self._open(epoch)
        self.journal.forget(epoch - 1, keep=KEPT_BLOBS)  # where we were killed before
        act = Acting(self.trading, self.account, self.journal, self.clock, epoch)
        self._invite(act)
        self.clock.wait_until(self._commit_deadline(epoch) + 1)
        desk = self._desk(act)
        selection: Selection | None = None
        try:
            selection = self._trade(desk)
        except ChainError as error:
            if not self._lapsed(epoch):
                raise
            self.journal.remark(epoch, self.account.address, "late", str(error))
            self.tell(epoch, "late", f"a deadline passed, the epoch goes to the providers: {error}")
        self._close(desk, selection)

    def _trade(self, desk: Desk) -> Selection:
        selection = self._select(desk)
        if self._prepare(desk, selection):
            shares = self._collect(desk)
            if shares:
                self._publish(desk, shares)
                self._settle(desk, shares)
        return selection

    # --- steps ---------------------------------------------------------------------------------------------------

    def _open(self, epoch: int) -> None:
        """Open the epoch on chain with reward and penalty in one payment."""

        def send() -> dict[str, Any]:
            amount = self.terms.money.deposit
            nonce = secrets.token_bytes(32)
            key = f"{self.trading.address}/{epoch}/open"
            done = self.trading.new_epoch(nonce=nonce, amount=amount, account=self.account, key=key)
            if done.epoch != epoch:
                raise MarketError(f"epoch {epoch} was to be opened, the chain opened {done.epoch}")
            deadline = done.event(ev.EpochOpened).deadline
            return {"deposit": str(amount), "deadline": deadline, **sent(done)}

        done = self.journal.once(epoch, "open", send)
        self.tell(epoch, "open", f"{int(done['deposit'])} wei deposited for reward and penalty")

    def _invite(self, act: Acting) -> None:
        """Send the model to everybody in good standing; they train and commit on chain."""

        def ask() -> dict[str, Any]:
            file = self.model_file(self._base(act.epoch))
            desk = self._desk(act, file=file, commitments={})
            invited = [name for name in self.link.members() if not self.excluded(name, before=act.epoch)]
            request = ms.TrainRequest(epoch=act.epoch, body=file)
            answers = desk.ask(ms.Committed, dict.fromkeys(invited, request))
            names = {name: self.names.get(name, "") for name in invited}
            return {"invited": invited, "names": names, "committed": list(answers), "traffic": _traffic(desk)}

        done = self.journal.once(act.epoch, "invite", ask)
        self.tell(act.epoch, "commit", f"{len(done['committed'])} of {len(done['invited'])} providers committed")

    def _select(self, desk: Desk) -> Selection:
        """Score, explore, weigh; the decision and the strategy's memory are written down together."""
        epoch = desk.act.epoch
        rng = np.random.default_rng([self.seed, epoch])
        state, selection = self.strategy.decide(self._state(epoch), desk, rng)
        self.journal.keep(epoch, "decided state", pack_state(state))
        self.journal.once(epoch, "select", lambda: _describe(selection, desk))
        kept = sum(weight > 0 for weight in selection.weights)
        self.tell(epoch, "select", f"{selection.distribution}; {kept} of {len(desk.providers)} bought by weight")
        return selection

    def _prepare(self, desk: Desk, selection: Selection) -> bool:
        """Fix the weights on chain; whether there is anything to buy."""
        desk.recheck_scores()
        out = desk.dropped()
        chosen = {n: w for n, w in zip(desk.providers, selection.weights, strict=True) if w > 0 and n not in out}
        heaviest = sorted(chosen, key=lambda name: -chosen[name])[: self._room()]
        kept = {name: weight for name, weight in chosen.items() if name in heaviest}
        units = dict(zip(kept, integer_weights(list(kept.values())), strict=True)) if kept else {}

        def send() -> dict[str, Any]:
            epoch, key = desk.act.epoch, desk.act.key("prepare")
            providers, weights = list(units), list(units.values())
            done = self.trading.prepare(epoch, providers=providers, weights=weights, account=self.account, key=key)
            return {"weights": units, "deadline": self.trading.read_epoch(epoch).deadline, **sent(done)}

        self.journal.once(desk.act.epoch, "prepare", send)
        return bool(units)

    def _collect(self, desk: Desk) -> Shares:
        """Fetch what was bought, drop who does not deliver it honestly; who is left makes the aggregate."""
        epoch, begun = desk.act.epoch, time.perf_counter()
        weights: dict[str, int] = self._result(epoch, "prepare")["weights"]
        gone = desk.dropped()
        wanted = [name for name in weights if name not in gone]
        desk.fetch(wanted)
        desk.drop_offenders([name for name in wanted if name not in desk.delivered])
        shares = {name: Share(desk.delivered[name], weights[name]) for name in wanted if name in desk.delivered}
        taken = time.perf_counter() - begun
        if self.journal.recall(epoch, "collect") is None:
            done = {"delivered": list(shares), "traffic": _traffic(desk)}
            self.journal.record(epoch, "collect", done, seconds=taken)
        self.tell(epoch, "deliver", f"{len(shares)} of {len(weights)} delivered honestly")
        return shares

    def _publish(self, desk: Desk, shares: Shares) -> None:
        """Aggregate in integers, post the result, hand the file out."""
        act = desk.act

        def aggregate() -> str:
            file = self.settler.aggregate(desk.file, shares, epoch=act.epoch)
            self.journal.keep(act.epoch, "model", file)
            return hashlib.sha256(file).hexdigest()

        self.journal.once(act.epoch, "aggregate", aggregate)
        file = self._blob(act.epoch, "model")
        write_model(self.journal.folder / "models", act.epoch, file)

        def send() -> dict[str, Any]:
            done = self.settler.publish(act, file, shares)
            return {"deadline": self.trading.read_epoch(act.epoch).deadline, **sent(done)}

        self.journal.once(act.epoch, "publish", send)
        self.journal.once(act.epoch, "hand out", lambda: self._hand_out(desk, file))
        self.tell(act.epoch, "publish", f"model of epoch {act.epoch} is on chain and handed out")

    def _hand_out(self, desk: Desk, file: bytes) -> dict[str, Any]:
        request = ms.Published(epoch=desk.act.epoch, body=file)
        verdicts = desk.ask(ms.Verdict, dict.fromkeys(desk.providers, request))
        accepted = [name for name, verdict in verdicts.items() if verdict.accepted]
        return {"accepted": accepted, "asked": len(desk.providers), "traffic": _traffic(desk)}

    def _settle(self, desk: Desk, shares: Shares) -> None:
        """Prove what the scheme wants proved, and wait until the epoch is final."""
        act = desk.act

        def prove() -> dict[str, Any]:
            done = self.settler.prove(act, desk.file, self._blob(act.epoch, "model"), shares)
            return {"sent": [sent(step) for step in done]}

        self.journal.once(act.epoch, "settle", prove)

    def _close(self, desk: Desk, selection: Selection | None) -> None:
        """Take back what is ours, let the others claim, choose the next baseline."""
        act, epoch = desk.act, desk.act.epoch
        phase = self._final_phase(act)
        self._note_objections(epoch)
        claim = self.journal.once(epoch, "claim", lambda: self._claim(act))
        request = ms.Closed(epoch=epoch)
        self.journal.once(epoch, "closed", lambda: self._ask_claims(desk, request))
        if selection is not None:
            self.journal.once(epoch, "learn", lambda: self._learn(desk, selection))
        model = epoch if phase is Phase.SETTLED else self._base(epoch)
        summary = {"phase": phase.name, "refunded": claim["amount"], "root accuracy": self._measure(model)}
        self.journal.once(epoch, "over", lambda: summary)
        self.journal.forget(epoch, keep=KEPT_BLOBS)
        self.tell(epoch, "over", f"{phase.name.lower()}; {claim['amount']} wei back to the acquirer")

    def _final_phase(self, act: Acting) -> Phase:
        state = self.trading.read_epoch(act.epoch)
        if not state.phase.final:  # settled by silence, once its window has passed
            self.clock.wait_until(last_second(state, self.terms) + 1)
            state = self.trading.read_epoch(act.epoch)
        if not state.phase.final:
            with suppress(RevertedError):  # somebody else was first
                self.trading.expire(act.epoch, account=self.account, key=act.key("expire"))
            state = self.trading.read_epoch(act.epoch)
        return state.phase

    def _note_objections(self, epoch: int) -> None:
        """Who objects to a right file is after the penalty. The chain counts voices only, so it is remembered here."""
        objected = self.trading.events(ev.Objected, epoch=epoch) if self.trading.scheme == "exact" else []
        file = self.journal.blob(epoch, "model")
        if not objected or file is None:
            return
        with suppress(MarketError):  # our own fault
            self.settler.check(self.trading, file, epoch=epoch)
            for event in objected:
                self.journal.remark(epoch, event.provider, OBJECTION, "objected to a file that opens the commitment")

    def _lapsed(self, epoch: int) -> bool:
        """Whether the epoch is over, or will be as soon as anybody says so."""
        state = self.trading.read_epoch(epoch)
        return state.phase.final or self.trading.chain.now() > last_second(state, self.terms)

    def _claim(self, act: Acting) -> dict[str, Any]:
        if self.trading.refundable(act.epoch) == 0 and not self.trading.read_epoch(act.epoch).refunded:
            return {"amount": "0", "gas": 0}
        done = self.trading.claim_reward(act.epoch, account=self.account, key=act.key("claim"))
        return {"amount": str(getattr(done.events[-1], "amount", 0)), **sent(done)}

    def _ask_claims(self, desk: Desk, request: ms.Closed) -> dict[str, Any]:
        answers = desk.ask(ms.Claimed, dict.fromkeys(desk.providers, request))
        claims = self.trading.events(ev.Claimed, epoch=request.epoch)  # how much is the chain's word, not theirs
        paid = {event.party: str(event.amount) for event in claims if event.party in desk.providers}
        return {"claimed": dict.fromkeys(answers, "0") | paid, "traffic": _traffic(desk)}

    def _learn(self, desk: Desk, selection: Selection) -> bool:
        delivered = {i: desk.update_of(n) for i, n in enumerate(desk.providers) if n in desk.delivered}
        state = unpack_state(self._blob(desk.act.epoch, "decided state"))
        learnt = self.strategy.learn(state, selection, desk, delivered)
        self.journal.keep(desk.act.epoch, "state", pack_state(learnt))
        return True

    def _measure(self, epoch: int) -> float:
        """Share of the root rows that the model of `epoch` gets right: all that an acquirer can measure."""
        logits = self.task.logits(self.settler.floats(self.model_file(epoch)), self.root)
        return float(np.mean(logits.argmax(axis=1) == self.task.labels(self.root)))

    # --- what it knows -------------------------------------------------------------------------------------------

    def excluded(self, name: str, *, before: int) -> bool:
        """Whether a provider's offences in the epochs before are too many for the terms."""
        limit = self.terms.reputation.exclude_after
        remarks = self.journal.remarks(subject=name)
        offences = [remark for remark in remarks if remark.kind in (*OFFENCES, OBJECTION) and remark.epoch < before]
        return limit > 0 and len(offences) >= limit

    def _room(self) -> int:
        """How many providers one aggregation can take."""
        slots = self.terms.settlement.providers if self.terms.settlement.scheme == "sampled" else MAX_PROVIDERS
        return min(slots, MAX_PROVIDERS)

    def model_file(self, epoch: int) -> bytes:
        """The model that `epoch` published; 0 is the initial one."""
        if epoch == GENESIS:
            self.journal.keep(GENESIS, "model", self.settler.first_file(self.task.initial()))
        return self._blob(epoch, "model")

    def _desk(self, act: Acting, *, file: bytes | None = None, commitments: Mapping[str, bytes] | None = None) -> Desk:
        if commitments is None:  # anybody can commit on chain; who is excluded is not bought
            posted = sorted(self.trading.commitments(act.epoch).items())  # who was faster makes no difference
            commitments = {name: c for name, c in posted if not self.excluded(name, before=act.epoch)}
        return Desk(
            act=act,
            terms=self.terms,
            task=self.task,
            root=self.root,
            link=self.link,
            settler=self.settler,
            file=self.model_file(self._base(act.epoch)) if file is None else file,
            commitments=commitments,
            seconds=self.seconds,
        )

    def _base(self, epoch: int) -> int:
        return self.trading.read_epoch(epoch).base

    def _commit_deadline(self, epoch: int) -> int:
        state: EpochState = self.trading.read_epoch(epoch)
        return state.deadline if state.phase is Phase.OPEN else 0

    def _state(self, epoch: int) -> State:
        for earlier in range(epoch - 1, GENESIS, -1):
            if (kept := self.journal.blob(earlier, "state")) is not None:
                return unpack_state(kept)
        return self.strategy.start()

    def _result(self, epoch: int, step: str) -> dict[str, Any]:
        done = self.journal.recall(epoch, step)
        if done is None:
            raise MarketError(f"step {step!r} of epoch {epoch} is not done")
        return dict(done.value)

    def _blob(self, epoch: int, name: str) -> bytes:
        kept = self.journal.blob(epoch, name)
        if kept is None:
            raise MarketError(f"the journal lacks {name!r} of epoch {epoch}")
        return kept


def _describe(selection: Selection, desk: Desk) -> dict[str, Any]:
    return {
        "providers": list(desk.providers),
        "scores": [None if np.isnan(score) else float(score) for score in selection.scores],
        "weights": selection.weights.tolist(),
        "roles": list(selection.roles),
        "labels": selection.labels.tolist(),
        "centroids": selection.centroids.tolist(),
        "distribution": selection.distribution,
        "reasons": [selection.reason(i) for i in range(len(desk.providers))],
        "baselines": len(desk.baselines),
        "baseline": None if selection.baseline is None else desk.providers[selection.baseline],
        "kept": [n for n, role in zip(desk.providers, selection.roles, strict=True) if role in _KEPT],
        "traffic": _traffic(desk),
    }


_KEPT = (Role.HIGH_QUALITY, Role.QUALIFIED)


def _traffic(desk: Desk) -> dict[str, dict[str, int]]:
    return {"sent": dict(desk.sent), "received": dict(desk.received)}
