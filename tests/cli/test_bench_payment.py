"""`martfl bench payment` and `martfl bench valuation` from the command line, in small."""

import json

from typer.testing import CliRunner

from martfl.cli import app


def test_payments_are_printed_for_ours_and_every_rival(tmp_path) -> None:
    figure = tmp_path / "pay.png"
    small = ["--rounds", "2", "--seeds", "1", "--participants", "8", "--groups", "0"]
    done = CliRunner().invoke(app, ["bench", "payment", *small, "--figure", str(figure), "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert {"ours", "equal", "size", "cosine", "leave-one-out", "gtg-shapley", "cffl", "rffl"} <= set(found)
    names = {"spearman_size", "spearman_noise", "split_gain", "copy_gain", "inflate_gain", "pay_cv"}
    assert names <= set(found["ours"])
    assert found["equal"]["split_gain"] > 3
    assert figure.stat().st_size > 1000


def test_the_cost_of_valuing_is_set_beside_training() -> None:
    done = CliRunner().invoke(app, ["bench", "valuation", "--rounds", "2", "--participants", "8", "--json"])
    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.stdout)
    assert found["sellers"] == 7 and found["train_s"] > 0 and found["value_s"] > 0
