"""How a sampled market draws its samples: a later block, then the delay function. Anybody may take these steps."""

from collections.abc import Callable, Sequence

from martfl.chain.events import RandomnessSubmitted, SamplesDrawn
from martfl.chain.network import RevertedError
from martfl.chain.sampled import SampledTrading
from martfl.chain.trading import Done
from martfl.market.settling.base import Acting
from martfl.settlement.sampled.vdf import evaluate


def draw(chain: SampledTrading, act: Acting, *, squarings: int) -> dict[str, Done]:
    """Draw the seed and give the delay function's output; what others have done is done."""
    epoch, account, keys = act.epoch, act.account, (act.key("draw"), act.key("randomness"))

    def drawn() -> list[SamplesDrawn]:
        return chain.proof_events(SamplesDrawn, epoch=epoch)

    def given() -> list[RandomnessSubmitted]:
        return chain.proof_events(RandomnessSubmitted, epoch=epoch)

    if not drawn():
        act.clock.wait_for_block(chain.publication(epoch).number + 1)  # its hash draws
    sent = unless_said("draw_samples", drawn, lambda: chain.draw_samples(epoch, account=account, key=keys[0]))
    if given():
        return sent
    proof = evaluate(drawn()[0].seed, squarings=squarings, progress=lambda done: act.meanwhile())
    return sent | unless_said(
        "submit_randomness", given, lambda: chain.submit_randomness(epoch, proof=proof, account=account, key=keys[1])
    )


def unless_said(name: str, said: Callable[[], Sequence[object]], send: Callable[[], Done]) -> dict[str, Done]:
    """Send a step that anybody may take; where somebody was faster, nothing was sent and nothing is missing."""
    try:
        return {name: send()}
    except RevertedError:
        if said():
            return {}
        raise
