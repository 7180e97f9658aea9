"""The tree of the generators: its definition, its cache, its pins."""

import pytest

from martfl.settlement import SettlementError
from martfl.settlement.exact import CommitmentKey, Generators, SlotLayout, blst, generator_root, generators
from martfl.settlement.exact.generator_tree import FILE, generator_leaf, generator_tree, make_block
from martfl.settlement.exact.point import Commitment
from martfl.settlement.hash_tree import build
from martfl.settlement.keccak import keccak


@pytest.fixture(scope="module")
def four_blocks():
    return Generators.load(2048)


def key_of(points: int, loaded: Generators) -> CommitmentKey:
    layout = SlotLayout()
    return CommitmentKey(layout=layout, parameters=points * layout.slots, generators=loaded)


@pytest.mark.parametrize("points", [1, 2, 255, 256, 257, 511, 512, 513, 768, 1300, 2048])
def test_it_is_the_tree_of_chained_hashes_of_points(points, four_blocks, tmp_path):
    encoded = [Commitment.from_point(p).to_eip2537() for p in four_blocks.points(points)]
    leaves = []
    for at in range(0, points, 256):
        digest = bytes(32)
        for point in encoded[at : at + 256]:
            digest = keccak(digest + point)
        assert generator_leaf(encoded[at : at + 256]) == digest
        leaves.append(digest)
    assert generator_root(key_of(points, four_blocks), folder=tmp_path) == build(leaves).root


def test_whole_leaves_are_kept_and_read_again(four_blocks, tmp_path, monkeypatch):
    first = generator_tree(key_of(1300, four_blocks), folder=tmp_path)
    assert (tmp_path / FILE.name).exists()
    monkeypatch.setattr("martfl.settlement.exact.generator_tree.make_block", lambda *a: pytest.fail("was kept"))
    assert generator_tree(key_of(1300, four_blocks), folder=tmp_path) == first
    assert generator_tree(key_of(520, four_blocks), folder=tmp_path).leaves == 3


def test_the_pins_are_those_of_the_generators_and_hold(four_blocks):
    assert list(FILE.pins) == list(generators.FILE.pins)
    assert FILE._confirmed([make_block(four_blocks, number) for number in range(4)]) == 4


@pytest.mark.parametrize("position", [0, 1, 3])
def test_a_file_whose_leaves_were_exchanged_with_their_hashes_is_not_used(four_blocks, tmp_path, position):
    right = generator_tree(key_of(2048, four_blocks), folder=tmp_path)
    blocks = FILE.read(tmp_path / FILE.name, 4)
    blocks[position] = bytes(64)
    (tmp_path / FILE.name).unlink()
    FILE.write(tmp_path / FILE.name, blocks)
    assert FILE.read(tmp_path / FILE.name, 4) == blocks[:position]
    assert generator_tree(key_of(2048, four_blocks), folder=tmp_path) == right
    assert FILE.read(tmp_path / FILE.name, 4) == [make_block(four_blocks, number) for number in range(4)]


def test_false_generators_do_not_get_a_root(four_blocks, tmp_path):
    foreign = Generators(four_blocks.affine[::-1].copy())
    with pytest.raises(SettlementError, match="differ from their pins"):
        generator_root(key_of(600, foreign), folder=tmp_path)
    assert not (tmp_path / FILE.name).exists()


def test_it_is_the_same_where_blst_is_missing(four_blocks, tmp_path, monkeypatch):
    right = generator_root(key_of(600, four_blocks), folder=tmp_path / "a")
    monkeypatch.setattr(blst, "load", lambda: None)
    assert generator_root(key_of(600, four_blocks), folder=tmp_path / "b") == right
