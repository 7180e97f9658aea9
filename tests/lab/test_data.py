"""Official formats in, arrays out; what is missing or malformed is named."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from martfl.errors import InputError
from martfl.lab.data import DataError, Dataset, Preset, dataset_names, load_dataset, register_dataset, registry
from martfl.lab.data.heart import HOSPITALS, features
from martfl.lab.data.images import read_cifar, read_idx
from martfl.lab.data.text import encode, vocabulary


def idx(values: np.ndarray) -> bytes:
    head = bytes([0, 0, 8, values.ndim]) + b"".join(int(size).to_bytes(4, "big") for size in values.shape)
    return head + values.astype(np.uint8).tobytes()


def write_fmnist(folder: Path, *, zipped: bool) -> None:
    rng = np.random.default_rng(0)
    (folder / "fashion-mnist").mkdir(parents=True)
    for part, rows in (("train", 20), ("t10k", 10)):
        for name, values in (
            (f"{part}-images-idx3-ubyte", rng.integers(0, 256, (rows, 28, 28))),
            (f"{part}-labels-idx1-ubyte", np.arange(rows) % 10),
        ):
            path = folder / "fashion-mnist" / (name + (".gz" if zipped else ""))
            path.write_bytes(gzip.compress(idx(values)) if zipped else idx(values))


@pytest.mark.parametrize("zipped", [True, False])
def test_fmnist_reads_idx_files(tmp_path: Path, zipped: bool) -> None:
    write_fmnist(tmp_path, zipped=zipped)
    data = load_dataset("fmnist", folder=tmp_path)
    assert data.train_x.shape == (20, 28, 28, 1) and data.train_x.dtype == np.uint8
    assert data.test_y.tolist() == list(range(10))
    expected = np.random.default_rng(0).integers(0, 256, (20, 28, 28))
    assert np.array_equal(data.train_x[..., 0], expected)


def test_idx_of_another_type_or_length_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\x00\x00\x0d\x01\x00\x00\x00\x01\x00")
    with pytest.raises(DataError, match="not an IDX file of unsigned bytes"):
        read_idx(path)
    path.write_bytes(idx(np.zeros((2, 3)))[:-1])
    with pytest.raises(DataError, match=r"promises \(2, 3\) values and holds 5"):
        read_idx(path)


def test_cifar_planes_become_channels(tmp_path: Path) -> None:
    record = np.zeros((2, 3073), dtype=np.uint8)
    record[:, 0] = (3, 9)
    record[0, 1 : 1 + 1024] = 7  # red
    record[1, 1 + 2048] = 5  # the first blue pixel
    path = tmp_path / "batch.bin"
    path.write_bytes(record.tobytes())
    images, labels = read_cifar(path)
    assert labels.tolist() == [3, 9]
    assert (images[0, :, :, 0] == 7).all() and not images[0, :, :, 1:].any()
    assert images[1, 0, 0].tolist() == [0, 0, 5]


def test_cifar_of_wrong_length_or_label_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "batch.bin"
    path.write_bytes(bytes(3072))
    with pytest.raises(DataError, match="records of 3073 bytes, got 3072"):
        read_cifar(path)
    path.write_bytes(bytes([10]) + bytes(3072))
    with pytest.raises(DataError, match="label 10"):
        read_cifar(path)


def test_trec_reads_coarse_classes_and_latin_1(tmp_path: Path) -> None:
    (tmp_path / "trec").mkdir()
    lines = [f"{c}:x What {c.lower()} caf\xe9 ?" for c in ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")]
    (tmp_path / "trec/train_5500.label").write_bytes("\n".join(lines).encode("latin-1"))
    (tmp_path / "trec/TREC_10.label").write_text("NUM:date What unseen ?")
    data = load_dataset("trec", folder=tmp_path)
    assert data.train_y.tolist() == [0, 1, 2, 3, 4, 5]
    assert data.test_y.tolist() == [5]
    assert data.test_x[0, 1] == 1, "a word outside the vocabulary is the unknown one"
    assert data.test_x[0, 3] == 0, "padding"
    (tmp_path / "trec/TREC_10.label").write_text("FOO:x What ?")
    registry._load.cache_clear()
    with pytest.raises(DataError, match="line 1: class 'FOO'"):
        load_dataset("trec", folder=tmp_path)


def test_ag_news_takes_the_description_where_the_title_is_empty(tmp_path: Path) -> None:
    (tmp_path / "ag-news").mkdir()
    rows = "".join(f'"{c}","","only, description {c}"\n' for c in range(1, 5))
    (tmp_path / "ag-news/train.csv").write_text(rows)
    (tmp_path / "ag-news/test.csv").write_text('"2","Title","text"\n')
    data = load_dataset("ag-news", folder=tmp_path)
    assert data.train_y.tolist() == [0, 1, 2, 3]
    assert (data.train_x[0] > 0).sum() == 3
    (tmp_path / "ag-news/test.csv").write_text('"5","Title","text"\n')
    registry._load.cache_clear()
    with pytest.raises(DataError, match="class 1 to 4"):
        load_dataset("ag-news", folder=tmp_path)


def write_hospitals(folder: Path, patients: int = 30) -> Path:
    """Made-up patients in the official format: the disease shows in the pulse."""
    rng = np.random.default_rng(0)
    (folder / "heart-disease").mkdir(parents=True)
    for number, name in enumerate(HOSPITALS.values()):
        lines = []
        for row in range(patients + number):
            sick = row % 2
            values = [50, 1, 1 + row % 4, 0 if row == 3 else 120, 200, 0, 1, 150 - 60 * sick + rng.integers(20)]
            lines.append(",".join(map(str, [*values, 0, 1.5, 2, "?" if row % 3 else -9, 3, 2 * sick])))
        header = ["X1,X2"] if number == 0 else []
        (folder / "heart-disease" / name).write_text("\n".join(header + lines) + "\n")
    return folder


def test_hospitals_keep_their_patients(tmp_path: Path) -> None:
    data = load_dataset("heart", folder=write_hospitals(tmp_path))
    assert data.owners == ("Cleveland", "Hungary", "Switzerland", "Long Beach")
    assert data.train_owner is not None and data.test_owner is not None
    counts = np.bincount(data.train_owner) + np.bincount(data.test_owner)
    assert counts.tolist() == [30, 31, 32, 33] and len(data.test_y) == 42
    assert data.train_x.shape[1] == 22 and np.isfinite(data.train_x).all() and set(data.train_y) == {0, 1}
    vessels = 8  # never noted
    assert not data.train_x[:, vessels].any() and not data.test_x[:, vessels].any()


def test_hospital_numbers_are_scaled_by_training_rows_and_gaps_are_neutral() -> None:
    known = np.array([[40.0] * 14, [60.0] * 14])
    known[:, 2], known[0, 3] = (1, 4), np.nan
    found = features(np.array([[60.0, 1, 4, np.nan, *[50.0] * 10]]), known)
    assert found[0, 0] == 1.0 and found[0, 2] == 0.0, "one deviation above; unknown"
    assert found[0, 9:13].tolist() == [0, 0, 0, 1], "the fourth kind of chest pain"


@pytest.mark.parametrize(("line", "message"), [("1,2,3", "must hold 14 values, got 3"), ("a,b", "must hold numbers")])
def test_malformed_patients_are_refused(tmp_path: Path, line: str, message: str) -> None:
    path = write_hospitals(tmp_path) / "heart-disease/processed.va.data"
    path.write_text(line + "\n")
    with pytest.raises(DataError, match=message):
        load_dataset("heart", folder=tmp_path)


def write_speeches(folder: Path, *, roles: int = 3, length: int = 12_000) -> Path:
    (folder / "shakespeare").mkdir(parents=True)
    speeches = [
        {"play": "a play", "role": f"ROLE {role}", "text": "to be or not to be, that is the question; "[role:] * 30}
        for _ in range(length // 1200)
        for role in range(roles)
    ]
    speeches.append({"play": "a play", "role": "A PAGE", "text": "My lord."})
    text = "\n".join(map(json.dumps, speeches))
    (folder / "shakespeare/speeches.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    return folder


def test_roles_ask_for_the_next_character(tmp_path: Path) -> None:
    data = load_dataset("shakespeare", folder=write_speeches(tmp_path))
    assert data.owners == tuple(f"ROLE {role} (a play)" for role in range(3)), "a page says too little"
    assert data.train_x.shape[1] == 80 and data.train_owner is not None and set(data.train_owner) == {0, 1, 2}
    letters = ["?", *data.classes]
    row = "".join(letters[token] for token in data.train_x[0]) + data.classes[data.train_y[0]]
    assert row == ("to be or not to be, that is the question; " * 3)[:81]
    assert data.classes[0] == " " and data.vocabulary == len(data.classes) + 1


def test_malformed_speeches_are_refused(tmp_path: Path) -> None:
    write_speeches(tmp_path)
    (tmp_path / "shakespeare/speeches.jsonl.gz").unlink()
    (tmp_path / "shakespeare/speeches.jsonl").write_text('{"play": "x"}\n')
    with pytest.raises(DataError, match="line 1 must be an object with play, role and text"):
        load_dataset("shakespeare", folder=tmp_path)


@pytest.mark.parametrize("name", ["fmnist", "cifar10", "trec", "ag-news", "heart", "shakespeare"])
def test_a_missing_file_says_what_to_put_where(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match=rf"dataset {name}: no file {tmp_path}.*Put the"):
        load_dataset(name, folder=tmp_path)
    monkeypatch.delenv("MARTFL_DATA", raising=False)
    with pytest.raises(DataError, match="--data or MARTFL_DATA"):
        load_dataset(name)


def test_the_vocabulary_keeps_the_most_frequent_words() -> None:
    texts = [["b", "a", "a"], ["c", "b", "a"]]
    assert vocabulary(texts, limit=4) == {"a": 2, "b": 3}
    assert encode([["c", "a", "b"]], {"a": 2, "b": 3}, length=2).tolist() == [[1, 2]]


def test_a_registered_dataset_loads_and_is_checked(images: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_SOURCES", dict(registry._SOURCES))
    preset = Preset("cnn", 4, 12, "sgd", 1e-2, (0, 1))
    register_dataset(name="mine", load=lambda folder: images, preset=preset)
    assert "mine" in dataset_names() and load_dataset("mine") is images
    broken = Dataset(
        "mine", "features", np.zeros((2, 1)), np.array([0, 5]), np.zeros((1, 1)), np.array([0]), ("a", "b")
    )
    register_dataset(name="mine", load=lambda folder: broken, preset=preset)
    with pytest.raises(InputError, match="labels must be 0 to 1, got 5"):
        load_dataset("mine")


def test_an_unknown_dataset_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"unknown dataset 'mnist': choose one of .*cifar10.*digits"):
        load_dataset("mnist")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "train", "classes"),
    [
        ("fmnist", 60_000, 10),
        ("cifar10", 50_000, 10),
        ("trec", 5_452, 6),
        ("ag-news", 11_983, 4),
        ("heart", 613, 2),
        ("shakespeare", 91_805, 62),
    ],
)
def test_the_real_files(name: str, train: int, classes: int, data_folder: Path) -> None:
    if name == "cifar10" and not (data_folder / "cifar10/test_batch.bin").is_file():
        pytest.skip("the binary batches are not unpacked")
    data = load_dataset(name, folder=data_folder)
    assert len(data.train_y) == train and data.num_classes == classes
