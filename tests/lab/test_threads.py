"""Training in a market borrows torch's threads and gives them back."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
import torch

from martfl.lab.data import load_dataset
from martfl.lab.task import digits
from martfl.lab.threads import one_thread


@pytest.fixture
def three():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_training_leaves_the_number_as_it_was(three):
    task, data = digits(epochs=1), load_dataset("digits")
    rows = data.train_x[:64].astype(np.float32), data.train_y[:64]
    first = task.train(task.initial(), rows, seed=0)
    assert torch.get_num_threads() == 3
    torch.set_num_threads(2)
    assert np.array_equal(first, task.train(task.initial(), rows, seed=0))
    assert torch.get_num_threads() == 2


def test_it_is_given_back_after_an_error(three):
    with pytest.raises(ValueError, match="broken"), one_thread():
        assert torch.get_num_threads() == 1
        raise ValueError("broken")
    assert torch.get_num_threads() == 3


def test_many_at_a_time_do_not_disturb_each_other(three):
    together = Barrier(4, timeout=60)

    def party(_: int) -> set[int]:
        seen = set()
        for _ in range(20):
            together.wait()
            with one_thread():
                seen.add(torch.get_num_threads())
        return seen

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(party, range(4))) == [{1}] * 4
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(torch.get_num_threads).result() == 3
    assert torch.get_num_threads() == 3
