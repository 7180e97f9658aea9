"""What the parties say to each other: typed, versioned records, signed by the sender's wallet.

    magic ‖ length of head (4 bytes) ‖ head (JSON) ‖ signature (65 bytes) ‖ body

The head names kind, version, market (contract address), epoch, small fields and the body's SHA-256; the signature is
over the head's SHA-256 (EIP-191), so that nothing of a message can be changed or replayed in another market or epoch.
"""

import hashlib
import json
import re
import struct
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeVar

from eth_account import Account
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount

from martfl.market.errors import MessageError

MAGIC = b"MFM1"
VERSION = 1
SIGNATURE_BYTES = 65
MOST_HEAD = 64 * 1024
MOST_BODY = 1 << 30
MOST_TEXT = 1000  # characters of a small field
DEPTH = 2
_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_LENGTH = struct.Struct(">I")


@dataclass(frozen=True, kw_only=True)
class Message:
    """A record about one epoch; `body` is what is large."""

    kind: ClassVar[str] = ""
    epoch: int
    body: bytes = b""


@dataclass(frozen=True, kw_only=True)
class Challenge(Message):
    """Acquirer → node: which wallet are you? `nonce` must come back signed."""

    kind = "challenge"
    nonce: str


@dataclass(frozen=True, kw_only=True)
class Identity(Message):
    """Node → acquirer: the wallet that signed this answers for the node."""

    kind = "identity"
    nonce: str
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class TrainRequest(Message):
    """Acquirer → provider: an epoch is open; the body is the model file to train on."""

    kind = "train"


@dataclass(frozen=True, kw_only=True)
class Committed(Message):
    """Provider → acquirer: the update is trained and committed on chain."""

    kind = "committed"
    transaction: str


@dataclass(frozen=True, kw_only=True)
class ScoreRequest(Message):
    """Acquirer → provider: the body is an encrypted baseline; `baseline` numbers it where there are several."""

    kind = "score"
    baseline: int = 0


@dataclass(frozen=True, kw_only=True)
class ScoreReply(Message):
    """Provider → acquirer: the body is the encrypted cosine."""

    kind = "scored"
    baseline: int = 0


@dataclass(frozen=True, kw_only=True)
class DeliverRequest(Message):
    """Acquirer → provider: you are bought on chain; seal the update to this public key."""

    kind = "deliver"
    key: str


@dataclass(frozen=True, kw_only=True)
class Delivery(Message):
    """Provider → acquirer: the body is the sealed update with its opening."""

    kind = "delivery"


@dataclass(frozen=True, kw_only=True)
class Published(Message):
    """Acquirer → provider: the new model; the body is its file."""

    kind = "published"


@dataclass(frozen=True, kw_only=True)
class Verdict(Message):
    """Provider → acquirer: whether the published file is the model on chain."""

    kind = "verdict"
    accepted: bool
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Closed(Message):
    """Acquirer → provider: the epoch is final; claim what it owes you."""

    kind = "closed"


@dataclass(frozen=True, kw_only=True)
class Claimed(Message):
    """Provider → acquirer: claimed so much (wei; 0 where nothing was owed)."""

    kind = "claimed"
    amount: str  # wei may exceed what JSON readers hold exactly


@dataclass(frozen=True, kw_only=True)
class Refusal(Message):
    """Either way: the request was understood and is refused, for this reason."""

    kind = "refusal"
    reason: str


KINDS: dict[str, type[Message]] = {kind.kind: kind for kind in Message.__subclasses__()}
M = TypeVar("M", bound=Message)


def encode(message: Message, *, market: str, account: LocalAccount) -> bytes:
    """The message as bytes, signed by `account`."""
    small = {field.name: getattr(message, field.name) for field in fields(message) if field.name != "body"}
    _check_texts(message.kind, small)
    described = {"kind": message.kind, "version": VERSION, "market": market.lower(), "body": _digest(message.body)}
    head = json.dumps({**described, "fields": small}, sort_keys=True, separators=(",", ":")).encode()
    signature = account.sign_message(_signed(head)).signature
    return b"".join([MAGIC, _LENGTH.pack(len(head)), head, bytes(signature), message.body])


def decode(data: bytes, *, market: str) -> tuple[Message, str]:
    """The message and the address that signed it; `MessageError` for anything else."""
    head, signature, body = _split(data)
    _check_depth(head)
    try:
        values = json.loads(head)
        kind, version, named, digest = (values[key] for key in ("kind", "version", "market", "body"))
        content = values["fields"]
    except (ValueError, KeyError, TypeError) as error:
        raise MessageError(
            "a message's head must be a JSON record of kind, version, market, body and fields"
        ) from error
    if version != VERSION:
        raise MessageError(f"messages of version {VERSION} are understood, got {version!r}")
    if named != market.lower():
        raise MessageError(f"the message is for market {named!r}, this one is {market.lower()}")
    if digest != _digest(body):
        raise MessageError("the message's body does not match its head")
    return _typed(kind, content, body), _signer(head, signature)


def expect(kind: type[M], data: bytes, *, market: str, sender: str, epoch: int, most: int = MOST_BODY) -> M:
    """A message of this kind from this sender about this epoch; a refusal, like anything else, is an error.

    More than `most` bytes and a head are refused before anything is read.
    """
    if len(data) > most + MOST_HEAD:
        raise MessageError(f"an answer here has at most {most} bytes and a head, got {len(data)}")
    message, signer = decode(data, market=market)
    if signer.lower() != sender.lower():
        raise MessageError(f"the message must be signed by {sender}, it is signed by {signer}")
    if isinstance(message, Refusal):
        raise MessageError(f"refused: {message.reason}")
    if not isinstance(message, kind):
        raise MessageError(f"a message of kind {kind.kind!r} was due, got {message.kind!r}")
    if message.epoch != epoch:
        raise MessageError(f"the message must be about epoch {epoch}, it is about {message.epoch}")
    return message


def _split(data: bytes) -> tuple[bytes, bytes, bytes]:
    if len(data) > MOST_BODY + MOST_HEAD:
        raise MessageError(f"a message has at most {MOST_BODY} bytes, got {len(data)}")
    if data[:4] != MAGIC or len(data) < 8:
        raise MessageError("not a martfl message")
    (length,) = _LENGTH.unpack(data[4:8])
    end = 8 + length + SIGNATURE_BYTES
    if length > MOST_HEAD or len(data) < end:
        raise MessageError(f"the message ends early: {len(data)} bytes, its head says {length}")
    return data[8 : 8 + length], data[8 + length : end], data[end:]


def _check_depth(head: bytes) -> None:
    """A head is a record with a record in it. One of many thousands would overflow the stack of Python's own parser."""
    outside = _TEXTS.sub(b"", head)
    if outside.count(b"{") + outside.count(b"[") > DEPTH:
        raise MessageError(f"a message's head must be {DEPTH} records at most, one in the other")


def _typed(kind: Any, content: Any, body: bytes) -> Message:
    known = KINDS.get(kind) if isinstance(kind, str) else None
    if known is None or not isinstance(content, dict):
        raise MessageError(f"unknown kind of message {str(kind)[:40]!r}")
    types = {field.name: field.type for field in fields(known) if field.name != "body"}
    wrong = set(types) ^ set(content) or {k for k, t in types.items() if type(content[k]) is not t}
    if wrong:
        raise MessageError(f"a {kind} message has the fields {', '.join(types)}; wrong: {', '.join(sorted(wrong))}")
    if content["epoch"] < 0:
        raise MessageError(f"an epoch is not negative, got {content['epoch']}")
    _check_texts(known.kind, content)
    return known(body=body, **content)


def line(text: str) -> str:
    """A text as messages may carry it: one line of what can be printed, cut to the longest."""
    return "".join(c if c.isprintable() else " " for c in text)[:MOST_TEXT]


def _check_texts(kind: str, content: dict[str, Any]) -> None:
    """Texts end in logs, terminals, journals and reports: nothing in them may steer these, or fill them."""
    for name, value in content.items():
        if isinstance(value, str) and value != line(value):
            raise MessageError(
                f"{name} of a {kind} message must be at most {MOST_TEXT} printable characters, got {value[:40]!r}"
            )


def _signed(head: bytes) -> Any:
    return encode_defunct(hashlib.sha256(head).digest())


def _signer(head: bytes, signature: bytes) -> str:
    try:
        return str(Account.recover_message(_signed(head), signature=signature))
    except Exception as error:  # eth-keys raises many kinds for bytes that are no signature
        raise MessageError("the message's signature cannot be read") from error


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
