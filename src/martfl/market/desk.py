"""One epoch from the acquirer's desk: what a selection rule sees, asks and buys. It is the `Buyer` of `selection`.

Every answer that mattered is in the journal before it is used, so that a restarted acquirer asks the same question,
under the same key, and decides the same.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from martfl.arrays import Reals
from martfl.chain.state import WHOLE, Offer
from martfl.market import messages as ms
from martfl.market.asking import Asking
from martfl.market.errors import MarketError
from martfl.market.journal import Journal
from martfl.market.purchases import FORGED, Purchases
from martfl.market.settling import Settler, Shares
from martfl.market.sketching import entries_of, first_block_after, make_scorer
from martfl.market.steps import BaselineScores, Drawn, OwnUpdate
from martfl.market.terms import Terms
from martfl.scoring import Scorer
from martfl.tasks.layout import Vector
from martfl.tasks.protocol import Data, Task, check_goodness, train_checked, words_checked

Doubles = NDArray[np.float64]


@dataclass
class Desk:
    """What the acquirer does in one epoch once commitments are closed."""

    terms: Terms
    task: Task
    root: Data
    asking: Asking
    purchases: Purchases
    settler: Settler
    journal: Journal
    file: bytes  # the model before the epoch
    offers: Mapping[str, Offer]  # who is known longest comes first: of two that are alike, the later one is the copy
    closed: int  # the second at which commitments closed
    baselines: list[tuple[Reals, tuple[float | None, ...]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.epoch = self.asking.epoch
        self.providers: Sequence[str] = list(self.offers)  # [n]
        self.model: Reals = _single(self.settler.floats(self.file))  # [m]
        reward = self.purchases.reward
        self.asks: Doubles = np.array([self.purchases.price(name) / reward for name in self.providers])  # [n]

    # --- what a rule may see ---------------------------------------------------------------------------------------

    @property
    def own_update(self) -> Reals:
        """Trained on the root data; the same again after a restart."""
        self.journal.once(self.epoch, OwnUpdate, self._train)
        return np.frombuffer(self.journal.blob(self.epoch, "own update") or b"", dtype=np.float32)

    @property
    def score_error(self) -> float:
        """The standard error of a score: that of the sketch, where there is one."""
        return self._scorer.error.deviation

    @cached_property
    def strata(self) -> NDArray[np.int64] | None:
        """Which root rows belong together, for classifiers the true class [r]; None where the task has no strata."""
        return self.task.strata(self.root)

    def goodness(self, models: Sequence[Reals]) -> Doubles:
        """How good each model is on every row of the root data, higher is better [k, r]."""
        found = np.asarray(self.task.goodness(_singles(models), self.root), np.float64)
        return check_goodness(found, models=len(models), rows=self.task.rows(self.root))

    def logits(self, models: Sequence[Reals]) -> Doubles | None:
        """What each model gives every class for every root row [k, r, classes]; None where there are no classes."""
        found = self.task.logits(_singles(models), self.root)
        return None if found is None else np.nan_to_num(np.asarray(found, np.float64))

    @cached_property
    def held_words(self) -> NDArray[np.bool_] | None:
        """Which words the root data hold [w]; None where the task's inputs are not made of words."""
        return self.task.held_words(self.root)

    def by_word(self, models: Iterable[Reals], *, seed: int) -> Iterator[Reals]:
        """What each model answers to every word, in texts that the task draws from the root data [w, texts, c]."""
        words = 0 if self.held_words is None else len(self.held_words)
        return words_checked(self.task, map(_single, models), self.root, words=words, seed=seed)

    # --- what a rule may do ----------------------------------------------------------------------------------------

    def score(self, baseline: Reals) -> Doubles:
        """Cosines under encryption [n]; NaN where there was no valid answer, and everywhere if the baseline is zero."""
        if not np.any(baseline):
            return np.full(len(self.providers), np.nan)
        number = len(self.baselines)
        if number >= self.terms.scoring.baselines:
            raise MarketError(f"the terms allow {self.terms.scoring.baselines} baselines an epoch")
        given = self.journal.once(
            self.epoch, BaselineScores, lambda: self._ask(baseline, number), label=str(number)
        ).scores
        self.baselines.append((baseline, given))
        return np.array([np.nan if score is None else score for score in given])

    def buy(self, providers: Sequence[int]) -> Mapping[int, Reals]:
        """Buy at their asks. The answer lacks those who do not sell, cannot be afforded, or do not deliver.

        An update whose scores were forged is bought and paid like others, and not shown to the rule; nor is one of
        zeros, which has no direction that anybody could be judged by.
        """
        names = [self.providers[i] for i in providers]
        delivered = self.purchases.buy(names)
        honest = [name for name in delivered if self._scores_hold(name)]
        updates = {i: self.update_of(name) for i, name in zip(providers, names, strict=True) if name in honest}
        return {i: update for i, update in updates.items() if np.any(update)}

    def update_of(self, name: str) -> Reals:
        """A delivered update as numbers."""
        return _single(self.settler.numbers.dequantise(self.purchases.here[name].values))

    def hardest_push(self, shares: Shares) -> str | None:
        """Of the parameter furthest from 0: who pushes it further out the hardest; None where nobody pushes hard.

        Hard is more than half of what an update may be. A model that stands at the edge of its range is otherwise a
        trap: whoever brought it there could have the next small step of anybody else count as a push, and would share
        what the others lose.
        """
        model = self.model.copy()
        for name, share in shares.items():  # one after the other: many at once may not fit into memory
            model += share.weight / WHOLE * self.update_of(name)
        worst = int(np.argmax(np.abs(model)))
        pushes = {name: float(self.update_of(name)[worst] * np.sign(model[worst])) for name in shares}
        hardest = max(sorted(pushes), key=lambda name: shares[name].weight * pushes[name])
        return hardest if pushes[hardest] > self.terms.settlement.update_limit / 2 else None

    # --- parts -----------------------------------------------------------------------------------------------------

    def _train(self) -> OwnUpdate:
        update = train_checked(self.task, _single(self.model), self.root, seed=self.epoch)
        self.journal.keep(self.epoch, "own update", update.tobytes())
        return OwnUpdate()

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

    def _ask(self, baseline: Reals, number: int) -> BaselineScores:
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
        return BaselineScores(
            scores=tuple(self._decrypted(key.decrypt_score, replies.get(n), n) for n in self.providers)
        )

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


def _singles(models: Sequence[Reals]) -> list[Vector]:
    return [_single(model) for model in models]


def _single(vector: Reals) -> Vector:
    """As float32, which holds what tasks compute with."""
    return np.asarray(vector, np.float32)
