"""The parameters of `evidence`: each means one thing, and its sensitivity is measured."""

import math
from dataclasses import dataclass

from martfl.errors import InputError

PARTS = (
    "harm",
    "alone",
    "kinds",
    "own",
    "length",
    "majority",
    "rarity",
    "hidden",
    "words",
    "stage",
    "centre",
    "clip",
    "trust",
    "worth",
)
SHARES = ("budget", "false_drop", "attackers", "rare")


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """First what a buyer decides, then the noise that honest providers were measured to have."""

    budget: float = 0.65  # share of the reward that purchases may cost
    false_drop: float = 0.01  # chance that an honest provider is dropped
    attackers: float = 0.2  # share of bad providers that is expected before anything is seen
    memory: float = 0.7  # what a finding counts one epoch later
    caution: float = 2.0  # power of the chance of being honest in the weights: a backdoor needs but a small share
    worth: float = 1.5  # deviations of honest gains below 0 at which an update gets no weight today
    look: int = 3  # dropped ones that are looked at together …
    every: int = 3  # … once in so many epochs
    follower: float = 0.95  # cosine with the model's last step from which an update adds nothing
    even: float = 0.25  # share of the root rows in the rarer half of the classes from which the own update may judge
    length_spread: float = 0.25  # of log lengths among honest providers, upwards
    same_length: float = 0.05  # by which log lengths of two kinds differ beside what varies within them
    tie_spread: float = 0.35  # of log ties among honest providers, downwards
    own_spread: float = 0.3  # of the own update's place between kinds (−1 or +1)
    aligned: float = 0.5  # part of the honest gains' spread by which a whole kind may lie off
    hidden_spread: float = 0.8  # of the score by which honest kinds are found where no root row reaches
    rare: float = 0.1  # share of honest markets that come in crisp kinds
    direction: int = 16_384  # numbers that are kept of a direction
    without: tuple[str, ...] = ()  # parts that are switched off, for ablations

    def __post_init__(self) -> None:
        for name in SHARES:
            if not 0.0 < getattr(self, name) <= 1.0:
                raise InputError(f"{name} must lie in (0, 1], got {getattr(self, name)}")
        if not 0.0 <= self.memory < 1.0 or self.attackers >= 1.0:
            raise InputError(f"memory lies in [0, 1) and attackers in (0, 1), got {self.memory} and {self.attackers}")
        for name in ("caution", "worth", "length_spread", "same_length", "tie_spread", "own_spread", "hidden_spread"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise InputError(f"{name} must be positive, got {getattr(self, name)}")
        for name, least in (("look", 1), ("every", 1), ("direction", 256)):
            if getattr(self, name) < least:
                raise InputError(f"{name} must be at least {least}, got {getattr(self, name)}")
        if self.aligned < 0 or not 0.0 <= self.even <= 1.0 or not 0.0 < self.follower <= 1.0:
            got = f"{self.aligned}, {self.even} and {self.follower}"
            raise InputError(f"aligned ≥ 0, even in [0, 1] and follower in (0, 1], got {got}")
        if unknown := sorted(set(self.without) - set(PARTS)):
            raise InputError(f"without names parts of the rule, {', '.join(PARTS)}; got {', '.join(unknown)}")

    @property
    def limit(self) -> float:
        """The evidence, as a logarithm, from which a provider is dropped."""
        return -math.log(self.false_drop)

    @property
    def odds(self) -> float:
        """Of a provider's being bad, before anything is seen."""
        return self.attackers / (1.0 - self.attackers)

    def uses(self, part: str) -> bool:
        """Whether a part of the rule is switched on."""
        return part not in self.without
