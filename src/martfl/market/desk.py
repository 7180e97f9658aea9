"""One epoch from the acquirer's desk: what a selection rule sees, asks and buys. It is the `Buyer` of `selection`.

Every answer that mattered is in the journal before it is used, so that a restarted acquirer asks the same question,
under the same key, and decides the same.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from martfl.chain.state import WHOLE, Offer
from martfl.market import messages as ms
from martfl.market.asking import Asking
from martfl.market.errors import MarketError
from martfl.market.journal import Journal
from martfl.market.purchases import FORGED, Purchases
from martfl.market.settling import Settler, Shares
from martfl.market.sketching import entries_of, first_block_after, make_scorer
from martfl.market.steps import Drawn, Scores, Trained
from martfl.market.task import Floats, Task
from martfl.market.terms import Terms
from martfl.scoring import Scorer


@dataclass
class Desk:
    """What the acquirer does in one epoch once commitments are closed."""

    terms: Terms
    task: Task
    root: Any
    asking: Asking
    purchases: Purchases
    settler: Settler
    journal: Journal
    file: bytes  # the model before the epoch
    offers: Mapping[str, Offer]
    closed: int  # the second at which commitments closed
    trusted: frozenset[str] = frozenset()  # who delivered honestly before
    baselines: list[tuple[Floats, tuple[float | None, ...]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.epoch = self.asking.epoch
        self.providers: Sequence[str] = list(self.offers)  # [n]
        self.model: Floats = self.settler.floats(self.file)  # [m]
        reward = self.purchases.reward
        self.asks: Floats = np.array([self.purchases.price(name) / reward for name in self.providers])  # [n]

    # --- what a rule may see ---------------------------------------------------------------------------------------

    @property
    def own_update(self) -> Floats:
        """Trained on the root data; the same again after a restart."""
        self.journal.once(self.epoch, Trained, self._train)
        return np.frombuffer(self.journal.blob(self.epoch, "own update") or b"", dtype=np.float64)

    @property
    def score_error(self) -> float:
        """The standard error of a score: that of the sketch, where there is one."""
        return self._scorer.error.deviation

    @cached_property
    def strata(self) -> NDArray[np.int64]:
        """The true class of each root row [r]."""
        return self.task.labels(self.root)

    def logits(self, models: Sequence[Floats]) -> Floats:
        """What each model gives every class for every row of the root data [k, r, classes]."""
        return np.stack([self.task.logits(model, self.root) for model in models])

    def goodness(self, models: Sequence[Floats]) -> Floats:
        """How sure each model is of the truth, for every row of the root data [k, r]."""
        logits = self.logits(models)
        shifted = logits - logits.max(axis=-1, keepdims=True)
        log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))  # [k, r, classes]
        return np.asarray(np.take_along_axis(log_p, self.strata[None, :, None], axis=-1)[..., 0])

    # --- what a rule may do ----------------------------------------------------------------------------------------

    def score(self, baseline: Floats) -> Floats:
        """Cosines under encryption [n]; NaN for who gave no valid answer, and for all where the baseline is zero."""
        if not np.any(baseline):
            return np.full(len(self.providers), np.nan)
        number = len(self.baselines)
        if number >= self.terms.scoring.baselines:
            raise MarketError(f"the terms allow {self.terms.scoring.baselines} baselines an epoch")
        given = self.journal.once(self.epoch, Scores, lambda: self._ask(baseline, number), label=str(number)).scores
        self.baselines.append((baseline, given))
        return np.array([np.nan if score is None else score for score in given])

    def buy(self, providers: Sequence[int]) -> Mapping[int, Floats]:
        """Buy at their asks; who is not sold, not affordable or does not deliver is missing from the answer.

        An update whose scores were forged is bought and paid like others, and not shown to the rule; nor is one of
        zeros, which has no direction that anybody could be judged by.
        """
        names = [self.providers[i] for i in providers]
        delivered = self.purchases.buy(self._guarded(names))
        honest = [name for name in delivered if self._scores_hold(name)]
        updates = {i: self.update_of(name) for i, name in zip(providers, names, strict=True) if name in honest}
        return {i: update for i, update in updates.items() if np.any(update)}

    def update_of(self, name: str) -> Floats:
        """A delivered update as numbers."""
        return self.settler.numbers.dequantise(self.purchases.here[name].values)

    def hardest_push(self, shares: Shares) -> str:
        """Whose update, at its weight, moves the parameter furthest from 0 further out than any other's."""
        model = self.model.copy()
        for name, share in shares.items():  # one after the other: many at once may not fit into memory
            model += share.weight / WHOLE * self.update_of(name)
        worst = int(np.argmax(np.abs(model)))
        pushes = {
            name: share.weight * self.update_of(name)[worst] * np.sign(model[worst]) for name, share in shares.items()
        }
        return max(sorted(pushes), key=pushes.__getitem__)

    # --- parts -----------------------------------------------------------------------------------------------------

    def _guarded(self, names: list[str]) -> list[str]:
        """Newcomers may take their share of the reward and no more, once there is anybody else to buy from."""
        if not self.trusted:
            return names
        bought = self.purchases.prices()
        spent = sum(price for name, price in bought.items() if name not in self.trusted)
        left = self.terms.reputation.newcomers * self.purchases.reward - spent
        chosen = []
        for name in names:
            new = name not in self.trusted and name not in bought
            if new and self.purchases.price(name) > left:
                continue
            left -= self.purchases.price(name) if new else 0
            chosen.append(name)
        return chosen

    def _train(self) -> Trained:
        update = np.asarray(self.task.train(self.model, self.root, seed=self.epoch), dtype=np.float64)
        self.journal.keep(self.epoch, "own update", update.tobytes())
        return Trained()

    @cached_property
    def _scorer(self) -> Scorer:
        trading, size = self.purchases.act.trading, self.settler.parameters
        number = self._draw() if entries_of(self.terms.scoring, parameters=size) else 0
        return make_scorer(trading, self.terms.scoring, parameters=size, epoch=self.epoch, number=number)

    def _draw(self) -> int:
        """The number of the block that draws the sketch."""
        trading = self.purchases.act.trading

        def find() -> Drawn:
            number = first_block_after(trading, self.closed)
            return Drawn(number=number, hash=bytes(trading.chain.web3.eth.get_block(number)["hash"]).hex())

        return self.journal.once(self.epoch, Drawn, find).number

    def _ask(self, baseline: Floats, number: int) -> Scores:
        chosen = self._scorer
        kept = self.journal.blob(self.epoch, "scoring key")
        key = chosen.restore(kept) if kept else chosen.generate()
        self.journal.keep(self.epoch, "scoring key", key.to_bytes())
        if (body := self.journal.blob(self.epoch, f"baseline {number}")) is None:
            body = key.encrypt_baseline(baseline)  # kept: providers answer one baseline of a number, not two
            self.journal.keep(self.epoch, f"baseline {number}", body)
        drawn = self.journal.recall(self.epoch, Drawn)
        request = ms.ScoreRequest(epoch=self.epoch, baseline=number, block=drawn.number if drawn else 0, body=body)
        answers = self.asking.ask(ms.Scored, dict.fromkeys(self.providers, request), until=self.purchases.times.buy)
        replies = {name: reply for name, reply in answers.items() if reply.baseline == number}
        return Scores(scores=tuple(self._decrypted(key.decrypt_score, replies.get(n), n) for n in self.providers))

    def _decrypted(self, decrypt: Callable[..., float], reply: ms.Scored | None, name: str) -> float | None:
        if reply is None:
            return None
        size = self.settler.parameters
        return self.asking.read(ms.Scored, name, lambda: decrypt(reply.body, parameters=size))

    def _scores_hold(self, name: str) -> bool:
        position, update = list(self.providers).index(name), self.update_of(name)
        for baseline, scores in self.baselines:
            reported = scores[position]
            if reported is not None and not (checked := self._scorer.check(reported, baseline, update)):
                truth = "none" if checked.expected is None else f"{checked.expected:.2f}"
                self.purchases.blame(name, FORGED, f"reported {checked.reported:.2f}, the update gives {truth}")
                return False
        return True
