"""The parts of ASGI, the interface between web servers and what they serve, by name."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
AsgiEvent = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiEvent]]
Send = Callable[[AsgiEvent], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
