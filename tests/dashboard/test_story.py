"""The story agrees with the chain, and can be read at every moment of a market."""

import html
import json
import re
from pathlib import Path

import pytest

from martfl.chain.embedded import EmbeddedChain
from martfl.chain.history import History
from martfl.dashboard.ledger import Ledger, ledger_in
from martfl.dashboard.reading import read_story
from martfl.dashboard.sections import sections
from martfl.dashboard.steps import by_epoch
from martfl.dashboard.story import STAGES, CheckKind, DeliveryState, Node, Stage
from martfl.errors import InputError
from martfl.market import steps as st
from martfl.market.journal import Journal
from martfl.valuation import brief, statement


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
    outs = ("paid_out", "refunded", "unclaimable", "left_in_contract")
    assert result["deposited"] == sum(result[name] for name in outs)
    for epoch, counted in zip(story.epochs, result["epochs"], strict=True):
        names = {story.parties[turn.provider].name: turn for turn in epoch.turns}
        assert {name: names[name].paid for name in counted["paid"]} == counted["paid"]
        assert {name: turn.ask for name, turn in names.items()} == counted["asks"]
        assert {name: turn.price for name, turn in names.items() if turn.price is not None} == counted["prices"]
        assert {name: turn.bonus for name, turn in names.items() if turn.bonus} == counted["bonus"]
        assert {n: turn.delivery for n, turn in names.items() if turn.delivery is not DeliveryState.NONE} == counted[
            "deliveries"
        ]
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
    for _, turn in _turns(story, cheat.address):
        if turn.offence:  # it handed over what it had committed to: its price, and nothing by weight
            assert turn.weight == 0 and turn.delivery is DeliveryState.ACCEPTED and turn.paid == turn.price >= turn.ask


def test_every_moment_of_a_market_can_be_shown(demo_folder, tmp_path):
    with Journal(demo_folder / "acquirer", read_only=True) as journal:
        entries = journal.entries()
    stages = []
    with Journal(tmp_path / "acquirer") as growing:  # still held by its writer while it is read
        for entry in entries:
            growing.record(entry.epoch, entry.value, label=entry.label, seconds=entry.seconds)
            story = read_story(tmp_path)
            assert sections(story)["summary"]
            stages += [(e.number, STAGES.index(e.stage)) for e in story.epochs[-1:]]
    assert stages == sorted(stages) and len(set(stages)) > 10


def test_alarms_tell_of_late_forged_and_failed(made_up):
    folder = made_up(epochs=1, providers=5, late=(2,), outcome="FAILED")
    alarms = {alarm.kind: alarm for alarm in read_story(folder).alarms}
    assert set(alarms) == {"late", "forged score", "epoch failed"}
    assert alarms["epoch failed"].grave and not alarms["late"].grave
    assert "penalty is forfeited" in sections(read_story(folder))["alarms"]


def test_a_forfeited_penalty_is_nobodys(made_up):
    (epoch,) = read_story(made_up(epochs=1, providers=4, outcome="FAILED")).epochs
    assert epoch.forfeited == epoch.penalty == epoch.deposit - epoch.reward > 0
    assert epoch.held == 0 and epoch.bonus == 0 and epoch.paid > 0


@pytest.mark.parametrize(
    ("scheme", "outcome", "checked"),
    [
        ("exact", "SETTLED", (CheckKind.SUM, 1)),
        ("sampled", "SETTLED", (CheckKind.PROOF, 1)),
        ("sampled", "FAILED", (CheckKind.PROOF, 0)),
    ],
)
def test_the_contract_adds_up_or_checks_a_proof(made_up, scheme, outcome, checked):
    (epoch,) = read_story(made_up(epochs=1, providers=4, scheme=scheme, outcome=outcome)).epochs
    assert [(check.kind, check.passed) for check in epoch.checks if check.who == "contract"] == [checked]


@pytest.mark.parametrize(
    ("until", "stage", "deadline"),
    [
        (st.Opened, Stage.TRAINING, "commit"),
        (st.Relayed, Stage.COMMITTING, "commit"),
        (st.BaselineScores, Stage.SCORING, "buy"),
        (st.Purchased, Stage.BUYING, "buy"),
        (st.Selected, Stage.AGGREGATION, "publish"),
    ],
)
def test_a_deadline_is_that_of_what_is_going_on(made_up, until, stage, deadline):
    folder = made_up(epochs=1, providers=4, until=until)
    with Journal(folder / "acquirer", read_only=True) as journal:
        opened = journal.recall(1, st.Opened)
    (epoch,) = read_story(folder).epochs
    assert epoch.stage is stage and epoch.deadline == getattr(opened, deadline)


def test_an_acquirer_that_is_late_by_the_chains_clock_raises_an_alarm(made_up):
    folder = made_up(epochs=1, providers=4, until=st.Aggregated)

    def late(now):
        node = Node(block=1, time=now, balance=0, phases={})
        found = read_story(folder, ledger=Ledger(history=History(()), transactions=(), node=node)).alarms
        return [alarm for alarm in found if "past its deadline" in alarm.text]

    (epoch,) = read_story(folder).epochs
    assert epoch.stage is Stage.AGGREGATION and not late(epoch.deadline) and late(epoch.deadline + 1)


def test_how_bought_updates_came_over(made_up):
    """From the journal alone: listed, accepted, refuted, silent."""
    folder = made_up(epochs=1, providers=6, until=st.Proved)
    sent = st.Sent(function="refute", gas=1, transaction="0x01")
    with Journal(folder / "acquirer") as journal:
        bought = list(journal.all_of(st.Purchased)[0].prices)
        posted = journal.recall(1, st.ModelPosted)
        assert set(posted.weights) == set(bought[:-1])
        journal.record(1, st.Purchased(prices={address(20): 5, address(21): 6, address(22): 7}, sent=None), label="1")
        journal.record(1, st.Answered(provider=address(20), refuted=3, sent=sent), label="a")
        journal.record(1, st.Answered(provider=address(21), refuted=None, sent=sent), label="b")
        steps = by_epoch(journal.entries())[1].deliveries()
        assert steps[address(22)] is DeliveryState.WAITING
        journal.record(
            1,
            st.Over(phase="SETTLED", refunded=0, quality=st.Measurement(measure="accuracy", values={"accuracy": 0.5})),
        )
        steps = by_epoch(journal.entries())[1].deliveries()
    assert {steps[a] for a in bought[:-1]} == {DeliveryState.LISTED} and steps[bought[-1]] is DeliveryState.ACCEPTED
    assert [steps[address(i)] for i in (20, 21, 22)] == [
        DeliveryState.REFUTED,
        DeliveryState.ACCEPTED,
        DeliveryState.SILENT,
    ]


# --- scores are an oracle on the epoch's key: two decimals, and only when the epoch is over ---------------------------


def shown_numbers(story):
    """Every number with a decimal point in what people see."""
    text = " ".join(sections(story).values())
    return set(re.findall(r"-?\b0\.\d+", re.sub(r"<svg.*?</svg>|<[^>]+>", " ", text, flags=re.DOTALL)))


def test_nothing_tells_of_scores_before_the_epoch_is_over(made_up):
    for until in (st.BaselineScores, st.Purchased, st.Selected, st.ModelPosted, st.PaidOut):
        folder = made_up(epochs=1, providers=5, until=until, folder=made_up.fresh())
        story = read_story(folder)
        (epoch,) = story.epochs
        assert all(turn.score is None and not turn.reason and not turn.evidence for turn in epoch.turns)
        assert not {"0.91", "0.91234", "0.12"} & shown_numbers(story)
        assert not any(number.startswith(("0.6", "0.7", "0.8")) for number in shown_numbers(story))


def test_scores_of_an_epoch_that_is_over_have_two_decimals(made_up):
    story = read_story(made_up(epochs=1, providers=5))
    (epoch,) = story.epochs
    assert all(turn.score == round(turn.score, 2) for turn in epoch.turns)
    assert all(re.fullmatch(r"score -?\d\.\d\d", turn.reason) for turn in epoch.turns)
    assert any(turn.evidence == "reported 0.91, the update gives 0.12" for turn in epoch.turns)
    longer = {number for number in shown_numbers(story) if len(number.partition(".")[2]) > 2}
    assert all(len(number.partition(".")[2]) == 4 for number in longer)  # amounts in coins


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


def address(i):
    return f"0x{i + 1:040x}"


def test_every_seller_in_the_model_reads_what_it_added_and_why_it_gets_its_part(demo_folder):
    story = read_story(demo_folder)
    views, decided = sections(story)["views"], "".join(sections(story)[f"epoch-{e.number}"] for e in story.epochs)
    for epoch in story.epochs:
        assert {turn.provider for turn in epoch.turns if turn.value} == {t.provider for t in epoch.turns if t.weight}
        for turn in (turn for turn in epoch.turns if turn.value):
            assert html.escape(statement(turn.value, weight=turn.weight)) in views
            assert f"its update added {brief(turn.value)}" in decided


def test_what_updates_added_is_not_told_before_the_epoch_is_over(demo):
    with Journal(demo / "acquirer") as journal:
        journal._write("DELETE FROM steps WHERE epoch = 2 AND step = 'over'")
    epoch = read_story(demo).epochs[1]
    assert any(turn.weight for turn in epoch.turns) and not any(turn.value for turn in epoch.turns)
