"""How a key of any scheme sends a baseline: whole, part by part, or into a file."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import BinaryIO

from numpy.typing import ArrayLike

from martfl.scoring.cosine import Direction, direction
from martfl.scoring.wire import sealed


class Sender(ABC):
    """A key that knows how to write the parts of a baseline message."""

    @abstractmethod
    def _baseline(self, baseline: Direction) -> Iterator[bytes]: ...

    def encrypt_chunks(self, update: ArrayLike) -> Iterator[bytes]:
        """The baseline message, part by part; the update is checked before the first part is asked for."""
        return sealed(self._baseline(direction(update, name="baseline")))

    def encrypt_baseline(self, update: ArrayLike) -> bytes:
        """The baseline message whole; under CKKS about five bytes a parameter."""
        return b"".join(self.encrypt_chunks(update))

    def write_baseline(self, update: ArrayLike, file: BinaryIO) -> int:
        """Write the baseline message to a file in bounded memory; gives the bytes written."""
        return sum(file.write(part) for part in self.encrypt_chunks(update))
