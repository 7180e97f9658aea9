"""Published models as files beside a party's journal, for auditors and for use; each is whole or not there."""

import re
from pathlib import Path

from martfl.market.terms import Terms, to_toml

FOLDER, TERMS = "models", "market.toml"
_NAME = re.compile(r"epoch-(\d+)\.model")


def write_model(journal: Path, epoch: int, file: bytes) -> Path:
    """The model that an epoch published, beside the journal in this folder."""
    return _written(journal / FOLDER / f"epoch-{epoch}.model", file)


def keep_model(journal: Path, epoch: int, file: bytes, terms: Terms, *, base: int) -> None:
    """The newest model, the one that it was made from, and the market's terms: what a seller keeps.

    The newest may still fail; then the one before it stands.
    """
    write_model(journal, epoch, file)
    _written(journal / FOLDER / TERMS, to_toml(terms).encode())
    for older, path in find_models(journal).items():
        if older < epoch and older != base:
            path.unlink()


def find_models(journal: Path) -> dict[int, Path]:
    """Epoch → file, of the models beside the journal in this folder."""
    named = ((_NAME.fullmatch(path.name), path) for path in (journal / FOLDER).glob("*.model"))
    return {int(match[1]): path for match, path in named if match}


def _written(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_bytes(content)
    part.replace(path)
    return path
