"""The documentation site builds without a warning: every page, link and anchor, and the API from docstrings."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

ROOT = Path(__file__).parents[2]
CHROMIUM, DRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")
FOUND = ".md-search-result__item"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """What `make docs` builds; strict: a dead link or a page that is on no menu ends it."""
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(out)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=quiet)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def test_every_page_is_there_and_search_works_from_disk(site):
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert all((site / page).is_file() for page in pages) and len(pages) > 25
    assert "provider" in (site / "search" / "search_index.js").read_text()


@pytest.mark.browser
def test_the_search_finds_without_a_network(site):
    if not (CHROMIUM.is_file() and DRIVER.is_file()):
        pytest.skip("chromium and its driver are needed")
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in ("headless", "no-sandbox", "disable-gpu", "no-first-run", "host-resolver-rules=MAP * ~NOTFOUND"):
        options.add_argument(f"--{flag}")
    with webdriver.Chrome(options=options, service=Service(str(DRIVER))) as driver:
        driver.set_window_size(1280, 900)
        driver.get((site / "api" / "chain.html").as_uri())
        driver.find_element(By.CSS_SELECTOR, ".md-search__input").send_keys("penalty")
        found = WebDriverWait(driver, 60).until(lambda one: one.find_elements(By.CSS_SELECTOR, FOUND))
        assert found
    pages = site.rglob("*.html")
    assert not [page for page in pages if re.search(r'<(script|link)[^>]+(src|href)="https?://', page.read_text())]


def test_public_functions_are_drawn_from_their_docstrings(site):
    from martfl import selection

    text = (site / "api" / "selection.html").read_text()
    functions = [name for name in selection.__all__ if name[0].islower()]
    drawn = set(re.findall(r'id="martfl\.selection\.([\w.]+)"', text))
    assert functions and {name for name in functions if not {name, f"{name}.{name}"} & drawn} == set()
    assert "Whom to buy, and at which weight" in text


def test_words_for_tests_are_not_shown(site):
    text = (site / "deploy.html").read_text()
    assert "```" not in text and "until stopped" not in text
    assert not re.search(r'href="\.\./(experiments|results)', (site / "results.html").read_text())


def test_the_reference_links_to_the_pages_in_words(site):
    assert 'href="../contract.html"' in (site / "api" / "chain.html").read_text()
    assert 'href="../quickstart.html"' in (site / "api" / "index.html").read_text()


def test_the_diagram_is_drawn(site):
    assert '<pre class="mermaid">' in (site / "architecture.html").read_text()
