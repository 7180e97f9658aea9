"""An audit passes honest epochs and names what is wrong with others, from chain and files alone."""

import json
from dataclasses import replace

import pytest
import typer
from martfl.market.history import read_history
from typer.testing import CliRunner

from martfl.chain.state import Phase
from martfl.cli.audit import audit as command
from martfl.market import auditor
from martfl.market.acquirer import Acquirer
from martfl.market.auditor import audit
from martfl.market.errors import MarketError
from martfl.market.provider import Provider
from martfl.settlement.integer_file import from_bytes, to_bytes


class Withholder(Provider):
    def deliver(self, request):
        raise MarketError("not today")


class Swindler(Acquirer):
    """Hands out another model than the one it settled."""

    def _hand_out(self, desk, file):
        return super()._hand_out(desk, changed(file, desk.settler.parameters))


def changed(file, parameters):
    vector = from_bytes(file, kind="model", parameters=parameters)
    values = vector.values.copy()
    values[7] += 1
    return to_bytes(replace(vector, values=values))


@pytest.fixture(scope="module")
def settled(kit, tmp_path_factory):
    """Two settled epochs, one provider dropped in each, and a third that the providers made fail."""
    folder = tmp_path_factory.mktemp("settled")
    market = kit.Market(kit.Setting(folder, providers=3, terms=kit.PLAIN, cheats={2: Withholder}))
    market.run(2)
    market.restart_acquirer(Swindler)
    market.acquirer.run(3)
    yield market
    market.close()


def failures(market, files, epoch=None):
    checks = audit(market.trading, market.settler, files, epoch)
    return checks, [(check.epoch, check.name) for check in checks if not check.ok]


def test_everything_passes_where_everything_was_done_by_the_rules(settled):
    checks, failed = failures(settled, {t: settled.acquirer.model_file(t) for t in (0, 1, 2)})
    assert failed == []
    names = [check.name for check in checks if check.epoch == 1]
    expected = ["weights", "commitments", "drops", "aggregate", "deadlines", "phase", "shares", "money", "model file"]
    assert names == expected
    assert settled.trading.read_epoch(3).phase is Phase.FAILED
    assert "objections" in [check.name for check in checks if check.epoch == 3]


def test_one_epoch_alone(settled):
    checks, failed = failures(settled, {}, epoch=2)
    assert {check.epoch for check in checks} == {2} and failed == []
    assert failures(settled, {}, epoch=9)[1] == [(9, "epoch")]


def test_another_file_is_found_out(settled):
    file = settled.acquirer.model_file(1)
    parameters = settled.settler.parameters
    assert failures(settled, {1: changed(file, parameters)}, epoch=1)[1] == [(1, "model file")]
    assert failures(settled, {2: file}, epoch=2)[1] == [(2, "model file")]
    assert failures(settled, {1: file[:-1]}, epoch=1)[1] == [(1, "model file")]


@pytest.mark.parametrize(
    ("kind", "changes", "caught"),
    [
        ("Prepared", lambda e: {"weights": (e.weights[0] + 1, *e.weights[1:])}, {"weights", "aggregate", "shares"}),
        ("ModelPublished", lambda e: {"point": e.point[:64] + b"\1" * 64}, {"aggregate"}),
        ("Claimed", lambda e: {"amount": e.amount + 1}, {"shares", "money"}),
        ("Claimed", lambda e: {"party": "0x" + "11" * 20}, {"shares"}),
        ("Deposited", lambda e: {"amount": e.amount - 1}, {"money", "shares"}),
        ("EpochOpened", lambda e: {"deadline": e.deadline - 3_600}, {"deadlines"}),
        ("EpochOpened", lambda e: {"deadline": e.deadline + 1}, {"deadlines"}),
        ("ModelCommitted", lambda e: {"provider": "0x" + "22" * 20}, {"commitments"}),
    ],
)
def test_every_lie_in_the_record_is_found(settled, monkeypatch, kind, changes, caught):
    history = read_history(settled.trading)
    entries = list(history.entries)
    about = [i for i, e in enumerate(entries) if type(e.event).__name__ == kind and e.event.epoch == 1]
    bought = history.weights(1)  # who is not has nothing to do with how the epoch ended
    at = next(i for i in about if kind != "ModelCommitted" or entries[i].event.provider in bought)
    entries[at] = replace(entries[at], event=replace(entries[at].event, **changes(entries[at].event)))
    monkeypatch.setattr(auditor, "read_history", lambda trading: replace(history, entries=tuple(entries)))
    found = {name for _, name in failures(settled, {}, epoch=1)[1]}
    assert caught <= found


def test_the_command_exits_0_or_1(build, kit, tmp_path):
    market = build(providers=2, terms=kit.PLAIN)
    market.run(1)
    good, bad = tmp_path / "model-1", tmp_path / "bad"
    good.write_bytes(market.acquirer.model_file(1))
    bad.write_bytes(changed(market.acquirer.model_file(1), market.settler.parameters))
    contract = market.trading.address
    build.close()
    app = typer.Typer()
    app.command()(command)
    place = ["--chain", str(tmp_path / "chain.sqlite"), "--contract", contract]
    done = CliRunner().invoke(app, [*place, "--model", str(good), "--json"])
    assert done.exit_code == 0, done.output
    result = json.loads(done.output)
    assert result["ok"] and {"epoch", "name", "ok", "detail"} <= set(result["checks"][0])
    done = CliRunner().invoke(app, [*place, "--model", str(bad), "--epoch", "1"])
    assert done.exit_code == 1 and "FAILED" in done.output
