"""Large models: bounded memory beside the vectors; and the benchmark's own document."""

import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

PROGRAM = """
import sys
import numpy as np
from martfl.bench.measure import peak_mb as peak
from martfl.scoring import ScoringKey, score_under_encryption
m, path = int(sys.argv[1]), sys.argv[2]
update = np.random.default_rng(0).standard_normal(m, dtype=np.float32)
before = peak()
key = ScoringKey.generate()
with open(path, "wb") as file:
    size = key.write_baseline(update, file)
encrypting = peak() - before
with open(path, "rb") as file:
    reply = score_under_encryption(file, update)
print(size / m, encrypting, peak() - before, key.decrypt_score(reply, parameters=m))
"""


def stream(m: int, path: str) -> tuple[float, float, float, float]:
    """Bytes a parameter, megabytes beside the vector after encrypting and after both sides, and the score."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(m), path], check=True, capture_output=True, text=True)
    sent, encrypting, both, score = map(float, done.stdout.split())
    return sent, encrypting, both, score


def test_peak_memory_is_that_of_the_process_alone():
    """Else a large parent would hide what a child takes."""
    ballast = np.ones(40_000_000)  # 320 MB
    code = "from martfl.bench.measure import peak_mb; print(peak_mb()); x = b'1' * 50_000_000; print(peak_mb())"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    before, after = map(float, done.stdout.split())
    assert before < ballast.nbytes / 2**20 - 100
    assert 45 < after - before < 100


def test_three_million_parameters_in_bounded_memory(tmp_path):
    sent, encrypting, both, score = stream(3_000_000, str(tmp_path / "baseline"))
    assert sent <= 6.1
    assert encrypting < 200
    assert both < 200
    assert score == pytest.approx(1.0, abs=2e-5)


@pytest.mark.long
def test_a_hundred_million_parameters_in_the_same_memory(tmp_path):
    sent, _, both, score = stream(100_000_000, str(tmp_path / "baseline"))
    assert sent <= 6.1
    assert both < 200
    assert score == pytest.approx(1.0, abs=2e-5)


def test_the_benchmark_prints_both_sides_with_ratios():
    from martfl.cli.bench import app

    ran = CliRunner().invoke(app, ["scoring", "--parameters", "20000", "--repeats", "1", "--json"])
    assert ran.exit_code == 0, ran.output
    result = json.loads(ran.output)
    names = {"bytes_per_parameter", "reply_bytes", "encrypt_cpu_s", "provider_cpu_s", "decrypt_cpu_s"}
    assert set(result) == {"parameters", "cosines", "ours", "prototype", "ratios"}
    assert set(result["ours"]) == set(result["prototype"]) == names | {"max_error"}
    assert set(result["ratios"]) == names
    assert result["parameters"] == 20000
    assert len(result["cosines"]) >= 5
    assert result["ours"]["max_error"] <= 2e-5
    assert result["prototype"]["max_error"] <= 1e-6
    assert result["ours"]["reply_bytes"] <= 50_000
    assert result["prototype"]["reply_bytes"] > 80 * 20000 > result["ours"]["bytes_per_parameter"] * 20000


def test_the_benchmark_prints_a_table_for_people():
    from martfl.cli.bench import app

    ran = CliRunner().invoke(app, ["scoring", "--parameters", "5000", "--repeats", "1"])
    assert ran.exit_code == 0, ran.output
    assert "encrypt_cpu_s" in ran.output
    assert "prototype" in ran.output
