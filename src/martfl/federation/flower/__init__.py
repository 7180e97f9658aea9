"""The market over Flower: the acquirer is a ServerApp, every provider a ClientApp.

One code serves Flower's simulation engine (`simulation`) and its deployment engine (`roles`): both run the apps of
`apps`, and the acquirer speaks through `FlowerLink`. Flower's telemetry and update checks are switched off unless the
environment asks for them. What we use of Flower that is not public lies in `private`, and ties us to its version.
"""

import os
from importlib import metadata

from martfl.errors import MartflError

SUPPORTED = "1.41."
os.environ.setdefault("FLWR_TELEMETRY_ENABLED", "0")  # read by flwr when it is imported
os.environ.setdefault("FLWR_DISABLE_UPDATE_CHECK", "1")


class FlowerError(MartflError):
    """Flower is missing, or is not the version that we know."""


def check_version() -> None:
    """Raise unless the installed Flower is the one whose private parts we know."""
    remedy = "pip install 'martfl[federation]'"
    try:
        found = metadata.version("flwr")
    except metadata.PackageNotFoundError as error:
        raise FlowerError(f"a market between machines needs Flower: {remedy}") from error
    if not found.startswith(SUPPORTED):
        raise FlowerError(
            f"martfl uses parts of Flower that are not public, as they are in version {SUPPORTED}x; "
            f"installed is {found}: {remedy}"
        )


check_version()
