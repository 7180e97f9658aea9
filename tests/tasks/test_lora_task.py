"""Adapters of a small language model: what is traded, that sums of it are exact, and how it leaves."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from martfl.tasks import TaskError
from martfl.tasks.base_model import find_base, identity_of, load_base
from martfl.tasks.export import export_model
from martfl.tasks.lora_task import LoraTask, lora
from martfl.tasks.protocol import train_checked
from martfl.tasks.texts import read_texts

VERSES = [
    "So shaken as we are, so wan with care, find we a time for frighted peace to pant.",
    "The quality of mercy is not strained; it droppeth as the gentle rain from heaven.",
    "Tomorrow, and tomorrow, and tomorrow, creeps in this petty pace from day to day.",
    "If music be the food of love, play on; give me excess of it.",
]


@pytest.fixture
def task(tiny_base: Path) -> LoraTask:
    return lora(base=str(tiny_base), identity=load_base(str(tiny_base)).identity, rank=4, steps=20, tokens=64)


def weights(module: torch.nn.Module) -> torch.Tensor:
    """What the adapter adds to one weight of the base: (α/r)·B·A."""
    return module.get_submodule("base_model.model.model.layers.1.mlp.down_proj").get_delta_weight("default").detach()


def test_training_an_adapter_makes_texts_likelier(task: LoraTask) -> None:
    model = task.initial()
    assert not model.any()
    update = train_checked(task, model, VERSES[:3], seed=0)
    assert task.goodness([model, update], VERSES).shape == (2, 4)
    before, after = task.quality(model, VERSES), task.quality(update, VERSES)
    assert after["likelihood"] > before["likelihood"]
    assert after["loss"] == pytest.approx(-np.log(after["likelihood"]))
    assert task.strata(VERSES) is None
    assert task.logits([model], VERSES) is None
    assert task.rows(VERSES) == 4


def test_only_one_factor_is_traded_and_its_sum_is_the_adapter_of_the_sum(task: LoraTask) -> None:
    names = [part.name for part in task.layout.parts]
    assert len(names) == 14  # seven linear layers in each of two blocks
    assert all(name.endswith(".lora_B.weight") for name in names)
    ones = [task.train(task.initial(), VERSES[i : i + 2], seed=i) for i in range(3)]
    shares = np.array([0.5, 0.25, 0.25], np.float32)
    deltas = []
    for update in ones:
        task.put(update)
        deltas.append(weights(task.module).clone())
    task.put(np.tensordot(shares, np.stack(ones), axes=1))
    expected = sum(float(share) * delta for share, delta in zip(shares, deltas, strict=True))
    assert torch.allclose(weights(task.module), expected, atol=1e-7)
    assert weights(task.module).abs().max() > 1e-4


def test_free_adapters_do_not_add_up(tiny_base: Path) -> None:
    """Why one factor is fixed: with both trained, the mean of the factors is not the mean of the adapters."""
    task = lora(base=str(tiny_base), identity=load_base(str(tiny_base)).identity, rank=4, both=True, tokens=64)
    first = task.initial()
    assert len(task.layout.parts) == 28
    ones = [first + task.train(first, VERSES[i : i + 2], seed=i) for i in range(2)]
    deltas = []
    for model in ones:
        task.put(model)
        deltas.append(weights(task.module).clone())
    task.put((ones[0] + ones[1]) / 2)
    assert not torch.allclose(weights(task.module), (deltas[0] + deltas[1]) / 2, atol=1e-5)


def test_the_base_is_shared_and_never_changed(task: LoraTask, tiny_base: Path) -> None:
    found = load_base(str(tiny_base))
    other = lora(base=str(tiny_base), identity=found.identity, rank=2, steps=2, tokens=64)
    other.train(other.initial(), VERSES, seed=0)
    task.train(task.initial(), VERSES, seed=0)
    assert identity_of(found.model) == found.identity
    mine = task.module.get_submodule("base_model.model.model.embed_tokens").weight
    assert mine.data_ptr() == found.model.get_submodule("model.embed_tokens").weight.data_ptr()


def test_two_parties_have_the_same_fixed_factor(task: LoraTask, tiny_base: Path) -> None:
    twin = lora(base=str(tiny_base), identity=task.identity, rank=4, steps=20, tokens=64)
    other = lora(base=str(tiny_base), identity=task.identity, rank=4, steps=20, tokens=64, seed=1)
    factors = [
        {n: p.detach().clone() for n, p in one.module.named_parameters() if "lora_A" in n}
        for one in (task, twin, other)
    ]
    assert all(torch.equal(factors[0][name], factors[1][name]) for name in factors[0])
    assert not all(torch.equal(factors[0][name], factors[2][name]) for name in factors[0])
    rows = next(iter(factors[0].values()))
    assert torch.allclose((rows @ rows.T).diagonal(), torch.ones(4), atol=1e-6)


def test_another_base_and_another_rank_are_refused(task: LoraTask, tiny_base: Path, tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="the terms say 00ff"):
        lora(base=str(tiny_base), identity="00ff").layout  # noqa: B018
    with pytest.raises(TaskError, match=f"identity = '{task.identity}'"):
        lora(base=str(tiny_base)).layout  # noqa: B018
    other = task.layout.difference(lora(base=str(tiny_base), identity=task.identity, rank=2).layout)
    assert other is not None and "lora_B.weight must be float32[64, 4], it is float32[64, 2]" in other
    with pytest.raises(TaskError, match="is not a language model"):
        load_base(str(tmp_path))
    with pytest.raises(TaskError, match="no modules"):
        lora(base=str(tiny_base), identity=task.identity, targets=["nothing"]).layout  # noqa: B018
    with pytest.raises(TaskError, match="MARTFL_MODELS"):
        find_base("missing.gguf")


def test_data_are_texts(task: LoraTask, tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="at least one text"):
        task.train(task.initial(), [], seed=0)
    with pytest.raises(TaskError, match="a list of texts, got str"):
        task.train(task.initial(), "To be", seed=0)
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"text": verse}) for verse in VERSES), encoding="utf-8")
    (tmp_path / "a.txt").write_text("\n\n".join(VERSES), encoding="utf-8")
    assert read_texts(tmp_path / "a.jsonl") == read_texts(tmp_path / "a.txt") == VERSES
    (tmp_path / "b.jsonl").write_text("{}", encoding="utf-8")
    with pytest.raises(TaskError, match="not a file of texts"):
        read_texts(tmp_path / "b.jsonl")


def test_an_exported_adapter_opens_in_peft_and_says_the_same(task: LoraTask, tiny_base: Path, tmp_path: Path) -> None:
    import peft
    import transformers

    model = task.train(task.initial(), VERSES, seed=0)
    files = export_model(task.layout, model, tmp_path / "adapter", about={"epoch": "3"}, task=task)
    assert {"adapter_config.json", "adapter_model.safetensors", "martfl.json"} <= {file.name for file in files}
    base = transformers.AutoModelForCausalLM.from_pretrained(tiny_base, dtype=torch.float32)
    opened = peft.PeftModel.from_pretrained(base, tmp_path / "adapter").eval()
    ids = task.tokenizer(VERSES[0], return_tensors="pt").input_ids
    task.put(model)
    with torch.no_grad():
        assert torch.allclose(opened(ids).logits, task.module.eval()(ids).logits, atol=1e-5)
    known = json.loads((tmp_path / "adapter" / "martfl.json").read_text(encoding="utf-8"))
    assert known["epoch"] == "3"
    assert known["layout_hash"] == task.layout.hash
    with pytest.raises(TaskError, match="new or empty"):
        export_model(task.layout, model, tmp_path / "adapter", about={}, task=task)


def test_the_model_writes(task: LoraTask) -> None:
    text = task.write(task.initial(), "So shaken", tokens=5)
    assert text.startswith("So shaken")
    assert len(text) > len("So shaken")


@pytest.mark.parametrize("targets", [".*", "q_proj", [], [".*"], ["q_proj", "(a+)+$"], [1], ""])
def test_targets_are_plain_names_and_no_pattern(targets):
    """A text other than `all-linear` would be a regular expression, from a stranger's file."""
    with pytest.raises(TaskError, match="targets are 'all-linear' or a list of names of modules"):
        lora(base="none", targets=targets)
