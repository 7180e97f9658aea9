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
from martfl.measure import peak_mb as peak
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
    code = "from martfl.measure import peak_mb; print(peak_mb()); x = b'1' * 50_000_000; print(peak_mb())"
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


SKETCH_PROGRAM = """
import sys
import numpy as np
from martfl.measure import peak_mb as peak
from martfl.scoring import Sketch, scorer
import martfl.scoring.ckks
m = int(sys.argv[1])
def chunks():
    rng = np.random.default_rng(0)
    for start in range(0, m, 100_000):
        yield rng.integers(-30_000, 30_000, min(100_000, m - start), dtype=np.int16)
scheme = scorer("ckks", sketch=Sketch(bytes(32), 65_536))
before = peak()
key = scheme.generate()
message = key.encrypt_baseline(chunks())
reply = scheme.score(message, chunks())
print(len(message), len(reply), peak() - before, key.decrypt_score(reply, parameters=m))
"""


@pytest.mark.parametrize("m", [200_000, 20_000_000])
def test_a_sketch_takes_the_same_memory_and_bytes_whatever_the_model(m):
    """Chunks in, so that not even the vector is in memory."""
    done = subprocess.run([sys.executable, "-c", SKETCH_PROGRAM, str(m)], check=True, capture_output=True, text=True)
    request, reply, beside, score = map(float, done.stdout.split())
    assert request <= 400_000
    assert reply <= 41_000
    assert beside < 50
    assert score == pytest.approx(1.0, abs=1e-3)


SIDE = {"bytes_per_parameter", "reply_bytes", "encrypt_cpu_s", "provider_cpu_s", "decrypt_cpu_s"}


def bench(*options: str) -> dict:
    from martfl.cli.bench import app

    ran = CliRunner().invoke(app, ["scoring", *options, "--repeats", "1", "--json"])
    assert ran.exit_code == 0, ran.output
    return json.loads(ran.output)


def test_the_benchmark_prints_both_sides_with_ratios():
    result = bench("--parameters", "20000")
    assert set(result) == {"parameters", "cosines", "ours", "prototype", "ratios", "sketch"}
    assert set(result["ours"]) == set(result["prototype"]) == SIDE | {"max_error"}
    assert set(result["ratios"]) == SIDE
    assert result["parameters"] == 20000
    assert result["sketch"] is None  # so small a model is compared whole
    assert len(result["cosines"]) >= 5
    assert result["ours"]["max_error"] <= 2e-5
    assert result["prototype"]["max_error"] <= 1e-6
    assert result["ours"]["reply_bytes"] <= 50_000
    assert result["prototype"]["reply_bytes"] > 80 * 20000 > result["ours"]["bytes_per_parameter"] * 20000


def test_the_benchmark_sets_the_sketch_beside_them():
    result = bench("--parameters", "140000")
    sketch = result["sketch"]
    assert sketch["entries"] == 65_536
    assert sketch["request_bytes"] <= 400_000
    assert sketch["reply_bytes"] <= 41_000
    assert sketch["peak_mb"] <= 50
    assert sketch["rms_error"] < 1.3 / 256
    assert sketch["check_error"] <= 2e-5
    assert min(sketch["encrypt_cpu_s"], sketch["provider_cpu_s"], sketch["sketch_ms_per_million"]) > 0
    sent = {name: result[name]["bytes_per_parameter"] * 140_000 for name in ("ours", "prototype")}
    traffic = sketch["request_bytes"] + sketch["reply_bytes"]
    for name, times in sketch["times_less_traffic"].items():
        assert times == pytest.approx((sent[name] + result[name]["reply_bytes"]) / traffic)


def test_the_benchmark_takes_any_sketch():
    assert bench("--parameters", "5000", "--sketch", "100")["sketch"]["entries"] == 100
    assert bench("--parameters", "5000", "--sketch", "0")["sketch"] is None


def test_the_benchmark_prints_a_table_for_people():
    from martfl.cli.bench import app

    ran = CliRunner().invoke(app, ["scoring", "--parameters", "5000", "--repeats", "1", "--sketch", "1024"])
    assert ran.exit_code == 0, ran.output
    assert "encrypt_cpu_s" in ran.output
    assert "prototype" in ran.output
    assert "1,024 entries" in ran.output
