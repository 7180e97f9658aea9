"""TREC (label files) and AG News (CSV), as token numbers over a vocabulary of the training rows."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from martfl.lab.data.base import Dataset
from martfl.lab.data.files import DataError, find

PAD, UNKNOWN = 0, 1
TREC_CLASSES = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
AG_CLASSES = ("World", "Sports", "Business", "Sci/Tech")
TREC_HINT = "Put the official train_5500.label and TREC_10.label into trec/ of the data folder."
AG_HINT = "Put the official train.csv and test.csv (class, title, description) into ag-news/ of the data folder."
WORD = re.compile(r"\S+")

Rows = tuple[list[list[str]], list[int]]


def words(text: str) -> list[str]:
    """Lower-case tokens; both datasets come with their punctuation set apart by blanks."""
    return WORD.findall(text.lower())


def vocabulary(texts: Sequence[Sequence[str]], *, limit: int) -> dict[str, int]:
    """Numbers for the most frequent words, from 2 on; ties in alphabetical order."""
    counts = Counter(word for text in texts for word in text)
    ranked = sorted(counts, key=lambda word: (-counts[word], word))[: limit - 2]
    return {word: number for number, word in enumerate(ranked, start=2)}


def encode(texts: Sequence[Sequence[str]], numbers: dict[str, int], *, length: int) -> np.ndarray:
    """[rows, length] int32: the first `length` words of each text, padded with 0."""
    tokens = np.full((len(texts), length), PAD, dtype=np.int32)
    for row, text in enumerate(texts):
        found = [numbers.get(word, UNKNOWN) for word in text[:length]]
        tokens[row, : len(found)] = found
    return tokens


def from_texts(
    name: str, *, train: Rows, test: Rows, classes: tuple[str, ...], length: int, limit: int = 30_000
) -> Dataset:
    """A text dataset from word lists; its vocabulary comes from the training rows alone."""
    numbers = vocabulary(train[0], limit=limit)
    return Dataset(
        name=name,
        kind="text",
        train_x=encode(train[0], numbers, length=length),
        train_y=np.asarray(train[1], dtype=np.int64),
        test_x=encode(test[0], numbers, length=length),
        test_y=np.asarray(test[1], dtype=np.int64),
        classes=classes,
        vocabulary=len(numbers) + 2,
    )


def _trec_rows(path: Path) -> Rows:
    texts, labels = [], []
    for number, line in enumerate(path.read_text(encoding="latin-1").splitlines(), start=1):
        label, _, question = line.partition(" ")
        coarse = label.partition(":")[0]
        if coarse not in TREC_CLASSES:
            raise DataError(f"{path} line {number}: class {coarse!r} is none of {', '.join(TREC_CLASSES)}")
        texts.append(words(question))
        labels.append(TREC_CLASSES.index(coarse))
    return texts, labels


def load_trec(folder: Path | None) -> Dataset:
    """TREC questions with their six coarse classes; the longest has 37 words."""

    def part(name: str) -> Rows:
        return _trec_rows(find(folder, dataset="trec", subfolder="trec", name=name, hint=TREC_HINT))

    return from_texts(
        "trec", train=part("train_5500.label"), test=part("TREC_10.label"), classes=TREC_CLASSES, length=32
    )


def _ag_rows(path: Path) -> Rows:
    texts, labels = [], []
    with path.open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.reader(file), start=1):
            if len(row) != 3 or row[0] not in {"1", "2", "3", "4"}:
                raise DataError(f"{path} row {number} must be class 1 to 4, title, description; got {row[:1]}")
            texts.append(words(f"{row[1]} {row[2]}"))
            labels.append(int(row[0]) - 1)
    return texts, labels


def load_ag_news(folder: Path | None) -> Dataset:
    """AG News with its four classes; the vocabulary is cut to give the model the paper's three million parameters."""

    def part(name: str) -> Rows:
        return _ag_rows(find(folder, dataset="ag-news", subfolder="ag-news", name=name, hint=AG_HINT))

    train, test = part("train.csv"), part("test.csv")
    return from_texts("ag-news", train=train, test=test, classes=AG_CLASSES, length=64, limit=9_000)
