"""The hospitals and the plays that come with the package."""

from pathlib import Path

import numpy as np
import pytest

from martfl.tasks import TaskError
from martfl.tasks.hospitals import COLUMNS, HOSPITALS, INPUTS, encode, heart, load_hospital
from martfl.tasks.speeches import by_play, load_speeches


def test_four_hospitals_have_their_patients() -> None:
    rows = {name: load_hospital(name) for name in HOSPITALS}
    assert [len(y) for _, y in rows.values()] == [303, 294, 123, 200]
    for x, y in rows.values():
        assert x.shape == (len(y), INPUTS)
        assert np.isfinite(x).all()
        assert set(np.unique(y)) == {0, 1}
    ill = [float(y.mean()) for _, y in rows.values()]
    assert max(ill) > 0.9 > 0.4 > min(ill)  # hospitals differ


def test_what_was_not_taken_is_said_and_says_nothing_else() -> None:
    known = np.array([[54, 1, 4, 130, 240, 0, 0, 140, 0, 1, 1, 1, 3]], np.float32)
    gone = np.full((1, len(COLUMNS)), -9, np.float32)
    assert encode(known).sum() == 1 + 1 + 1 + 1  # sex, chest pain, slope, thal: the rest is usual
    assert encode(gone).sum() == len(COLUMNS)
    swiss = np.array(known)
    swiss[0, COLUMNS.index("cholesterol")] = 0
    assert encode(swiss).sum() == encode(known).sum() + 1
    with pytest.raises(TaskError, match="13 values"):
        encode(known[:, 1:])
    with pytest.raises(TaskError, match="got 'york'"):
        load_hospital("york")


def test_a_hospital_learns_from_another() -> None:
    task = heart()
    model = task.initial() + task.train(task.initial(), load_hospital("hungarian"), seed=0)
    before, after = (task.quality(one, load_hospital("cleveland")) for one in (task.initial(), model))
    assert list(after) == ["accuracy", "auc", "loss"]
    assert after["auc"] > 0.8 > before["auc"]


def test_plays_come_with_the_package(tmp_path: Path) -> None:
    plays = by_play(load_speeches())
    assert {"hamlet", "macbeth", "othello"} <= set(plays)
    assert all(len(texts) > 100 for texts in plays.values())
    assert any("To be, or not to be" in text for text in plays["hamlet"])
    with pytest.raises(TaskError, match="not a file of speeches"):
        load_speeches(tmp_path)
