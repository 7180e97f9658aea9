"""Which libraries belong to which role, and how a missing one is named. The core has none of these."""

import importlib.util

# Import name → the smallest extra of pyproject.toml that brings it; tests hold the two against each other.
EXTRA_OF = {
    "torch": "lab",
    "sklearn": "lab",
    "PIL": "lab",
    "matplotlib": "lab",
    "threadpoolctl": "lab",
    "tenseal": "provider",
    "zstandard": "provider",
    "zksnake": "provider",
    "gmpy2": "provider",
    "flwr": "provider",
    "vyper": "provider",
    "fastapi": "acquirer",
    "uvicorn": "acquirer",
    "eth_tester": "demo",
    "eth": "demo",
    "tensorboard": "tracking",
    "ray": "ray",
    "transformers": "llm",
    "peft": "llm",
    "gguf": "llm",
}


def remedy(extra: str) -> str:
    """The command that brings an extra's libraries."""
    return f"pip install 'martfl[{extra}]'"


def explain(error: ModuleNotFoundError, *, command: str = "") -> str | None:
    """One sentence for a library that an extra brings; None where the fault is another. The demo needs all roles."""
    library = (error.name or "").partition(".")[0]
    if library not in EXTRA_OF:
        return None
    extra = "demo" if command == "demo" else EXTRA_OF[library]
    return f"this needs the library {library}, which is not installed here. Get it with: {remedy(extra)}"


def missing(extra: str) -> list[str]:
    """The libraries of an extra that are not installed."""
    return [name for name, of in EXTRA_OF.items() if of == extra and importlib.util.find_spec(name) is None]
