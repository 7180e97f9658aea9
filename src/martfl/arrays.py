"""The kinds of arrays that many rooms pass to each other, by name."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Reals = NDArray[np.floating]  # in whatever precision
Integers = NDArray[np.signedinteger]  # in whatever width
Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]
Array = NDArray[Any]  # of whatever type
