"""The market's bench on networks of a chosen size."""

import pytest

from martfl.bench.market import bench_market
from martfl.bench.subjects import make_subject
from martfl.errors import InputError
from martfl.tasks.errors import TaskError


def test_a_market_of_a_chosen_size_is_measured_step_by_step():
    found = bench_market(parameters=3_000, providers=2)
    assert (found.dataset, found.providers) == ("network", 2)
    assert 2_700 < found.parameters <= 3_000
    assert set(found.steps_s) == {"commit", "score", "select", "deliver", "aggregate", "settle"}
    assert {"training", "commit", "trade", "publish", "settle"} <= set(found.cpu_s)
    assert all(megabytes > 10 for megabytes in found.peak_mb.values())
    assert found.cpu_share_of_training > 0


def test_sizes_and_names_that_make_no_sense_are_refused():
    with pytest.raises(InputError, match="at least 277 parameters, got 100"):
        make_subject(parameters=100, providers=2)
    with pytest.raises(InputError, match="a size is for network and lora, got 5000"):
        make_subject("digits", parameters=5_000, providers=2)
    with pytest.raises(InputError, match="got 'poems'"):
        make_subject("poems", providers=2)


def test_at_size_adapters_are_traded_where_a_language_model_is_at_hand(monkeypatch):
    def missing(name: str) -> None:
        raise TaskError(f"{name} is nowhere")

    monkeypatch.setattr("martfl.bench.subjects.find_base", missing)
    assert make_subject(parameters=5_000_000, providers=1).name == "network"
    monkeypatch.setattr("martfl.bench.subjects.need_libraries", lambda: None)
    monkeypatch.setattr("martfl.bench.subjects.find_base", lambda name: name)
    monkeypatch.setattr("martfl.bench.subjects._lora", lambda parameters, providers: ("lora", parameters))
    assert make_subject(parameters=5_000_000, providers=1) == ("lora", 5_000_000)
    assert make_subject(parameters=4_000_000, providers=1).name == "network"
