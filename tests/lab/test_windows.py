"""Patches and blocks: adjoints of each other, the same as torch's own layers, and the same in Triton's kernels."""

import importlib.util
import os
import subprocess
import sys

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from martfl.lab.models import windows

SHAPES = [(8, 8, 3, 3), (7, 9, 16, 4), (6, 6, 75, 3), (12, 12, 1, 5)]  # height, width, channels, kernel


def rows(h: int, w: int, c: int) -> Tensor:
    return torch.randn(2, 3, h, w, c, generator=torch.Generator().manual_seed(h * w * c))


@pytest.mark.parametrize(("h", "w", "c", "kernel"), SHAPES)
def test_patches_times_weights_are_a_convolution(h: int, w: int, c: int, kernel: int) -> None:
    x, weight = rows(h, w, c), torch.randn(kernel, kernel, c, 5)
    patches = windows.cut(x, kernel)
    assert patches.shape[-1] % 4 == 0, "whole 16 bytes"
    assert not patches[..., kernel * kernel * c :].any(), "filled up with zeros"
    made = patches[..., : kernel * kernel * c] @ weight.reshape(-1, 5)
    meant = F.conv2d(x.flatten(0, 1).permute(0, 3, 1, 2), weight.permute(3, 2, 0, 1)).permute(0, 2, 3, 1)
    assert torch.allclose(made, meant.reshape(made.shape), atol=1e-3)


@pytest.mark.parametrize(("h", "w", "c", "kernel"), SHAPES)
def test_joining_is_the_adjoint_of_cutting(h: int, w: int, c: int, kernel: int) -> None:
    x = rows(h, w, c)
    patches = windows.cut(x, kernel)
    other = torch.randn(patches.shape, generator=torch.Generator().manual_seed(0))
    left, right = (patches * other).sum(), (x * windows.join(other, x.shape, kernel)).sum()
    assert float(left) == pytest.approx(float(right), rel=1e-4, abs=1e-2)


@pytest.mark.parametrize(("h", "w", "c", "kernel"), SHAPES)
def test_pooling_and_its_gradient_are_those_of_torch(h: int, w: int, c: int, kernel: int) -> None:
    x = rows(h, w, c).requires_grad_()
    meant = F.relu(F.max_pool2d(x.flatten(0, 1).permute(0, 3, 1, 2), 2)).permute(0, 2, 3, 1).unflatten(0, (2, 3))
    pooled = windows.pool(x.detach())
    assert torch.equal(pooled, meant)
    grad = torch.randn(pooled.shape, generator=torch.Generator().manual_seed(1))
    assert torch.equal(windows.unpool(grad, x.detach(), pooled), torch.autograd.grad(meant, x, grad)[0])


def test_of_equal_values_the_first_gets_the_gradient() -> None:
    x = torch.tensor([[1.0, 1.0], [1.0, 0.0]]).view(1, 1, 2, 2, 1)
    assert windows.unpool(torch.ones(1, 1, 1, 1, 1), x, windows.pool(x)).flatten().tolist() == [1, 0, 0, 0]


def test_a_broken_number_does_not_vanish() -> None:
    assert windows.pool(torch.full((1, 1, 2, 2, 1), float("nan"))).isnan().all()


SAME = """
import torch
from martfl.lab.models import windows as plain, windows_cuda as kernels
device = "cuda" if torch.cuda.is_available() else "cpu"
for h, w, c, kernel in %s:
    x = (2 * torch.randn(2, 3, h, w, c, device=device)).round()  # many ties
    patches, pooled = plain.cut(x, kernel), plain.pool(x)
    assert torch.equal(patches, kernels.cut(x, kernel))
    assert torch.equal(pooled, kernels.pool(x))
    grad = torch.randn_like(pooled)
    assert torch.equal(plain.unpool(grad, x, pooled), kernels.unpool(grad, x, pooled))
    grad = torch.randn_like(patches)
    assert torch.allclose(plain.join(grad, x.shape, kernel), kernels.join(grad, x.shape, kernel), atol=1e-5)
assert kernels.pool(torch.full((1, 1, 2, 2, 1), float("nan"), device=device)).isnan().all()
"""


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs Triton, which CUDA builds of torch bring")
def test_tritons_kernels_compute_the_same() -> None:
    """On a machine without a GPU in Triton's interpreter."""
    env = os.environ if torch.cuda.is_available() else {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run(
        [sys.executable, "-c", SAME % SHAPES], env=env, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
