"""Flower's simulation engine with threads instead of Ray: the apps of a deployment, in one process.

Ray would start processes of its own, and a provider's journal belongs to one process; threads share the embedded chain.
"""

import os
import threading
from collections.abc import Callable
from typing import cast

from flwr.app import Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.common.constant import SUPERLINK_NODE_ID
from flwr.proto.task_pb2 import Task
from flwr.server.superlink.fleet.vce.backend import Backend
from flwr.server.superlink.fleet.vce.metrics import VceMetrics
from flwr.server.superlink.fleet.vce.vce_api import (
    _register_node_info_stores as register_node_info_stores,
)
from flwr.server.superlink.fleet.vce.vce_api import _register_nodes as register_nodes
from flwr.server.superlink.fleet.vce.vce_api import run_api
from flwr.server.superlink.linkstate import LinkStateFactory
from flwr.server.superlink.linkstate.in_memory_linkstate import InMemoryLinkState, RunRecord
from flwr.serverapp import ServerApp
from flwr.supercore.constant import FLWR_IN_MEMORY_DB_NAME, NOOP_FEDERATION_ID
from flwr.supercore.object_store import ObjectStoreFactory
from flwr.supercore.run import Run
from flwr.superlink.federation import NoOpFederationManager
from flwr.superlink.grid import InMemoryGrid

from martfl.federation.flower import private

PARTITION = "partition-id"  # in a virtual node's configuration


class ThreadBackend(Backend):
    """Runs a ClientApp in the engine's own threads."""

    def __init__(self, workers: int) -> None:
        super().__init__({})
        self._workers = workers

    def build(self, app_fn: Callable[[], ClientApp]) -> None:
        """Keep the app."""
        self._app = app_fn()

    @property
    def num_workers(self) -> int:
        """How many messages are worked on at a time."""
        return self._workers

    def is_worker_idle(self) -> bool:
        """The engine's threads wait by themselves."""
        return True

    def process_message(self, message: Message, context: Context) -> tuple[Message, Context]:
        """Answer here and now."""
        return self._app(message, context), context

    def terminate(self) -> None:
        """Threads end with the engine."""


def simulate(*, server_app: ServerApp, client_app: ClientApp, nodes: int, workers: int = 2) -> None:
    """Run the ServerApp over `nodes` virtual nodes (numbered by "partition-id"); its exception is raised here."""
    factory = LinkStateFactory(FLWR_IN_MEMORY_DB_NAME, NoOpFederationManager(), ObjectStoreFactory())
    run = _register_run(factory)
    mapping = register_nodes(num_nodes=nodes, state_factory=factory)
    stores = register_node_info_stores(nodes_mapping=mapping, run=run)
    grid = InMemoryGrid(state_factory=factory)
    grid.set_run(run)
    stop, failed = threading.Event(), list[BaseException]()

    def serve() -> None:
        try:
            server_app(grid=grid, context=_context(run))
        except BaseException as error:
            failed.append(error)
        finally:
            stop.set()

    thread = threading.Thread(target=serve, name="server app")
    thread.start()
    run_api(lambda: client_app, lambda: ThreadBackend(workers), mapping, factory, stores, stop, VceMetrics())
    thread.join()
    if failed:
        raise failed[0]


def _register_run(factory: LinkStateFactory) -> Run:
    """What Flower's own simulation does before it starts: a run with one task, and the process's identity in it."""
    run = Run.create_empty(run_id=int.from_bytes(os.urandom(7), "big"))
    run.primary_task_id, run.federation_id = 1, NOOP_FEDERATION_ID
    state = cast(InMemoryLinkState, factory.state())
    state.run_ids[run.run_id] = RunRecord(run=run)
    state.task_store[1] = Task(task_id=1, run_id=run.run_id)
    private.be(task=1, run=run.run_id, node=SUPERLINK_NODE_ID)
    return run


def _context(run: Run) -> Context:
    return Context(run_id=run.run_id, node_id=SUPERLINK_NODE_ID, node_config={}, state=RecordDict(), run_config={})
