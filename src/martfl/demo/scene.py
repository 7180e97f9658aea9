"""What a demo plays: a task, who buys, who sells, and what is shown at the end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from martfl.amounts import COIN
from martfl.demo.conducts import HONEST
from martfl.market.conduct import Conduct, Honest
from martfl.market.terms import Terms, read_terms
from martfl.tasks.layout import Vector
from martfl.tasks.protocol import Data, Task
from martfl.values import Settings

ASK = COIN // 100
Ending = Callable[[Vector, Vector, Path], dict[str, str]]  # first model, last model, folder → what there is to tell


@dataclass(frozen=True, eq=False)
class Seller:
    """One provider of a demo."""

    name: str
    data: Data
    behaviour: str = HONEST  # what it really does, in a word
    ask: int = ASK
    conduct: Conduct = field(default_factory=Honest)


@dataclass(frozen=True, eq=False, kw_only=True)
class Scene:
    """A market before it is opened."""

    task: Task
    entry: str  # module:function that makes the task from `options`
    options: Settings
    root: Data
    test: Data  # rows that no rule ever sees
    sellers: Sequence[Seller]
    settlement: Settings = field(default_factory=dict)
    rule: str = "evidence"
    value: str = "information"  # what weights go by
    seed: int = 0
    ending: Ending | None = None

    def terms(self) -> Terms:
        """The market's terms, layout included."""
        layout = self.task.layout
        return read_terms(
            {
                "name": "martfl demo",
                "task": {"entry": self.entry, "options": dict(self.options), "layout": layout.hash},
                "settlement": {"setup": "alone", "providers": max(4, len(self.sellers)), **self.settlement},
                "selection": {"rule": self.rule, "value": self.value},
                "layout": layout.to_table(),
            }
        )
