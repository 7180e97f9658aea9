"""Payments of larger markets: the page shows what the kept file holds, and the file is read with care."""

import json
from pathlib import Path

import pytest

from martfl.bench.payment_kept import kept_tables, read_kept
from martfl.bench.payment_markets import all_jobs, main
from martfl.errors import InputError

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "results" / "benches" / "payment-h200.jsonl"


def market(**changes):
    numbers = {"information": 0.5, "equal": None, "size": 0.9, "cosine": 0.1, "leave-one-out": 0.2, "cffl": 0.3}
    plain = {"dataset": "trec", "market": "size", "driver": "information", "seed": 1, "rounds": 5, "sellers": 9,
             "machine": "a machine"}  # fmt: skip
    return {**plain, "accuracy": 0.5, "fair": {**numbers, "rffl": 0.4}, "first": {"information": 0.1},
            "cv": {"information": 0.2}, **changes}  # fmt: skip


def write(file: Path, markets) -> None:
    file.write_text("".join(json.dumps(one) + "\n" for one in markets), encoding="utf-8")


def test_the_page_shows_the_kept_tables() -> None:
    page = (ROOT / "docs" / "payment-limits.md").read_text(encoding="utf-8")
    for text in kept_tables(read_kept(KEPT)):
        assert text in page


def test_a_dataset_without_a_market_of_equals_is_shown_all_the_same(tmp_path) -> None:
    file = tmp_path / "paid.json"
    write(file, [market(), market(market="split 4", sellers=12)])
    *_, conditions = kept_tables(read_kept(file))
    assert conditions.startswith("Sellers: trec 9. 5 rounds.")


def test_means_are_over_seeds_and_gains_over_the_same_seller_s_honest_pay(tmp_path) -> None:
    runs = [
        market(fair={**market()["fair"], "information": 0.9}, accuracy=0.6),
        market(seed=2),
        market(driver="equal", accuracy=0.52),
        market(market="noise"),
        market(market="iid", first={"information": 0.2}),
        market(market="split 4", driver="size", first={"information": 0.3}),
    ]
    file = tmp_path / "paid.json"
    write(file, runs)
    ours, fair, conditions = kept_tables(read_kept(file))
    assert ours.splitlines()[2] == "| trec | 0.70 | 0.50 | 0.20 | – | +8.0 | – | 1.50 | – | – |"
    assert fair.splitlines()[2] == "| by value | 0.70 | 0.50 |"
    assert conditions.startswith("Sellers: trec 9. 5 rounds.") and conditions.endswith("Made on a machine.")


@pytest.mark.parametrize("text", ["not JSON", "{}", '{"dataset": "trec"}', "[1]"])
def test_a_file_of_something_else_is_refused(tmp_path, text) -> None:
    file = tmp_path / "paid.json"
    file.write_text(text)
    with pytest.raises(InputError, match="holds no payments of markets"):
        read_kept(file)
    with pytest.raises(InputError, match="holds no payments of markets"):
        read_kept(tmp_path / "missing.json")


def test_markets_are_run_once_and_added_to_the_file(tmp_path, capfd) -> None:
    file = tmp_path / "paid.jsonl"
    asked = ["--datasets", "digits", "--seeds", "11", "--rounds", "2", "--out", str(file)]
    assert main([*asked, "--seconds", "0"]) == 0
    assert len(read_kept(file)) == 1
    assert main(asked) == 0
    kept = read_kept(file)
    assert [(one.market, one.driver) for one in kept] == [
        (job.market, job.driver) for job in all_jobs(["digits"], [11], 2)
    ]
    assert all(sum(one.first.values()) > 0 and one.machine == "cpu, fp32" for one in kept)
    assert kept.of("digits", "size", "information")[0].fair["size"] == 1.0
    assert kept.of("digits", "split 4", "size")[0].fair["information"] is None
    assert "digits · size · information · seed 11" in capfd.readouterr().err


def test_a_wrong_dataset_of_the_markets_is_named(tmp_path, capfd) -> None:
    assert main(["--datasets", "nothing", "--out", str(tmp_path / "paid.jsonl")]) == 1
    assert "nothing" in capfd.readouterr().err


def test_no_markets_side_by_side_are_refused(tmp_path, capfd) -> None:
    assert main(["--datasets", "digits", "--jobs", "0", "--out", str(tmp_path / "paid.jsonl")]) == 1
    assert "--jobs must be at least 1, got 0" in capfd.readouterr().err
