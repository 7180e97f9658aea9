"""Private scoring over sketches, over whole vectors, and with the settings of the paper's authors.

Same vectors, same process, same SEAL.
"""

import math
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from statistics import median

import numpy as np
from threadpoolctl import threadpool_limits

from martfl.arrays import Floats
from martfl.bench.scoring_peer import Prototype
from martfl.errors import InputError
from martfl.measure import timed
from martfl.scoring import Scorer, Sketch, cosine, scorer, sketch_entries

COSINES = (-0.2, 0.0, 0.1, 0.5, 0.9)
MANY = 10_000_000  # parameters from which one update is scored instead of one for each cosine
SEEDS = 12  # sketches over which the error of an estimate is taken


@dataclass(frozen=True)
class Side:
    """One scheme's figures: medians of the CPU seconds, the largest error over all cosines."""

    bytes_per_parameter: float
    reply_bytes: int
    encrypt_cpu_s: float
    provider_cpu_s: float
    decrypt_cpu_s: float
    max_error: float


@dataclass(frozen=True)
class SketchSide:
    """The figures of scoring over sketches; the seconds hold the sketching itself."""

    entries: int
    request_bytes: int
    reply_bytes: int
    encrypt_cpu_s: float
    provider_cpu_s: float
    decrypt_cpu_s: float
    sketch_ms_per_million: float  # CPU milliseconds to sketch a million parameters
    rms_error: float  # of the estimate: against the cosines of whole vectors, over SEEDS seeds
    check_error: float  # the largest against the cosines of the same sketches: what the check after delivery sees
    peak_mb: float  # beside the vector, both sides in one process
    times_less_traffic: dict[str, float]  # both ways together, than `ours` and `prototype`


@dataclass(frozen=True)
class ScoringBench:
    """All sides, and how many times less of each `ours` needs than the prototype."""

    parameters: int
    cosines: tuple[float, ...]
    ours: Side
    prototype: Side
    ratios: dict[str, float]
    sketch: SketchSide | None


@dataclass(frozen=True)
class Case:
    """A unit baseline and unit updates at given cosines to it."""

    baseline: Floats
    updates: tuple[Floats, ...]
    repeats: int

    @classmethod
    def make(cls, parameters: int, cosines: tuple[float, ...], repeats: int) -> "Case":
        baseline = np.random.default_rng(0).standard_normal(parameters)
        baseline /= np.linalg.norm(baseline)
        return cls(baseline, tuple(_update(baseline, c, i) for i, c in enumerate(cosines)), repeats)


def bench_scoring(*, parameters: int, repeats: int = 3, sketch: int | None = None) -> ScoringBench:
    """Encrypt one baseline and score updates in every way; `sketch` entries, None for the default of such a model."""
    if parameters < 2:
        raise InputError(f"parameters must be at least 2 to build given cosines, got {parameters}")
    entries = sketch_entries(None, parameters=parameters) if sketch is None else sketch
    with threadpool_limits(limits=1):  # idle BLAS threads spin for a while, and the clock counts all threads
        return _bench(parameters, repeats, entries)


def _bench(parameters: int, repeats: int, entries: int) -> ScoringBench:
    cosines = COSINES if parameters <= MANY else COSINES[3:4]
    case = Case.make(parameters, cosines, repeats)
    ours, prototype = _side(_measure(scorer("ckks"), case), case), _prototype(case)
    names = ("bytes_per_parameter", "reply_bytes", "encrypt_cpu_s", "provider_cpu_s", "decrypt_cpu_s")
    ratios = {name: getattr(prototype, name) / getattr(ours, name) for name in names}
    others = {"ours": ours, "prototype": prototype}
    sketched = _sketched(case, Sketch(bytes(32), entries), others) if entries else None
    return ScoringBench(parameters, cosines, ours, prototype, ratios, sketched)


@dataclass(frozen=True)
class ScorerCost:
    """What one scorer took."""

    request_bytes: int
    reply_bytes: int
    encrypt_s: float
    provide_s: float
    decrypt_s: float
    scores: tuple[float, ...]


def _measure(scheme: Scorer, case: Case) -> ScorerCost:
    """The whole exchange through a file, as between two machines."""
    key = scheme.generate()  # before the clock starts
    with tempfile.TemporaryFile() as file:
        encrypt, provide, decrypt, scores = [], [], [], []
        for _ in range(case.repeats):
            file.seek(0)
            sent = timed(partial(key.write_baseline, case.baseline, file))
            encrypt.append(sent.cpu_s)
        for update in case.updates:
            file.seek(0)
            reply = timed(partial(scheme.score, file, update))
            score = timed(partial(key.decrypt_score, reply.value))
            provide.append(reply.cpu_s)
            decrypt.append(score.cpu_s)
            scores.append(score.value)
    seconds = median(encrypt), median(provide), median(decrypt)
    return ScorerCost(sent.value, len(reply.value), *seconds, tuple(scores))


def _side(found: ScorerCost, case: Case) -> Side:
    exact = [cosine(case.baseline, update) for update in case.updates]
    error = max(abs(score - truth) for score, truth in zip(found.scores, exact, strict=True))
    size = found.request_bytes / case.baseline.size
    return Side(size, found.reply_bytes, found.encrypt_s, found.provide_s, found.decrypt_s, error)


def _sketched(case: Case, sketch: Sketch, others: dict[str, Side]) -> SketchSide:
    found = _measure(scorer("ckks", sketch=sketch), case)
    checks = [cosine(case.baseline, update, sketch=sketch) for update in case.updates]
    fresh = (Sketch(sketch.seed, sketch.entries) for _ in range(3))  # what it derives once from the seed counts too
    spent = [timed(partial(one.update, case.updates[0])).cpu_s for one in fresh]
    traffic = found.request_bytes + found.reply_bytes
    sent = {name: side.bytes_per_parameter * case.baseline.size for name, side in others.items()}
    return SketchSide(
        entries=sketch.entries,
        request_bytes=found.request_bytes,
        reply_bytes=found.reply_bytes,
        encrypt_cpu_s=found.encrypt_s,
        provider_cpu_s=found.provide_s,
        decrypt_cpu_s=found.decrypt_s,
        sketch_ms_per_million=median(spent) / case.baseline.size * 1e9,
        rms_error=_rms_error(case, sketch.entries),
        check_error=max(abs(score - check) for score, check in zip(found.scores, checks, strict=True)),
        peak_mb=_peak_mb(case.baseline.size, sketch.entries),
        times_less_traffic={name: (sent[name] + side.reply_bytes) / traffic for name, side in others.items()},
    )


def _rms_error(case: Case, entries: int) -> float:
    exact = [cosine(case.baseline, update) for update in case.updates]
    squares = []
    for seed in range(1, SEEDS + 1):
        sketch = Sketch(seed.to_bytes(32, "big"), entries)
        pairs = zip(case.updates, exact, strict=True)
        squares += [(cosine(case.baseline, update, sketch=sketch) - truth) ** 2 for update, truth in pairs]
    return math.sqrt(math.fsum(squares) / len(squares))


def _prototype(case: Case) -> Side:
    peer = Prototype()
    encrypt = [_clock_encryption(peer, case.baseline) for _ in range(case.repeats - 1)]
    sent = back = 0
    spent, totals = np.zeros((3, len(case.updates))), np.zeros(len(case.updates))
    blocks = zip(peer.blocks(case.baseline), *(peer.blocks(update) for update in case.updates), strict=True)
    for block, *parts in blocks:
        message = timed(partial(peer.encrypt, block))
        sent += len(message.value)
        for i, part in enumerate(parts):
            reply = timed(partial(peer.provide, message.value, part))
            score = timed(partial(peer.decrypt, reply.value))
            spent[:, i] += message.cpu_s, reply.cpu_s, score.cpu_s
            totals[i] += score.value
        back += len(reply.value)
    exact = [cosine(case.baseline, update) for update in case.updates]
    seconds = median([*encrypt, spent[0, 0]]), median(spent[1]), median(spent[2])
    return Side(sent / case.baseline.size, back, *seconds, float(np.abs(totals - exact).max()))


def _clock_encryption(peer: Prototype, baseline: Floats) -> float:
    return math.fsum(timed(partial(peer.encrypt, block)).cpu_s for block in peer.blocks(baseline))


def _update(baseline: Floats, target: float, position: int) -> Floats:
    """A unit vector at cosine `target` to a unit baseline; every second one with heavy tails."""
    rng = np.random.default_rng((1, position))
    other = rng.standard_t(3, baseline.size) if position % 2 else rng.standard_normal(baseline.size)
    other -= baseline * (baseline @ other)
    other *= math.sqrt(1 - target**2) / np.linalg.norm(other)
    other += target * baseline
    return other


MEMORY = """
import sys, tempfile
import numpy as np
from martfl.measure import peak_mb
from martfl.scoring import Sketch, scorer
import martfl.scoring.ckks
vector = np.random.default_rng(0).standard_normal(int(sys.argv[1]), dtype=np.float32)
before = peak_mb()
scheme = scorer("ckks", sketch=Sketch(bytes(32), int(sys.argv[2])))
key = scheme.generate()
with tempfile.TemporaryFile() as file:
    key.write_baseline(vector, file)
    file.seek(0)
    key.decrypt_score(scheme.score(file, vector))
print(peak_mb() - before)
"""


def _peak_mb(parameters: int, entries: int) -> float:
    """Both sides of one score in a process of their own: megabytes beside the vector and the loaded libraries."""
    command = [sys.executable, "-c", MEMORY, str(parameters), str(entries)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
