"""The page's server: read-only, guarded, and quick to say that something changed."""

import functools

import httpx
import pytest
import typer
from typer.testing import CliRunner

from martfl.cli.dashboard import dashboard
from martfl.dashboard.guard import is_local, read_token
from martfl.errors import InputError
from martfl.market import steps
from martfl.market.journal import Journal

TOKEN = "a token of enough characters"
PATIENCE = 120.0  # a busy machine may be slow to answer; no test is about that
get = functools.partial(httpx.get, timeout=PATIENCE)


@pytest.fixture
def page(serve, made_up):
    return serve(made_up(providers=3, epochs=1))


def test_every_answer_carries_the_policy(page):
    for path in ("", "sections", "style.css", "page.js", "find.js", "save.js", "report.html", "nothing"):
        answer = get(page + path)
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'") and "unsafe" not in policy and "http" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


def test_it_only_reads(page):
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert httpx.request(method, page, timeout=PATIENCE).status_code == 405
    assert get(page + "docs").status_code == get(page + "openapi.json").status_code == 404


def test_another_sites_name_is_refused(page):
    assert get(page, headers={"host": "evil.example"}).status_code == 421
    port = page.rsplit(":", 1)[1].strip("/")
    assert get(page, headers={"host": f"localhost:{port}"}).status_code == 200


def test_a_change_is_told_and_shown(serve, made_up):
    folder = made_up(providers=3, epochs=1)
    page = serve(folder)
    with httpx.stream("GET", page + "events", timeout=PATIENCE) as events:
        lines = (line for line in events.iter_lines() if line.startswith("data:"))
        first = next(lines)
        assert "Epoch 2" not in get(page + "sections").text
        with Journal(folder / "acquirer") as journal:
            made_up.epoch(journal, 2, providers=3, until=steps.Purchased)
            assert next(lines) != first
            assert "Epoch 2" in get(page + "sections").text


def test_what_the_page_has_is_not_sent_again(serve, made_up):
    folder = made_up(providers=3, epochs=1)
    page = serve(folder)
    first = get(page + "sections").json()["sections"]
    assert all(html.startswith("<section") for _, _, html in first)
    have = ",".join(digest for _, digest, _ in first)
    assert not any(html for _, _, html in get(page + "sections", params={"have": have}).json()["sections"])
    with Journal(folder / "acquirer") as journal:
        made_up.epoch(journal, 2, providers=3, until=steps.Opened)
    changed = [name for name, _, html in get(page + "sections", params={"have": have}).json()["sections"] if html]
    assert "timeline" in changed and "market" not in changed


def test_a_market_that_has_not_begun_is_waited_for(serve, tmp_path):
    page = serve(tmp_path)
    assert "waiting" in get(page).text
    assert get(page + "sections").json()["sections"][0][0] == "summary"


def test_the_token_opens_and_nothing_else_does(serve, made_up):
    page = serve(made_up(providers=3, epochs=1), token=TOKEN, local=False)
    for path in ("sections", "events", "report.html", "page.js"):
        assert get(page + path).status_code == 401
    assert get(page).headers["location"] == "login"
    assert get(page + "sections", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert get(page + "sections", headers={"authorization": "Bearer wrong"}).status_code == 401
    assert get(page + "sections", cookies={"martfl": TOKEN}).status_code == 401
    with httpx.Client(base_url=page, timeout=PATIENCE) as client:
        assert client.post("login", data={"token": "wrong"}).status_code == 401
        assert client.get("sections").status_code == 401
        answer = client.post("login", data={"token": TOKEN})
        assert answer.status_code == 303 and TOKEN not in str(answer.headers)
        assert "httponly" in answer.headers["set-cookie"].lower() and "samesite=strict" in str(answer.headers).lower()
        assert client.get("sections").status_code == 200


def test_a_token_comes_from_a_file_or_the_environment(tmp_path, monkeypatch):
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    assert read_token(path) == TOKEN
    path.write_text("short")
    with pytest.raises(InputError, match="at least 16"):
        read_token(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_token(tmp_path / "none")
    assert read_token(None) is None
    monkeypatch.setenv("MARTFL_DASHBOARD_TOKEN", TOKEN)
    assert read_token(None) == TOKEN


def test_other_machines_need_a_token(tmp_path):
    app = typer.Typer()
    app.command()(dashboard)
    done = CliRunner().invoke(app, ["--journal", str(tmp_path), "--host", "0.0.0.0"])
    assert isinstance(done.exception, InputError) and "a token is needed" in str(done.exception)
    assert "--token " not in CliRunner().invoke(app, ["--help"]).output


@pytest.mark.parametrize(
    ("host", "local"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("a.b", False)]
)
def test_what_is_local(host, local):
    assert is_local(host) is local
