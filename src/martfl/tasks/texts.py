"""Texts as rows of tokens: packed into full blocks to train on, one row a text to judge by."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from martfl.tasks.errors import TaskError
from martfl.tasks.judging import IGNORED
from martfl.tasks.protocol import Data
from martfl.tasks.sources import Arrays

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Texts = Sequence[str]


def check_texts(data: Data) -> Texts:
    """The data, where they are texts."""
    if isinstance(data, str) or not isinstance(data, Sequence) or not all(isinstance(one, str) for one in data):
        raise TaskError(f"a language model's data are a list of texts, got {type(data).__name__}")
    return data


def packed_rows(texts: Texts, tokenizer: "PreTrainedTokenizerBase", *, tokens: int) -> Arrays:
    """All texts one after the other, an end between them, cut into rows of so many tokens; a rest is filled up."""
    stream = [token for ids in _ids(texts, tokenizer) for token in ids]
    rows = [stream[at : at + tokens] for at in range(0, len(stream), tokens)]
    if len(rows) > 1 and len(rows[-1]) < tokens // 2:
        rows.pop()  # a short rest would count as much as a full row
    return _arrays(rows, tokens, tokenizer)


def text_rows(texts: Texts, tokenizer: "PreTrainedTokenizerBase", *, tokens: int) -> Arrays:
    """One row for each text, cut to so many tokens."""
    rows = [ids[:tokens] for ids in _ids(texts, tokenizer)]
    return _arrays(rows, min(tokens, max(map(len, rows), default=1)), tokenizer)


def read_texts(path: Path) -> list[str]:
    """The texts of a file: JSON lines with a `text` each (`.jsonl`, `.jsonl.gz`), or paragraphs (`.txt`)."""
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        whole = raw.decode("utf-8")
        if path.name.removesuffix(".gz").endswith(".jsonl"):
            return [str(json.loads(line)["text"]) for line in whole.splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError) as error:
        raise TaskError(f"{path} is not a file of texts: {error!r}") from error
    return [part.strip() for part in whole.split("\n\n") if part.strip()]


def _ids(texts: Texts, tokenizer: "PreTrainedTokenizerBase") -> list[list[int]]:
    end = tokenizer.eos_token_id
    return [[end, *ids, end] for ids in tokenizer(list(texts), add_special_tokens=False)["input_ids"]] if texts else []


def _arrays(rows: list[list[int]], width: int, tokenizer: "PreTrainedTokenizerBase") -> Arrays:
    filler = tokenizer.eos_token_id
    ids = torch.full((len(rows), width), filler, dtype=torch.long)
    target: Tensor = torch.full((len(rows), width), IGNORED, dtype=torch.long)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = target[number, : len(row)] = torch.tensor(row, dtype=torch.long)
    return Arrays(ids, target)
