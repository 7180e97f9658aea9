"""How a key of any scheme sends a baseline: whole, part by part, or into a file."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import BinaryIO

from martfl.scoring.cosine import baseline_direction
from martfl.scoring.direction import Direction, VectorLike
from martfl.scoring.sketch import Sketch
from martfl.scoring.wire import sealed


class Sender(ABC):
    """A key that knows how to write the parts of a baseline message."""

    sketch: Sketch | None

    @abstractmethod
    def _baseline(self, baseline: Direction) -> Iterator[bytes]: ...

    def encrypt_chunks(self, update: VectorLike) -> Iterator[bytes]:
        """The baseline message, part by part; the update is checked before the first part is asked for."""
        return sealed(self._baseline(baseline_direction(update, self.sketch)))

    def encrypt_baseline(self, update: VectorLike) -> bytes:
        """The baseline message whole; under CKKS a third of a megabyte with a sketch, else 5.6 bytes a parameter."""
        return b"".join(self.encrypt_chunks(update))

    def write_baseline(self, update: VectorLike, file: BinaryIO) -> int:
        """Write the baseline message to a file in bounded memory; gives the bytes written."""
        return sum(file.write(part) for part in self.encrypt_chunks(update))
