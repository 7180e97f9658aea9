"""Events of the embedded chain, found without reading every block again.

Stock eth-tester decodes all blocks of the range for each question, some milliseconds a block: a market of 50 providers
asks hundreds of times over thousands of blocks. Here a block's logs are decoded once and kept under its hash.
"""

from collections.abc import Sequence

from eth_tester import EthereumTester
from eth_typing import BlockNumber

from martfl.chain.evm import LocalBackend
from martfl.values import Json

Topics = Sequence[str | Sequence[str] | None] | None
Block = int | str | None
Wanted = str | Sequence[str] | None


class LocalTester(EthereumTester):  # type: ignore[misc]
    """eth-tester with a memory for logs; a block that is reverted is not asked about again."""

    def __init__(self, backend: LocalBackend) -> None:
        super().__init__(backend)
        self._logs: dict[bytes, list[Json]] = {}

    def get_logs(
        self, from_block: Block = None, to_block: Block = None, address: Wanted = None, topics: Topics = None
    ) -> list[Json]:
        """Logs of a range of blocks, oldest first."""
        newest = self.backend.head.block_number
        first = newest if from_block in (None, "latest") else from_block
        last = newest if to_block in (None, "latest") else to_block
        if not isinstance(first, int) or not isinstance(last, int):
            found: list[Json] = super().get_logs(from_block, to_block, address, topics)
            return found
        wanted = {a.lower() for a in ([address] if isinstance(address, str) else address or [])}
        logs = (log for number in range(first, min(last, newest) + 1) for log in self._logs_of(number))
        return [log for log in logs if (not wanted or log["address"].lower() in wanted) and _match(log, topics)]

    def _logs_of(self, number: int) -> list[Json]:
        name = bytes(self.backend.chain.get_canonical_block_hash(BlockNumber(number)))
        if name not in self._logs:
            self._logs[name] = list(super().get_logs(from_block=number, to_block=number))
        return self._logs[name]


def _match(log: Json, topics: Topics) -> bool:
    """Position by position: None takes anything, a list any of its members."""
    found = [topic.lower() for topic in log["topics"]]
    for position, topic in enumerate(topics or []):
        if topic is None:
            continue
        allowed = [topic] if isinstance(topic, str) else topic
        if position >= len(found) or found[position] not in [name.lower() for name in allowed]:
            return False
    return True
