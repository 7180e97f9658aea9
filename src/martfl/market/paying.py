"""The end of an epoch in money: everybody is paid in few transactions, and the acquirer takes back what is its own.

Everybody is told that the epoch is over. Those whose update is in the model are also told what it added.
"""

import json
import logging

from martfl.chain.network import RevertedError
from martfl.chain.state import MAX_PROVIDERS, WHOLE, SignedClaim
from martfl.market import messages as ms
from martfl.market.codec import from_json, to_json
from martfl.market.errors import JournalError, MessageError
from martfl.market.journal import Journal
from martfl.market.settling import Acting
from martfl.market.steps import Appraised, ModelPosted, Offers, Selected, Sent
from martfl.market.watching import sent

log = logging.getLogger(__name__)
MOST_APPRAISAL = 512  # bytes: seven numbers and their names


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


def goodbyes(journal: Journal, epoch: int) -> dict[str, ms.Closed]:
    """What everybody who committed is told when an epoch is final."""
    offers, posted = journal.recall(epoch, Offers), journal.recall(epoch, ModelPosted)
    selected = journal.recall(epoch, Selected)
    judged, weights = selected.judged if selected else {}, posted.weights if posted else {}

    def body(name: str) -> bytes:
        value = judged[name].value if name in judged else None
        if value is None or name not in weights:
            return b""
        return to_json(Appraised(weight=weights[name] / WHOLE, value=value)).encode()

    return {name: ms.Closed(epoch=epoch, body=body(name)) for name in (offers.committed if offers else ())}


def read_appraisal(body: bytes) -> Appraised:
    """What `goodbyes` has put into a message; it comes from somebody else."""
    if len(body) > MOST_APPRAISAL:
        raise MessageError(f"an appraisal has at most {MOST_APPRAISAL} bytes, got {len(body)}")
    try:
        found = from_json(Appraised.step, body.decode())
    except (UnicodeDecodeError, json.JSONDecodeError, JournalError) as error:
        raise MessageError(f"the appraisal cannot be read: {error}") from error
    if not (isinstance(found, Appraised) and 0.0 <= found.weight <= 1.0 and found.value.sound):
        raise MessageError(
            f"an appraisal has shares in [0, 1], each in its interval, and no negative error; got {found}"
        )
    return found
