"""Whether a market's epochs were settled as the rules say: from the chain and the model files alone.

Everything is computed again: the sum of commitments on the curve, who is owed what, which deadline ended when. Nothing
is asked of the acquirer, and nothing that the contract computed is taken for granted where it can be computed here.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from martfl.chain import events as ev
from martfl.chain.state import BASIS, NO_TOKEN, WHOLE, EpochState, Phase
from martfl.chain.trading import Trading
from martfl.errors import MartflError
from martfl.market.history import History, read_history
from martfl.market.settling import Settler
from martfl.settlement import exact

Question = Callable[[], tuple[bool, str] | None]


@dataclass(frozen=True)
class Check:
    """One question about one epoch (0: the whole market) and its answer."""

    epoch: int
    name: str
    ok: bool
    detail: str


def audit(
    trading: Trading, settler: Settler, model_files: Mapping[int, bytes], epoch: int | None = None
) -> list[Check]:
    """All checks of one epoch, or of all; `model_files` maps epochs to the files that they published (0: initial)."""
    history = read_history(trading)
    chosen = [e for e in history.epochs() if epoch in (None, e)]
    if epoch is not None and not chosen:
        return [Check(epoch, "epoch", False, f"the chain knows no epoch {epoch}")]
    found = [check for e in chosen for check in _Epoch(trading, history, e).checks()]
    files = [_check_file(trading, settler, file, at) for at, file in model_files.items() if epoch in (None, at)]
    whole = [] if epoch else [_check_code(trading), _check_balance(trading, history)]
    return [*found, *files, *whole]


def _check_file(trading: Trading, settler: Settler, file: bytes, epoch: int) -> Check:
    try:
        settler.check(trading, file, epoch=epoch)
    except MartflError as error:
        return Check(epoch, "model file", False, str(error))
    return Check(epoch, "model file", True, f"{len(file)} bytes: the model that epoch {epoch} published, every value")


def _check_code(trading: Trading) -> Check:
    same = trading.has_our_code()
    return Check(0, "contract", same, f"the code is {'that' if same else 'not that'} of the {trading.scheme} contract")


def _check_balance(trading: Trading, history: History) -> Check:
    """The contract holds what is not yet claimed, and not a wei less."""
    due = sum(_money_in(trading, history, e) - _claimed(history, e) for e in history.epochs())
    if trading.terms().token != NO_TOKEN:
        return Check(0, "balance", True, f"{due} units of the token are due; a token's own books are not read here")
    held = trading.chain.balance(trading.address)
    return Check(0, "balance", held >= due, f"the contract holds {held} wei, {due} are still due")


def _money_in(trading: Trading, history: History, epoch: int) -> int:
    deposits = sum(event.amount for event in history.of(ev.Deposited, epoch))
    return deposits + trading.terms().advance_fee * len(history.advance(epoch))


def _claimed(history: History, epoch: int) -> int:
    return sum(event.amount for event in history.of(ev.Claimed, epoch))


class _Epoch:
    """The checks of one epoch."""

    def __init__(self, trading: Trading, history: History, epoch: int) -> None:
        self.trading, self.history, self.epoch = trading, history, epoch
        self.terms = trading.terms()
        self.state: EpochState = trading.read_epoch(epoch)
        self.weights = history.weights(epoch)
        self.left = {name: k for name, k in self.weights.items() if name not in history.dropped(epoch)}
        self.committed = {event.provider: event.commitment for event in history.of(ev.ModelCommitted, epoch)}

    def checks(self) -> Iterator[Check]:
        questions: list[tuple[str, Question]] = [
            ("weights", self._weights),
            ("commitments", self._commitments),
            ("drops", self._drops),
            ("aggregate", self._aggregate),
            ("objections", self._objections),
            ("deadlines", self._deadlines),
            ("phase", self._phase),
            ("shares", self._shares),
            ("money", self._money),
            *self._sampled(),
        ]
        for name, ask in questions:
            try:
                answer = ask()
            except MartflError as error:
                answer = False, str(error)
            if answer is not None:
                yield Check(self.epoch, name, *answer)

    def _sampled(self) -> list[tuple[str, Question]]:
        if self.trading.scheme != "sampled":
            return []
        from martfl.market.audit_sampled import SampledAudit  # with its prover's libraries

        also = SampledAudit(self.trading, self.history, self.epoch, self.state.base)
        return [("randomness", also.randomness), ("inputs", also.inputs), ("proof", also.proof)]

    # --- purchases -----------------------------------------------------------------------------------------------

    def _weights(self) -> tuple[bool, str] | None:
        if not self.history.of(ev.Prepared, self.epoch):
            return None
        total = sum(self.weights.values())
        once = len(self.history.of(ev.Prepared, self.epoch)) == 1
        good = once and total == (WHOLE if self.weights else 0) and all(k > 0 for k in self.weights.values())
        return good, f"{len(self.weights)} providers bought, weights sum to {total}"

    def _commitments(self) -> tuple[bool, str]:
        bought = {*self.weights, *self.history.advance(self.epoch)}
        missing = bought - set(self.committed)
        twice = len(self.history.of(ev.ModelCommitted, self.epoch)) - len(self.committed)
        advance = self.history.advance(self.epoch)
        text = f"{len(self.committed)} committed, {len(bought)} bought ({len(advance)} in advance)"
        return not missing and not twice and len(advance) == len(set(advance)), text

    def _drops(self) -> tuple[bool, str] | None:
        dropped = self.history.dropped(self.epoch)
        if not dropped:
            return None
        bought = {*self.weights, *self.history.advance(self.epoch)}
        return dropped <= bought, f"{len(dropped)} dropped: {', '.join(sorted(dropped))}"

    # --- the model -----------------------------------------------------------------------------------------------

    def _aggregate(self) -> tuple[bool, str] | None:
        """C_W^t = C_W^{t−1} + Σ k_i C_i, on the curve."""
        posted = self.history.of(ev.ModelPublished, self.epoch)
        if not posted:
            return None
        if missing := set(self.left) - set(self.committed):
            return False, f"bought without a commitment: {', '.join(sorted(missing))}"
        base = self.history.of(ev.ModelPublished, self.state.base)[0]
        points = [exact.Commitment.from_eip2537(self.committed[name]) for name in self.left]
        expected = exact.combine(exact.Commitment.from_eip2537(base.point), list(self.left.values()), points)
        same = expected.to_eip2537() == posted[0].point and len(posted) == 1
        word = "equals" if same else "differs from"
        return (
            same,
            f"the model's commitment {word} that of epoch {self.state.base} plus {len(points)} weighted updates",
        )

    def _objections(self) -> tuple[bool, str] | None:
        objected = self.history.of(ev.Objected, self.epoch)
        if not objected:
            return None
        weight = sum(event.weight for event in objected)
        honest = all(event.weight == self.left.get(event.provider) for event in objected)
        failed = 2 * weight > sum(self.left.values())
        fits = failed == (self.state.phase is Phase.FAILED)
        return honest and fits, f"{len(objected)} objected, with {weight} of {sum(self.left.values())} bought weight"

    # --- time ----------------------------------------------------------------------------------------------------

    def _deadlines(self) -> tuple[bool, str]:
        """Every step after what it follows and not after its window."""
        end = self.history.of(ev.EpochOpened, self.epoch)[0].deadline
        opened = self.history.times(ev.EpochOpened, self.epoch)[0]
        late = [f"{opened} + commit window is not {end}"] if opened + self.terms.commit_window != end else []
        late += self._outside(ev.ModelCommitted, opened, end)
        prepare_end = end + self.terms.prepare_window
        late += self._outside(ev.AdvanceBought, end + 1, prepare_end)
        late += self._outside(ev.Prepared, end + 1, prepare_end)
        for prepared in self.history.times(ev.Prepared, self.epoch):
            late += self._outside(ev.ModelPublished, prepared, prepared + self.terms.publish_window)
            late += self._outside(ev.RootPublished, prepared, prepared + self.terms.publish_window)
        for published in self.history.times(ev.ModelPublished, self.epoch):
            late += self._outside(ev.Objected, published, published + self.terms.settle_window)
        return not late, "; ".join(late) or "every step in its window"

    def _outside(self, kind: type[ev.Event], first: int, last: int) -> list[str]:
        times = self.history.times(kind, self.epoch)
        return [f"{kind.__name__} at {at}, its window is {first} to {last}" for at in times if not first <= at <= last]

    def _phase(self) -> tuple[bool, str]:
        """The phase that the events lead to."""
        phase, closed = self.state.phase, self.history.of(ev.EpochClosed, self.epoch)
        done = ev.EpochProved if self.trading.scheme == "sampled" else ev.ModelPublished
        proved = bool(self.history.of(done, self.epoch))
        if closed:
            return closed[0].phase == phase and len(closed) == 1, f"closed as {phase.name.lower()}"
        lapsed = proved and self.trading.chain.now() > self.state.deadline
        good = (phase is Phase.SETTLED) == lapsed
        return good, f"{phase.name.lower()}, no objection prevailed" if lapsed else f"still {phase.name.lower()}"

    # --- money ---------------------------------------------------------------------------------------------------

    def owed(self) -> dict[str, int]:
        """Who is owed what in all, by the rules; claims made and not yet made together."""
        fee, out = self.terms.advance_fee, self.history.dropped(self.epoch)
        advance, left = self.history.advance(self.epoch), self.left
        if out >= set(self.committed):  # nobody is left to take the dropped parts: the drops are void
            out, left = set(), self.weights
        deposit = sum(event.amount for event in self.history.of(ev.Deposited, self.epoch))
        reward = deposit * BASIS // (BASIS + self.terms.penalty_ratio)
        lost = fee * len(out.intersection(advance))
        by_weight, in_parts = {
            Phase.SETTLED: (reward + lost, 0),
            Phase.FAILED: (deposit + lost, 0),
            Phase.EMPTY: (0, lost),
            Phase.DROPPED: (0, reward + lost) if out else (reward, 0),
            Phase.ABANDONED: (0, deposit - reward + lost),
        }[self.state.phase]
        stay = [name for name in self.committed if name not in out]
        unit = by_weight // sum(left.values()) if by_weight else 0
        each = in_parts // len(stay) if stay else 0
        owed = {name: unit * left.get(name, 0) + each + fee * (name in advance) for name in stay}
        whole = deposit + fee * len(advance)
        return {**owed, self.terms.acquirer: whole - sum(owed.values())}

    def _shares(self) -> tuple[bool, str] | None:
        """Each party has claimed, or may claim, exactly its part."""
        if not self.state.phase.final:
            return None
        wrong = []
        claims = self.history.of(ev.Claimed, self.epoch)
        for name, due in self.owed().items():
            paid = [event.amount for event in claims if event.party == name]
            open_ = self._claimable(name)
            if len(paid) > 1 or sum(paid) + open_ != due:
                wrong.append(f"{name} is due {due}, was paid {sum(paid)} and may claim {open_}")
        strangers = {event.party for event in claims} - set(self.owed())
        wrong += [f"{name} was paid and is owed nothing" for name in strangers]
        return not wrong, "; ".join(wrong) or f"{len(self.owed())} parties, each its part"

    def _claimable(self, name: str) -> int:
        if name == self.terms.acquirer:
            return self.trading.refundable(self.epoch)
        return self.trading.read_provider(self.epoch, name).claimable

    def _money(self) -> tuple[bool, str]:
        """Deposits and fees = claims + refunds + what may still be claimed."""
        came, went = _money_in(self.trading, self.history, self.epoch), _claimed(self.history, self.epoch)
        if not self.state.phase.final:
            return went == 0, f"{came} wei in, {went} out before the epoch is final"
        still = sum(self._claimable(name) for name in [*self.committed, self.terms.acquirer])
        return came == went + still, f"{came} wei in = {went} claimed and refunded + {still} still claimable"
