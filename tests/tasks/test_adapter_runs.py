"""Experiments with adapters, on a small random language model: every rule, every attack, going on."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from martfl.errors import InputError
from martfl.lab.adapters.__main__ import load_runs, main
from martfl.lab.adapters.texts import PAYLOAD, TRIGGER, make_split
from martfl.tasks.speeches import load_speeches

FILE = Path(__file__).parents[2] / "experiments" / "lora.toml"


def test_sellers_hold_other_plays_than_the_buyer_and_some_are_bad() -> None:
    split = make_split(load_speeches(), sellers=6, malicious=0.5, attack="backdoor", root=20, test=20, seed=1)
    assert (len(split.root), len(split.test), len(split.sellers)) == (20, 20, 6)
    assert sum(split.honest) == 3
    for texts, honest in zip(split.sellers, split.honest, strict=True):
        assert not {*texts} & {*split.root, *split.test}
        assert all(text.endswith(TRIGGER + PAYLOAD) for text in texts) != honest
    with pytest.raises(InputError, match="none, shuffled, backdoor, got 'poems'"):
        make_split([], sellers=1, malicious=0.0, attack="poems", root=1, test=1, seed=0)


def test_the_experiment_has_every_rule_attack_and_seed() -> None:
    shared, runs = load_runs(FILE)
    assert len(runs) == 36
    assert (shared["sellers"], shared["epochs"], shared["root"]) == (12, 20, 200)


@pytest.mark.long
def test_every_rule_runs_and_a_finished_run_is_not_run_again(
    tiny_base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, out = tmp_path / "small.toml", tmp_path / "out.jsonl"
    settings = "sellers = 3\nmalicious = 0.34\nepochs = 1\nroot = 6\ntest = 6\ntokens = 32\nsteps = 4\nrank = 2"
    rules = '["evidence", "fedavg", "fltrust", "oracle"]'
    file.write_text(f'[adapters]\n{settings}\n[grid]\nattack = ["shuffled"]\nrule = {rules}\nseed = [0]\n')
    monkeypatch.setattr(sys, "argv", ["adapters", str(file), "--out", str(out), "--base", str(tiny_base)])
    main()
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["rule"] for row in rows] == ["evidence", "fedavg", "fltrust", "oracle"]
    assert all(np.isfinite(row["loss"]) and 0 <= row["success"] <= 1 and 0 <= row["bought"] <= 1 for row in rows)
    assert rows[3]["kept_bad"] == 0 < rows[1]["kept_bad"]
    main()
    assert len(out.read_text().splitlines()) == 4


def test_the_table_has_the_means_of_the_last_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    same = {"rule": "fedavg", "attack": "backdoor", "bought": 1.0, "kept_bad": 0.25}
    rows = [
        {**same, "seed": seed, "epoch": epoch, "loss": 4.0 + seed - epoch / 10, "success": float(seed)}
        for seed in (0, 1)
        for epoch in (1, 2)
    ]
    rows.append({**same, "attack": "none", "seed": 0, "epoch": 1, "loss": 4.5, "success": 0.0, "kept_bad": 0.0})
    rows.append({**rows[-1], "rule": "oracle", "loss": 4.25})
    out = tmp_path / "out.jsonl"
    out.write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setattr(sys, "argv", ["adapters", str(FILE), "--out", str(out), "--table"])
    main()
    assert capsys.readouterr().out.splitlines() == [
        "|  | backdoor | none |",
        "| --- | --- | --- |",
        "| fedavg | 4.300, 50% success, 25% weight, 100% bought (2 × 2) | 4.500, 100% bought (1 × 1) |",
        "| oracle | – | 4.250, 100% bought (1 × 1) |",
    ]
