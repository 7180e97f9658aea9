"""The score in the clear, of whole vectors or of their sketches, and its check after delivery."""

import math
from dataclasses import dataclass

from martfl.scoring.direction import Direction, VectorLike, cosine_of, direction
from martfl.scoring.errors import UpdateError
from martfl.scoring.sketch import NORM, Sketch

SCORE_ERROR = 2e-5  # the most that encryption changes a score: flooding, and five sigma of noise beyond it
CHEAT_TOLERANCE = 5e-5  # what `check_score` forgives: beyond any honest error, far below any gap that selection sees


def baseline_direction(vector: VectorLike, sketch: Sketch | None) -> Direction:
    """What the acquirer compares with: a vector, or its sketch."""
    return direction(vector, name="baseline") if sketch is None else sketch.baseline(vector)


def update_direction(vector: VectorLike, sketch: Sketch | None) -> Direction:
    """What a provider compares: its update, or the rounded sketch of it."""
    return direction(vector) if sketch is None else sketch.update(vector)


def cosine(baseline: VectorLike, update: VectorLike, *, sketch: Sketch | None = None) -> float:
    """The score of the paper's section 4, `s = ⟨g, u⟩ / (‖g‖·‖u‖)`; with a sketch, that of the sketches.

    An all-zero sketch of a vector that is not zero scores 0: nothing is known of it.

    Examples:
        >>> round(cosine([1, 0], [3, 4]), 6)
        0.6
    """
    return _score(baseline_direction(baseline, sketch), update_direction(update, sketch))


def _score(baseline: Direction, update: Direction) -> float:
    if baseline.parameters != update.parameters:
        raise UpdateError(f"both vectors must have the same length, got {baseline.parameters} and {update.parameters}")
    return cosine_of(baseline, update)


def most_score(sketch: Sketch | None) -> float:
    """The largest |score| that an honest reply can decrypt to: a rounded sketch may be a little longer than NORM."""
    return 1.0 + SCORE_ERROR + (math.sqrt(sketch.entries) / NORM if sketch else 0.0)


@dataclass(frozen=True)
class ScoreError:
    """How far a score may be from the cosine of the updates; what a selection rule must not read into differences."""

    deviation: float  # standard deviation of the estimate: 0 without a sketch
    noise: float  # the most that encryption adds: two scores of the same update differ by at most twice this


def score_error(entries: int) -> ScoreError:
    """The error of scores over sketches of so many entries; 0 entries: whole vectors.

    Var = (1/K)·(1 + cos²) at most by collisions, 1/(4·NORM²) at most by rounding

    Examples:
        >>> round(score_error(65_536).deviation, 4)
        0.0039
        >>> score_error(0).deviation
        0.0
    """
    variance = 1.0 / entries + 0.25 / NORM**2 if entries else 0.0
    return ScoreError(deviation=math.sqrt(variance), noise=SCORE_ERROR)


@dataclass(frozen=True)
class ScoreCheck:
    """What a score check found; true when the provider's reply was honest."""

    honest: bool
    reported: float
    expected: float | None  # None: the delivered update has no cosine at all
    tolerance: float

    def __bool__(self) -> bool:
        return self.honest


def check_score(
    reported: float,
    baseline: VectorLike,
    update: VectorLike,
    *,
    sketch: Sketch | None = None,
    tolerance: float = CHEAT_TOLERANCE,
) -> ScoreCheck:
    """Say whether `reported`, learnt under encryption, is the score of the update delivered afterwards.

    With a sketch, that of the same sketches: the sketch's own error takes no part. A delivered vector without a
    direction (zero, NaN, another length) cannot have had an honest score; a bad baseline is the caller's own: raises.

    |reported − ⟨u, g⟩ / (‖u‖·‖g‖)| ≤ tolerance

    Examples:
        >>> bool(check_score(0.6, baseline=[1, 0], update=[3, 4]))
        True
        >>> bool(check_score(0.9, baseline=[1, 0], update=[3, 4]))
        False
    """
    if not 0.0 <= tolerance < 2.0:
        raise UpdateError(f"tolerance must lie in [0, 2), got {tolerance}")
    target = baseline_direction(baseline, sketch)
    try:
        expected = _score(target, update_direction(update, sketch))
    except UpdateError:
        return ScoreCheck(False, float(reported), None, tolerance)
    return ScoreCheck(abs(float(reported) - expected) <= tolerance, float(reported), expected, tolerance)
