"""An audit passes honest epochs and names what is wrong with others, from chain and files alone."""

import json
from dataclasses import replace

import pytest
import typer
from typer.testing import CliRunner

from martfl.chain import events as ev
from martfl.chain.history import read_history
from martfl.chain.state import Phase
from martfl.cli.audit import audit as command
from martfl.market import auditor
from martfl.market.audit_record import EpochRecord, OpaqueCallError
from martfl.market.auditor import audit
from martfl.market.errors import MarketError
from martfl.market.provider import Provider
from martfl.settlement.exact.sealed import leaf_tree, split_body
from martfl.settlement.integer_file import from_bytes, to_bytes

pytestmark = pytest.mark.xdist_group("audit")  # one market for all


class Late(Provider):
    """Gives no key when it is asked: it comes on chain."""

    def key(self, request):
        raise MarketError("not now")


class FalseLeaf(Late):
    """Seals other values than it commits to."""

    def __post_init__(self):
        super().__post_init__()
        honest, key = self.settler, self.settler.key

        class Tampered:
            def __getattr__(self, name):
                return getattr(honest, name)

            def seal(self, update, secret):
                made = honest.seal(update, secret)
                body = bytes([made.body[0] ^ 1]) + made.body[1:]
                return replace(made, body=body, root=leaf_tree(*split_body(body, key), key).root)

        self.shelf.settler = Tampered()


def changed(file, parameters):
    vector = from_bytes(file, kind="model", parameters=parameters)
    values = vector.values.copy()
    values[7] += 1
    return to_bytes(replace(vector, values=values))


@pytest.fixture(scope="module")
def traded(kit, tmp_path_factory):
    """Two settled epochs with looks, keys on chain and refutations, one empty, one failed, and one that is open."""
    folder = tmp_path_factory.mktemp("audited")
    setting = kit.Setting(folder, providers=4, terms=kit.PLAIN, cheats={2: Late, 3: FalseLeaf})
    market = kit.Market(setting)
    market.acquirer.strategy = kit.Everybody(unweighed=frozenset(market.names[1:2]))
    market.run(2)
    hand = kit.Hand(market)
    hand.open()
    market.travel_to(market.times(3).buy + 1)
    hand.trading.claim_reward(3, account=hand.account)
    hand.files[2] = market.acquirer.model_file(2)
    hand.begin(4, providers=[0, 1])
    hand.buy(0, epoch=4)
    market.travel_to(market.times(4).publish + 1)
    hand.begin(5, providers=[0])
    hand.buy(0, epoch=5)
    yield market
    market.close()


def failures(market, files, epoch=None):
    checks = audit(market.trading, market.settler, files, epoch)
    return checks, [(check.epoch, check.name) for check in checks if not check.ok]


def test_everything_passes_where_everything_was_done_by_the_rules(traded):
    ends = [traded.trading.read_epoch(epoch).phase for epoch in range(1, 6)]
    assert ends == [Phase.SETTLED, Phase.SETTLED, Phase.EMPTY, Phase.FAILED, Phase.TRADING]
    checks, failed = failures(traded, {t: traded.acquirer.model_file(t) for t in (0, 1, 2)})
    assert failed == []
    names = [check.name for check in checks if check.epoch == 1]
    assert names == [
        "base", "commitments", "purchases", "deliveries", "refutations", "weights", "aggregate", "deadlines", "phase",
        "shares", "money", "model file",
    ]  # fmt: skip
    assert {check.name for check in checks if check.epoch == 0} == {"model file", "contract", "balance"}
    lost = traded.trading.read_epoch(4).penalty
    assert f"{lost} forfeited" in next(c.detail for c in checks if (c.epoch, c.name) == (4, "money"))


def test_who_calls_through_a_contract_does_not_make_a_true_market_fail(traded, monkeypatch):
    """Anybody may reveal and refute, from any contract; the chain has the events then, not the arguments."""

    def opaque(self, entry, function, contract=None):
        if function in ("reveal", "refute"):
            raise OpaqueCallError(f"{entry.transaction} came through another contract")
        return call(self, entry, function, contract)

    call = EpochRecord.call
    monkeypatch.setattr(EpochRecord, "call", opaque)
    assert failures(traded, {})[1] == []


def test_one_epoch_alone(traded):
    checks, failed = failures(traded, {}, epoch=2)
    assert {check.epoch for check in checks} == {0, 2} and failed == []
    assert [check.name for check in checks if check.epoch == 0] == ["contract"], "the code is always checked"
    assert failures(traded, {}, epoch=9)[1] == [(9, "epoch")]


def test_another_file_is_found_out(traded):
    file, parameters = traded.acquirer.model_file(1), traded.settler.parameters
    assert failures(traded, {1: changed(file, parameters)}, epoch=1)[1] == [(1, "model file")]
    assert failures(traded, {2: file}, epoch=2)[1] == [(2, "model file")]
    assert failures(traded, {1: file[:-1]}, epoch=1)[1] == [(1, "model file")]
    assert failures(traded, {4: file}, epoch=4)[1] == [(4, "model file")]  # it published none


def test_the_whole_history_is_in_order(traded):
    history = read_history(traded.trading)
    assert list(history.epochs()) == [1, 2, 3, 4, 5]
    assert [e.block for e in history.entries] == sorted(e.block for e in history.entries)
    assert [e.at for e in history.entries] == sorted(e.at for e in history.entries)
    assert history.weights(1) == traded.weights(1) and history.bought(1) == traded.trading.bought(1)
    (entry,) = history.entries_of(ev.ModelPublished, 1)
    sent = traded.chain.web3.eth.get_transaction(entry.transaction)
    assert sent["from"] == traded.buyer.address and sent["blockNumber"] == entry.block
    assert history.times(ev.EpochOpened, 1) == [traded.trading.read_epoch(1).opened]


STRANGER = "0x" + "22" * 20
LIES = [
    ("EpochOpened", 2, lambda e: {"base": 0}, {"base"}),
    ("Deposited", 1, lambda e: {"amount": e.amount - 10**15}, {"shares", "money"}),
    ("ModelCommitted", 1, lambda e: {"provider": STRANGER}, {"commitments", "purchases"}),
    ("ModelCommitted", 1, lambda e: {"digest": bytes(32)}, {"purchases"}),
    ("Bought", 1, lambda e: {"providers": e.providers[1:]}, {"purchases"}),
    ("Bought", 1, lambda e: {"providers": (*e.providers, e.providers[0])}, {"commitments", "purchases"}),
    ("Accepted", 1, lambda e: {"providers": ()}, {"shares"}),
    ("Accepted", 1, lambda e: {"providers": (STRANGER,)}, {"deliveries"}),
    ("Revealed", 1, lambda e: {"key": bytes(32)}, {"deliveries"}),
    ("Revealed", 1, lambda e: {"provider": STRANGER}, {"deliveries"}),
    ("Refuted", 1, lambda e: {"provider": STRANGER}, {"refutations", "shares"}),
    (
        "ModelPublished",
        1,
        lambda e: {"weights": (e.weights[0] + 1, *e.weights[1:])},
        {"weights", "aggregate", "shares"},
    ),
    ("ModelPublished", 1, lambda e: {"weights": (0, *e.weights[1:])}, {"weights", "aggregate"}),
    ("ModelPublished", 1, lambda e: {"providers": (STRANGER, *e.providers[1:])}, {"weights", "aggregate", "shares"}),
    ("ModelPublished", 1, lambda e: {"point": e.point[:64] + b"\1" * 64}, {"aggregate"}),
    ("ModelPublished", 1, lambda e: {"blinding": e.blinding + 1}, {"aggregate"}),
    ("Claimed", 1, lambda e: {"amount": e.amount + 1}, {"shares", "money"}),
    ("Claimed", 1, lambda e: {"provider": STRANGER}, {"shares"}),
    ("Refunded", 1, lambda e: {"amount": e.amount - 1}, {"shares", "money"}),
]


def altered(history, kind, epoch, change):
    """The history with one event changed."""
    entries = list(history.entries)
    at = next(i for i, e in enumerate(entries) if type(e.event).__name__ == kind and e.event.epoch == epoch)
    entries[at] = change(entries[at])
    return replace(history, entries=tuple(entries))


@pytest.mark.parametrize(("kind", "epoch", "change", "caught"), LIES)
def test_every_lie_in_the_record_is_found(traded, monkeypatch, kind, epoch, change, caught):
    history = altered(
        read_history(traded.trading), kind, epoch, lambda e: replace(e, event=replace(e.event, **change(e.event)))
    )
    monkeypatch.setattr(auditor, "read_history", lambda trading: history)
    found = {name for _, name in failures(traded, {}, epoch=epoch)[1]}
    assert caught <= found


@pytest.mark.parametrize(
    ("kind", "later"),
    [
        ("ModelCommitted", 3_600), ("Bought", -3_600), ("Bought", 3_600), ("Accepted", 3 * 3_600), ("Revealed", 900),
        ("Refuted", 3_600), ("ModelPublished", 3 * 3_600), ("ModelPublished", -3_600), ("Claimed", -10_000),
    ],
)  # fmt: skip
def test_every_step_out_of_its_window_is_found(traded, monkeypatch, kind, later):
    history = altered(read_history(traded.trading), kind, 1, lambda e: replace(e, at=e.at + later))
    monkeypatch.setattr(auditor, "read_history", lambda trading: history)
    found = {name for _, name in failures(traded, {}, epoch=1)[1]}
    assert found & {"deadlines", "shares"}


def test_a_failed_epochs_penalty_is_not_paid_to_anybody(traded, monkeypatch):
    """A contract that gave the acquirer its penalty back would be found out."""
    history = read_history(traded.trading)
    state = traded.trading.read_epoch(4)
    last = history.entries_of(ev.Bought, 4)[-1]
    refund = replace(last, event=ev.Refunded(epoch=4, amount=state.refundable + state.penalty), at=traded.chain.now())
    monkeypatch.setattr(auditor, "read_history", lambda trading: replace(history, entries=(*history.entries, refund)))
    assert {name for _, name in failures(traded, {}, epoch=4)[1]} >= {"shares", "money"}


def test_a_contract_with_other_code_or_less_money_is_found(traded, monkeypatch):
    monkeypatch.setattr(traded.chain, "balance", lambda address: 0)
    monkeypatch.setattr(type(traded.trading), "code_at", lambda self, address: b"")
    assert set(failures(traded, {})[1]) == {(0, "contract"), (0, "balance")}


def test_the_command_exits_0_or_1(build, tmp_path):
    market = build(providers=2)
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
