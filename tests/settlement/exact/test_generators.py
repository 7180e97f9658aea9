"""Generators: their definition, the cache, growth, and recovery from every kind of damage."""

import dataclasses
from pathlib import Path

import pytest
from py_arkworks_bls12381 import G1Point

from martfl.cache import cache_folder
from martfl.settlement import SettlementError
from martfl.settlement.exact import Generators, blst, cache_file
from martfl.settlement.exact.generators import BLOCK_POINTS, DOMAIN, FILE, blinding_generator, make_block, make_blocks

NAME, BLOCK_BYTES = FILE.name, FILE.block_bytes


@pytest.fixture(scope="module")
def two_blocks():
    return [make_block(0), make_block(1)]


@pytest.fixture
def folder(tmp_path, two_blocks):
    """A cache that holds two blocks."""
    FILE.write(tmp_path / NAME, two_blocks)
    return tmp_path


def test_they_are_hashes_to_the_curve_and_all_different(folder):
    points = Generators.load(BLOCK_POINTS + 1, folder=folder).points(2 * BLOCK_POINTS)
    for i in (0, 1, BLOCK_POINTS, 2 * BLOCK_POINTS - 1):
        assert points[i] == G1Point.hash_to_curve(b"G" + i.to_bytes(8, "big"), DOMAIN)
    assert len({bytes(p.to_xy_bytes_be()) for p in [*points, blinding_generator()]}) == 2 * BLOCK_POINTS + 1


def test_a_cache_that_is_too_short_grows_and_says_how_far_it_is(tmp_path, two_blocks):
    FILE.write(tmp_path / NAME, two_blocks[:1])
    seen = []
    generators = Generators.load(
        BLOCK_POINTS + 1, folder=tmp_path, progress=lambda done, all_: seen.append((done, all_))
    )
    assert seen == [(BLOCK_POINTS, BLOCK_POINTS)]
    assert generators.affine.tobytes() == b"".join(two_blocks)
    assert FILE.read(tmp_path / NAME, 9) == two_blocks


def test_a_sound_cache_is_read_not_made(folder):
    def fail(done, total):
        raise AssertionError("nothing had to be made")

    Generators.load(2 * BLOCK_POINTS, folder=folder, progress=fail)


def test_threads_make_the_same_blocks_in_order(two_blocks):
    assert make_blocks(0, 2) == two_blocks


def test_they_are_the_same_where_blst_is_missing(two_blocks, monkeypatch):
    monkeypatch.setattr(blst, "load", lambda: None)
    assert make_block(1) == two_blocks[1]


HEADER = 16


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda d: d[: HEADER + 64 + 100], id="truncated in the first block"),
        pytest.param(lambda d: d[: -BLOCK_BYTES // 2], id="truncated in the last block"),
        pytest.param(lambda d: d[:3], id="truncated header"),
        pytest.param(lambda d: b"", id="empty"),
        pytest.param(lambda d: b"X" + d[1:], id="another magic"),
        pytest.param(lambda d: d[:HEADER] + bytes([d[HEADER] ^ 1]) + d[HEADER + 1 :], id="changed hash"),
        pytest.param(lambda d: d[:-5] + bytes([d[-5] ^ 1]) + d[-4:], id="changed point"),
        pytest.param(lambda d: d[:12] + b"\xff\xff\xff\xff" + d[16:], id="absurd size"),
    ],
)
def test_a_damaged_cache_is_detected_and_made_again(folder, two_blocks, damage):
    path = folder / NAME
    sound = path.read_bytes()
    path.write_bytes(damage(sound))
    generators = Generators.load(2 * BLOCK_POINTS, folder=folder)
    assert generators.affine.tobytes() == b"".join(two_blocks)
    assert path.read_bytes() == sound


def test_a_file_exchanged_whole_with_its_hashes_is_caught_by_the_pins(tmp_path, two_blocks):
    foreign = [two_blocks[1], two_blocks[0]]
    FILE.write(tmp_path / NAME, foreign)
    assert FILE.read(tmp_path / NAME, 2) == []
    assert Generators.load(2 * BLOCK_POINTS, folder=tmp_path).affine.tobytes() == b"".join(two_blocks)


@pytest.fixture(scope="module")
def forty_blocks():
    """Blocks up to between two pins; there are pins after 16, 32 and 48."""
    return make_blocks(0, 40)


@pytest.mark.parametrize(
    ("stored", "false", "kept"),
    [
        pytest.param(40, 20, 16, id="in the middle, between two pins"),
        pytest.param(40, 39, 32, id="at the end, where the file's own hashes fit and no pin is reached"),
        pytest.param(20, 18, 16, id="a short file that ends before its pin"),
        pytest.param(32, 0, 0, id="at the start"),
    ],
)
def test_a_false_block_with_a_fitting_hash_is_never_used(tmp_path, forty_blocks, stored, false, kept):
    """What is put together in the end is checked, the blocks that are made in addition included."""
    blocks = [*forty_blocks[:stored]]
    blocks[false] = blocks[false][96:] + blocks[false][:96]
    FILE.write(tmp_path / NAME, blocks)
    assert FILE.read(tmp_path / NAME, 40) == forty_blocks[:kept]
    made = []
    loaded = Generators.load(33 * BLOCK_POINTS, folder=tmp_path, progress=lambda done, total: made.append(total))
    assert set(made) == {(48 - kept) * BLOCK_POINTS}
    assert loaded.affine.tobytes()[: 40 * BLOCK_BYTES] == b"".join(forty_blocks)
    assert FILE.read(tmp_path / NAME, 48)[:40] == forty_blocks


def test_blocks_made_wrongly_are_refused_and_not_stored(tmp_path, two_blocks, monkeypatch):
    monkeypatch.setattr("martfl.settlement.exact.generators.make_block", lambda number: two_blocks[1])
    with pytest.raises(SettlementError, match="differ from their pins"):
        Generators.load(1, folder=tmp_path)
    assert not (tmp_path / NAME).exists()


def test_blocks_beyond_the_last_pin_are_kept_by_their_own_hashes(tmp_path, two_blocks):
    short = dataclasses.replace(FILE, pinned="pins.json")
    short.__dict__["pins"] = {1: FILE.pins[1]}
    short.write(tmp_path / NAME, two_blocks)
    assert short.read(tmp_path / NAME, 2) == two_blocks


def test_a_longer_sound_file_stays(tmp_path, forty_blocks):
    FILE.write(tmp_path / NAME, forty_blocks[:32])
    FILE.write(tmp_path / NAME, forty_blocks[:16])
    assert FILE.read(tmp_path / NAME, 32) == forty_blocks[:32]


def test_every_number_of_blocks_within_the_pins_ends_at_a_pin():
    last = max(FILE.pins)
    assert last * BLOCK_POINTS >= 500_000
    assert all(cache_file.whole_steps(blocks) in FILE.pins for blocks in range(1, last + 1))


def test_the_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("MARTFL_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
    monkeypatch.delenv("MARTFL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "martfl"


def test_a_cache_that_cannot_be_written_only_costs_time(two_blocks, caplog):
    assert Generators.load(1, folder=Path("/dev/null/cache")).affine.tobytes() == two_blocks[0]
    assert "cannot be kept" in caplog.text


def test_counts_below_one_and_beyond_what_is_loaded_are_refused(folder):
    with pytest.raises(SettlementError, match="at least one generator"):
        Generators.load(0)
    with pytest.raises(SettlementError, match="1025 generators are needed, 1024 are loaded"):
        Generators.load(1024, folder=folder).take(1025)


def test_who_is_interrupted_while_it_makes_generators_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(cache_file, "STORED_STEP", 2)
    heard = []

    def stop(done, total):
        heard.append((done, total))
        if done == 5 * BLOCK_POINTS:
            raise KeyboardInterrupt("killed")

    with pytest.raises(KeyboardInterrupt, match="killed"):
        Generators.load(6 * BLOCK_POINTS, folder=tmp_path, progress=stop)
    assert heard[-1] == (5 * BLOCK_POINTS, 6 * BLOCK_POINTS)
    heard.clear()
    loaded = Generators.load(6 * BLOCK_POINTS, folder=tmp_path, progress=lambda *now: heard.append(now))
    assert heard == [(BLOCK_POINTS, 2 * BLOCK_POINTS), (2 * BLOCK_POINTS, 2 * BLOCK_POINTS)]
    assert loaded.affine.tobytes() == b"".join(make_blocks(0, 6))
