"""A layout: the names, shapes and types of the tensors that a flat vector stands for. Numpy only.

    vector = tensor_0 ‖ tensor_1 ‖ …        each in row-major order, in the layout's own order

Parties whose layouts have one hash mean the same parameter by the same position.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from martfl.arrays import Array
from martfl.tasks.errors import LayoutError
from martfl.values import Settings

Vector = NDArray[np.float32]
DTYPES = ("float32", "float16", "bfloat16", "float64")  # what a tensor is where it is used; vectors are float32


@dataclass(frozen=True)
class Part:
    """One tensor of a layout."""

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"

    def __post_init__(self) -> None:
        if not self.name or not self.name.isprintable():
            raise LayoutError(f"a tensor's name is printable and not empty, got {self.name!r}")
        if any(type(side) is not int or side < 1 for side in self.shape):
            raise LayoutError(f"the shape of {self.name} must be of positive integers, got {self.shape}")
        if self.dtype not in DTYPES:
            raise LayoutError(f"the type of {self.name} must be one of {', '.join(DTYPES)}, got {self.dtype!r}")

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class Layout:
    """The tensors of a vector, in order."""

    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise LayoutError("a layout has at least one tensor")
        names = [part.name for part in self.parts]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise LayoutError(f"the tensors of a layout have names of their own, {twice!r} is there twice")

    @classmethod
    def of(cls, tensors: Settings) -> "Layout":
        """The layout of named arrays or torch tensors."""
        return cls(tuple(Part(name, tuple(map(int, t.shape)), _dtype(t)) for name, t in tensors.items()))

    @classmethod
    def flat(cls, size: int) -> "Layout":
        """One tensor without a structure, for tasks that name nothing."""
        return cls((Part("parameters", (size,)),))

    @cached_property
    def size(self) -> int:
        """The length m of a vector."""
        return sum(part.size for part in self.parts)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of names, shapes and types, in hexadecimal."""
        listed = [[part.name, list(part.shape), part.dtype] for part in self.parts]
        return hashlib.sha256(json.dumps(listed, separators=(",", ":")).encode()).hexdigest()

    def split(self, vector: Array) -> dict[str, Array]:
        """Views of a vector by name, in their shapes."""
        self.check(vector)
        views, at = {}, 0
        for part in self.parts:
            views[part.name] = vector[at : at + part.size].reshape(part.shape)
            at += part.size
        return views

    def join(self, tensors: Mapping[str, Array]) -> Vector:
        """The vector of arrays that have exactly these names and shapes."""
        if (wrong := self.difference(Layout.of(tensors), types=False)) is not None:
            raise LayoutError(f"the tensors do not fit the layout: {wrong}")
        vector: Vector = np.empty(self.size, np.float32)
        for view, part in zip(self.split(vector).values(), self.parts, strict=True):
            view[...] = tensors[part.name]
        return vector

    def check(self, vector: Array) -> None:
        """Raise unless a vector is flat and of this length."""
        if vector.shape != (self.size,):
            raise LayoutError(f"a vector of this layout has the shape ({self.size},), got {vector.shape}")

    def name_at(self, position: int) -> str:
        """Which tensor a position of the vector belongs to."""
        ends = np.cumsum([part.size for part in self.parts])
        return self.parts[int(np.searchsorted(ends, position, side="right"))].name

    def difference(self, other: "Layout", *, types: bool = True) -> str | None:
        """The first tensor in which another layout differs, in words; None where there is none."""
        for mine, theirs in zip_longest(self.parts, other.parts):
            if mine is None:
                return f"{theirs.name} is one too many"
            if theirs is None:
                return f"{mine.name} is missing"
            if mine.name != theirs.name:
                return f"{mine.name} is expected where {theirs.name} is"
            if mine.shape != theirs.shape or (types and mine.dtype != theirs.dtype):
                return f"{mine.name} must be {mine}, it is {theirs}"
        return None

    def to_table(self) -> dict[str, str]:
        """Name → type and shape, as `market.toml` lists them."""
        return {part.name: str(part) for part in self.parts}

    @classmethod
    def from_table(cls, table: Mapping[str, str]) -> "Layout":
        """What `to_table` gave."""
        return cls(tuple(_part(name, text) for name, text in table.items()))


def _part(name: str, text: str) -> Part:
    dtype, bracket, sides = str(text).removesuffix("]").partition("[")
    try:
        shape = tuple(int(side) for side in sides.split(",") if side.strip())
    except ValueError:
        bracket = ""
    if not bracket:
        raise LayoutError(f"the layout lists {name!r} as 'type[sides]', such as 'float32[10, 64]', got {text!r}")
    return Part(name, shape, dtype)


def _dtype(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")
