"""Messages on Flower's grid that have not been answered yet."""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from flwr.app import Message
from flwr.serverapp import Grid

from martfl.federation.flower.private import LOST
from martfl.federation.flower.records import route, unwrap, wrap
from martfl.market.errors import MessageError

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Letter:
    """A request of some kind under way to a node."""

    node: int
    kind: str
    until: float  # on the monotonic clock


@dataclass(frozen=True)
class Reply:
    """What became of a letter. Without data it failed; `lost` says that the node is gone, rather than wrong."""

    letter: Letter
    data: bytes | None
    lost: bool = False


@dataclass
class Mailbox:
    """Posts to nodes and collects their replies, without waiting."""

    grid: Grid
    open: dict[str, Letter] = field(default_factory=dict)  # Flower's message id → letter

    def post(self, data: Mapping[int, bytes], *, kind: str, seconds: float) -> None:
        """Send every node its bytes; Flower forgets what is not answered within `seconds`."""
        until = time.monotonic() + seconds
        contents = {body: wrap(body) for body in set(data.values())}  # one content for all who get the same bytes
        messages = [Message(contents[body], node, route(kind), ttl=max(seconds, 1.0)) for node, body in data.items()]
        identifiers = self.grid.push_messages(messages) if messages else []
        for node, identifier in zip(data, identifiers, strict=True):
            if identifier:
                self.open[identifier] = Letter(node, kind, until)

    def collect(self) -> list[Reply]:
        """Replies that have come; letters past their time are given up, as lost."""
        found = list(self.grid.pull_messages(set(self.open))) if self.open else []
        replies = [reply for reply in map(self._read, found) if reply is not None]
        late = [identifier for identifier, letter in self.open.items() if time.monotonic() > letter.until]
        return replies + [Reply(self.open.pop(identifier), None, lost=True) for identifier in late]

    def forget(self, node: int) -> None:
        """Wait for nothing more from a node."""
        self.open = {identifier: letter for identifier, letter in self.open.items() if letter.node != node}

    def _read(self, message: Message) -> Reply | None:
        letter = self.open.pop(message.metadata.reply_to_message_id, None)
        if letter is None:
            return None
        if message.has_error():
            log.info("node %d, %s: %s", letter.node, letter.kind, message.error.reason)
            return Reply(letter, None, lost=message.error.code in LOST)
        try:
            return Reply(letter, unwrap(message))
        except MessageError as error:
            log.info("node %d, %s: %s", letter.node, letter.kind, error)
            return Reply(letter, None)
