"""What the parties of a market say to each other: one table of requests and replies. `wire` makes bytes of them."""

from dataclasses import dataclass
from typing import ClassVar, TypeVar


@dataclass(frozen=True, kw_only=True)
class Message:
    """A record about one epoch; `body` is what is large."""

    kind: ClassVar[str] = ""
    epoch: int
    body: bytes = b""


# --- requests: acquirer → provider ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Challenge(Message):
    """Which wallet are you? `nonce` must come back signed."""

    kind = "challenge"
    nonce: str


@dataclass(frozen=True, kw_only=True)
class TrainRequest(Message):
    """An epoch is open; the body is the model file to train on."""

    kind = "train"


@dataclass(frozen=True, kw_only=True)
class OfferRequest(Message):
    """Commitments are closed: what opens yours, and what do you ask?"""

    kind = "offer"


@dataclass(frozen=True, kw_only=True)
class ScoreRequest(Message):
    """The body is an encrypted baseline; `baseline` numbers it. `block` names the block that draws the sketch."""

    kind = "score"
    baseline: int = 0
    block: int = 0


@dataclass(frozen=True, kw_only=True)
class SealedRequest(Message):
    """You are wanted: send the sealed update, sealed once more to this public key."""

    kind = "sealed"
    key: str


@dataclass(frozen=True, kw_only=True)
class KeyRequest(Message):
    """You are bought on chain: send the key of the sealed update, sealed to this public key."""

    kind = "key"
    key: str


@dataclass(frozen=True, kw_only=True)
class PublishedFile(Message):
    """The new model; the body is its file."""

    kind = "published"


@dataclass(frozen=True, kw_only=True)
class Closed(Message):
    """The epoch is final; see what it paid you. The body says what your update added, where it is in the model."""

    kind = "closed"


# --- replies: provider → acquirer ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Identity(Message):
    """The wallet that signed this answers for the node."""

    kind = "identity"
    nonce: str
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class Committed(Message):
    """The update is trained and sealed; the signed digest is for anybody to send to the chain."""

    kind = "committed"
    digest: str
    signature: str


@dataclass(frozen=True, kw_only=True)
class Offered(Message):
    """What opens the digest on chain; the body is the commitment."""

    kind = "offered"
    root: str
    key_hash: str
    ask: str  # wei may exceed what JSON readers hold exactly


@dataclass(frozen=True, kw_only=True)
class Scored(Message):
    """The body is the encrypted cosine."""

    kind = "scored"
    baseline: int = 0


@dataclass(frozen=True, kw_only=True)
class Sealed(Message):
    """The body is the sealed update, sealed once more to the acquirer."""

    kind = "sealed update"


@dataclass(frozen=True, kw_only=True)
class KeyAnswer(Message):
    """The body is the key, sealed to the acquirer."""

    kind = "key given"


@dataclass(frozen=True, kw_only=True)
class FileVerdict(Message):
    """Whether the published file is the model on chain."""

    kind = "verdict"
    accepted: bool
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class ClaimPaid(Message):
    """So much was paid (wei; 0 where nothing was owed)."""

    kind = "claimed"
    amount: str


@dataclass(frozen=True, kw_only=True)
class Refusal(Message):
    """The request was understood and is refused, for this reason."""

    kind = "refusal"
    reason: str


ANSWERS: dict[type[Message], type[Message]] = {  # what each request is answered with, where it is not refused
    Challenge: Identity,
    TrainRequest: Committed,
    OfferRequest: Offered,
    ScoreRequest: Scored,
    SealedRequest: Sealed,
    KeyRequest: KeyAnswer,
    PublishedFile: FileVerdict,
    Closed: ClaimPaid,
}
REQUESTS: tuple[str, ...] = tuple(request.kind for request in ANSWERS)
ALL: tuple[type[Message], ...] = (*ANSWERS, *ANSWERS.values(), Refusal)
KINDS: dict[str, type[Message]] = {kind.kind: kind for kind in ALL}
M = TypeVar("M", bound=Message)
