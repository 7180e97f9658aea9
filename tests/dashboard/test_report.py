"""The report: one file, complete, about the right people, asking nobody for anything."""

import base64
import hashlib
import re

import pytest
import typer
from typer.testing import CliRunner

from martfl.cli.dashboard import report as report_command
from martfl.dashboard.lab_report import groups, write_lab_report
from martfl.dashboard.reading import read_story
from martfl.dashboard.report import write_report
from martfl.dashboard.sections import NAVIGATION
from martfl.dashboard.words import anchor, money
from martfl.errors import InputError
from martfl.lab.command import Request, execute
from martfl.lab.store import Store

LAB = """
title = "A small table"
[run]
participants = 4
root-rows = 60
epochs = 1
rounds = 2
[grid]
rule = ["fedavg", "median"]
seed = [0, 1]
[table]
rows = ["rule"]
columns = ["attack"]
metrics = ["mta"]
[figure]
kind = "bars"
metrics = ["mta", "dac"]
lines = "rule"
"""


@pytest.fixture(scope="module")
def text(demo_folder):
    return (demo_folder / "report.html").read_text()


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    file = folder / "small.toml"
    file.write_text(LAB)
    execute(Request(file=file, out=folder))
    return file


def test_the_demo_wrote_it_with_every_section(text, demo_folder):
    story = read_story(demo_folder)
    for name in (*NAVIGATION, "alarms", "market", *(f"epoch-{e.number}" for e in story.epochs)):
        assert f'id="{name}"' in text
    targets, places = set(re.findall(r'href="#([^"]+)"', text)), set(re.findall(r' id="([^"]+)"', text))
    assert targets <= places


def test_it_loads_nothing_and_may_load_nothing(text):
    assert not re.search(r"<script |<iframe|<object|@import|url\(", text)
    assert not re.search(r'(src|srcset|action)="(?!data:)', text)
    assert re.findall(r'<link[^>]+href="([^"]+)"', text) == ["data:,"]
    assert " style=" not in text  # the policy would refuse it
    for kind in ("style", "script"):
        (own,) = re.findall(rf"<{kind}>(.*?)</{kind}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
        assert f"{kind}-src &#x27;sha256-{digest}&#x27;;" in text


def test_who_was_paid_what_and_why_is_said_to_each(text, demo_folder):
    story = read_story(demo_folder)
    for address in story.parties:
        own = re.search(rf'<details id="{anchor(address)}".*?</details>', text, re.DOTALL)[0]
        assert money(story, story.paid_to(address)) in own and address in own
        for epoch in story.epochs:
            assert f"Epoch {epoch.number} (settled)" in own
    cheat = next(a for a, party in story.parties.items() if party.behaviour == "forged-score")
    own = re.search(rf'<details id="{anchor(cheat)}".*?</details>', text, re.DOTALL)[0]
    assert "You were caught: forged score" in own


def test_a_hundred_providers_and_a_hostile_one(made_up, hostile, tmp_path):
    names = [f"provider {i}" for i in range(99)] + [hostile]
    out = write_report(made_up(providers=100, epochs=3, names=names), tmp_path / "report.html")
    text = out.read_text()
    assert text.count("<script") == 1 and "<img" not in text and "&lt;script&gt;" in text
    assert "\u202e" not in text
    assert out.stat().st_size < 1_500_000
    assert text.count("<details id=") == 100


def test_a_providers_own_report_tells_of_nobody_else(demo_folder, tmp_path):
    story = read_story(demo_folder)
    mine, *others = story.parties
    text = write_report(demo_folder, tmp_path / "mine.html", provider=mine.lower()).read_text()
    assert mine in text and money(story, story.paid_to(mine)) in text
    assert not any(other in text or f">{story.parties[other].name}<" in text for other in others)
    with pytest.raises(InputError, match="no provider has the address"):
        write_report(demo_folder, tmp_path / "mine.html", provider="0x00")


def test_a_providers_journal_is_not_an_acquirers(demo_folder, tmp_path):
    with pytest.raises(InputError, match="is not an acquirer's"):
        write_report(demo_folder / "provider-0", tmp_path / "none.html")


def test_the_command_writes_it_where_it_is_told(demo, tmp_path):
    app = typer.Typer()
    app.command()(report_command)
    done = CliRunner().invoke(app, [str(demo), "--out", str(tmp_path / "sub/mine.html")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "sub/mine.html").read_text().startswith("<!doctype html>")
    assert not list((tmp_path / "sub").glob(".*"))


def test_a_report_of_the_lab(lab, tmp_path):
    folder = lab.parent / "small"
    text = write_lab_report(folder, tmp_path / "lab.html", experiment=lab).read_text()
    records = Store(folder).records()
    assert len(groups(records)) == 2 and all(len(runs) == 2 for _, runs in groups(records))
    mean = 50 * sum(r.mta for r in records if r.name == "fedavg")
    assert f"{mean:.1f} ±" in text and "A small table" in text
    assert 'src="data:image/svg+xml;base64,' in text and "<polyline" in text
    links = dict(re.findall(r'href="data:[\w/+]+;base64,([^"]+)" download="([\w.]+)"', text))
    saved = {name: base64.b64decode(content).decode() for content, name in links.items()}
    assert saved["figure.svg"].rstrip().endswith("</svg>") and "fedavg" in saved["figure.csv"]
    assert "fedavg" in saved["table.csv"] and saved["table.csv"].count("\n") > 1
    assert text.count('data-save="svg"') == text.count('data-save="csv"') == 1  # of the chart by rounds


def test_an_empty_folder_is_no_lab(tmp_path):
    Store(tmp_path).compact()
    with pytest.raises(InputError, match="holds no results"):
        write_lab_report(tmp_path, tmp_path / "r.html")
