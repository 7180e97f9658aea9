"""Make the documentation's screenshots again: `python tools/screenshots.py [FOLDER]`. Needs chromium and its driver."""

import base64
import shutil
import sqlite3
import sys
import tempfile
import threading
import time
from pathlib import Path

import uvicorn
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from martfl.dashboard.server import make_app
from martfl.dashboard.watch import Watcher
from martfl.demo import DemoOptions, run_demo
from martfl.market import steps as st
from martfl.market.journal import NAME

IMAGES = Path(__file__).parents[1] / "docs" / "images"
LATER = (st.Aggregated, st.ModelPosted, st.HandedOut, st.Proved, st.PaidOut, st.Over)  # what the live page waits for


def browser() -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in ("headless", "no-sandbox", "disable-gpu", "no-first-run"):
        options.add_argument(f"--{flag}")
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


def shoot(driver: webdriver.Chrome, address: str, file: Path, *, width: int, until: str, dark: bool = False) -> None:
    """The page from its top to the end of the section `until`."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    driver.get(address)
    end = "return document.getElementById(arguments[0]).getBoundingClientRect().bottom + scrollY + 12"
    clip = {"x": 0, "y": 0, "width": width, "height": driver.execute_script(end, until), "scale": 1}
    taken = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
    file.write_bytes(base64.b64decode(taken["data"]))


def serve(folder: Path) -> str:
    server = uvicorn.Server(uvicorn.Config(make_app(Watcher(folder)), port=0, log_level="warning", ws="none"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    return f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"


def unfinished(demo: Path, folder: Path) -> Path:
    """The acquirer's journal as it was when the last epoch's updates had been bought and weighed."""
    shutil.copytree(demo / "acquirer", folder / "acquirer")
    with sqlite3.connect(folder / "acquirer" / NAME) as journal:
        marks = ", ".join("?" * len(LATER))
        last = "epoch = (SELECT max(epoch) FROM steps)"
        journal.execute(f"DELETE FROM steps WHERE {last} AND step IN ({marks})", [kind.step for kind in LATER])
    return folder


def main(images: Path) -> None:
    with tempfile.TemporaryDirectory() as made:
        demo = Path(made) / "demo"
        run_demo(DemoOptions(), demo)
        driver = browser()
        report = (demo / "report.html").as_uri()
        shoot(driver, report, images / "report-desktop.png", width=1280, until="accuracy")
        shoot(driver, report, images / "report-phone.png", width=390, until="providers")
        page = serve(unfinished(demo, Path(made) / "running"))
        shoot(driver, page, images / "page-dark.png", width=1280, until="providers", dark=True)
        driver.quit()


main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
