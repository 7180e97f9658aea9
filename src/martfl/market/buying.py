"""One epoch from the acquirer's desk: asking providers, scoring under encryption, buying, opening deliveries.

Every answer that mattered is in the journal before it is used, so that a restarted acquirer asks the same question,
under the same key, and decides the same.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from martfl.chain import events as ev
from martfl.chain.trading import Done
from martfl.market import messages as ms
from martfl.market.errors import MarketError, MessageError
from martfl.market.link import Link
from martfl.market.sealing import SealingKey
from martfl.market.settling import Acting, Delivered, Settler
from martfl.market.task import Floats, Task
from martfl.market.terms import Terms
from martfl.scoring import ScoringError, check_score, scorer

log = logging.getLogger(__name__)
M = TypeVar("M", bound=ms.Message)

FORGED, MISSING, FALSE = "forged score", "missing delivery", "false delivery"
OFFENCES = (FORGED, MISSING, FALSE)  # who commits one is dropped
OBJECTION = "false objection"
ATTEMPTS = 2  # a provider that was killed while it worked is back by the second
SMALL = 1 << 20  # bytes of an answer that carries no vector


@dataclass
class Desk:
    """What the acquirer does in one epoch once commitments are closed. It is the `Buyer` that a strategy talks to."""

    act: Acting
    terms: Terms
    task: Task
    root: Any
    link: Link
    settler: Settler
    file: bytes  # the model before the epoch
    commitments: Mapping[str, bytes]  # provider → what it committed to
    seconds: float  # how long to wait for an answer

    def __post_init__(self) -> None:
        self.providers: Sequence[str] = list(self.commitments)  # [n]
        self.model: Floats = self.settler.floats(self.file)  # [m]
        self.labels: NDArray[np.int64] = self.task.labels(self.root)  # [r]
        self.delivered: dict[str, Delivered] = {}
        self.baselines: list[tuple[Floats, list[float | None]]] = []  # direction and the scores reported against it
        self.sent = dict.fromkeys(("train", "score", "deliver", "published", "closed"), 0)
        self.received = dict(self.sent)

    # --- what a strategy may do ----------------------------------------------------------------------------------

    @property
    def own_update(self) -> Floats:
        """Trained on the root data; the same again after a restart."""
        self.act.journal.once(self.act.epoch, "own update", self._train)
        kept = self.act.journal.blob(self.act.epoch, "own update")
        return np.frombuffer(kept or b"", dtype=np.float64)

    def score(self, baseline: Floats) -> Floats:
        """Cosines under encryption [n]; NaN for who gave no valid answer."""
        number = len(self.baselines)
        if number >= self.terms.selection.baselines:
            raise MarketError(f"the terms allow {self.terms.selection.baselines} baselines an epoch")
        scores = self.act.journal.once(self.act.epoch, f"scores {number}", lambda: self._ask_scores(baseline, number))
        self.baselines.append((baseline, scores))
        return np.array([np.nan if score is None else score for score in scores])

    def buy(self, providers: Sequence[int]) -> Mapping[int, Floats]:
        """Buy on chain at the flat fee, then fetch; false or missing deliveries are dropped on chain at once."""
        names = [self.providers[i] for i in providers]
        wanted = [name for name in names if name not in self._advance()]
        if wanted:
            self._buy_on_chain(wanted)
        self.fetch(names)
        self.drop_offenders([name for name in names if name not in self.delivered])
        return {i: self.update_of(name) for i, name in zip(providers, names, strict=True) if name in self.delivered}

    @cached_property
    def classes(self) -> int:
        """How many classes the task has."""
        return int(self.logits([self.model]).shape[-1])

    def logits(self, models: Sequence[Floats]) -> Floats:
        """What each model gives every class for every row of the root data [k, r, classes]."""
        return np.stack([self.task.logits(model, self.root) for model in models])

    # --- deliveries ----------------------------------------------------------------------------------------------

    def update_of(self, name: str) -> Floats:
        """A delivered update as numbers."""
        return self.settler.numbers.dequantise(self.delivered[name].values)

    def fetch(self, names: Sequence[str]) -> None:
        """Ask the bought for what is not here yet; keep what opens its commitment and matches its score."""
        blamed = self._blamed()  # an offence is on record before its consequence: it is not asked about twice
        here = {name for name in names if name in self.delivered or self._recall_delivery(name)}
        missing = [name for name in names if name not in here and name not in blamed]
        key = self._sealing_key()
        request = ms.DeliverRequest(epoch=self.act.epoch, key=key.public.hex())
        answers = self.ask(ms.Delivery, dict.fromkeys(missing, request))
        opened = {name: self._opened(name, answer, key) for name, answer in answers.items()}
        sound = {name: delivery for name, delivery in opened.items() if delivery is not None}
        false = self.settler.find_false(sound, self.commitments)
        for name in missing:
            if name not in answers:
                self._blame(name, MISSING, "did not deliver what was bought")
            elif name not in sound or name in false:
                self._blame(name, FALSE, "the delivery does not open the commitment")
            elif self._score_is_honest(name, sound[name]):
                packed = self.settler.pack(sound[name].values, sound[name].secret, epoch=self.act.epoch)
                self.act.journal.keep(self.act.epoch, f"delivery {name}", packed)
                self.delivered[name] = sound[name]

    def recheck_scores(self) -> None:
        """Deliveries bought before they were scored (baseline, representatives) are held to their scores too."""
        forgers = [name for name, delivery in self.delivered.items() if not self._score_is_honest(name, delivery)]
        for name in forgers:
            del self.delivered[name]
        self.drop_offenders(forgers)

    def drop_offenders(self, names: Sequence[str]) -> None:
        """Take them out on chain, once; their part goes to the other providers."""
        if fresh := sorted(set(names) - self.dropped()):
            step = f"drop {json.dumps(fresh)}"
            act = self.act
            done = act.trading.drop(act.epoch, providers=fresh, account=act.account, key=act.key(step))
            act.journal.once(act.epoch, step, lambda: {"dropped": fresh, **sent(done)})

    def dropped(self) -> set[str]:
        """Who was taken out so far: the chain knows, whatever happened to us in between."""
        return {name for event in self.act.trading.events(ev.Dropped, epoch=self.act.epoch) for name in event.providers}

    # --- asking --------------------------------------------------------------------------------------------------

    def ask(self, kind: type[M], requests: Mapping[str, ms.Message]) -> dict[str, M]:
        """Valid answers of a kind; the silent are asked once more, who sends anything else is treated as silent."""
        packed = self._signed(requests)
        answers: dict[str, M] = {}
        for _ in range(ATTEMPTS):
            for name in packed:
                self.sent[requests[name].kind] += len(packed[name])
            replies = self.link.ask(packed, seconds=self.seconds / ATTEMPTS) if packed else {}
            for name, data in replies.items():
                self.received[requests[name].kind] += len(data)
                if (answer := self._understood(kind, name, requests[name], data)) is not None:
                    answers[name] = answer
            packed = {name: request for name, request in packed.items() if name not in replies}
        return answers

    def _signed(self, requests: Mapping[str, ms.Message]) -> dict[str, bytes]:
        market, account = self.act.trading.address, self.act.account
        distinct = {id(message): message for message in requests.values()}  # one request for all is signed once
        packed = {at: ms.encode(message, market=market, account=account) for at, message in distinct.items()}
        return {name: packed[id(message)] for name, message in requests.items()}

    def _understood(self, kind: type[M], name: str, request: ms.Message, data: bytes) -> M | None:
        most = SMALL + (16 * self.settler.parameters if kind is ms.Delivery else 0)
        try:
            epoch, market = self.act.epoch, self.act.trading.address
            return ms.expect(kind, data, market=market, sender=name, epoch=epoch, most=most)
        except MessageError as error:
            log.info("no valid answer from %s: %s", name, error)
            self.act.journal.remark(self.act.epoch, name, "no valid answer", f"{request.kind}: {error}")
            return None

    # --- steps ---------------------------------------------------------------------------------------------------

    def _train(self) -> bool:
        update = np.asarray(self.task.train(self.model, self.root, seed=self.act.epoch), dtype=np.float64)
        self.act.journal.keep(self.act.epoch, "own update", update.tobytes())
        return True

    def _ask_scores(self, baseline: Floats, number: int) -> list[float | None]:
        scheme = scorer(self.terms.selection.scorer)
        kept = self.act.journal.blob(self.act.epoch, "scoring key")
        key = scheme.restore(kept) if kept else scheme.generate()
        self.act.journal.keep(self.act.epoch, "scoring key", key.to_bytes())
        if (body := self.act.journal.blob(self.act.epoch, f"baseline {number}")) is None:
            body = key.encrypt_baseline(baseline)  # kept: providers answer one baseline of a number, not two
            self.act.journal.keep(self.act.epoch, f"baseline {number}", body)
        out = self.dropped()
        request = ms.ScoreRequest(epoch=self.act.epoch, baseline=number, body=body)
        answers = self.ask(ms.ScoreReply, {name: request for name in self.providers if name not in out})
        replies = {name: reply for name, reply in answers.items() if reply.baseline == number}
        return [self._decrypted(key.decrypt_score, replies.get(name), name) for name in self.providers]

    def _decrypted(self, decrypt: Callable[..., float], reply: ms.ScoreReply | None, name: str) -> float | None:
        if reply is None:
            return None
        try:
            return decrypt(reply.body, parameters=self.settler.parameters)
        except ScoringError as error:
            self.act.journal.remark(self.act.epoch, name, "no valid answer", f"score: {error}")
            return None

    def _score_is_honest(self, name: str, delivery: Delivered) -> bool:
        position, update = self.providers.index(name), self.settler.numbers.dequantise(delivery.values)
        for baseline, scores in self.baselines:
            reported = scores[position]
            if reported is not None and not (checked := check_score(reported, baseline, update)):
                truth = "none" if checked.expected is None else f"{checked.expected:.4f}"
                self._blame(name, FORGED, f"reported {checked.reported:.4f}, the update gives {truth}")
                return False
        return True

    def _opened(self, name: str, answer: ms.Delivery, key: SealingKey) -> Delivered | None:
        context = f"{self.act.trading.address.lower()}/{self.act.epoch}/{name.lower()}".encode()
        try:
            return self.settler.unpack(key.open(answer.body, context=context), epoch=self.act.epoch)
        except MessageError as error:
            log.info("delivery of %s: %s", name, error)
            return None

    def _recall_delivery(self, name: str) -> bool:
        packed = self.act.journal.blob(self.act.epoch, f"delivery {name}")
        if packed is not None:
            self.delivered[name] = self.settler.unpack(packed, epoch=self.act.epoch)
        return packed is not None

    def _sealing_key(self) -> SealingKey:
        if self.act.journal.blob(self.act.epoch, "sealing key") is None:
            self.act.journal.keep(self.act.epoch, "sealing key", SealingKey.generate().secret)
        return SealingKey(self.act.journal.blob(self.act.epoch, "sealing key") or b"")

    def _advance(self) -> set[str]:
        bought = self.act.trading.events(ev.AdvanceBought, epoch=self.act.epoch)
        return {name for event in bought for name in event.providers}

    def _buy_on_chain(self, names: list[str]) -> None:
        step = f"advance {json.dumps(sorted(names))}"

        def send() -> dict[str, Any]:
            done = self.act.trading.buy_advance(
                self.act.epoch, providers=names, account=self.act.account, key=self.act.key(step)
            )
            return {"bought": names, **sent(done)}

        self.act.journal.once(self.act.epoch, step, send)

    def _blamed(self) -> set[str]:
        found = self.act.journal.remarks()
        return {remark.subject for remark in found if remark.epoch == self.act.epoch and remark.kind in OFFENCES}

    def _blame(self, name: str, kind: str, detail: str) -> None:
        log.warning("epoch %d: %s: %s (%s)", self.act.epoch, name, kind, detail)
        self.act.journal.remark(self.act.epoch, name, kind, detail)


def sent(done: Done) -> dict[str, Any]:
    """What the journal keeps of a transaction."""
    return {"gas": done.gas, "transaction": done.receipt.transaction}
