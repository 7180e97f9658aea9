"""One small demo for all tests of the room, made-up journals of any size, a server in a thread, a real browser."""

import contextlib
import fcntl
import os
import shutil
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from martfl.dashboard.server import make_app
from martfl.dashboard.watch import Watcher
from martfl.demo import DemoOptions, run_demo
from martfl.market import steps as st
from martfl.market.journal import Journal
from martfl.market.terms import read_terms, to_toml

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
RUN = "const done = arguments[arguments.length - 1]; axe.run(document, {resultTypes: ['violations']}).then(done)"
SERIOUS = ("serious", "critical")
CHROMIUM, DRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")
OPTIONS = DemoOptions(providers=3, epochs=2, attack="forged-score", malicious=0.34, seed=1)
HOSTILE = "<script>document.title='owned'</script>\"'><img src=x onerror=document.title='owned'>\u202elive&amp;"
ETHER, ASK, WHOLE = 10**18, 10**16, 1 << 16


@pytest.fixture(scope="session")
def demo_folder(tmp_path_factory):
    """A finished demo; worker processes of one run share it."""
    base = tmp_path_factory.getbasetemp()
    place = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with (place / "dashboard-demo.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "dashboard-demo" / "report.html").is_file():
            shutil.rmtree(place / "dashboard-demo", ignore_errors=True)
            run_demo(OPTIONS, place / "dashboard-demo")
    return place / "dashboard-demo"


@pytest.fixture
def demo(demo_folder, tmp_path):
    """A copy of the finished demo that a test may change."""
    return Path(shutil.copytree(demo_folder, tmp_path / "demo"))


def measured(accuracy):
    return st.Measurement(measure="accuracy", values={"accuracy": accuracy})


def address(i):
    return f"0x{i + 1:040x}"


def made_up_steps(epoch, *, providers, names, outcome, late):
    """An epoch as an acquirer writes it down; provider 0 is left out, the last is caught, the others are listed."""
    members = tuple(address(i) for i in range(providers))
    committed = tuple(a for i, a in enumerate(members) if i not in late)
    listed, caught = committed[1:-1], committed[-1]
    weights = {a: WHOLE // len(listed) + (WHOLE % len(listed) if a == listed[0] else 0) for a in listed}
    prices = dict.fromkeys((*listed, caught), ASK)
    bonus = ETHER - sum(prices.values())
    paid = {a: ASK + bonus * weight // WHOLE for a, weight in weights.items()} | {caught: ASK}
    scores = [0.05 if i == 0 else 0.6 + 0.3 * i / providers for i in range(len(committed))]
    sent = st.Sent(function="some", gas=50_000, transaction=f"0x{epoch:064x}")
    traffic = st.Traffic(sent={"train": 1000, "score": 500}, received={"train": 10, "score": 90})
    shown = {a: st.Shown(commitment="", root="", key_hash="", ask=ASK) for a in committed}
    roles = {a: "dropped" if i == 0 else "high quality" for i, a in enumerate(committed)}
    judged = {
        a: st.Judged(
            score=score, weight=weights.get(a, 0) / WHOLE, role=roles[a], reason="", words=f"score {score:.5f}"
        )
        for a, score in zip(committed, scores, strict=True)
    }
    times = {"commit": 1_700_000_000, "buy": 1_700_003_600, "keys": 1_700_007_200, "publish": 1_700_010_800}
    title = dict(zip(members, names or [f"p{i}" for i in range(providers)], strict=True))
    failed = outcome == "FAILED"
    paid = {a: min(amount, ASK) for a, amount in paid.items()} if failed else paid
    back = (ETHER if failed else 3 * ETHER // 2) - sum(paid.values())
    return [
        st.Opened(deposit=3 * ETHER // 2, reward=ETHER, **times, sent=replace(sent, function="new_epoch")),
        st.Invited(invited=members, names=title, signed=committed, traffic=traffic),
        st.Relayed(sent=(replace(sent, function="commit_models"),)),
        st.Offers(committed=committed, shown=shown, traffic=traffic),
        st.BaselineScores(scores=tuple(scores)),
        st.Ordered(providers=(*listed, caught)),
        st.Purchased(prices=prices, sent=replace(sent, function="buy")),
        st.Selected(rule="evidence", baselines=1, judged=judged, traffic=traffic),
        st.Acceptance(providers=(caught,), sent=replace(sent, function="accept")),
        st.Aggregated(digest="ab" * 32),
        st.ModelPosted(weights={} if failed else weights, sent=replace(sent, function="publish_model")),
        st.HandedOut(asked=len(committed), accepted=committed, traffic=traffic),
        st.Proved(sent=()),
        st.PaidOut(paid=paid, refunded=back, sent=(replace(sent, function="claim_rewards"),), traffic=traffic),
        st.Over(phase=outcome, refunded=back, quality=measured(0.5 + 0.02 * epoch)),
    ]


def made_up_epoch(journal, epoch, *, providers, names=None, until=st.Over, outcome="SETTLED", late=()):
    """Write such an epoch, up to a kind of step."""
    steps = made_up_steps(epoch, providers=providers, names=names, outcome=outcome, late=late)
    for step in steps:
        journal.record(epoch, step, seconds=0.25)
        if isinstance(step, st.Purchased):
            detail = "reported 0.91234, the update gives 0.12345"
            journal.remark(epoch, step_last(step), "forged score", detail)
        if isinstance(step, until):
            return


def step_last(purchased):
    return list(purchased.prices)[-1]


def introduce(journal, *, scheme="exact"):
    settlement = {"scheme": scheme}
    terms = read_terms({"name": "a made-up market", "task": {"entry": "not:needed"}, "settlement": settlement})
    market = {"contract": address(900), "acquirer": address(901), "chain": 1337, "since": 0, "parameters": 1234}
    journal.record(0, st.MarketOpened(**market, quality=measured(0.1), seed=0, terms=to_toml(terms)))


@pytest.fixture
def made_up(tmp_path):
    """`made_up(providers=100, epochs=3, …)`: a folder with a journal that tells of such a market."""

    def make(*, epochs=2, folder=tmp_path / "made-up", scheme="exact", **options):
        with Journal(folder / "acquirer") as journal:
            introduce(journal, scheme=scheme)
            for epoch in range(1, epochs + 1):
                made_up_epoch(journal, epoch, **options)
        return folder

    make.introduce, make.epoch = introduce, made_up_epoch
    make.fresh = lambda: Path(tempfile.mkdtemp(dir=tmp_path))
    return make


@pytest.fixture
def serve():
    """`serve(folder, watcher=…, token=…)` runs the page on a free port and gives its address."""
    import uvicorn

    with contextlib.ExitStack() as stack:

        def start(folder, watcher=None, **options):
            app = make_app(watcher or Watcher(folder), pause=0.1, **options)
            config = uvicorn.Config(
                app, host="127.0.0.1", port=0, log_level="warning", timeout_graceful_shutdown=1, ws="none"
            )
            server = uvicorn.Server(config)
            thread = threading.Thread(target=server.run, daemon=True)
            thread.start()
            stack.callback(thread.join, 10)
            stack.callback(setattr, server, "should_exit", True)
            while not server.started:
                assert thread.is_alive()
                time.sleep(0.02)
            return f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"

        yield start


@pytest.fixture(scope="session")
def chromium():
    """One browser for all tests of a worker."""
    if not (CHROMIUM.is_file() and DRIVER.is_file()):
        pytest.skip("chromium and its driver are needed")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    many = {"profile.default_content_setting_values.automatic_downloads": 1}  # a test saves more files than a person
    options.add_experimental_option("prefs", many)
    plain = "headless no-sandbox disable-gpu no-first-run disable-background-networking disable-component-update"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*plain.split(), "disable-sync", f"user-data-dir={profile}"):
            options.add_argument(f"--{flag}")
        driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
        yield driver
        driver.quit()


@pytest.fixture
def browser(chromium):
    """The browser with a way to size it, and to see what it asked the network for and complained about."""
    import json

    def size(width, height, *, dark=False):
        mobile = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", mobile)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        calm = {"name": "prefers-reduced-motion", "value": "reduce"}  # jumps instead of scrolling: nothing to wait for
        chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme, calm]})

    def requests():
        messages = [json.loads(entry["message"])["message"] for entry in chromium.get_log("performance")]
        return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]

    def complaints():
        return [entry for entry in chromium.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    chromium.get("about:blank")
    chromium.delete_all_cookies()
    size(1280, 900)
    requests(), complaints()
    yield SimpleNamespace(driver=chromium, size=size, requests=requests, complaints=complaints)
    chromium.get("about:blank")


@pytest.fixture
def look(browser):
    """`look(address, width, dark)`: what axe finds serious, as `rule: element`; no address: of the page as it is."""
    if not AXE.is_file():
        pytest.skip("axe-core is not installed (npm install)")

    def check(address, *, width, dark):
        browser.size(width, 844, dark=dark)
        if address is not None:
            browser.driver.get(address)
        browser.driver.execute_script("for (const d of document.querySelectorAll('details')) d.open = true")
        browser.driver.execute_script(AXE.read_text())
        browser.driver.set_script_timeout(600)
        found = browser.driver.execute_async_script(RUN)["violations"]
        bad = [violation for violation in found if violation["impact"] in SERIOUS]
        return sorted(f"{one['id']}: {node['html'][:90]}" for one in bad for node in one["nodes"])

    return check


@pytest.fixture(scope="session")
def hostile():
    """A name that tries to be markup."""
    return HOSTILE


@pytest.fixture(scope="session")
def demo_options():
    """The options of the shared demo."""
    return OPTIONS
