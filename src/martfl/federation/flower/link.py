"""The acquirer's way to its providers over Flower.

Flower knows nodes by number, the market knows wallets. Every new node gets a challenge; the wallet that signs the
answer owns the node. A wallet that is at one node already is refused at a second one, as long as the first is online.
"""

import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from eth_account.signers.local import LocalAccount
from eth_utils.address import to_checksum_address
from flwr.serverapp import Grid

from martfl.federation.flower.mailbox import Mailbox, Reply
from martfl.market import messages as ms
from martfl.market import wire
from martfl.market.errors import MessageError

log = logging.getLogger(__name__)
CHALLENGE = ms.Challenge.kind


@dataclass
class FlowerLink:
    """`martfl.market.link.Link` over a grid. Times are in seconds."""

    grid: Grid
    market: wire.MarketId
    account: LocalAccount
    pause: float = 0.5  # between looks at the grid
    patience: float = 30.0  # for the answer to a challenge
    every: float = 2.0  # between looks at who is online, while waiting for answers
    joined: Callable[[str, str], None] = field(default=lambda address, name: None)  # told of every new member

    def __post_init__(self) -> None:
        self._mail = Mailbox(self.grid)
        self._nodes: dict[str, int] = {}  # wallet → node
        self._nonces: dict[int, str] = {}  # node → the challenge it was given last
        self._refused: dict[int, str] = {}  # node → the wallet that it wrongly claimed
        self._silent: dict[int, float] = {}  # node → not to be challenged before
        self._greeted = 0.0

    # --- Link ----------------------------------------------------------------------------------------------------

    def members(self) -> Sequence[str]:
        """Everybody online who has signed a challenge; waits for answers to those under way."""
        self._greet()
        while any(letter.kind == CHALLENGE for letter in self._mail.open.values()):
            self._sort(self._mail.collect())
            time.sleep(self.pause)
        return list(self._nodes)

    def ask(self, requests: Mapping[str, bytes], *, kind: str, seconds: float) -> Mapping[str, bytes]:
        """Send, and wait for all answers or for `seconds`. Whoever comes back at another node is asked again there."""
        waiting = {str(to_checksum_address(name)): (name, data) for name, data in requests.items()}
        asked: dict[str, int] = {}
        answers: dict[str, bytes] = {}
        deadline = time.monotonic() + seconds
        while waiting and (left := deadline - time.monotonic()) > 0:
            if time.monotonic() - self._greeted >= self.every:
                self._greet()
            new = self._unsent({key: data for key, (_, data) in waiting.items()}, asked)
            self._mail.post(new, kind=kind, seconds=left)
            owners = {node: key for key, node in asked.items()}
            for reply in self._sort(self._mail.collect()):
                key = owners.get(reply.letter.node)
                if key in waiting and not reply.lost:
                    name, _ = waiting.pop(key)
                    answers |= {} if reply.data is None else {name: reply.data}
            if waiting:
                time.sleep(min(self.pause, left))
        for node in asked.values():
            self._mail.forget(node)  # an answer that comes later is not for the next question
        return answers

    def _unsent(self, waiting: Mapping[str, bytes], asked: dict[str, int]) -> dict[int, bytes]:
        """Node → request for everybody who was not asked yet, or is at a new node; brings `asked` up to date."""
        new = {}
        for key, data in waiting.items():
            node = self._nodes.get(key)
            if node is not None and asked.get(key) != node:
                new[node], asked[key] = data, node
        return new

    # --- identities ----------------------------------------------------------------------------------------------

    def _greet(self) -> None:
        """Forget those who have gone, challenge those who are new."""
        self._greeted = time.monotonic()
        online = set(self.grid.get_node_ids())
        self._nodes = {wallet: node for wallet, node in self._nodes.items() if node in online}
        self._refused = {node: w for node, w in self._refused.items() if node in online and w in self._nodes}
        pending = {letter.node for letter in self._mail.open.values() if letter.kind == CHALLENGE}
        known = {*self._nodes.values(), *self._refused, *pending}
        new = [node for node in sorted(online - known) if self._silent.get(node, 0.0) <= time.monotonic()]
        self._nonces |= {node: secrets.token_hex(16) for node in new}
        challenges = {node: ms.Challenge(epoch=0, nonce=self._nonces[node]) for node in new}
        signed = {n: wire.encode(c, market=self.market, account=self.account) for n, c in challenges.items()}
        self._mail.post(signed, kind=CHALLENGE, seconds=self.patience)

    def _sort(self, replies: list[Reply]) -> list[Reply]:
        """Take the answers to challenges out, and bind their nodes; the rest is given back."""
        for reply in replies:
            if reply.letter.kind == CHALLENGE:
                self._bind(reply)
        return [reply for reply in replies if reply.letter.kind != CHALLENGE]

    def _bind(self, reply: Reply) -> None:
        node = reply.letter.node
        self._silent[node] = time.monotonic() + self.patience  # ask again later, unless it is bound now
        if reply.data is None:
            log.warning("node %d did not say which wallet it is", node)
            return
        try:
            message, signer = wire.decode(reply.data, market=self.market)
        except MessageError as error:
            log.warning("node %d does not prove a wallet: %s", node, error)
            return
        if not isinstance(message, ms.Identity) or message.nonce != self._nonces[node]:
            log.warning("node %d does not prove a wallet: its answer is not to our challenge", node)
        elif (holder := self._nodes.get(signer)) is not None:
            self._refused[node] = signer
            log.warning("node %d is refused: wallet %s has joined at node %d already", node, signer, holder)
        else:
            self._nodes[signer] = node
            self.joined(signer, message.name)
            log.info("node %d is wallet %s", node, signer)
