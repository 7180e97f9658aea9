"""`python -m martfl.federation.flower.superlink …`: Flower's SuperLink, with a gate before it, tied to its parent.

Flower serves three interfaces on one port: nodes use the fleet's; control and runtime start, stop and run things, and
are not for strangers. The gate lets them be used from this machine only.
"""

import ipaddress

from martfl.asgi import App, Receive, Scope, Send


class Gate:
    """ASGI middleware: what is not for nodes is answered on this machine only."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, or refuse with 403."""
        if scope["type"] == "lifespan" or is_open(scope.get("path", "")) or is_local(scope.get("client")):
            await self.app(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 403, "headers": []})
        await send({"type": "http.response.body", "body": b"for this machine only"})


def is_open(path: str) -> bool:
    """Whether a path is for nodes."""
    return path == "/health" or path.startswith("/v1/fleet/")


def is_local(client: tuple[str, int] | None) -> bool:
    """Whether a connection comes from this machine."""
    try:
        return client is not None and ipaddress.ip_address(client[0]).is_loopback
    except (TypeError, ValueError, IndexError):
        return False


def main() -> None:
    """Start the SuperLink with the command line's options."""
    from martfl.federation.flower.private import run_superlink
    from martfl.federation.flower.processes import watch_parent

    watch_parent()
    run_superlink(Gate)


if __name__ == "__main__":
    main()
