"""The parts of a market's terms, one class for each table of `market.toml`."""

from dataclasses import dataclass, field

from martfl.values import Json

# The builder of the block that draws the samples may choose among blocks for some seconds. 2^24 squarings take 12 s at
# 0.7 µs each, faster than any processor known to us; the result of a choice is not known before it must be made.
LEAST_STEPS = 1 << 24


@dataclass(frozen=True, kw_only=True)
class TaskTerms:
    """What is trained: `entry` names a function that makes the task; `options` are its arguments.

    `layout` is the hash of the names, shapes and types of what is traded; empty where the terms do not state it.
    """

    entry: str
    options: Json = field(default_factory=dict)
    layout: str = ""


@dataclass(frozen=True, kw_only=True)
class MoneyTerms:
    """Amounts in the smallest unit of the coin; the penalty is in basis points of the reward.

    `ask` is what a provider asks for its update where it names no price of its own.
    """

    reward: int = 10**18
    penalty_ratio: int = 5_000
    ask: int = 10**16
    minimum_deposit: int = 10**15
    token: str = "0x" + "00" * 20

    @property
    def deposit(self) -> int:
        """What opens an epoch: reward and penalty together, rounded up."""
        return -(-self.reward * (10_000 + self.penalty_ratio) // 10_000)


@dataclass(frozen=True, kw_only=True)
class DeadlineTerms:
    """Seconds that each phase may take, one after the other from the opening of an epoch.

    `margin` is longer than anybody can keep a provider's transaction out of the chain. Where the key window ends within
    the margin, a provider gives its key to nobody any more, and puts it on chain if the buyer has not said it has it.
    """

    commit: int = 3_600
    buy: int = 3_600
    keys: int = 3_600
    publish: int = 3_600
    settle: int = 3_600  # sampled: from publication to the proof, and again for refutations
    margin: int = 900


@dataclass(frozen=True, kw_only=True)
class SettlementTerms:
    """How the aggregation is proved, and the integers that it is computed in."""

    scheme: str = "exact"
    bits: int = 16
    scale: float = 2.0**-15
    epochs: int = 500
    samples: int = 64
    providers: int = 16
    vdf_steps: int = LEAST_STEPS
    optimistic: bool = False  # sampled: the chain checks the delay function only when a provider challenges it
    setup: str = "ceremony"  # sampled: who made the Groth16 key: many in a ceremony, or the acquirer alone
    update_limit: float = 1.0  # sampled: the largest |update| that its 12 bits stand for
    model_limit: float = 8.0  # sampled: the largest |parameter| of the model

    @property
    def needs_proof(self) -> bool:
        """Whether a published model stands only once it is proved; otherwise the contract adds up by itself."""
        return self.scheme == "sampled"


@dataclass(frozen=True, kw_only=True)
class ScoringTerms:
    """How updates are compared before they are bought.

    `answers` is how many scores a provider gives one buyer since it last sold to it. `sketch` is the number of entries
    that vectors are reduced to before they are compared: 0 for none, -1 for what suits the model's size.
    """

    scheme: str = "ckks"
    baselines: int = 4
    answers: int = 16
    sketch: int = -1


@dataclass(frozen=True, kw_only=True)
class SelectionTerms:
    """How updates are judged: the rule and its parameters, and what its weights go by.

    `value`: "information" weighs, and so pays, what is kept by what it adds; "none" leaves that to the rule.
    """

    rule: str = "evidence"
    value: str = "information"
    options: Json = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ReputationTerms:
    """How a buyer guards itself against providers that it cannot punish.

    `exclude_after`: after how many offences (forged scores, missing keys, false updates) a provider is no longer bought
    from; 0: never. `newcomers`: the largest share of the reward that goes to asks of wallets that never delivered here
    an update with the score they gave, and about their share of the sellers; it counts once somebody has. `dearest`:
    how many parts of the reward one provider may ask for and still be dealt with (`admission`).
    """

    exclude_after: int = 2
    newcomers: float = 0.5
    dearest: float = 1.0


@dataclass(frozen=True, kw_only=True)
class ChainTerms:
    """Where the market is: a chain profile and, once deployed, the contract and the block that it was deployed in."""

    profile: str = "local"
    contract: str = ""
    since: int = 0


@dataclass(frozen=True, kw_only=True)
class StatedTerms:
    """Everything that the parties of a market agree on, as it is stated; `Terms` hold the rules as well."""

    name: str
    task: TaskTerms
    money: MoneyTerms = MoneyTerms()
    deadlines: DeadlineTerms = DeadlineTerms()
    settlement: SettlementTerms = SettlementTerms()
    scoring: ScoringTerms = ScoringTerms()
    selection: SelectionTerms = SelectionTerms()
    reputation: ReputationTerms = ReputationTerms()
    layout: dict[str, str] = field(default_factory=dict)  # name → type and shape; `task.layout` is its hash
    chain: ChainTerms = ChainTerms()
