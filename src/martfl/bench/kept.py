"""Benchmarks that the pages of results show, measured and kept beside the results."""

import platform
from dataclasses import asdict
from pathlib import Path

from martfl.bench.gas import bench_gas
from martfl.bench.scoring import bench_scoring
from martfl.lab.measured import keep_bench

MODELS = {"LeNet": 44_426, "CNN": 931_529, "TextCNN on TREC": 2_876_106, "TextCNN on AG News": 2_971_504}
SAMPLES = (8, 16, 32, 64)


def keep_benches(results: Path, *, providers: int = 20) -> list[Path]:
    """The paper's encryption times (Fig. 9) for its models, and gas by samples (Fig. 10)."""
    scoring = {name: asdict(bench_scoring(parameters=size, repeats=3)) for name, size in MODELS.items()}
    gas = bench_gas(providers=providers, samples=SAMPLES, gwei=1.0, coin=3000.0)
    return [
        keep_bench(results, "scoring", machine(), scoring),
        keep_bench(results, "gas", machine(), asdict(gas)),
    ]


def machine() -> str:
    """The processor, as the system names it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()
