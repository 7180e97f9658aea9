"""One small demo for all tests of the room, made-up journals of any size, a server in a thread, a real browser."""

import contextlib
import fcntl
import shutil
import tempfile
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from martfl.dashboard.server import make_app
from martfl.dashboard.watch import Watcher
from martfl.demo import DemoOptions, run_demo
from martfl.market.journal import Journal

CHROMIUM, DRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")
OPTIONS = DemoOptions(providers=3, epochs=2, attack="forged-score", malicious=0.34, seed=1)
HOSTILE = "<script>document.title='owned'</script>\"'><img src=x onerror=document.title='owned'>\u202elive&amp;"
ETHER = 10**18


@pytest.fixture(scope="session")
def demo_folder(tmp_path_factory):
    """A finished demo; worker processes share one."""
    shared = tmp_path_factory.getbasetemp().parent / "dashboard-demo"
    with (tmp_path_factory.getbasetemp().parent / "dashboard-demo.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "report.html").is_file():
            shutil.rmtree(shared, ignore_errors=True)
            run_demo(OPTIONS, shared)
    return shared


@pytest.fixture
def demo(demo_folder, tmp_path):
    """A copy of the finished demo that a test may change."""
    return Path(shutil.copytree(demo_folder, tmp_path / "demo"))


def address(i):
    return f"0x{i + 1:040x}"


def made_up_epoch(journal, epoch, *, providers, names=None, until="over", outcome="SETTLED", late=()):
    """An epoch as an acquirer writes it down; provider 0 is dropped, the last is caught, the others are bought."""
    members = [address(i) for i in range(providers)]
    committed = [a for i, a in enumerate(members) if i not in late]
    bought = committed[1:-1]
    share = {a: (1 << 16) // len(bought) for a in bought}
    scores = [0.05 if i == 0 else 0.6 + 0.3 * i / providers for i in range(len(committed))]
    sent = {"gas": 50_000, "transaction": f"0x{epoch:064x}"}
    steps = {
        "open": {"deposit": str(15 * ETHER // 10), "deadline": 1_700_000_000, **sent},
        "invite": {
            "invited": members,
            "committed": committed,
            "names": dict(zip(members, names or [f"p{i}" for i in range(providers)], strict=True)),
            "traffic": {"sent": {"train": 1000}, "received": {"train": 10}},
        },
        "scores 0": scores,
        "select": {
            "providers": committed,
            "scores": scores,
            "weights": [0.0] * len(committed),
            "roles": ["dropped" if i == 0 else "high quality" for i in range(len(committed))],
            "labels": [0 if i == 0 else 1 for i in range(len(committed))],
            "centroids": [0.05, 0.8],
            "distribution": "several clusters",
            "reasons": [f"score {score:.3f}" for score in scores],
        },
        "prepare": {"weights": {**share, committed[-1]: 1}, "deadline": 1_700_003_600, **sent},
        "collect": {"delivered": bought, "traffic": {"sent": {"deliver": 5}, "received": {"deliver": 9000}}},
        "aggregate": "ab" * 32,
        "publish": {"deadline": 1_700_007_200, **sent},
        "hand out": {"accepted": committed, "asked": len(committed), "traffic": {"sent": {}, "received": {}}},
        "settle": {"sent": []},
        "claim": {"amount": str(ETHER // 2), **sent},
        "closed": {"claimed": {a: str(ETHER * k // (1 << 16)) for a, k in share.items()}},
        "over": {"phase": outcome, "refunded": "0", "root accuracy": 0.5 + 0.02 * epoch},
    }
    for name, value in steps.items():
        journal.record(epoch, name, value, seconds=0.25)
        if name == "collect":
            journal.remark(epoch, committed[-1], "forged score", "reported 0.9, the update gives 0.1")
        if name == until:
            return


def introduce(journal):
    money = {"advance_fee": ETHER // 100, "penalty_ratio": 5000, "token": "0x" + "00" * 20}
    rest = {"selection": {"rule": "martfl"}, "settlement": {"scheme": "exact"}}
    terms = {"name": "a made-up market", "money": money, **rest}
    market = {"contract": address(900), "acquirer": address(901), "chain": 1337, "since": 0, "parameters": 1234}
    journal.record(0, "market", {**market, "root accuracy": 0.1, "terms": terms})


@pytest.fixture
def made_up(tmp_path):
    """`made_up(providers=100, epochs=3, …)`: a folder with a journal that tells of such a market."""

    def make(*, epochs=2, folder=tmp_path / "made-up", **options):
        with Journal(folder / "acquirer") as journal:
            introduce(journal)
            for epoch in range(1, epochs + 1):
                made_up_epoch(journal, epoch, **options)
        return folder

    make.introduce, make.epoch = introduce, made_up_epoch
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


@pytest.fixture(scope="session")
def hostile():
    """A name that tries to be markup."""
    return HOSTILE


@pytest.fixture(scope="session")
def demo_options():
    """The options of the shared demo."""
    return OPTIONS
