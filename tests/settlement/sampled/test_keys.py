"""Keys on disk: loaded, shared, and remade when damaged."""

import pytest

from martfl.settlement.errors import FileError
from martfl.settlement.sampled import groth16, keys
from martfl.settlement.sampled.circuit import solve
from martfl.settlement.sampled.curve import PointTable
from martfl.settlement.sampled.statement import Shape

TINY = Shape(providers=1, samples=1, update_bits=2, aggregate_bits=2, model_bits=2, eta=22)


@pytest.fixture(scope="module")
def tiny_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    keys.cached_keys(TINY, folder=folder)
    return folder


def test_loaded_keys_prove_and_verify(epoch, tmp_path):
    path = tmp_path / "key"
    keys.save(epoch.key, path, shape=epoch.shape)
    loaded = keys.load(path, shape=epoch.shape)
    proof = groth16.prove(loaded, solve(epoch.statement, epoch.witness))
    assert groth16.verify(epoch.key.verifying, proof, epoch.statement.public_inputs())
    assert keys.key_hash(loaded.verifying) == keys.key_hash(epoch.key.verifying)


def test_the_second_call_finds_the_first_ones_keys(tiny_folder):
    first, second = (keys.cached_keys(TINY, folder=tiny_folder) for _ in range(2))
    assert keys.key_hash(first.verifying) == keys.key_hash(second.verifying)
    assert len(list(tiny_folder.iterdir())) == 1


@pytest.mark.parametrize("damage", ["flip", "truncate", "empty"])
def test_damaged_files_are_detected_and_remade(tiny_folder, damage):
    before = keys.key_hash(keys.cached_keys(TINY, folder=tiny_folder).verifying)
    (path,) = tiny_folder.iterdir()
    raw = bytearray(path.read_bytes())
    if damage == "flip":
        raw[len(raw) // 2] ^= 1
    path.write_bytes(bytes(raw if damage == "flip" else raw[: len(raw) // 2] if damage == "truncate" else b""))
    with pytest.raises(FileError, match="hash"):
        keys.load(path, shape=TINY)
    assert keys.key_hash(keys.cached_keys(TINY, folder=tiny_folder).verifying) != before
    keys.load(path, shape=TINY)


def test_keys_of_another_shape_are_refused(tiny_folder, small_shape):
    (path,) = tiny_folder.iterdir()
    with pytest.raises(FileError, match="another kind"):
        keys.load(path, shape=small_shape)


def test_the_folder_comes_from_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("MARTFL_CACHE", str(tmp_path))
    assert keys.cache_folder() == tmp_path
    monkeypatch.delenv("MARTFL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert keys.cache_folder() == tmp_path / "martfl"


def test_key_words_are_in_the_order_of_the_chain(epoch):
    words, vk = keys.key_words(epoch.key.verifying), epoch.key.verifying
    assert len(words) == 2 + 3 * 4 + 2 * len(vk.ic)
    assert words[:2] == [vk.alpha_1.x, vk.alpha_1.y]
    assert words[2:6] == [vk.beta_2.x[1], vk.beta_2.x[0], vk.beta_2.y[1], vk.beta_2.y[0]]


def test_a_table_with_half_a_point_is_refused():
    with pytest.raises(FileError, match="multiple of 64"):
        PointTable(group=1, data=bytes(65))
