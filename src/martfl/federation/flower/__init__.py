"""The market over Flower: the acquirer is a ServerApp, every provider a ClientApp.

The programs in `roles` run the apps of `apps` on Flower's deployment engine, and the acquirer speaks through
`FlowerLink`. The same apps run on Flower's simulation engine. Flower's telemetry and update checks are switched off
unless the environment asks for them. What we use of Flower that is not public is in `private`: it ties us
to a version.
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
    remedy = "pip install 'martfl[provider]'"
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
