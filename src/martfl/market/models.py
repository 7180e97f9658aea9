"""Published models as files beside the journal."""

from pathlib import Path


def write_model(folder: Path, epoch: int, file: bytes) -> Path:
    """The model of an epoch, for auditors and for use; whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    path, part = folder / f"epoch-{epoch}.model", folder / f"epoch-{epoch}.part"
    part.write_bytes(file)
    part.replace(path)
    return path
