"""The market over Flower: the acquirer is a ServerApp, every provider a ClientApp.

One code serves Flower's simulation engine (`simulation`) and its deployment engine (`deployment`): both run the apps of
`apps`, and the acquirer speaks through `FlowerLink`. Flower's telemetry and update checks are switched off unless the
environment asks for them.
"""

import os

os.environ.setdefault("FLWR_TELEMETRY_ENABLED", "0")  # read by flwr when it is imported
os.environ.setdefault("FLWR_DISABLE_UPDATE_CHECK", "1")
