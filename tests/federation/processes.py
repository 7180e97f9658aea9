"""A market of separate processes on one machine, for tests: anvil, an acquirer, providers."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from unittest import mock

from eth_account import Account
from typer.testing import CliRunner

from martfl.chain import accounts
from martfl.chain.rpc import RpcChain
from martfl.cli import acquirer
from martfl.federation.flower.certificates import make_certificates
from martfl.federation.flower.processes import free_port

HERE = Path(__file__).parent
ANVIL = HERE.parents[1] / "node_modules" / ".bin" / "anvil"
COMMAND = ["-m", "martfl"]
PASSWORD = "correct horse"
CACHE = os.environ.get("MARTFL_CACHE") or str(Path.home() / ".cache" / "martfl")  # contracts are compiled once
TERMS = """
name = "tiny"          # comments stay

[task]
entry = "tiny_task:task"

[settlement]
scale = 0.000244140625

[deadlines]
commit = 900
buy = 900
keys = 900
publish = 900
margin = 200

[selection]
rule = "martfl"

[chain]
profile = "anvil"      # of martfl.toml
"""


class Site:
    """A folder with everything that the parties need, and the processes that were started."""

    def __init__(self, folder: Path, *, providers: int):
        self.folder, self.running = folder, []
        self.port = free_port()
        self.node, url = self._start_anvil()
        self.chain = RpcChain(url, chain_id=31337, poll=0.1)
        (folder / "martfl.toml").write_text(f'[chains.anvil]\nrpc = "{url}"\nchain_id = 31337\n')
        (folder / "market.toml").write_text(TERMS)
        (folder / "password").write_text(PASSWORD + "\n")
        self.wallets = [self._wallet(name) for name in ("buyer", *(f"seller{i}" for i in range(providers)))]
        self.tls = make_certificates(folder / "tls", hosts=["localhost"])

    def _start_anvil(self):
        command = [str(ANVIL), "--port", "0", "--hardfork", "prague", "--block-time", "1", "--accounts", "1"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        for line in process.stdout:
            if found := re.search(r"Listening on (127\.0\.0\.1:\d+)", line):
                threading.Thread(target=process.stdout.read, daemon=True).start()  # anvil stops when nobody reads
                return process, f"http://{found.group(1)}"
        raise RuntimeError("anvil did not start")

    def _wallet(self, name):
        account = Account.create()
        keystore = Account.encrypt(account.key, PASSWORD, kdf="scrypt", iterations=2)
        (self.folder / f"{name}.json").write_text(json.dumps(keystore))
        self.chain.web3.provider.make_request("anvil_setBalance", [account.address, hex(10**20)])
        return accounts.find_wallet(folder=self.folder, name=name)

    def options(self, wallet):
        return ["--keystore", str(wallet.path), "--password-file", "password", "--folder", f"files-{wallet.name}"]

    def environment(self, part):
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
        home = {"HOME": str(self.folder / "home"), "MARTFL_CACHE": CACHE}
        return {**os.environ, **threads, **home, "PYTHONPATH": path, "TINY_PART": str(part)}

    def run(self, app, *words, wallet):
        """A command to its end, in this process; what it printed."""
        shared = self.options(wallet)
        with contextlib.chdir(self.folder), mock.patch.dict(os.environ, self.environment(-1)):
            done = CliRunner().invoke(app, [*words, *shared], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    def start(self, *words, wallet, part=-1):
        """A command that goes on; its output is in NAME.out and NAME.err."""
        with (
            (self.folder / f"{wallet.name}.out").open("a") as out,
            (self.folder / f"{wallet.name}.err").open("a") as err,
        ):
            process = subprocess.Popen(
                [sys.executable, *COMMAND, *words, *self.options(wallet)],
                cwd=self.folder,
                env=self.environment(part),
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        self.running.append(process)
        return process

    def deploy(self):
        return self.run(
            acquirer.app, "deploy", "market.toml", "--allow-task", "tiny_task", "--json", wallet=self.wallets[0]
        )

    def hasten(self, epoch, *, seconds):
        """Let the chain's time pass where a market waits for commitments to close, once everybody has committed."""
        buyer = self.wallets[0]
        wait_for(lambda: f"epoch {epoch}, commit:" in self.said(buyer), seconds, lambda: self.said(buyer))
        self.chain.web3.provider.make_request("evm_increaseTime", [901])

    def start_acquirer(self, *, epochs, wait=60):
        words = ["acquirer", "run", "market.toml", "--data", "tiny_task:own_part", "--epochs", str(epochs), "--json"]
        words += ["--providers", str(len(self.wallets) - 1), "--wait", str(wait)]
        words += ["--allow-task", "tiny_task", "--tls", "tls", "--host", "127.0.0.1", "--port", str(self.port)]
        return self.start(*words, wallet=self.wallets[0])

    def start_provider(self, number, *extra, wallet=None):
        words = ["provider", "join", "market.toml", "--data", "tiny_task:own_part", "--name", f"seller {number}"]
        words += ["--superlink", f"localhost:{self.port}", "--authority", "tls/authority.pem"]
        words += ["--allow-task", "tiny_task", *extra]
        return self.start(*words, wallet=wallet or self.wallets[number + 1], part=number)

    def said(self, wallet):
        return (self.folder / f"{wallet.name}.err").read_text()

    def close(self):
        for process in self.running:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.running:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self.chain.close()
        os.killpg(self.node.pid, signal.SIGKILL)
        self.node.wait()


def memory_mb(process):
    """Resident memory of a process."""
    pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def wait_for(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what()}"
        time.sleep(0.25)
