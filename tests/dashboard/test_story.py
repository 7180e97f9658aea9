"""The story agrees with the chain, and can be read at every moment of a market."""

import json
from pathlib import Path

import pytest

from martfl.chain.embedded import EmbeddedChain
from martfl.dashboard.ledger import Ledger, ledger_in
from martfl.dashboard.reading import read_story
from martfl.dashboard.sections import sections
from martfl.dashboard.story import STAGES, Node
from martfl.errors import InputError
from martfl.market.journal import Journal


@pytest.fixture(scope="module")
def ledger(demo_folder):
    return ledger_in(demo_folder, read_story(demo_folder).contract)


def test_journal_and_chain_tell_the_same(demo_folder, ledger):
    alone, whole = read_story(demo_folder), read_story(demo_folder, ledger=ledger)
    assert [e.paid for e in alone.epochs] == [e.paid for e in whole.epochs]
    assert [e.deposit for e in alone.epochs] == [e.deposit for e in whole.epochs]
    for mine, theirs in zip(alone.epochs, whole.epochs, strict=True):
        known = {t.hash: t for t in theirs.transactions}
        assert mine.transactions and all(known[t.hash] == t for t in mine.transactions)


def test_money_is_conserved_and_equals_the_demos_own_account(demo_folder, ledger, demo_options):
    story = read_story(demo_folder, ledger=ledger)
    result = json.loads((demo_folder / "result.json").read_text())
    assert len(story.epochs) == demo_options.epochs
    assert all(epoch.held == 0 and epoch.deposit > epoch.reward > 0 for epoch in story.epochs)
    assert sum(epoch.paid for epoch in story.epochs) == result["paid_out"]
    for epoch, counted in zip(story.epochs, result["epochs"], strict=True):
        names = {story.parties[turn.provider].name: turn for turn in epoch.turns}
        assert {name: names[name].paid for name in counted["paid"]} == counted["paid"]
        assert {name: turn.offence for name, turn in names.items() if turn.offence} == {
            name: why.split(":")[0] for name, why in counted["caught"].items()
        }
        assert epoch.gas() == counted["gas"]
        assert epoch.tested == counted["mta"]


def test_the_forger_is_caught_and_named(demo_folder):
    story = read_story(demo_folder)
    (cheat,) = [party for party in story.parties.values() if party.behaviour == "forged-score"]
    caught = {epoch.number: epoch_turn.offence for epoch, epoch_turn in _turns(story, cheat.address)}
    assert "forged score" in caught.values()
    assert any(alarm.subject == cheat.address and alarm.grave for alarm in story.alarms)
    assert all(turn.weight == 0 for _, turn in _turns(story, cheat.address) if turn.offence)


def test_every_moment_of_a_market_can_be_shown(demo_folder, tmp_path):
    with Journal(demo_folder / "acquirer", read_only=True) as journal:
        steps = journal.steps()
    stages = []
    with Journal(tmp_path / "acquirer") as growing:  # still held by its writer while it is read
        for step in steps:
            growing.record(step.epoch, step.name, step.value, seconds=step.seconds)
            story = read_story(tmp_path)
            assert sections(story)["summary"]
            stages += [(e.number, STAGES.index(e.stage)) for e in story.epochs[-1:]]
    assert stages == sorted(stages) and len(set(stages)) > 10


def test_alarms_tell_of_late_dropped_forged_and_failed(made_up):
    folder = made_up(epochs=1, providers=5, late=(2,), outcome="ABANDONED")
    alarms = {alarm.kind: alarm for alarm in read_story(folder).alarms}
    assert set(alarms) == {"late", "forged score", "epoch abandoned"}
    assert alarms["epoch abandoned"].grave and not alarms["late"].grave
    assert "penalty" in sections(read_story(folder))["alarms"]


def test_an_acquirer_that_is_late_by_the_chains_clock_raises_an_alarm(made_up):
    folder = made_up(epochs=1, providers=4, until="collect")

    def late(now):
        node = Node(block=1, time=now, balance=0, phases={})
        found = read_story(folder, ledger=Ledger(transactions=(), paid={}, deposits={}, node=node)).alarms
        return [alarm for alarm in found if "past its deadline" in alarm.text]

    (epoch,) = read_story(folder).epochs
    assert epoch.stage == "aggregation" and not late(epoch.deadline) and late(epoch.deadline + 1)


def test_a_chain_in_use_is_left_alone(demo):
    contract = read_story(demo).contract
    accounts = json.loads((demo / "demo.json").read_text())["providers"] + 1
    with EmbeddedChain(demo / "chain.sqlite", accounts=accounts):
        assert ledger_in(demo, contract) is None
    assert ledger_in(demo, contract) is not None


def test_a_folder_without_a_journal_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="no acquirer's journal"):
        read_story(tmp_path)


def _turns(story, address):
    return [(epoch, turn) for epoch in story.epochs for turn in epoch.turns if turn.provider == address]
