"""Benchmarks on a page: what `martfl bench … --json` printed, kept beside the results, as tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from martfl.lab.tables import markdown_lines
from martfl.values import Settings

FOLDER = "benches"
NOT_MEASURED = "Nothing was measured yet."
TIMES = {"encrypt_cpu_s": "encrypting", "provider_cpu_s": "a provider's score", "decrypt_cpu_s": "decrypting"}


def bench_file(results: Path, name: str) -> Path:
    """Where a benchmark is kept."""
    return results / FOLDER / f"{name}.json"


def read_bench(results: Path, name: str) -> Settings | None:
    """A kept benchmark; None where it was not measured."""
    path = bench_file(results, name)
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def keep_bench(results: Path, name: str, machine: str, measured: object) -> Path:
    """Keep what a benchmark measured, and on which machine."""
    path = bench_file(results, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"machine": machine, "measured": measured}, indent=1) + "\n", encoding="utf-8")
    return path


def scoring_tables(results: Path) -> Iterator[str]:
    """CPU time and traffic of private scoring by model, for every scheme that was measured."""
    kept = read_bench(results, "scoring")
    if kept is None:
        yield NOT_MEASURED
        return
    rows = []
    for model, found in kept["measured"].items():
        for scheme, side in found.items():
            if isinstance(side, dict) and {"max_error", "rms_error"} & side.keys():  # a scheme, not a ratio of two
                times = [f"{1000 * side[key]:,.1f}" for key in TIMES]
                size = side.get("bytes_per_parameter", side.get("request_bytes", 0) / found["parameters"])
                rows.append([f"{model}, {found['parameters']:,}", scheme, *times, f"{size:.2f}"])
    yield _table(
        ["model, parameters", "scheme", *(f"{what}, ms" for what in TIMES.values()), "bytes a parameter"], rows
    )
    yield f"CPU time of one core, medians. Made on {kept['machine']}."


def gas_tables(results: Path) -> Iterator[str]:
    """Gas of the contracts' functions beside the paper's, and by the number of samples."""
    kept = read_bench(results, "gas")
    if kept is None:
        yield NOT_MEASURED
        return
    found = kept["measured"]
    rows = [[f"`{name}`", f"{gas:,}", _number(found["paper"].get(name))] for name, gas in found["exact"].items()]
    yield f"Exact settlement with {found['providers']} providers, gas:"
    yield _table(["function", "ours", "paper"], rows)
    by_samples = (found.get("sampled") or {}).get("by_samples", {})
    if by_samples:
        names = list(next(iter(by_samples.values())))
        yield "Sampled settlement, gas by the number of samples:"
        rows = [[count, *(f"{gas[name]:,}" for name in names)] for count, gas in by_samples.items()]
        yield _table(["samples", *(f"`{name}`" for name in names)], rows)


def lab_tables(results: Path) -> Iterator[str]:
    """Seconds a round of the lab, wherever they were measured."""
    names = sorted(path.stem for path in (results / FOLDER).glob("lab-*.json"))
    if not names:
        yield NOT_MEASURED
    for name in names:
        kept = read_bench(results, name)
        assert kept is not None
        timings: Sequence[Settings] = kept["measured"]
        rows = [
            [t["dataset"], f"{t['clients']}", f"{t['parameters']:,}", f"{t['round_s']:.3f}", f"{t['train_s']:.3f}",
             "; ".join(f"{rule} {1000 * s:.1f}" for rule, s in t["rules_s"].items()),
             f"{t['plain_s']:.2f}", f"{t['speedup']:.1f}"]
            for t in timings
        ]  # fmt: skip
        heads = ["", "clients", "parameters", "s a round", "training, s", "rules, ms", "plain loop, s", "ratio"]
        yield f"{kept['machine']}, {timings[0]['precision']}:"
        yield _table(heads, rows)


BENCHES: dict[str, Callable[[Path], Iterator[str]]] = {
    "scoring": scoring_tables,
    "gas": gas_tables,
    "lab": lab_tables,
}


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    marks = ["---"] + ["---:"] * (len(heads) - 1)
    return markdown_lines([heads, marks, *rows])


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
