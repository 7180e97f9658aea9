"""What providers say before they are bought, read with suspicion: signed commitments, and what opens them."""

from dataclasses import dataclass
from typing import Self

from martfl.chain.state import Offer, SignedCommit
from martfl.chain.trading import Trading
from martfl.errors import InputError
from martfl.market.errors import MessageError
from martfl.market.messages import Offered
from martfl.market.steps import Shown

DIGEST_BYTES, SIGNATURE_BYTES = 32, 65


@dataclass(frozen=True)
class OfferContext:
    """What an offer is bound to, and the most that it may ask."""

    chain_id: int
    market: str
    epoch: int
    reward: int

    @classmethod
    def of(cls, trading: Trading, epoch: int) -> Self:
        """As the chain has it."""
        return cls(trading.chain.chain_id, trading.address, epoch, trading.read_epoch(epoch).reward)


def read_signed(name: str, text: bytes) -> SignedCommit:
    """A commitment to send for its provider, from digest and signature in hexadecimal."""
    try:
        digest, signature = (bytes.fromhex(part) for part in text.decode().split())
    except ValueError as error:
        raise MessageError("digest and signature must be hexadecimal") from error
    if len(digest) != DIGEST_BYTES or len(signature) != SIGNATURE_BYTES:
        raise MessageError(f"a digest has {DIGEST_BYTES} bytes, a signature {SIGNATURE_BYTES}")
    return SignedCommit(provider=name, digest=digest, signature=signature)


def read_offer(name: str, answer: Offered, *, digest: bytes, place: OfferContext) -> Shown:
    """An offer, where it opens the digest on chain and can be paid."""
    try:
        ask = int(answer.ask)
        shown = Shown(commitment=answer.body.hex(), root=answer.root, key_hash=answer.key_hash, ask=ask)
        offer = offer_of(name, shown)
    except (ValueError, InputError) as error:
        raise MessageError(str(error)) from error
    if offer.digest(chain_id=place.chain_id, market=place.market, epoch=place.epoch) != digest:
        raise MessageError("it does not open the commitment on chain")
    if ask > place.reward:
        raise MessageError(f"it asks {ask} wei, and the reward is {place.reward}")
    return shown


def offer_of(name: str, shown: Shown) -> Offer:
    """The offer that the journal keeps."""
    return Offer(
        provider=name,
        commitment=bytes.fromhex(shown.commitment),
        root=bytes.fromhex(shown.root),
        key_hash=bytes.fromhex(shown.key_hash),
        ask=shown.ask,
    )
