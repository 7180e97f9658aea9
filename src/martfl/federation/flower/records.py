"""A signed message inside a Flower message.

The bytes are an `Array`, which Flower cuts into chunks, names by their hash and stores once: an encrypted baseline of
18 MB for thirty providers goes to the SuperLink a single time.
"""

from flwr.app import Array, ArrayRecord, Message, RecordDict

from martfl.market.errors import MessageError

RECORD, ENTRY, STYPE = "martfl", "message", "martfl.message"


def wrap(data: bytes) -> RecordDict:
    """The bytes as Flower's content of a message."""
    array = Array(dtype="uint8", shape=(len(data),), stype=STYPE, data=data)
    return RecordDict({RECORD: ArrayRecord({ENTRY: array})})


def unwrap(message: Message) -> bytes:
    """The bytes in a Flower message; anything else is an error."""
    try:
        array = message.content.array_records[RECORD][ENTRY]
        kind, data = array.stype, array.data
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise MessageError("a Flower message without a martfl message in it") from error
    if kind != STYPE or not isinstance(data, bytes):
        raise MessageError(f"a martfl message is stored as {STYPE!r}, got {str(kind)[:40]!r}")
    return data


def route(kind: str) -> str:
    """Where Flower routes a request of this kind."""
    return f"query.{kind}"
