"""Long work says how long it still takes: seldom, and not at all when it is short."""

import pytest

from martfl import waiting


@pytest.fixture
def told():
    """What is said, and a clock that the test moves."""
    said, now = [], [0.0]
    return said, now, waiting.TimeLeft(said.append, clock=lambda: now[0])


def test_the_time_left_follows_from_the_pace_so_far(told):
    said, now, listener = told
    for done in range(0, 100, 10):
        listener("points", done, 100)
        now[0] += 4.0
    assert said[0] == "points: 20 % done, about 32 s left"
    assert said[-1] == "points: 80 % done, about 8 s left"
    assert len(said) == 4  # every 5 s at most, heard of every 4


def test_short_work_and_finished_work_say_nothing(told):
    said, now, listener = told
    for done in (0, 50, 100):
        listener("short", done, 100)
        now[0] += 1.0
    now[0] += 100.0
    listener("short", 100, 100)
    assert said == []


def test_the_same_work_begins_anew(told):
    said, now, listener = told
    for start in (0.0, 1000.0):
        for done in (0, 10, 20):
            now[0] = start + done
            listener("delay", done, 20)
    assert said == 2 * ["delay: 50 % done, about 10 s left"]


def test_who_listens_hears_the_rooms():
    from martfl.settlement.exact.generators import make_blocks

    heard = []
    with waiting.heard(lambda *work: heard.append(work)):
        make_blocks(0, 2)
    make_blocks(0, 1)
    what, done, total = heard[-1]
    assert what == "making commitment generators" and done == total and len(heard) == 2


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.2, "1 s"), (89, "89 s"), (100, "2 min"), (3600, "60 min"), (7800, "2 h 10 min")]
)
def test_durations_are_as_exact_as_an_estimate_is(seconds, said):
    assert waiting.duration(seconds) == said
