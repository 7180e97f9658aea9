"""Among a hundred providers one finds the one that one looks for: from disk and live, by mouse, keyboard and axe."""

import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from martfl.dashboard.finding import MANY, finder, traits
from martfl.dashboard.report import render_report
from martfl.dashboard.story import DeliveryState, EpochStory, Party, Stage, Story, Turn

COIN = 10**18
WIDE = "const page = document.documentElement; return page.scrollWidth - page.clientWidth"
CAUGHT, DROPPED, BOUGHT = 10, 25, 75  # of a hundred; who is caught had been bought
SHOWN = """
    const seen = (line) => line.getClientRects().length > 0;
    return [...document.querySelectorAll(arguments[0] + ' [data-find]')].filter(seen).map(line => line.dataset.find)"""


def turn(i, epoch):
    """Of four providers one is dropped; of ten one cheats, and is caught in the second epoch only."""
    who = {"provider": f"0x{i + 1:040x}", "committed": True, "ask": COIN // 100, "score": 0.9 - 0.005 * i}
    if i % 4 == 1:
        return Turn(**who, role="dropped", reason="worse than the others", paid=0)
    price = COIN // 100
    if i % 10 == 2 and epoch == 2:
        caught = {"offence": "forged score", "evidence": "reported 0.91, the update gives 0.12"}
        return Turn(**who, role="high quality", price=price, delivery=DeliveryState.ACCEPTED, paid=price, **caught)
    return Turn(**who, role="high quality", price=price, delivery=DeliveryState.LISTED, weight=1 / 75, paid=2 * price)


def told(providers=100, epochs=2):
    """A market in which a hundred take part, as plain values."""
    parties = [Party(address=f"0x{i + 1:040x}", name=f"Hospital {i}") for i in range(providers)]
    done = [
        EpochStory(
            number=number, stage=Stage.OVER, outcome="SETTLED", deposit=3 * COIN, reward=2 * COIN,
            accuracy=0.5 + 0.1 * number, turns=tuple(turn(i, number) for i in range(providers)),
        )
        for number in range(1, epochs + 1)
    ]  # fmt: skip
    return Story(
        name="A hundred", parties={p.address: p for p in parties}, epochs=tuple(done), rule="evidence",
        start_accuracy=0.3,
    )  # fmt: skip


class Told:
    """In the place of a watcher: a story that a test may exchange."""

    def __init__(self, story):
        self.now = story

    def story(self):
        return self.now

    def version(self):
        return str(len(self.now.epochs))


@pytest.fixture(params=["from disk", "live"])
def page(request, browser, serve, tmp_path):
    """A hundred providers on the screen; `page.tell(story)` where the page is live."""
    told_by = Told(told())
    if request.param == "live":
        address = serve(None, watcher=told_by)
    else:
        (tmp_path / "report.html").write_text(render_report(told_by.now))
        address = (tmp_path / "report.html").as_uri()
    browser.driver.get(address)

    def shown(where):
        return browser.driver.execute_script(SHOWN, where)

    def found():
        return browser.driver.execute_script("return document.querySelector('#found output').textContent")

    return SimpleNamespace(address=address, browser=browser, shown=shown, found=found, told_by=told_by)


def choose(page, kind):
    page.browser.driver.execute_script(f"document.querySelector('[name=find-kind][value={kind}]').click()")


def until(condition):
    for _ in range(1200):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("it never came")


def test_a_line_says_what_happened_in_the_epochs_that_it_tells_of():
    cheat = 2
    assert traits("a", "0x3", [turn(cheat, 1)])["data_kinds"] == "bought"
    assert traits("a", "0x3", [turn(cheat, 1), turn(cheat, 2)])["data_kinds"] == "bought caught"
    assert traits("a", "0x2", [turn(1, 1)])["data_kinds"] == "dropped"
    assert traits("a", "0x2", [])["data_kinds"] == ""


def test_few_providers_need_no_help():
    assert finder(told(providers=MANY)) is None and finder(told(providers=MANY + 1)) is not None


@pytest.mark.browser
def test_a_provider_is_found_by_name_and_by_address(page):
    field = page.browser.driver.find_element("id", "find-text")
    assert page.found() == "100 of 100 providers are shown."
    field.send_keys("hospital 42")
    address = f"0x{43:040x}"
    assert page.shown("#providers") == page.shown("#views") == [f"Hospital 42 {address}"]
    assert len(page.shown("#epoch-2 tbody")) == 2  # its line, and why
    assert page.found() == "1 of 100 providers are shown."
    field.clear()
    field.send_keys(address[2:].upper())
    assert page.shown("#providers") == [f"Hospital 42 {address}"]
    field.send_keys("nobody")
    assert page.shown("#providers") == [] and page.found() == "No provider is like that."
    page.browser.driver.find_element("css selector", "[data-find-all]").click()
    assert len(page.shown("#providers")) == 100
    assert page.browser.driver.execute_script("return document.activeElement.id") == "find-text"
    assert not page.browser.complaints()


@pytest.mark.browser
def test_providers_are_found_by_what_happened_to_them(page):
    for kind, count in {"bought": BOUGHT, "dropped": DROPPED, "caught": CAUGHT, "all": 100}.items():
        choose(page, kind)
        assert len(page.shown("#providers")) == len(page.shown("#views")) == count, kind
        assert page.found() == f"{count} of 100 providers are shown."
    choose(page, "caught")
    page.browser.driver.execute_script("document.querySelector('#epoch-1 details').open = true")
    assert len(page.shown("#epoch-2 tbody")) == 2 * CAUGHT and page.shown("#epoch-1 tbody") == []
    assert len(page.shown("#epoch-2 svg")) == 100  # the others are pale, and keep their place


@pytest.mark.browser
def test_keys_do_it_too(page):
    from selenium.webdriver.common.keys import Keys

    driver = page.browser.driver
    driver.find_element("id", "find-text").send_keys("Hospital 1", Keys.TAB)
    assert driver.execute_script("return document.activeElement.value") == "all"
    driver.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    driver.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert driver.execute_script("return document.activeElement.value") == "dropped"
    assert {name.split()[1] for name in page.shown("#providers")} == {"1", "13", "17"}
    outline = "return getComputedStyle(document.querySelector('#find :checked + span')).outlineStyle"
    assert driver.execute_script(outline) == "solid"
    driver.switch_to.active_element.send_keys(Keys.TAB)
    driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert len(page.shown("#providers")) == 100


@pytest.mark.browser
def test_a_link_leads_to_a_provider_that_was_put_away(page):
    choose(page, "dropped")
    driver = page.browser.driver
    driver.execute_script("""
        const link = document.createElement('a');
        link.href = document.querySelector('#providers .away a').getAttribute('href');
        document.querySelector('#summary').append(link);
        link.click()""")
    assert len(page.shown("#providers")) == 100


@pytest.mark.browser
def test_what_is_looked_for_outlives_a_change_of_the_page(browser, serve):
    told_by = Told(told())
    page = serve(None, watcher=told_by)
    browser.driver.get(page)
    browser.driver.find_element("id", "find-text").send_keys("hospital 42")
    told_by.now = told(epochs=3)
    until(lambda: browser.driver.execute_script("return document.getElementById('epoch-3')"))
    until(lambda: len(browser.driver.execute_script(SHOWN, "#epoch-3 tbody")) == 1)
    assert len(browser.driver.execute_script(SHOWN, "#providers")) == 1
    assert browser.driver.execute_script("return document.activeElement.id") == "find-text"
    told_by.now = replace(told_by.now, parties={}, epochs=())
    until(lambda: not browser.driver.execute_script("return document.getElementById('find')"))
    assert not browser.complaints()


@pytest.mark.browser
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_fits_and_bars_nobody(look, tmp_path, browser, width, dark):
    report = tmp_path / "report.html"
    report.write_text(render_report(told()))
    assert look(report.as_uri(), width=width, dark=dark) == []
    assert browser.driver.execute_script(WIDE) <= 0
    browser.driver.execute_script("document.querySelector('[name=find-kind][value=caught]').click()")
    assert look(None, width=width, dark=dark) == []
    place = browser.driver.execute_script("return document.getElementById('found').getBoundingClientRect().toJSON()")
    assert len(browser.driver.execute_script(SHOWN, "#providers")) == CAUGHT
    assert place["left"] >= 0 and place["right"] <= width and place["bottom"] <= 844
