"""The term `scoring.sketch`: how many entries a market's sketches have."""

from martfl.scoring.errors import ScoringError
from martfl.scoring.sketch import MAX_ENTRIES

DEFAULT_ENTRIES = 65_536  # a standard deviation of 0.004, where selection works with differences of 0.05
LEAST_ENTRIES = 1_024  # a standard deviation of 0.03


def sketch_entries(term: int | None, *, parameters: int) -> int:
    """The number of entries that a term means for a model of so many parameters; 0: whole vectors are compared.

    None is a term left out: DEFAULT_ENTRIES where the model is larger than twice that, else none. A number must leave
    every entry at least two coordinates to mix.

    Examples:
        >>> sketch_entries(None, parameters=1_000_000)
        65536
        >>> sketch_entries(None, parameters=1_000)
        0
    """
    if parameters < 1:
        raise ScoringError(f"a model must have at least one parameter, got {parameters}")
    if term is None:
        return DEFAULT_ENTRIES if parameters > 2 * DEFAULT_ENTRIES else 0
    if isinstance(term, bool) or not isinstance(term, int):
        raise ScoringError(f"scoring.sketch must be a whole number, got {term!r}")
    if term and not LEAST_ENTRIES <= term <= MAX_ENTRIES:
        raise ScoringError(f"scoring.sketch must be 0 (none) or {LEAST_ENTRIES} to {MAX_ENTRIES}, got {term}")
    if 2 * term > parameters:
        raise ScoringError(
            f"scoring.sketch must be at most half of the model's {parameters} parameters, or 0 (none), got {term}"
        )
    return term
