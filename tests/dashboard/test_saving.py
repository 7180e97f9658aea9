"""What readers take along: a table as a file, a link to one epoch, their own pay."""

import csv
import io
import re
from html import unescape
from urllib.parse import unquote

import pytest

from martfl.dashboard.reading import read_story
from martfl.dashboard.report import render_for, render_report
from martfl.dashboard.saving import csv_link


def saved(page):
    (data,) = re.findall(r'href="data:text/csv;charset=utf-8,([^"]*)" download="payments.csv"', page)
    return list(csv.DictReader(io.StringIO(unquote(unescape(data)))))


def test_everybodys_pay_can_be_saved_to_the_last_unit(made_up):
    story = read_story(made_up(providers=5, epochs=3))
    rows = saved(render_report(story))
    assert len(rows) == 15 and {row["epoch"] for row in rows} == {"1", "2", "3"}
    for address in story.parties:
        own = [int(row["paid"] or 0) for row in rows if row["address"] == address]
        assert sum(own) == story.paid_to(address)


@pytest.mark.parametrize("name", ['=HYPERLINK("x")', "+1", "-1", "@cmd", "a,b", 'say "hi"', "<script>", "two\nlines"])
def test_a_name_stays_a_name(name):
    link = csv_link("x.csv", ("name",), [(name,)])
    assert "<script>" not in link
    (data,) = re.findall(r'href="data:text/csv;charset=utf-8,([^"]*)"', link)
    ((head,), (cell,)) = csv.reader(io.StringIO(unquote(unescape(data)), newline=""))
    assert (head, cell.removeprefix("'")) == ("name", name)
    assert not cell.startswith(("=", "+", "-", "@"))


def test_one_providers_report_tells_its_pay_and_nobody_elses(made_up):
    story = read_story(made_up(providers=5, epochs=3))
    one, other, *_ = sorted(story.parties, key=lambda address: -story.paid_to(address))
    page = render_for(story, one)
    assert "Paid, epoch by epoch" in page and "of it bonus" in page
    assert "payments.csv" not in page and other not in page


@pytest.mark.browser
def test_a_link_opens_one_epoch(browser, made_up, tmp_path):
    report = tmp_path / "report.html"
    report.write_text(render_report(read_story(made_up(providers=4, epochs=3))))
    browser.driver.get(f"{report.as_uri()}#in-epoch-1")
    opened = "return [...document.querySelectorAll('section[id^=epoch] > details[open]')].map(d => d.parentNode.id)"
    assert browser.driver.execute_script(opened) == ["epoch-3", "epoch-1"]  # the latest is open anyway
