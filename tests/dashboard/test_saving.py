"""What readers take along: tables and charts as files, a link to one epoch, their own pay."""

import csv
import io
import re
import time
from html import unescape
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from martfl.dashboard.charts import bars, line_chart, stack
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


def numbers(chart):
    """What a chart's CSV file holds."""
    (data,) = re.findall(r'data-csv="([^"]*)"', chart)
    return list(csv.DictReader(io.StringIO(unescape(data))))


def test_charts_carry_their_numbers_to_the_last_unit():
    wei = 10**18 + 1
    (row,) = numbers(bars([("epoch 1", wei, "1 ETH")], title="Paid"))
    assert row == {"name": "epoch 1", "value": str(wei), "in words": "1 ETH"}
    assert [row["value"] for row in numbers(stack([("a", wei, "1 ETH", "s0"), ("b", 0, "0", "s1")], title="t"))] == [
        str(wei),
        "0",
    ]
    lines = line_chart({"test": [(0, 0.1), (2, 0.3)], "=root": [(1, 0.2)]}, title="t", x="epoch", y="accuracy")
    assert [tuple(row.values()) for row in numbers(lines)] == [("0", "0.1", ""), ("1", "", "0.2"), ("2", "0.3", "")]
    assert list(numbers(lines)[0]) == ["epoch", "test", "'=root"]


def test_a_value_below_zero_is_saved_and_not_drawn():
    chart = bars([("a", -0.5, "less"), ("b", 2.0, "more")], title="t")
    assert [row["value"] for row in numbers(chart)] == ["-0.5", "2.0"]
    assert [float(rect.get("width")) for rect in ElementTree.fromstring(chart).iter("rect")] == [0.0, 100.0]


@pytest.fixture
def saves(browser, tmp_path):
    """`saves(chart, kind)`: what pressing a chart's button writes to disk, as name and text."""
    from selenium.webdriver.common.keys import Keys

    folder = tmp_path / "saved"
    folder.mkdir()
    allow = {"behavior": "allow", "downloadPath": str(folder)}
    browser.driver.execute_cdp_cmd("Browser.setDownloadBehavior", allow)

    def press(chart, kind):
        before = set(folder.iterdir())
        figure = browser.driver.find_elements("css selector", "figure")[chart]
        figure.find_element("css selector", f"[data-save={kind}]").send_keys(Keys.ENTER)
        for _ in range(1200):
            new = [file for file in set(folder.iterdir()) - before if file.suffix == f".{kind}" and file.stat().st_size]
            if new:
                return new[0].name, new[0].read_text()
            time.sleep(0.05)
        raise AssertionError("nothing was saved")

    return press


CHARTS = """return [...document.querySelectorAll('figure')].map(
    f => [f.closest('section').id, f.dataset.csv, f.querySelectorAll('[data-save]').length])"""
SORTS = ("accuracy", "epoch-2", "money", "views")  # where a line, points, a stack and bars are


@pytest.mark.browser
@pytest.mark.parametrize("live", [False, True])
def test_every_chart_is_saved_as_picture_and_as_numbers(browser, made_up, hostile, serve, tmp_path, saves, live):
    names = [hostile, "=1+1", *(f"provider {i}" for i in range(2))]
    folder, report = made_up(providers=4, epochs=2, names=names), tmp_path / "report.html"
    report.write_text(render_report(read_story(folder)))
    browser.driver.get(serve(folder) if live else report.as_uri())
    browser.driver.execute_script("for (const d of document.querySelectorAll('details')) d.open = true")
    charts = browser.driver.execute_script(CHARTS)
    assert len(charts) >= 8  # accuracy, two epochs, money in and out, costs, and each provider's own
    assert all(held and buttons == 2 for _, held, buttons in charts)
    for number in [[place for place, _, _ in charts].index(sort) for sort in SORTS]:
        held = charts[number][1]
        name, text = saves(number, "svg")
        root = ElementTree.fromstring(text)
        assert root.tag == "{http://www.w3.org/2000/svg}svg" and re.fullmatch(r"[a-z0-9-]+( \(\d+\))?\.svg", name)
        assert not {element.tag.split("}")[1] for element in root.iter()} & {"script", "image", "foreignObject", "a"}
        assert not [
            key for element in root.iter() for key in element.attrib if key.startswith(("on", "data-", "class"))
        ]
        name, text = saves(number, "csv")
        assert list(csv.reader(io.StringIO(text))) == list(csv.reader(io.StringIO(held))) and text.count("\n") > 1
    assert all(url.startswith(("http://127.0.0.1", "file:", "data:", "blob:")) for url in browser.requests())
    assert not browser.complaints()


@pytest.mark.browser
def test_a_saved_picture_says_what_the_page_says(browser, made_up, tmp_path, saves):
    report = tmp_path / "report.html"
    report.write_text(render_report(read_story(made_up(providers=4, epochs=2))))
    browser.size(1280, 900, dark=True)
    browser.driver.get(report.as_uri())
    where = "return [...document.querySelectorAll('figure')].findIndex(f => f.closest(arguments[0]))"
    name, text = saves(browser.driver.execute_script(where, "#epoch-2"), "svg")
    root = ElementTree.fromstring(text)
    words = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert name == "scores-and-weights-of-epoch-2.svg"
    assert {"Scores and weights of epoch 2", "weight in the new model", "caught", "dropped", "p1"} <= set(words)
    (first, *_) = root.iter("{http://www.w3.org/2000/svg}rect")
    assert first.get("fill") == "rgb(28, 31, 36)"  # the card's, so that light words can be read
    colours = {path.get("fill") for path in root.iter("{http://www.w3.org/2000/svg}path")}
    assert len(colours) >= 2 and "rgb(0, 0, 0)" not in colours
    browser.driver.execute_script("document.querySelector('#views details').open = true")
    name, text = saves(browser.driver.execute_script(where, "#views"), "svg")
    assert name == "p0-weight-in-the-new-model.svg" and ">epoch 1<" in text
