"""Opening a run on a SuperLink: what Flower needs before messages can be sent."""

import hashlib

from martfl import __version__
from martfl.federation.flower import private
from martfl.federation.flower.tasks import TaskRuntime
from martfl.market.errors import MarketError

# Flower wants a bundle of code with every run. Ours only names the installed apps: nodes run what they have installed.
DESCRIPTION = f"""
[project]
name = "martfl-market"
version = "{__version__}"
description = "A market of model updates; the code is the installed martfl package."
license = "Apache-2.0"
dependencies = ["flwr>=1.41"]

[tool.flwr.app]
publisher = "martfl"

[tool.flwr.app.components]
serverapp = "market:server_app"
clientapp = "market:client_app"
"""
MODULE = '''"""Nodes run the apps of the installed martfl package: `martfl provider join`, `martfl acquirer run`."""

raise ImportError("join with `martfl provider join`: code that comes with a run is not run")
'''


def start_run(runtime: TaskRuntime) -> int:
    """The number of a new run."""
    content, _ = private.build_fab_from_files({"pyproject.toml": DESCRIPTION.encode(), "market.py": MODULE.encode()})
    bundle = private.Fab(hashlib.sha256(content).hexdigest(), content, {})
    client = private.ControlHttpClient.from_server_address(
        runtime.address,
        runtime.certificates is None,
        runtime.certificates,
        [private.RuntimeVersionHttpInterceptor(component_name="flwr-cli")],
        retry_invoker=private.patient(),
    )
    try:
        answer = client.StartRun(private.StartRunRequest(fab=private.fab_to_proto(bundle)))
    finally:
        client.close()
    if not answer.HasField("run_id"):
        raise MarketError("the SuperLink did not start a run")
    return int(answer.run_id)
