"""Triton's kernels compute what plain torch computes: forwards, backwards, and a step of the optimiser."""

import importlib.util
import os
import subprocess
import sys

import pytest
import torch

START = """
import importlib
import numpy as np, torch
from torch.nn import functional as F
from martfl.lab.models import kernels, layers, make_model, recurrent, textcnn
from martfl.lab.trainer import optim
from martfl.lab.data import Dataset

device = "cuda" if torch.cuda.is_available() else "cpu"
kernels.product_precision = lambda: "tf32x3"

def switch(on):
    for module in (layers, recurrent, textcnn, optim):
        module.kernels_for = lambda x, name: importlib.import_module(name) if on else None

def close(a, b, rel=2e-5):
    gap = float((a - b).norm() / b.norm().clamp(min=1e-30))
    assert gap < rel, gap

def data(kind, shape, high, seed=0, **more):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, high, (48, *shape)).astype(np.uint8 if kind == "image" else np.int64)
    if kind == "text":
        for row, length in zip(x, rng.integers(0, shape[0] + 1, 48)):
            row[row == 0] = 1
            row[length:] = 0
    y = rng.integers(0, 3, 48)
    return Dataset("made", kind, x, y, x, y, tuple("abc"), **more), torch.from_numpy(x).to(device)

def results(model, x):
    flat = torch.stack([model.start(np.random.default_rng(s)) for s in range(3)]).to(device).requires_grad_()
    logits = model.many(model.split(flat), x)
    labels = torch.arange(x.shape[0] * x.shape[1], device=device) % 3
    return logits, torch.autograd.grad(F.cross_entropy(logits.flatten(0, 1), labels), flat)[0]

def compare(name, made):
    dataset, rows = made
    model, x = make_model(name, dataset), rows.view(3, 16, *rows.shape[1:])
    found = []
    for on in (False, True):
        switch(on)
        found.append(results(model, x))
    for plain, fused in zip(*found):
        close(fused, plain)
"""

CASES = {
    "text": 'compare("textcnn", data("text", (9,), 40, vocabulary=40))',
    "text that fills its rows": """
made, rows = data("text", (5,), 9, vocabulary=9)
compare("textcnn", (made, rows.clamp(min=1)))
""",
    "grey images": 'compare("lenet", data("image", (18, 20, 1), 256, mean=(0.5,), deviation=(0.3,)))',
    "colour images": """
compare("cnn", data("image", (26, 26, 3), 256, mean=(0.5,) * 3, deviation=(0.3,) * 3))
""",
    "recurrent": 'compare("char-lstm", data("text", (6,), 40, vocabulary=40))',
    "images that are not numbers": """
from martfl.lab.models import small_conv_cuda
x = torch.full((1, 1, 4, 4, 1), float("nan"), device=device)
weight, bias = torch.ones(1, 3, 3, 1, 2, device=device), torch.zeros(1, 2, device=device)
assert small_conv_cuda.forward(x, weight, bias)[0].isnan().all()
""",
    "optimisers": """
from martfl.lab.trainer.base import LocalTraining
for name in ("sgd", "adam"):
    local, ends = LocalTraining(name, 0.01), []
    for on in (False, True):
        switch(on)
        torch.manual_seed(0)
        leaves = [torch.randn(3, 7, 5, device=device), torch.randn(3, 11, device=device)]
        force = torch.tensor([0.0, 0.5, 0.1], device=device)
        moments, pull = optim.make_moments(leaves, local), optim.Pull([leaf.clone() for leaf in leaves], force)
        for step in range(1, 4):
            rate, epsilon = optim.factors(local, step)
            rates = torch.tensor([rate, rate, 0.0 if step == 3 else rate], device=device)
            grads = [torch.randn_like(leaf) for leaf in leaves]
            optim.apply_step(leaves, grads, moments, local, rates, torch.tensor(epsilon, device=device), pull)
        ends.append(leaves)
    for plain, fused in zip(*ends):
        close(fused, plain)
""",
}


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs Triton, which CUDA builds of torch bring")
@pytest.mark.parametrize("case", CASES)
def test_kernels_compute_the_same(case: str) -> None:
    """On a machine without a GPU in Triton's interpreter."""
    env = os.environ if torch.cuda.is_available() else {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run(
        [sys.executable, "-c", START + CASES[case]], env=env, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
