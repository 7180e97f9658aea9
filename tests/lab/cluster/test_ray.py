"""The grid on a cluster of two machines, one of which is lost in the middle; and a driver that is interrupted."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from martfl.errors import InputError
from martfl.lab.command import Request, execute
from martfl.lab.config import RunConfig
from martfl.lab.records import to_json
from martfl.lab.runner import Workers, run_all
from martfl.lab.store import Store

pytest.importorskip("ray", reason="ray is not installed")

FILE = """
[run]
participants = 6
root_rows = 60
rounds = 60
[grid]
rule = ["fedavg", "martfl"]
seed = [0, 1, 2, 3]
"""
NODE = {"num_cpus": 1, "object_store_memory": 80_000_000}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "grid.toml"
    path.write_text(FILE)
    return path


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Two machines, as processes of this one."""
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
    yield made
    made.shutdown()


def start(file: Path, out: Path, address: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "martfl.lab", "run", str(file), "--ray", address, "--out", str(out)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)


def wait_for_a_result(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    seen = ""
    for line in process.stderr:
        seen += line
        if line.startswith("[1/"):
            return seen
    raise AssertionError(seen)


def figures(folder: Path) -> list[dict[str, Any]]:
    """Everything that does not depend on where it was made."""
    shown = [to_json(result) for result in Store(folder).records()]
    bare = [{k: v for k, v in record.items() if not k.endswith("seconds") and "seconds" not in k} for record in shown]
    return sorted(bare, key=lambda record: record["id"])


@pytest.mark.long
@pytest.mark.xdist_group("ray")
def test_a_lost_machine_costs_nothing_but_time(cluster: Any, file: Path, tmp_path: Path) -> None:
    second = cluster.add_node(**NODE)
    process = start(file, tmp_path / "far", cluster.address)
    told = wait_for_a_result(process)
    cluster.remove_node(second, allow_graceful=False)  # kills it, and the run that it is at
    _, rest = process.communicate(timeout=600)
    assert process.returncode == 0, told + rest
    assert len(Store(tmp_path / "far/grid").finished()) == 8
    execute(Request(file=file, out=tmp_path / "near"))
    assert figures(tmp_path / "far/grid") == figures(tmp_path / "near/grid")


@pytest.mark.long
@pytest.mark.xdist_group("ray")
def test_an_interrupted_driver_leaves_what_has_come(cluster: Any, file: Path, tmp_path: Path) -> None:
    process = start(file, tmp_path / "runs", cluster.address)
    wait_for_a_result(process)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=600)
    assert process.returncode != 0
    kept = Store(tmp_path / "runs/grid").finished()
    assert 1 <= len(kept) < 8
    again = start(file, tmp_path / "runs", cluster.address)
    assert (
        again.stderr is not None
        and f"{8 - len(kept)} runs to do, {len(kept)} finished before" in again.stderr.readline()
    )
    again.communicate(timeout=600)
    assert again.returncode == 0 and len(Store(tmp_path / "runs/grid").finished()) == 8


def test_bad_addresses_and_shares_are_refused(small: Any, tmp_path: Path) -> None:
    runs: list[RunConfig] = [small()]
    with pytest.raises(InputError, match="positive number of GPUs or a fraction, got 0"):
        run_all(runs, folder=tmp_path, workers=Workers(ray="auto", gpus=0.0))
    with pytest.raises(InputError, match=r"no Ray cluster at 127.0.0.1:1: "):
        run_all(runs, folder=tmp_path, workers=Workers(ray="127.0.0.1:1"))
