"""The three machines of docs/deploy.md: three home folders on this one, a chain, and who talks to whom.

Replaced in what the pages show: `buyer.example` by localhost, ports by free ones, placeholders by what the run itself
printed, the number of a machine's data. Deadlines are an hour, so that a slow machine misses none, and the chain's
clock is put forward where a party would only wait.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

from martfl.federation.flower.processes import free_port
from reader.pages import ROOT, Block, Page
from reader.terminal import Terminal, make_clone, wrap

NAMES = ("buyer", "seller1", "seller2")
ANVIL = ROOT / "node_modules" / ".bin" / "anvil"
WINDOWS = ("epoch 1, commit:",)  # said by the acquirer before it waits for a window to pass
HOUR = 3600  # seconds
HANDED_OUT = {"market.toml": "market.toml", "tls/authority.pem": "authority.pem"}


class Machines:
    """Homes, the processes that go on, and the addresses that were made."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.ports = folder, {"NODE_PORT": str(free_port()), "LINK_PORT": str(free_port())}
        self.terminals = {name: self._machine(name) for name in NAMES}
        self.running: list[tuple[str, subprocess.Popen[str]]] = []
        self.addresses: list[str] = []
        self.waited: set[str] = set()

    def _machine(self, name: str) -> Terminal:
        home = self.folder / name
        clone, place = home / "martfl", home / "market"
        programs = make_clone(clone)
        (clone / "node_modules").unlink()
        (clone / "node_modules" / ".bin").mkdir(parents=True)
        wrap(ANVIL, clone / "node_modules" / ".bin" / "anvil")
        place.mkdir()
        return Terminal(place, home, programs, self.ports)

    # --- reading a page --------------------------------------------------------------------------------------------

    def follow(self, page: Page) -> str:
        """Do what a page says, each block on its machines; all that was printed."""
        printed = ""
        for block in page.blocks():
            for name in block.machines:
                if name != "buyer":
                    self._hand_out(name)
                printed += self.do(page, block, name)
        return printed

    def do(self, page: Page, block: Block, name: str) -> str:
        """One block on one machine; once for each address where it speaks of one."""
        terminal, text = self.terminals[name], self.fill(block.text, name)
        if block.file:
            (terminal.folder / block.file).write_text(text)
            return ""
        if name != "buyer":
            self.stop(name)  # a seller's files belong to one program
        if block.goes_on:
            return terminal.visit(page, block, text) if "dashboard" in text else self._start(name, block, text)
        texts = [text.replace("<address>", address) for address in self.addresses] if "<address>" in text else [text]
        printed = "".join(self._finish(page, block, name, text) for text in texts)
        self.addresses += re.findall(r"0x\w{40}", printed) if "wallet new" in text else []
        return printed

    def fill(self, text: str, name: str) -> str:
        """What a page shows, as it is typed on this machine."""
        names = {"buyer.example": "localhost", ":8545": f":{self.ports['NODE_PORT']}"}
        names |= {":9092": f":{self.ports['LINK_PORT']}", "part=0": f"part={NAMES.index(name)}"}
        for shown, typed in names.items():
            text = text.replace(shown, typed)
        return re.sub(r"^(commit|buy|keys|publish|settle) = \d+", rf"\1 = {HOUR}", text, flags=re.MULTILINE)

    def _hand_out(self, name: str) -> None:
        for source, target in HANDED_OUT.items():
            file = self.terminals["buyer"].folder / source
            if file.exists():
                shutil.copy(file, self.terminals[name].folder / target)

    # --- processes -------------------------------------------------------------------------------------------------

    def _start(self, name: str, block: Block, text: str) -> str:
        with (self.folder / f"{name}.log").open("a") as log:
            process = self.terminals[name].start(block, text, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.running.append((name, process))
        return self._until_listening() if "anvil" in text else ""

    def _finish(self, page: Page, block: Block, name: str, text: str) -> str:
        out, error = self.folder / "out", self.folder / "err"
        with out.open("w") as o, error.open("w") as e:
            process = self.terminals[name].start(block, text, stdin=subprocess.DEVNULL, stdout=o, stderr=e)
        self.running.append((name, process))
        while process.poll() is None:
            self._hasten(error.read_text())
            time.sleep(0.2)
        said = (
            f"{page.name}:{block.line} on {name} ended with {process.returncode}:\n{error.read_text()}{out.read_text()}"
        )
        assert process.returncode == 0, said + self._logs()
        return out.read_text() + error.read_text()

    def _hasten(self, said: str) -> None:
        for window in WINDOWS:
            if window in said and window not in self.waited:
                self.waited.add(window)
                self.ask_node("evm_increaseTime", HOUR + 1)

    def _until_listening(self) -> str:
        for _ in range(1200):
            try:
                self.ask_node("eth_chainId")
                return ""
            except OSError:
                time.sleep(0.1)
        raise AssertionError(f"anvil did not start: {self._logs()}")

    def ask_node(self, method: str, *params: object) -> object:
        """A question to the chain's node."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        place = f"http://127.0.0.1:{self.ports['NODE_PORT']}"
        request = urllib.request.Request(place, data=body, headers={"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())["result"]

    def _logs(self) -> str:
        return "".join(f"\n--- {path.name}\n{path.read_text()[-3000:]}" for path in self.folder.glob("seller*.log"))

    def stop(self, name: str) -> None:
        """Ctrl-C for what goes on at a machine."""
        for machine, process in self.running:
            if machine == name:
                end(process, signal.SIGINT)

    def close(self) -> None:
        for name in reversed(NAMES):
            self.stop(name)


def end(process: subprocess.Popen[str], number: signal.Signals) -> int:
    """Ask a process and its children to end, and make them."""
    if process.poll() is None:
        os.killpg(process.pid, number)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return process.returncode
