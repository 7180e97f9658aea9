"""The two Flower apps of a market. Both are thin: what happens is decided by `market`."""

from collections.abc import Callable

from flwr.app import Context, Message
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from martfl.federation.flower.records import unwrap, wrap
from martfl.market.messages import REQUESTS

Answer = Callable[[bytes, Context], bytes]
Main = Callable[[Grid, Context], None]


def make_client_app(answer: Answer) -> ClientApp:
    """A provider: `answer` takes a signed request, and the node's context, and gives the signed reply."""
    app = ClientApp()

    def reply(message: Message, context: Context) -> Message:
        return Message(wrap(answer(unwrap(message), context)), reply_to=message)

    for kind in REQUESTS:  # routed as `records.route` says
        app.query(kind)(reply)
    return app


def make_server_app(main: Main) -> ServerApp:
    """The acquirer: `main` gets Flower's grid, and returns when the epochs are over."""
    app = ServerApp()
    app.main()(main)
    return app
