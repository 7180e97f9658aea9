"""`python -m martfl.lab run …`, `… plan` and `… bench`: the lab with torch and numpy alone, without all the rest."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from martfl.errors import MartflError
from martfl.lab.command import Request, execute, parse_seeds, parse_settings
from martfl.lab.config import RunConfig
from martfl.lab.plan import as_text, load_plan, overview
from martfl.lab.records import to_json
from martfl.lab.result import RunResult
from martfl.lab.runner import Workers, run_jobs
from martfl.lab.runtime import Runtime
from martfl.lab.suite import describe
from martfl.lab.trainer import STRATEGIES
from martfl.lab.workers import RunListener

SHOWN = 15  # lines of a profile
FLAGS = ("rule", "dataset", "attack", "malicious", "biased", "rounds", "eval_every", "precision")


class PlainListener(RunListener):
    """One line on stderr for every finished run."""

    def begin(self, *, total: int, skipped: int) -> None:
        self.total, self.count = total, 0
        sys.stderr.write(f"{total} runs to do, {skipped} finished before\n")

    def start(self, config: RunConfig) -> None:
        sys.stderr.flush()

    def done(self, result: RunResult) -> None:
        self.count += 1
        figure = f"mta {result.mta:.4f}" if result.mta is not None else result.error
        pace = f"{result.seconds_per_round or 0:.3f} s a round"
        what = f"[{self.count}/{self.total}] {describe(result.config)}"
        sys.stderr.write(f"{what}: {result.status} {figure} ({pace})\n")
        sys.stderr.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m martfl.lab", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run an experiment file, or a single run by its settings")
    run.add_argument("file", nargs="?", type=Path)
    for flag in FLAGS:
        run.add_argument(f"--{flag.replace('_', '-')}")
    run.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    run.add_argument("--only", action="append", default=[], metavar="KEY=VALUE")
    run.add_argument("--seeds", default="")
    run.add_argument("--json", action="store_true")
    plan = commands.add_parser("plan", help="what of a plan is left, or with --run: run it")
    plan.add_argument("file", type=Path)
    plan.add_argument("--run", action="store_true")
    bench = commands.add_parser("bench", help="seconds a round, beside a plain loop over clients")
    bench.add_argument("--datasets", default="")
    bench.add_argument("--rounds", type=int, default=5)
    bench.add_argument("--repeats", type=int, default=3)
    bench.add_argument("--precision", default="fp32")
    bench.add_argument("--keep", type=Path, metavar="RESULTS")
    bench.add_argument("--steps", action="store_true", help="instead: what a round of training spends its time on")
    for part in (run, plan):
        part.add_argument("--out", type=Path, default=Path("runs"))
        part.add_argument("--jobs", type=int, default=1)
        part.add_argument("--ray", metavar="ADDRESS")
        part.add_argument("--gpus", type=float, default=1.0)
        part.add_argument("--seconds", type=float)
    for part in (run, plan, bench):
        part.add_argument("--device", default="cpu")
        part.add_argument("--data", type=Path)
        part.add_argument("--trainer", default="auto", choices=STRATEGIES)
    return parser


def _run(options: argparse.Namespace) -> int:
    given = [f"{flag}={getattr(options, flag)}" for flag in FLAGS if getattr(options, flag) is not None]
    request = Request(
        file=options.file,
        settings=parse_settings([*given, *options.set]),
        seeds=parse_seeds(options.seeds),
        only=tuple(options.only),
        out=options.out,
        runtime=_runtime(options),
        workers=_workers(options),
    )
    results = execute(request, PlainListener())
    if options.json:
        shown = [to_json(result) for result in results]
        sys.stdout.write(json.dumps(shown[0] if options.file is None and len(shown) == 1 else shown) + "\n")
    return 1 if any(result.status == "failed" for result in results) else 0


def _plan(options: argparse.Namespace) -> int:
    plan = load_plan(options.file, out=options.out)
    sys.stdout.write(as_text(overview(plan)) + "\n")
    sys.stdout.flush()
    if options.run:
        run_jobs(plan.jobs(), runtime=_runtime(options), workers=_workers(options), listener=PlainListener())
    return 0


def _runtime(options: argparse.Namespace) -> Runtime:
    return Runtime(device=options.device, trainer=options.trainer, data=options.data)


def _workers(options: argparse.Namespace) -> Workers:
    return Workers(options.jobs, options.ray, options.gpus, options.seconds)


def _bench(options: argparse.Namespace) -> int:
    from martfl.lab.measured import keep_bench
    from martfl.lab.timing import DATASETS, bench_lab

    names = tuple(options.datasets.split(",")) if options.datasets else DATASETS
    if options.steps:
        return _steps(options, names)
    timings = []
    for name in names:
        timings += bench_lab(
            datasets=[name], device=options.device, data=options.data, rounds=options.rounds,
            repeats=options.repeats, precision=options.precision, trainer=options.trainer,
        )  # fmt: skip
        sys.stdout.write(json.dumps(dataclasses.asdict(timings[-1])) + "\n")
        sys.stdout.flush()
        if options.keep is not None:
            measured = [dataclasses.asdict(timing) for timing in timings]
            keep_bench(options.keep, f"lab-{options.device}", timings[0].device, measured)
    return 0


def _steps(options: argparse.Namespace, names: Sequence[str]) -> int:
    from martfl.lab.steps import profile_round

    for name in names:
        spent = profile_round(name, runtime=_runtime(options), precision=options.precision)
        sys.stdout.write(f"{name}, {options.precision}: {sum(one.ms for one in spent):.1f} ms\n")
        sys.stdout.writelines(f"{one.ms:9.2f} ms {one.times:6} × {one.name[:100]}\n" for one in spent[:SHOWN])
        sys.stdout.flush()
    return 0


def main() -> None:
    """Run the command; a known error becomes one line on stderr and exit code 2."""
    options = _parser().parse_args()
    try:
        sys.exit({"run": _run, "plan": _plan, "bench": _bench}[options.command](options))
    except MartflError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
