"""The terms of measured markets."""

from eth_account.signers.local import LocalAccount

from martfl.chain.deployment import ContractTerms, ExactStart, SampledStart
from martfl.chain.state import WHOLE

LENET = 44_426  # parameters of LeNet on 28 × 28 images
WINDOW = 3_600  # seconds
DEPOSIT = 10**18
ASK = 10**15


def market_terms(acquirer: LocalAccount, settlement: ExactStart | SampledStart) -> ContractTerms:
    """The terms of a measured market, whatever its scheme."""
    return ContractTerms(
        acquirer=acquirer.address,
        commit_window=WINDOW,
        buy_window=WINDOW,
        key_window=WINDOW,
        publish_window=WINDOW,
        settle_window=WINDOW,
        penalty_ratio=5_000,
        minimum_deposit=10**16,
        settlement=settlement,
    )


def even_weights(count: int) -> list[int]:
    """The whole, in parts as equal as they can be."""
    weights = [WHOLE // count] * count
    weights[0] += WHOLE - sum(weights)
    return weights
