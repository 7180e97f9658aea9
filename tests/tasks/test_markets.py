"""Tasks of one's own through a whole market: no classes, bad sellers, and the model that comes out."""

import contextlib
import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from torch import nn
from torch.utils.data import DataLoader, Dataset

from martfl.chain.embedded import open_file
from martfl.cli import main
from martfl.demo import simulate
from martfl.errors import InputError
from martfl.market.errors import MarketError
from martfl.market.journal import Journal
from martfl.market.published import find_held, open_model
from martfl.market.task import check_task
from martfl.tasks import TaskError, TorchTask

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "own_network.py"
SLOPES = np.array([1.0, -2.0, 0.5], np.float32)


def make_line(width: int = 3) -> nn.Module:
    return nn.Sequential(nn.Linear(width, 1), nn.Flatten(0))


def line(*, width: int = 3) -> TorchTask:
    return TorchTask(lambda: make_line(width), loss=nn.MSELoss(), batch=8, epochs=2)


def rows(seed: int, count: int = 48) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, 3)).astype(np.float32)
    return x, (x @ SLOPES + 0.1 * rng.normal(size=count)).astype(np.float32)


class Breaking(Dataset):
    """Rows that cannot be read after the first few: a disk that fails while a model trains."""

    def __len__(self) -> int:
        return 40

    def __getitem__(self, i: int) -> tuple[torch.Tensor, torch.Tensor]:
        if i > 20:
            raise OSError("the disk is gone")
        return torch.ones(3), torch.tensor(1.0)


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sellers that train, and four that cannot: no rows, rows that are no numbers, a broken disk, other columns."""
    folder = tmp_path_factory.mktemp("line") / "market"
    x, y = rows(4)
    sellers = {
        "good": rows(1),
        "also good": rows(2),
        "empty": (x[:0], y[:0]),
        "not a number": (np.full_like(x, np.nan), y),
        "broken": DataLoader(Breaking(), batch_size=8),
        "other columns": (x[:, :2], y),
    }
    simulate(line, root=rows(3), test=rows(5), sellers=sellers, epochs=2, folder=folder)
    return folder


def test_a_task_without_classes_is_traded_end_to_end(market: Path) -> None:
    told = json.loads((market / "result.json").read_text(encoding="utf-8"))
    assert told["measure"] == "r2"
    assert all(epoch["phase"] == "SETTLED" and epoch["verified"] for epoch in told["epochs"])
    assert told["mta_start"] < 0.5 < 0.9 < told["epochs"][-1]["mta"]
    weighed = {name for epoch in told["epochs"] for name in epoch["weights"]}
    assert weighed
    assert weighed <= {"good", "also good"}


def test_the_epoch_goes_on_without_sellers_that_cannot_train(market: Path) -> None:
    told = json.loads((market / "result.json").read_text(encoding="utf-8"))
    for epoch in told["epochs"]:
        assert set(epoch["asks"]) == {"good", "also good"}
        assert epoch["deliveries"].keys() <= {"good", "also good"}
    for number in (2, 3, 4, 5):  # nothing half-written
        with Journal(market / f"provider-{number}", read_only=True) as journal:
            assert journal.blob(1, "update") is journal.blob(1, "key") is None


@pytest.mark.parametrize("party", ["", "acquirer", "provider-0"])
def test_the_model_comes_out_of_every_partys_folder(market: Path, tmp_path: Path, party: str) -> None:
    found = run("model", "export", market / party, "--to", tmp_path / "out", "--json")
    shown = run("model", "show", market / party, "--json")
    assert found["files"] == [str(tmp_path / "out" / name) for name in ("martfl.json", "model.safetensors")]
    assert {key: found[key] for key in shown} == shown
    assert shown["epoch"] == 2
    assert shown["layout"] == {"0.weight": "float32[1, 3]", "0.bias": "float32[1]"}
    assert (shown["measure"] == "r2") == (party in ("", "acquirer"))
    network = make_line()
    network.load_state_dict({name: torch.from_numpy(t) for name, t in load_file(found["files"][1]).items()})
    x, y = rows(5)
    with torch.no_grad():
        error = float(((network(torch.from_numpy(x)).numpy() - y) ** 2).mean())
    told = json.loads((market / "result.json").read_text(encoding="utf-8"))
    assert error**0.5 == pytest.approx(told["epochs"][-1]["quality"]["rmse"], rel=1e-4)


def test_a_party_that_took_no_part_has_no_model(market: Path) -> None:
    assert "has seen no published model" in refused("model", "show", market / "provider-3")


def test_an_earlier_epoch_can_be_taken_and_a_missing_one_is_named(market: Path, tmp_path: Path) -> None:
    assert run("model", "show", market, "--epoch", "1", "--json")["epoch"] == 1
    assert "there are: 1, 2" in refused("model", "show", market, "--epoch", "7")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    assert "new or empty" in refused("model", "export", market, "--to", tmp_path / "full")
    assert "no journal in" in refused("model", "show", tmp_path)


def test_a_changed_model_does_not_leave(market: Path, tmp_path: Path) -> None:
    held = find_held(market)
    changed = tmp_path / "changed.model"
    file = bytearray(held.models[2].read_bytes())
    file[-1] ^= 1
    changed.write_bytes(bytes(file))
    with open_file(market / "chain.sqlite") as chain, pytest.raises(MarketError, match="model file"):
        open_model(replace(held, models={2: changed}), chain)


def test_a_model_under_other_terms_does_not_leave(market: Path) -> None:
    """What names and scales the numbers is held against the chain as well as the numbers."""
    held = find_held(market)
    false = replace(held.terms, settlement=replace(held.terms.settlement, scale=held.terms.settlement.scale * 64))
    with (
        open_file(market / "chain.sqlite") as chain,
        pytest.raises(MarketError, match="the terms on chain are not those"),
    ):
        open_model(replace(held, terms=false), chain)


def test_another_layout_is_refused_with_the_first_name_that_differs(market: Path) -> None:
    terms = find_held(market).terms
    with pytest.raises(MarketError, match=r"0\.weight must be float32\[1, 3\], it is float32\[1, 4\]"):
        check_task(terms, line(width=4))
    other = TorchTask(lambda: nn.Sequential(nn.Flatten(), nn.Linear(3, 1)), loss=nn.MSELoss())
    with pytest.raises(MarketError, match=r"0\.weight is expected where 1\.weight is"):
        check_task(terms, other)


def test_a_market_refuses_a_buyer_without_rows_and_a_market_without_sellers(tmp_path: Path) -> None:
    x, y = rows(0)
    with pytest.raises(TaskError, match="at least one row"):
        simulate(line, root=(x[:0], y[:0]), test=rows(1), sellers={"a": rows(2)}, folder=tmp_path)
    with pytest.raises(InputError, match="at least 1 seller"):
        simulate(line, root=rows(0), test=rows(1), sellers={}, folder=tmp_path)
    assert not list(tmp_path.iterdir())


def test_an_interrupted_market_of_ones_own_goes_on(market: Path, tmp_path: Path) -> None:
    given = {"root": rows(3), "test": rows(5), "sellers": {"good": rows(1), "also good": rows(2)}, "folder": tmp_path}
    first = simulate(line, epochs=1, **given)
    second = simulate(line, epochs=2, **given)
    assert [epoch.epoch for epoch in second.epochs] == [1, 2]
    assert second.epochs[0].paid == first.epochs[0].paid


# --- the example ---------------------------------------------------------------------------------------------------


def test_the_example_is_ten_lines_and_runs(tmp_path: Path) -> None:
    own = re.search(r"# --- the ten lines -+\n(.*?)\n# ---", EXAMPLE.read_text(encoding="utf-8"), re.DOTALL)
    assert own is not None
    assert len([text for text in own[1].splitlines() if text.strip()]) <= 10
    out = subprocess.run(
        [sys.executable, str(EXAMPLE), str(tmp_path)], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    scores = [float(re.search(r"R² ([+-][\d.]+)", text)[1]) for text in out]
    assert len(scores) == 5
    assert scores[-1] > scores[0] + 0.2
    assert all("Ash" in text and "Doubtful" not in text for text in out[2:])


# --- parts ---------------------------------------------------------------------------------------------------------


def run(*words: object) -> dict:
    code, out, error = martfl(*words)
    assert code == 0, error
    return json.loads(out)


def refused(*words: object) -> str:
    code, _, error = martfl(*words)
    assert code == 2
    return error


def martfl(*words: object) -> tuple[int, str, str]:
    """The command in this process: exit code, what it printed, what it complained of."""
    out, error = io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(error),
        pytest.raises(SystemExit, match=r"^\d*$") as ended,
    ):
        patch.setattr(sys, "argv", ["martfl", *map(str, words)])
        main()
    return int(ended.value.code or 0), out.getvalue(), error.getvalue()
