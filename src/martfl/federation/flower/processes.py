"""A SuperLink and a SuperNode as child processes, which end when their parent does."""

import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import httpx

from martfl.federation.flower.tasks import TaskRuntime
from martfl.market.errors import MarketError

log = logging.getLogger(__name__)
PARENT = "MARTFL_PARENT"  # the process that a child must not outlive
LOCAL = "127.0.0.1"


@dataclass(frozen=True)
class Certificates:
    """PEM files of a SuperLink: the authority that nodes trust, the server's certificate and its key."""

    authority: Path
    certificate: Path
    key: Path


class Child:
    """A running process whose output goes to a file."""

    def __init__(self, module: str, arguments: list[str], *, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.log = folder / f"{module.rsplit('.', 1)[-1]}.log"
        home = {"FLWR_HOME": str(folder / "flower"), PARENT: str(os.getpid())}
        quiet = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1"}
        self._output: IO[bytes] = self.log.open("ab")
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            env={**os.environ, **quiet, **home},
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for us: we stop the child in our own time
        )

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.process.poll() is None

    def stop(self, *, seconds: float = 10.0) -> None:
        """Ask it to end, then make it."""
        if self.alive:
            self.process.terminate()
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._output.close()

    def tail(self, lines: int = 5) -> str:
        """The end of what it wrote."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


def start_superlink(
    *, folder: Path, host: str, port: int, certificates: Certificates | None, seconds: float = 180.0
) -> tuple[Child, TaskRuntime]:
    """A SuperLink that keeps its nodes in `folder` over restarts; returns when it answers."""
    secret, file = _secret(folder)
    tls = ["--insecure"]
    if certificates is not None:
        tls = ["--ssl-ca-certfile", str(certificates.authority), "--ssl-certfile", str(certificates.certificate)]
        tls += ["--ssl-keyfile", str(certificates.key)]
    database = ["--database", str(folder / "superlink.sqlite")]
    isolation = ["--isolation", "process", "--superexec-auth-secret-file", str(file)]
    place = ["--host", host, "--port", str(port), "--disable-runtime-dependency-installation"]
    child = Child("martfl.federation.flower.superlink", [*tls, *database, *isolation, *place], folder=folder)
    authority = None if certificates is None else certificates.authority
    runtime = TaskRuntime(f"{LOCAL}:{port}", secret, None if authority is None else authority.read_bytes())
    _await_health(child, "SuperLink", _url(port, authority), authority, seconds)
    return child, runtime


def start_supernode(
    *, folder: Path, superlink: str, authority: Path | None, insecure: bool = False, seconds: float = 180.0
) -> tuple[Child, TaskRuntime]:
    """A SuperNode that connects to `superlink` (host:port); returns when its tasks can be taken."""
    secret, file = _secret(folder)
    port = free_port()
    tls = ["--insecure"] if insecure else ["--root-certificates", str(authority)] if authority else []
    isolation = ["--isolation", "process", "--superexec-auth-secret-file", str(file)]
    place = ["--superlink", superlink, "--host", LOCAL, "--port", str(port)]
    child = Child("martfl.federation.flower.supernode", [*tls, *isolation, *place], folder=folder)
    _await_health(child, "SuperNode", _url(port, None), None, seconds)
    return child, TaskRuntime(f"{LOCAL}:{port}", secret)


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((LOCAL, 0))
        return int(probe.getsockname()[1])


def watch_parent() -> None:
    """In a child: end with the parent that the environment names, first politely."""
    parent = os.environ.get(PARENT)
    if parent is not None:
        threading.Thread(target=_end_after, args=(int(parent),), name="watch parent", daemon=True).start()


def _end_after(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(10.0)
    os._exit(1)


def _secret(folder: Path) -> tuple[bytes, Path]:
    """A fresh secret in a file that only we can read: whoever has it may take tasks."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    file, secret = folder / "runtime.secret", secrets.token_bytes(32)
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
        stream.write(secret)
    return secret, file


def _url(port: int, authority: Path | None) -> str:
    return f"{'http' if authority is None else 'https'}://{LOCAL}:{port}/health"


def _await_health(child: Child, what: str, url: str, authority: Path | None, seconds: float) -> None:
    deadline, reason = time.monotonic() + seconds, "no answer"
    while time.monotonic() < deadline and child.alive:
        try:
            if httpx.get(url, verify=True if authority is None else str(authority), timeout=2.0).is_success:
                return
        except httpx.HTTPError as error:
            reason = str(error)
        time.sleep(0.2)
    ended = "" if child.alive else "; it ended"
    child.stop()
    raise MarketError(f"the {what} did not start ({reason}{ended}). {child.log} ends with:\n{child.tail()}")
