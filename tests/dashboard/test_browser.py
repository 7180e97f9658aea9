"""In a real browser: the page while a demo runs, the report from disk, hostile names, small windows, keyboard."""

import threading

import pytest

from martfl.dashboard.report import write_report
from martfl.demo import DemoOptions, run_demo

pytestmark = pytest.mark.browser
WIDE = "const page = document.documentElement; return page.scrollWidth - page.clientWidth"  # a phone widens its window


def wait(driver, script, seconds=300):
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(driver, seconds, poll_frequency=0.1).until(lambda d: d.execute_script(script))


def text(driver, name):
    """In one go: an element that was found may be replaced before it is read."""
    return driver.execute_script("return document.getElementById(arguments[0]).innerText", name)


def test_the_page_follows_a_demo_while_it_runs(serve, browser, tmp_path):
    page = serve(tmp_path)
    browser.driver.get(page)
    browser.driver.execute_script("window.stayed = true")
    assert "No epoch has been opened yet" in text(browser.driver, "timeline")
    options = DemoOptions(providers=2, epochs=1, attack="none", malicious=0.0)
    market = threading.Thread(target=run_demo, args=(options, tmp_path), daemon=True)
    market.start()
    wait(browser.driver, "return document.querySelector('.stages .now')")
    wait(browser.driver, "return document.querySelector('.timeline .badge.good')?.textContent === 'settled'")
    market.join(300)
    assert not market.is_alive()
    assert browser.driver.execute_script("return window.stayed")  # the same page, not loaded again
    assert "Alder" in text(browser.driver, "providers")
    assert all(url.startswith((page, "data:")) for url in browser.requests())
    assert not browser.complaints()


def test_what_a_reader_opened_stays_open(serve, browser, made_up):
    from martfl.market.journal import Journal

    folder = made_up(providers=3, epochs=2)
    browser.driver.get(serve(folder))
    browser.driver.execute_script("document.querySelector('#epoch-1 details').open = true")
    opened = browser.driver.execute_script("return document.querySelector('#views details').id")
    browser.driver.execute_script("document.querySelector('#views details').open = true")
    with Journal(folder / "acquirer") as journal:
        made_up.epoch(journal, 3, providers=3)
    wait(browser.driver, "return document.getElementById('epoch-3')")
    wait(browser.driver, f"return document.getElementById('{opened}').textContent.includes('Epoch 3')")
    assert browser.driver.execute_script(f"return document.getElementById('{opened}').open")
    assert browser.driver.execute_script("return document.querySelector('#epoch-1 details').open")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_report_from_disk_fits_and_asks_for_nothing(browser, demo_folder, width, dark):
    browser.size(width, 844, dark=dark)
    browser.driver.get((demo_folder / "report.html").as_uri())
    browser.driver.execute_script("for (const d of document.querySelectorAll('details')) d.open = true")
    assert browser.driver.execute_script(WIDE) <= 0
    background = browser.driver.execute_script("return getComputedStyle(document.body).backgroundColor")
    light = sum(int(part) for part in background.strip("rgb()").split(","))
    assert light < 150 if dark else light > 600
    assert all(url.startswith(("file:", "data:")) for url in browser.requests())
    assert not browser.complaints()


@pytest.mark.parametrize("width", [1280, 390])
def test_a_hundred_providers_with_a_hostile_one_among_them(browser, made_up, hostile, tmp_path, serve, width):
    names = [hostile, "א" * 200, "W" * 200, *(f"provider {i}" for i in range(97))]
    folder = made_up(providers=100, epochs=2, names=names)
    browser.size(width, 844)
    for address in (write_report(folder, tmp_path / "report.html").as_uri(), serve(folder)):
        browser.driver.get(address)
        browser.driver.execute_script("for (const d of document.querySelectorAll('details')) d.open = true")
        assert browser.driver.title == "a made-up market"
        assert not browser.driver.find_elements("css selector", "main script, main img")
        assert "<script>document.title" in text(browser.driver, "providers")
        assert browser.driver.execute_script(WIDE) <= 0
        assert browser.driver.title == "a made-up market"
    assert not browser.complaints()


def test_everything_is_reached_by_keyboard(browser, demo_folder):
    from selenium.webdriver.common.keys import Keys

    browser.driver.get((demo_folder / "report.html").as_uri())
    focused = []
    for _ in range(40):
        browser.driver.switch_to.active_element.send_keys(Keys.TAB)
        focused.append(browser.driver.execute_script("return document.activeElement.outerHTML.slice(0, 60)"))
    assert "skip" in focused[0] and 'href="#summary"' in focused[1]
    outline = browser.driver.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    summary = browser.driver.find_element("css selector", "#views summary")
    summary.send_keys(Keys.ENTER)
    assert browser.driver.execute_script("return document.querySelector('#views details').open")


def test_links_lead_into_closed_parts(browser, demo_folder):
    from selenium.webdriver.common.keys import Keys

    browser.driver.get((demo_folder / "report.html").as_uri())
    link = browser.driver.find_element("css selector", "#providers tbody a")
    target = link.get_attribute("href").split("#")[1]
    link.send_keys(Keys.ENTER)
    wait(browser.driver, f"return document.getElementById('{target}').getBoundingClientRect().top < innerHeight")
    hidden = browser.driver.find_element("css selector", "#epoch-2 p a").get_attribute("href").split("#")[1]
    browser.driver.execute_script("location.hash = arguments[0]", hidden)
    wait(browser.driver, "return document.querySelector('#transactions details').open")


def test_the_token_is_asked_for_once(browser, serve, made_up):
    token = "a token of enough characters"
    page = serve(made_up(providers=3, epochs=1), token=token, local=False)
    browser.driver.get(page)
    browser.driver.find_element("id", "token").send_keys(token)
    browser.driver.find_element("css selector", "button").click()
    wait(browser.driver, "return document.getElementById('status')?.className === 'live'")
    assert token not in browser.driver.current_url
