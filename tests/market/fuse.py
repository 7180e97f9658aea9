"""Parties that die at every point where something becomes permanent, so that tests can start them again.

Such points are: before each write to a journal or a count of answers, before each transaction, and inside training.
What lies between two of them cannot be told apart afterwards, so these are all the ways in which a process can die.
"""

import threading
from dataclasses import dataclass, field

from small_task import Softmax

from martfl.chain.embedded import EmbeddedChain
from martfl.market.journal import Journal
from martfl.market.meter import Meter


class Killed(BaseException):
    """The party's process is gone; nothing catches this but who starts it again."""


@dataclass
class Fuse:
    """Kills at points of its choice. `parties` are who may die; a point kills the first time that it is reached."""

    parties: tuple[str, ...] = ("acquirer", "provider")
    limit: int | None = None  # kill this many times at most
    at: int | None = None  # kill at the new point of this number only
    where: str = ""  # kill only where the point's name has this in it
    points: dict[str, int] = field(default_factory=dict)
    kills: int = 0
    armed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def burn(self, who, what):
        """A point is reached; the first time that it is, the party dies there."""
        with self._lock:
            name = f"{who}: {what}"
            if not self.armed or name in self.points or not who.startswith(self.parties):
                return
            self.points[name] = number = len(self.points)
            wanted = self.where in name and self.at in (None, number)
            if not wanted or (self.limit is not None and self.kills >= self.limit):
                return
            self.kills += 1
        raise Killed(name)


class FusedJournal(Journal):
    """A journal before whose writes its party may die."""

    def __init__(self, folder, fuse):
        self.fuse = None
        super().__init__(folder)
        self.fuse = fuse

    def _write(self, query, *values):
        about = values[: 2 if "blobs" in query else 3]
        self.fuse.burn(self.folder.name, f"{query.partition('VALUES')[0]} {about}")
        super()._write(query, *values)

    def keep_all(self, epoch, blobs):
        self.fuse.burn(self.folder.name, f"keep {epoch} {list(blobs)}")
        super().keep_all(epoch, blobs)


class FusedMeter(Meter):
    """A count of answers before whose changes its party may die."""

    def __init__(self, path, fuse):
        super().__init__(path)
        self.who, self.fuse = path.stem, fuse

    def spend(self, stall, **about):
        self.fuse.burn(self.who, f"count {about}")
        super().spend(stall, **about)

    def sold(self, stall, **about):
        self.fuse.burn(self.who, f"sold {about}")
        super().sold(stall, **about)


class FusedChain(EmbeddedChain):
    """A chain before whose transactions the sender may die."""

    def __init__(self, path, accounts, fuse):
        super().__init__(path, accounts=accounts)
        self.fuse = fuse

    def _send(self, step, *, account, key):
        index = [known.address for known in self.accounts].index(account.address)
        self.fuse.burn("acquirer" if index == 0 else f"provider{index - 1}", f"send {key}")
        return super()._send(step, account=account, key=key)


class FusedTask(Softmax):
    """Training in which its party may die."""

    def __init__(self, who, fuse):
        self.who, self.fuse = who, fuse

    def train(self, model, data, *, seed):
        trained = super().train(model, data, seed=seed)
        self.fuse.burn(self.who, f"train {seed}")
        return trained
