"""Being the process that runs Flower's apps: tasks are taken from a SuperLink or SuperNode, and run here.

Flower would start a process for every task and run the code that came with the run, which is the buyer's code on a
seller's machine. With `--isolation process` it waits instead for somebody with the secret to take the task. That is
this module: it runs the installed apps, next to the wallet and the journal that belong to them, and no others.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx
from flwr.app import Context, Error, Message
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp

from martfl.federation.flower import private
from martfl.market.errors import MarketError

log = logging.getLogger(__name__)
ACQUIRE = "/flwr.proto.Runtime/AcquireTask"
COMPONENT = "flwr-serverapp"  # what Flower's own process of this kind calls itself


@dataclass(frozen=True)
class TaskRuntime:
    """Where tasks wait, and the secret that lets us take them. Without `certificates` the connection is plain."""

    address: str
    secret: bytes = field(repr=False)
    certificates: bytes | None = None

    def client(self, *, token: str = "", seconds: float = 120.0) -> private.RuntimeHttpClient:
        """A client that may take tasks or, with its token, work on one."""
        credential = (
            private.RuntimeTokenHttpInterceptor(token)
            if token
            else private.SuperExecAuthHttpInterceptor(master_secret=self.secret, protected_methods={ACQUIRE})
        )
        return private.RuntimeHttpClient.from_server_address(
            server_address=self.address,
            insecure=self.certificates is None,
            root_certificates=self.certificates,
            interceptors=[private.RuntimeVersionHttpInterceptor(component_name=COMPONENT), credential],
            retry_invoker=private.patient(seconds),
        )


def serve(
    runtime: TaskRuntime,
    app: ClientApp,
    *,
    alive: Callable[[], bool],
    idle: Callable[[], None] = lambda: None,
    pause: float = 0.5,
) -> None:
    """Answer every message that reaches the SuperNode while it is `alive`; `idle` is called in between."""
    taker = runtime.client(seconds=5.0)
    request = private.AcquireTaskRequest(supported_task_types=[private.TaskType.CLIENT_APP])
    while alive():
        try:
            taken = taker.AcquireTask(request)
            if taken.HasField("task") and taken.token:
                _answer(runtime, app, taken.token)
                continue
        except httpx.HTTPError as error:  # a SuperNode that starts, restarts or has lost its run
            log.debug("no task: %s", error)
        idle()
        time.sleep(pause)
    taker.close()


def run_server_app(runtime: TaskRuntime, app: ServerApp, *, run_id: int, seconds: float = 60.0) -> None:
    """Take the ServerApp's task of this run, and only of this run, and run the app here to its end."""
    token = _take_run(runtime, run_id, seconds)
    grid = private.patient_grid(runtime.address, certificates=runtime.certificates, token=token)
    client = runtime.client(token=token)
    status, details = private.SubStatus.FAILED, "the acquirer stopped"
    try:
        with _beating(client):
            given = client.PullTaskInput(private.PullTaskInputRequest())
            private.be(task=given.task_id, run=given.run.run_id, node=given.context.node_id)
            grid.set_run(private.run_from_proto(given.run))
            app(grid=grid, context=private.context_from_proto(given.context))
        status, details = private.SubStatus.COMPLETED, ""
    finally:
        private.push_task_output(client, None, status, details)
        client.close()
        grid.close()


def _take_run(runtime: TaskRuntime, run_id: int, seconds: float) -> str:
    """The token of our run's task. Others' runs, left over or slipped in, are taken and never run."""
    taker = runtime.client()
    request = private.AcquireTaskRequest(supported_task_types=[private.TaskType.SERVER_APP])
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        taken = taker.AcquireTask(request)
        if taken.HasField("task") and taken.task.run_id == run_id:
            return str(taken.token)
        if taken.HasField("task"):
            log.warning("run %d is not ours and is left alone", taken.task.run_id)
        else:
            time.sleep(0.1)
    raise MarketError(f"the SuperLink did not hand out run {run_id} within {seconds:.0f} s")


def _answer(runtime: TaskRuntime, app: ClientApp, token: str) -> None:
    """Work on one task. Whatever happens, Flower is told its end, or the SuperNode would wait for it for ever."""
    client = runtime.client(token=token)
    context, status, details = None, private.SubStatus.FAILED, "the message could not be fetched or answered"
    try:
        with _beating(client):
            message, context, _, _ = private.pull_task_input(client)
            private.push_message(client, _reply(app, message, context), context)
        status, details = private.SubStatus.COMPLETED, ""
    except Exception:  # Flower has errors of many kinds for a connection that breaks in between
        log.exception("a task failed")
    finally:
        private.push_task_output(client, context, status, details)
        client.close()


def _reply(app: ClientApp, message: Message, context: Context) -> Message:
    try:
        return app(message, context)
    except Exception as error:
        log.exception("the app failed on a message")
        return Message(Error(private.ErrorCode.CLIENT_APP_RAISED_EXCEPTION, type(error).__name__), reply_to=message)


@contextmanager
def _beating(client: private.RuntimeHttpClient) -> Iterator[None]:
    """Tell Flower that the task is alive. Training may take long."""

    def beat() -> bool:
        try:
            if not client.SendTaskHeartbeat(private.SendTaskHeartbeatRequest()).success:
                log.warning("Flower has given this task up")
        except httpx.HTTPError as error:
            log.debug("heartbeat: %s", error)
        return True

    sender = private.HeartbeatSender(beat)
    sender.start()
    try:
        yield
    finally:
        sender.stop()
