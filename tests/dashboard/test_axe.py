"""What axe says of report and page: nothing serious, on a desktop and a phone, in light and dark."""

from pathlib import Path

import pytest

from martfl.dashboard.report import write_report

pytestmark = pytest.mark.browser
AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
RUN = "const done = arguments[arguments.length - 1]; axe.run(document, {resultTypes: ['violations']}).then(done)"
SERIOUS = ("serious", "critical")


@pytest.fixture
def look(browser):
    """`look(address, width, dark)`: what axe finds serious, as `rule: element`."""
    if not AXE.is_file():
        pytest.skip("axe-core is not installed (npm install)")

    def check(address, *, width, dark):
        browser.size(width, 844, dark=dark)
        browser.driver.get(address)
        browser.driver.execute_script("for (const d of document.querySelectorAll('details')) d.open = true")
        browser.driver.execute_script(AXE.read_text())
        browser.driver.set_script_timeout(600)
        found = browser.driver.execute_async_script(RUN)["violations"]
        bad = [violation for violation in found if violation["impact"] in SERIOUS]
        return sorted(f"{one['id']}: {node['html'][:90]}" for one in bad for node in one["nodes"])

    return check


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_report_has_no_serious_barrier(look, made_up, tmp_path, width, dark):
    report = write_report(made_up(providers=6, epochs=3), tmp_path / "report.html")
    assert look(report.as_uri(), width=width, dark=dark) == []


@pytest.mark.parametrize("dark", [False, True])
def test_the_live_page_has_no_serious_barrier(look, made_up, serve, dark):
    assert look(serve(made_up(providers=6, epochs=3)), width=1280, dark=dark) == []


def test_a_barrier_is_noticed(look, tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text("<!doctype html><html><title>x</title><body><main><img src='data:,'></main></body></html>")
    assert [line.split(":")[0] for line in look(bad.as_uri(), width=1280, dark=False)] == ["html-has-lang", "image-alt"]
