"""All that we use of Flower beside its public interface (flwr.app, flwr.clientapp, flwr.serverapp), and why.

- *Tasks.* Flower starts a process for every task, and runs in it the code that came with the run: the buyer's code on
  a seller's machine. With `--isolation process` it waits for somebody with the secret to take the task. There is no
  public way to be that somebody, so `tasks` speaks Flower's runtime interface itself.
- *Runs.* A run is started by Flower's command line only; `runs` calls what that calls.
- *SuperLink.* It serves nodes, control and runtime on one port; a middleware keeps the last two for this machine.
- *Patience.* Flower's own client ends the whole process on some answers, so it gets another way of trying again.

Such parts may change with any version of Flower, so the package refuses others than the one it names (`__init__`). To
move to a new one: mend this file, change `SUPPORTED` there, and run `pytest tests/federation`.
"""

from collections.abc import Callable

import httpx
from flwr.cli.build import build_fab_from_files
from flwr.common.constant import SUPERLINK_NODE_ID, ErrorCode, SubStatus
from flwr.common.serde import context_from_proto, fab_to_proto, run_from_proto
from flwr.proto.control_pb2 import StartRunRequest
from flwr.proto.runtime_pb2 import (
    AcquireTaskRequest,
    PullTaskInputRequest,
    SendTaskHeartbeatRequest,
)
from flwr.proto.task_pb2 import Task
from flwr.supercore.constant import TaskType
from flwr.supercore.control import ControlHttpClient
from flwr.supercore.fab import Fab
from flwr.supercore.heartbeat import HeartbeatSender
from flwr.supercore.interceptors import (
    RuntimeTokenHttpInterceptor,
    RuntimeVersionHttpInterceptor,
    SuperExecAuthHttpInterceptor,
)
from flwr.supercore.retry import RetryInvoker, exponential
from flwr.supercore.run import Run
from flwr.supercore.runtime import RuntimeHttpClient
from flwr.supercore.task_identity import TaskIdentity
from flwr.superlink.grid import HttpGrid
from flwr.supernode.runtime.run_clientapp import pull_task_input, push_message, push_task_output

from martfl.asgi import App

__all__ = [
    "LOST",
    "SUPERLINK_NODE_ID",
    "AcquireTaskRequest",
    "ControlHttpClient",
    "ErrorCode",
    "Fab",
    "HeartbeatSender",
    "HttpGrid",
    "PullTaskInputRequest",
    "RetryInvoker",
    "Run",
    "RuntimeHttpClient",
    "RuntimeTokenHttpInterceptor",
    "RuntimeVersionHttpInterceptor",
    "SendTaskHeartbeatRequest",
    "StartRunRequest",
    "SubStatus",
    "SuperExecAuthHttpInterceptor",
    "Task",
    "TaskType",
    "be",
    "build_fab_from_files",
    "context_from_proto",
    "fab_to_proto",
    "patient",
    "patient_grid",
    "pull_task_input",
    "push_message",
    "push_task_output",
    "run_from_proto",
    "run_superlink",
    "run_supernode",
]

# Errors that say that a node or its message is gone, rather than wrong.
LOST = (ErrorCode.MESSAGE_UNAVAILABLE, ErrorCode.REPLY_MESSAGE_UNAVAILABLE, ErrorCode.NODE_UNAVAILABLE)


def patient(seconds: float = 120.0) -> RetryInvoker:
    """Try again while the other side cannot be reached."""
    return RetryInvoker(lambda: exponential(max_delay=5), httpx.TransportError, max_tries=None, max_time=seconds)


def patient_grid(address: str, *, certificates: bytes | None, token: str) -> HttpGrid:
    """The acquirer's way to the SuperLink, with our patience in place of Flower's."""
    grid = HttpGrid(address, certificates is None, certificates, token=token)
    grid._retry_invoker = patient()
    return grid


def be(*, task: int, run: int, node: int) -> None:
    """Tell Flower which task this process works on."""
    TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = task, run, node


def run_superlink(middleware: Callable[[App], App]) -> None:
    """Flower's SuperLink, with the command line's options, behind an ASGI middleware."""
    from flwr.superlink import extensions
    from flwr.superlink.cli import flower_superlink
    from starlette.middleware import Middleware

    extensions.get_middleware = lambda: (Middleware(middleware),)
    flower_superlink()


def run_supernode() -> None:
    """Flower's SuperNode, with the command line's options."""
    from flwr.supernode.cli import flower_supernode

    flower_supernode()
