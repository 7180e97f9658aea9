"""The buyer: runs epochs one after the other, and keeps what outlives them: models, the rule's memory, reputations."""

import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from eth_account.signers.local import LocalAccount

from martfl.arrays import Reals
from martfl.chain.deployment import ContractTerms
from martfl.chain.network import Chain, ChainError
from martfl.chain.open import deploy_trading
from martfl.chain.state import Phase
from martfl.chain.trading import Trading
from martfl.market import wire
from martfl.market.admission import Admission, Standing
from martfl.market.asking import Asking
from martfl.market.desk import Desk
from martfl.market.epoch import EpochSteps, Tell
from martfl.market.errors import MarketError
from martfl.market.journal import Journal
from martfl.market.link import Clock, Link
from martfl.market.models import write_model
from martfl.market.purchases import OFFENCES, Purchases
from martfl.market.rules import check_contract
from martfl.market.settling import Acting, Settler
from martfl.market.steps import MarketOpened, Measurement, ModelPosted, Over, Purchased, Selected
from martfl.market.task import check_task
from martfl.market.terms import Terms, to_toml
from martfl.market.weighing import described, make_rule, trade
from martfl.selection import Strategy
from martfl.selection.strategy import State
from martfl.tasks.protocol import Data, Task, as_task

log = logging.getLogger(__name__)
KEPT_BLOBS = frozenset({"model", "state"})  # of an epoch that is over
NEAR = 0.75  # of the range of a sampled model: the buyer is told
FULL = "at 100% nothing can be published any more; go on in a market with a wider range"
ADMISSION = 1  # the draw of newcomers, beside the rule's own
GENESIS = 0  # the journal's epoch for what concerns the whole market


def contract_terms(terms: Terms, settler: Settler, initial: Reals, acquirer: str) -> ContractTerms:
    """The part of the terms that the contract enforces.

    Examples:
        >>> from martfl.market.settling import make_settler
        >>> from martfl.market.terms import read_terms
        >>> terms = read_terms({'name': 'heart', 'task': {'entry': 'martfl.tasks.hospitals:heart'}})
        >>> posted = contract_terms(terms, make_settler(terms, parameters=3), np.zeros(3), '0x' + '11' * 20)
        >>> posted.terms_hash == terms.hash, posted.settlement.layout.parameters
        (True, 3)
    """
    times, money = terms.deadlines, terms.money
    return ContractTerms(
        acquirer=acquirer,
        commit_window=times.commit,
        buy_window=times.buy,
        key_window=times.keys,
        publish_window=times.publish,
        settle_window=times.settle,
        penalty_ratio=money.penalty_ratio,
        minimum_deposit=money.minimum_deposit,
        settlement=settler.start(initial),
        terms_hash=terms.hash,
        token=money.token,
    )


def deploy_market(
    chain: Chain, *, terms: Terms, settler: Settler, initial: Reals, account: LocalAccount, key: str | None = None
) -> Trading:
    """Put the market's contract on chain; with a `key`, once.

    Examples:
        >>> from martfl.chain.embedded import EmbeddedChain
        >>> from martfl.market.settling import make_settler
        >>> from martfl.market.terms import read_terms
        >>> terms = read_terms({'name': 'heart', 'task': {'entry': 'martfl.tasks.hospitals:heart'}})
        >>> chain = EmbeddedChain(accounts=1)
        >>> parts = {'terms': terms, 'settler': make_settler(terms, parameters=3), 'initial': np.zeros(3)}
        >>> trading = deploy_market(chain, **parts, account=chain.accounts[0], key='deploy')
        >>> again = deploy_market(chain, **parts, account=chain.accounts[0], key='deploy')
        >>> trading.address == again.address
        True
    """
    posted = contract_terms(terms, settler, initial, account.address)
    return deploy_trading(chain, terms=posted, account=account, key=key)


@dataclass
class Acquirer:
    """One buyer in one market.

    Examples:
        >>> from pathlib import Path
        >>> from martfl.demo.build import open_demo
        >>> from martfl.demo.options import remembered_options
        >>> market = Path('market')
        >>> with open_demo(remembered_options(market), market) as demo:
        ...     buyer = demo.acquirer
        ...     buyer.run(1)  # was done before: every step is recalled
        ...     buyer.finished(), len(buyer.known(before=2)), len(buyer.model_file(1)) > 0
        (1, 3, True)
    """

    terms: Terms
    task: Task
    root: Data
    trading: Trading
    settler: Settler
    link: Link
    clock: Clock
    journal: Journal
    account: LocalAccount
    seed: int | None = None  # of the rule's draws; a secret of the buyer's where it is not named
    seconds: float = 600.0  # how long to wait for answers
    names: Mapping[str, str] = field(default_factory=dict)  # address → what people call the provider
    tell: Tell = field(default=lambda epoch, step, text: log.info("epoch %d, %s: %s", epoch, step, text))

    def __post_init__(self) -> None:
        self.task = check_task(self.terms, as_task(self.task))
        check_contract(self.terms, self.trading, self.settler)
        posted = self.trading.terms()
        if posted.acquirer != self.account.address:
            raise MarketError(f"the market's acquirer is {posted.acquirer}, this wallet is {self.account.address}")
        if self.trading.epoch_count() > self.finished() + 1:
            raise MarketError("the chain is ahead of the journal: go on with the journal that the market was run with")
        self.strategy: Strategy = make_rule(self.terms.selection)

    def run(self, epochs: int) -> None:
        """Trade until `epochs` epochs are over, going on with one that was interrupted."""
        opened = self.journal.once(GENESIS, MarketOpened, self._introduce)
        if (opened.chain, opened.contract) != (self.trading.chain.chain_id, self.trading.address):
            raise MarketError(
                f"the journal in {self.journal.folder} is of {opened.contract} on chain {opened.chain}, not of "
                f"{self.trading.address} on chain {self.trading.chain.chain_id}"
            )
        while (epoch := self.finished() + 1) <= epochs:
            self.run_epoch(epoch, seed=opened.seed)

    def finished(self) -> int:
        """How many epochs are over, whatever their end."""
        done = [entry.epoch for entry in self.journal.entries() if isinstance(entry.value, Over)]
        return max(done, default=0)

    def run_epoch(self, number: int, *, seed: int) -> None:
        """All steps of one epoch; those done before are recalled."""
        epoch = self._epoch(number)
        opened = epoch.open()
        self.journal.forget(number - 1, keep=KEPT_BLOBS)  # where we were killed before
        desk: Desk | None = None
        try:
            base = self.model_file(self.trading.read_epoch(number).base)
            invited = [name for name in self.link.members() if not self.excluded(name, before=number)]
            epoch.relay(epoch.invite(base, invited, self.names))
            self.clock.wait_until(opened.commit + 1)
            desk = self._desk(epoch, base, opened.commit, seed)
            self._trade(epoch, desk, seed)
        except ChainError as error:
            if not self._lapsed(number):
                raise
            self.journal.remark(number, self.account.address, "late", str(error))
            self.tell(number, "late", f"a deadline passed: what was delivered is paid, the penalty is lost ({error})")
        self._close(epoch, desk)

    def _trade(self, epoch: EpochSteps, desk: Desk, seed: int) -> None:
        """Score, buy, weigh; publish what was bought, and prove it."""
        weights = self._select(epoch.number, desk, seed)
        if not desk.purchases.prices():
            return
        shares = epoch.shares(desk, weights)
        epoch.accept(desk.purchases, shares)
        file = epoch.publish(desk.file, shares)
        write_model(self.journal.folder, epoch.number, file)
        if (reach := self.settler.reach(file)) > NEAR:
            self.tell(epoch.number, "range", f"a parameter is at {reach:.0%} of settlement.model_limit: {FULL}")
        epoch.prove(desk.purchases, desk.file, file, shares)  # first: the block that draws is soon out of reach
        desk.purchases.answer_reveals()
        epoch.hand_out(file)

    def _select(self, number: int, desk: Desk, seed: int) -> dict[str, float]:
        """The rule's decision; once it is written down, with the rule's memory before it, it stands."""
        if (known := self.journal.recall(number, Selected)) is not None:
            return {name: judged.weight for name, judged in known.judged.items() if judged.weight > 0}
        rng = np.random.default_rng([seed, number])
        state, decided = trade(self.strategy, self._state(number), desk, rng)
        self.journal.keep(number, "state", self.strategy.pack(state))
        self.journal.once(number, Selected, lambda: described(self.terms.selection.rule, decided, desk))
        chosen = {n: float(w) for n, w in zip(desk.providers, decided.selection.weights, strict=True) if w > 0}
        bought = len(desk.purchases.prices())
        self.tell(number, "select", f"{bought} of {len(desk.providers)} bought, {len(chosen)} of them weighed")
        return chosen

    def _close(self, epoch: EpochSteps, desk: Desk | None) -> None:
        """See the epoch to its end, whatever it is."""
        phase = epoch.finish(desk.purchases if desk else None)
        paid = epoch.pay()
        standing = epoch.number if phase.stands else self.trading.read_epoch(epoch.number).base
        epoch.over(phase, paid, self._measure(standing))
        self.journal.forget(epoch.number, keep=KEPT_BLOBS)

    # --- what it knows -------------------------------------------------------------------------------------------

    def excluded(self, name: str, *, before: int) -> bool:
        """Whether a provider's offences in earlier epochs are too many for the terms."""
        limit = self.terms.reputation.exclude_after
        offences = [r for r in self.journal.remarks(subject=name) if r.kind in OFFENCES and r.epoch < before]
        return limit > 0 and len(offences) >= limit

    def known(self, *, before: int) -> dict[str, Standing]:
        """Who was in the aggregate of an earlier epoch, since which one, and what it was last bought for."""
        first, paid = dict[str, int](), dict[str, int]()
        for epoch in range(1, before):
            posted = self.journal.recall(epoch, ModelPosted)
            first = dict.fromkeys(posted.weights if posted else (), epoch) | first
            for bought in self.journal.all_of(Purchased, epoch):
                paid |= bought.prices
        return {name: Standing(since=since, paid=paid.get(name, 0)) for name, since in first.items()}

    def model_file(self, epoch: int) -> bytes:
        """The model that `epoch` published; 0 is the initial one."""
        if epoch == GENESIS:
            self.journal.keep(GENESIS, "model", self.settler.first_file(self.task.initial()))
        kept = self.journal.blob(epoch, "model")
        if kept is None:
            raise MarketError(f"the journal lacks the model of epoch {epoch}")
        return kept

    def _introduce(self) -> MarketOpened:
        return MarketOpened(
            contract=self.trading.address,
            since=self.trading.since,
            chain=self.trading.chain.chain_id,
            acquirer=self.account.address,
            parameters=self.settler.parameters,
            quality=self._measure(GENESIS),
            seed=secrets.randbits(63) if self.seed is None else self.seed,
            terms=to_toml(self.terms),
        )

    def _epoch(self, number: int) -> EpochSteps:
        act = Acting(self.trading, self.account, self.clock, number)
        market = wire.MarketId(self.trading.chain.chain_id, self.trading.address)
        asking = Asking(
            link=self.link,
            market=market,
            account=self.account,
            journal=self.journal,
            epoch=number,
            parameters=self.settler.parameters,
            seconds=self.seconds,
            now=self.trading.chain.next_second,
        )
        return EpochSteps(self.terms, act, asking, self.settler, self.journal, self.tell)

    def _desk(self, epoch: EpochSteps, base: bytes, closed: int, seed: int) -> Desk:
        committed = self.trading.commitments(epoch.number)  # anybody can commit on chain; the excluded are not bought
        offers = epoch.offers({name for name in committed if self.excluded(name, before=epoch.number)})
        reward = self.trading.read_epoch(epoch.number).reward
        parts = (epoch.act, epoch.asking, self.settler, self.journal, offers, reward)
        purchases = Purchases(*parts, epoch.times, self.terms.deadlines.margin)
        admission = Admission(terms=self.terms.reputation, reward=reward, ask=self.terms.money.ask)
        prices, known = {name: purchases.price(name) for name in offers}, self.known(before=epoch.number)
        chosen = admission.admit(prices, known=known, rng=np.random.default_rng([seed, epoch.number, ADMISSION]))
        ordered = sorted(chosen, key=lambda name: (known[name].since if name in known else epoch.number, name))
        return Desk(
            terms=self.terms,
            task=self.task,
            root=self.root,
            asking=epoch.asking,
            purchases=purchases,
            settler=self.settler,
            journal=self.journal,
            file=base,
            offers={name: offers[name] for name in ordered},
            closed=closed,
        )

    def _lapsed(self, number: int) -> bool:
        """Whether the epoch is over: its end, if not its money, is decided."""
        return self.trading.read_epoch(number).phase in (Phase.EMPTY, Phase.FAILED, Phase.FAILING, Phase.SETTLED)

    def _state(self, number: int) -> State:
        for earlier in range(number - 1, GENESIS, -1):
            if (kept := self.journal.blob(earlier, "state")) is not None:
                return self.strategy.unpack(kept)
        return self.strategy.start()

    def _measure(self, epoch: int) -> Measurement:
        """How good the model of `epoch` is on the root data: all that an acquirer can measure."""
        model = np.asarray(self.settler.floats(self.model_file(epoch)), np.float32)
        found = self.task.quality(model, self.root)
        finite = {name: value for name, value in found.items() if np.isfinite(value)}
        return Measurement(measure=next(iter(found), ""), values=finite)
