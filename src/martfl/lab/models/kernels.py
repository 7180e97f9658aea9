"""Triton's kernels, where Triton is installed: it comes with CUDA builds of torch."""

from __future__ import annotations

import functools
import importlib
from types import ModuleType

import torch
from torch import Tensor


@functools.cache
def _load(module: str) -> ModuleType | None:
    try:
        return importlib.import_module(module)
    except ImportError:
        return None


def kernels_for(x: Tensor, module: str) -> ModuleType | None:
    """The module of kernels if they can run on the tensor's device, else None."""
    return _load(module) if x.is_cuda else None


def product_precision() -> str:
    """How a kernel multiplies float32: on tensor cores as torch is set to, or split in three for all digits."""
    return "tf32" if torch.backends.cuda.matmul.allow_tf32 else "tf32x3"
