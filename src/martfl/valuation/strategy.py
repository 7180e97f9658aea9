"""Any selection with weights by value: the selection says who is kept, the valuation at which weight.

It is a strategy itself, so that the lab and the market run it as they run the one inside.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from martfl.arrays import Floats
from martfl.selection import codec
from martfl.selection.e_values import posterior
from martfl.selection.evidence import Evidence
from martfl.selection.gains import is_even
from martfl.selection.parameters import Parameters
from martfl.selection.reasons import Reason
from martfl.selection.registry import STRATEGIES
from martfl.selection.result import Selection
from martfl.selection.strategy import Buyer, State, Strategy, Vector
from martfl.selection.vectors import norm
from martfl.valuation.account import Account, pack_account, unpack_account
from martfl.valuation.information import Information
from martfl.valuation.survey import Valued, value_updates

KIND, VERSION = "valued", 1
SHORTEST = 1e-12  # of the usual length: what is shorter has no direction in single precision


@dataclass(frozen=True)
class Both:
    """The state of the selection and that of the valuation."""

    chosen: State
    account: Account = field(default_factory=Account)


def stand_for_all(buyer: Buyer) -> bool:
    """Whether no half of the classes dominates the root rows; where nobody knows their classes, it is not said."""
    if (strata := buyer.strata) is None or (logits := buyer.logits([buyer.model])) is None:
        return False
    return is_even(strata, logits.shape[-1], Parameters.even)


def long_enough(kept: Sequence[int], updates: Mapping[int, Vector]) -> list[int]:
    """Those whose update has a direction that can be told beside the others'; any other is worth nothing.

    Examples:
        >>> long_enough([0, 1, 2], {0: np.ones(3), 1: np.ones(3), 2: np.full(3, 1e-25, dtype=np.float32)})
        [0, 1]
    """
    lengths = np.array([norm(updates[i]) for i in kept])
    return [i for i, told in zip(kept, lengths > SHORTEST * np.median(lengths), strict=True) if told] if kept else []


class Recorder:
    """A buyer that keeps what it bought."""

    def __init__(self, buyer: Buyer) -> None:
        self._buyer = buyer
        self.delivered: dict[int, Vector] = {}

    def buy(self, providers: Sequence[int]) -> Mapping[int, Vector]:
        """As the buyer does."""
        found = self._buyer.buy(providers)
        self.delivered.update(found)
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._buyer, name)


@dataclass(frozen=True, kw_only=True)
class ByValue:
    """A selection whose kept updates are weighed by what they add.

    Examples:
        >>> rule = ByValue(inner=Evidence())
        >>> state = rule.start()
        >>> rule.unpack(rule.pack(state)) == state
        True
    """

    most_baselines: ClassVar[int] = max(strategy.most_baselines for strategy in STRATEGIES.values())

    inner: Strategy
    rule: Information = field(default_factory=Information)

    def start(self) -> Both:
        """Nothing is known."""
        return Both(self.inner.start(), self.rule.start())

    def trade(self, state: Both, buyer: Buyer, rng: np.random.Generator) -> tuple[Both, Selection]:
        """Select, then weigh whoever was kept anew."""
        after, selection, _ = self.trade_and_value(state, buyer, rng)
        return after, selection

    def trade_and_value(self, state: Both, buyer: Buyer, rng: np.random.Generator) -> tuple[Both, Selection, Valued]:
        """The same, with what each kept update has added (in the order of the providers)."""
        recorder = Recorder(buyer)
        chosen, selection = self.inner.trade(state.chosen, recorder, rng)
        chosen_ones = [i for i in np.flatnonzero(selection.weights > 0).tolist() if i in recorder.delivered]
        kept = long_enough(chosen_ones, recorder.delivered)
        account, valued = value_updates(
            self.rule,
            state.account,
            names=[buyer.providers[i] for i in kept],
            updates=[recorder.delivered[i] for i in kept],
            model=buyer.model,
            goodness=buyer.goodness,
            rng=rng,
            even=stand_for_all(buyer),
            trust=self._trust([selection.reasons[i] for i in kept]),
            chosen=selection.weights[kept],
            focus=getattr(buyer, "focus", None),
        )
        weights = np.zeros_like(selection.weights)
        weights[kept] = valued.weights
        return Both(chosen, account), replace(selection, weights=weights), valued

    def _trust(self, reasons: Sequence[Reason]) -> Floats:
        """[k] the chance of being honest, as the selection weighs it."""
        if not isinstance(self.inner, Evidence) or not self.inner.uses("trust"):
            return np.ones(len(reasons))
        evidence = np.array([reason.data.get("evidence", 0.0) for reason in reasons])
        return np.asarray(posterior(evidence, self.inner.odds) ** self.inner.caution)

    def pack(self, state: Both) -> bytes:
        """Both memories as bytes."""
        parts: dict[str, NDArray[np.uint8]] = {
            "chosen": np.frombuffer(self.inner.pack(state.chosen), dtype=np.uint8),
            "account": np.frombuffer(pack_account(state.account), dtype=np.uint8),
        }
        return codec.pack(KIND, VERSION, {}, parts)

    def unpack(self, data: bytes) -> Both:
        """What `pack` was given."""
        _, parts = codec.unpack(data, KIND, VERSION)
        return Both(self.inner.unpack(parts["chosen"].tobytes()), unpack_account(parts["account"].tobytes()))
