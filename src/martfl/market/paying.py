"""The end of an epoch in money: everybody is paid in few transactions, and the acquirer takes back what is its own."""

import logging

from martfl.chain.network import RevertedError
from martfl.chain.state import MAX_PROVIDERS, SignedClaim
from martfl.market.settling import Acting
from martfl.market.steps import Sent
from martfl.market.watching import sent

log = logging.getLogger(__name__)


def pay_providers(act: Acting) -> list[Sent]:
    """Pay those bought, in batches that a restart does not change. Whoever has claimed is skipped.

    Receivers may be programs. If one of them makes a batch fail, everybody claims for itself.
    """
    names, done = act.trading.bought(act.epoch), []
    for i, at in enumerate(range(0, len(names), MAX_PROVIDERS)):
        batch = names[at : at + MAX_PROVIDERS]
        if not any(act.trading.read_provider(act.epoch, name).claimable for name in batch):
            continue
        payees, key = [SignedClaim(provider=name) for name in batch], act.key(f"pay {i}")
        try:
            paid = act.trading.claim_rewards(act.epoch, payees=payees, account=act.account, key=key)
        except RevertedError as error:
            log.warning("epoch %d: providers were not paid by us: %s", act.epoch, error.reason)
            continue
        done.append(sent(paid, "claim_rewards"))
    return done


def take_refund(act: Acting) -> list[Sent]:
    """What of reward and penalty is ours again."""
    state = act.trading.read_epoch(act.epoch)
    if state.refundable == 0 and not state.refunded:
        return []
    try:
        done = act.trading.claim_reward(act.epoch, account=act.account, key=act.key("claim"))
    except RevertedError:  # another run of ours has it
        return []
    return [sent(done, "claim_reward")]
