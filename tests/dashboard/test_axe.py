"""What axe says of report and page: nothing serious, on a desktop and a phone, in light and dark."""

import pytest

from martfl.dashboard.report import write_report

pytestmark = pytest.mark.browser


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
