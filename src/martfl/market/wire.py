"""Messages as bytes, signed:

    magic ‖ length of the head (4 bytes) ‖ head (JSON) ‖ signature (65 bytes) ‖ body

The head names kind, version, place (chain and market), epoch, small fields and the body's SHA-256; the signature is
over the head's SHA-256 (EIP-191), so that nothing of a message can be changed, or replayed elsewhere or later.
"""

import hashlib
import json
import re
import struct
from dataclasses import dataclass, fields

from eth_account import Account
from eth_account.messages import SignableMessage, encode_defunct
from eth_account.signers.local import LocalAccount

from martfl.market.errors import MessageError
from martfl.market.messages import KINDS, M, Message, Refusal
from martfl.values import Json

MAGIC = b"MFM2"
VERSION = 2
SIGNATURE_BYTES = 65
MOST_HEAD = 64 * 1024
MOST_BODY = 1 << 30
MOST_TEXT = 1000  # characters of a small field
DEPTH = 2
_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_LENGTH = struct.Struct(">I")


@dataclass(frozen=True)
class MarketId:
    """Which market a message is about: a contract on a chain."""

    chain_id: int
    contract: str

    @property
    def name(self) -> str:
        """As messages and sealed bodies are bound to it."""
        return f"{self.chain_id}/{self.contract.lower()}"

    def context(self, epoch: int, party: str, what: str) -> bytes:
        """What a sealed body is bound to: market, epoch, provider, and what it is."""
        return f"{self.name}/{epoch}/{party.lower()}/{what}".encode()


def encode(message: Message, *, market: MarketId, account: LocalAccount) -> bytes:
    """The message as bytes, signed by `account`."""
    small = {field.name: getattr(message, field.name) for field in fields(message) if field.name != "body"}
    _check_texts(message.kind, small)
    described = {"kind": message.kind, "version": VERSION, "market": market.name, "body": _digest(message.body)}
    head = json.dumps({**described, "fields": small}, sort_keys=True, separators=(",", ":")).encode()
    signature = account.sign_message(_signed(head)).signature
    return b"".join([MAGIC, _LENGTH.pack(len(head)), head, bytes(signature), message.body])


def decode(data: bytes, *, market: MarketId) -> tuple[Message, str]:
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
    if named != market.name:
        raise MessageError(f"the message is for market {str(named)[:80]!r}, this one is {market.name}")
    if digest != _digest(body):
        raise MessageError("the message's body does not match its head")
    return _typed(kind, content, body), _signer(head, signature)


def expect(kind: type[M], data: bytes, *, market: MarketId, sender: str, epoch: int, most: int = MOST_BODY) -> M:
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
    """A head is a record with a record in it. Thousands, one in the other, would overflow Python's stack."""
    outside = _TEXTS.sub(b"", head)
    if outside.count(b"{") + outside.count(b"[") > DEPTH:
        raise MessageError(f"a message's head must be {DEPTH} records at most, one in the other")


def _typed(kind: str, content: object, body: bytes) -> Message:
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
    """A text as messages may carry it: one line of what can be printed, cut to the length that is allowed."""
    return "".join(c if c.isprintable() else " " for c in text)[:MOST_TEXT]


def _check_texts(kind: str, content: Json) -> None:
    """Texts end in logs, terminals, journals and reports: nothing in them may steer these, or fill them."""
    for name, value in content.items():
        if isinstance(value, str) and value != line(value):
            raise MessageError(
                f"{name} of a {kind} message must be at most {MOST_TEXT} printable characters, got {value[:40]!r}"
            )


def _signed(head: bytes) -> SignableMessage:
    return encode_defunct(hashlib.sha256(head).digest())


def _signer(head: bytes, signature: bytes) -> str:
    try:
        return str(Account.recover_message(_signed(head), signature=signature))
    except Exception as error:  # eth-keys raises many kinds for bytes that are no signature
        raise MessageError("the message's signature cannot be read") from error


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
