"""What is read from files before anybody has looked at it: objects of JSON and tables of TOML, by name."""

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]
Settings = Mapping[str, Any]  # nobody writes into it
