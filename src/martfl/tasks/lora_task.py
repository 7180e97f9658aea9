"""Adapters of a language model as a task: the base stays, a low-rank change of it is traded. The extra `martfl[llm]`.

LoRA adds (α/r)·B·A to a weight. Parties that average their As and their Bs do not average B·A:

    (Σ k_i B_i)·(Σ k_i A_i)  ≠  Σ k_i (B_i·A_i)

So that the sum which the chain settles is what the model uses, A is fixed here and only B is trained and traded (as in
FFA-LoRA, Sun et al., ICLR 2024): Σ k_i (B_i·A) = (Σ k_i B_i)·A, exactly. A is the same for everybody: signs drawn
from the task's seed and the layer's name, over the root of its width, so that its rows are nearly orthonormal.
"""

import contextlib
import copy
import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from martfl.arrays import Reals
from martfl.tasks.base_model import Base, load_base
from martfl.tasks.errors import TaskError
from martfl.tasks.judging import TokenLikelihood, token_loss
from martfl.tasks.layout import Vector
from martfl.tasks.measures import Quality
from martfl.tasks.protocol import Data
from martfl.tasks.side_by_side import ADAPTER, side_by_side, stacked
from martfl.tasks.sources import Arrays
from martfl.tasks.texts import check_texts, packed_rows, text_rows
from martfl.tasks.torch_task import TorchTask, moved

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

ALL = "all-linear"
NAME = re.compile(r"[A-Za-z0-9_.]+")
JUDGED_TOGETHER = 64  # rows, of all models: each takes 25 MB for the scores of all words


@dataclass(frozen=True)
class LoraTask(TorchTask):
    """A frozen base and how its adapter is trained. Data are texts."""

    base: str = ""
    identity: str = ""  # of the base's weights
    tokens: int = 128  # of a row
    both: bool = False  # train A too, to compare with; its sums are not those of the adapters

    def train(self, model: Vector, data: Data, *, seed: int) -> Vector:
        """On the texts, packed."""
        return super().train(model, self._packed(data), seed=seed)

    def train_together(self, model: Vector, data: Sequence[Data], *, seeds: Sequence[int]) -> Vector:
        """What `train` gives for each party's texts, in one pass for all [parties, parameters]."""
        sources = [self._packed(one) for one in data]
        start = np.stack([np.asarray(model, np.float32)] * len(sources))
        with self._alone(0), self._together(start) as factors:
            optimizer = self.optimizer(list(factors.values()))
            batches = (self._batches(source, seed) for source, seed in zip(sources, seeds, strict=True))
            for step in zip(*batches, strict=True):
                optimizer.zero_grad()
                inputs, target = stacked(step, filler=self.tokenizer.eos_token_id)
                outputs = self._call(inputs).chunk(len(sources))
                targets = moved(target, self._device).chunk(len(sources))
                losses = [self.loss(*pair) for pair in zip(outputs, targets, strict=True)]
                torch.stack(losses).sum().backward()  # type: ignore[no-untyped-call]
                optimizer.step()
            trained = [factor.detach().flatten(1).cpu().numpy() for factor in factors.values()]
        return np.concatenate(trained, axis=1) - start

    def goodness_together(self, models: Sequence[Vector], data: Data) -> Reals:
        """What `goodness` gives, in one pass for all models."""
        kept: list[Tensor] = []
        given = np.stack([np.asarray(model, np.float32) for model in models])
        with self._alone(0), torch.no_grad(), self._together(given):
            for inputs, target in self._judged(data).ordered(max(1, JUDGED_TOGETHER // len(models))):
                output = self._call(inputs.repeat(len(models), 1))
                seen = self._judging.look(output, moved(target.repeat(len(models), 1), self._device))
                kept.append(seen["likelihood"].view(len(models), -1).cpu())
        return torch.cat(kept, dim=1).double().numpy()

    def goodness(self, models: Sequence[Vector], data: Data) -> Reals:
        """The mean log likelihood of each text's tokens."""
        return super().goodness(models, self._judged(data))

    def quality(self, model: Vector, data: Data) -> Quality:
        """Likelihood and loss of a token."""
        return super().quality(model, self._judged(data))

    def strata(self, data: Data) -> None:
        """Texts have none."""

    def logits(self, models: Sequence[Vector], data: Data) -> None:
        """One for every word and position would be too many."""

    def rows(self, data: Data) -> int:
        """One for each text."""
        return len(check_texts(data))

    def export(self, model: Vector, folder: Path) -> None:
        """An adapter folder that `PeftModel.from_pretrained` opens."""
        with self._alone(0):
            self.put(np.asarray(model, np.float32))
            self.module.save_pretrained(str(folder))  # type: ignore[operator]

    def write(self, model: Vector, prompt: str, *, tokens: int = 60) -> str:
        """What the model goes on with after a prompt, always the likeliest word."""
        with self._alone(0):
            self.put(np.asarray(model, np.float32))
            return self.continue_with(self.module, prompt, tokens=tokens)

    def continue_with(self, module: nn.Module, prompt: str, *, tokens: int = 60) -> str:
        """The same of any language model that has the base's tokeniser."""
        given = self.tokenizer(prompt, add_special_tokens=False, return_tensors="pt").to(self._device)
        with torch.no_grad():
            made = module.eval().generate(  # type: ignore[operator]
                **given, max_new_tokens=tokens, do_sample=False, repetition_penalty=1.3,
                pad_token_id=self.tokenizer.eos_token_id,
            )  # fmt: skip
        return str(self.tokenizer.decode(made[0], skip_special_tokens=True))

    def named(self, module: nn.Module) -> dict[str, Tensor]:
        """What is trained, by the names that PEFT stores it under."""
        return {stored_name(name): tensor for name, tensor in super().named(module).items()}

    @property
    def tokenizer(self) -> "PreTrainedTokenizerBase":
        """The base's."""
        return load_base(self.base).tokenizer

    @contextlib.contextmanager
    def _together(self, models: Vector) -> Iterator[dict[str, nn.Parameter]]:
        """The module with the models [s, parameters] side by side; what can be trained of each, by name."""
        if self.both:
            raise TaskError("adapters that train A cannot be trained side by side")
        self.module.eval()
        views = [self.layout.split(model) for model in models]
        factors = {name: np.stack([view[name] for view in views]) for name in views[0]}
        trained = {name: nn.Parameter(torch.from_numpy(factor).to(self._device)) for name, factor in factors.items()}
        with side_by_side(self.module, trained):
            yield trained

    def _packed(self, data: Data) -> Arrays:
        texts = check_texts(data)
        if not texts:
            raise TaskError("a dataset has at least one text, this one has none")
        return _packed_once(tuple(texts), self.base, self.tokens)

    def _judged(self, data: Data) -> Any:
        return text_rows(check_texts(data), self.tokenizer, tokens=self.tokens)


def lora(
    *,
    base: str,
    identity: str = "",
    rank: int = 8,
    alpha: int = 16,
    targets: str | list[str] = ALL,
    tokens: int = 128,
    steps: int = 12,
    batch: int = 4,
    learning_rate: float = 2e-3,
    seed: int = 0,
    precision: str = "float32",
    both: bool = False,
) -> LoraTask:
    """The task, from what terms state of it: `martfl.tasks.lora_task:lora` in `market.toml`."""
    if rank < 1 or tokens < 8 or alpha < 1:
        raise TaskError(f"rank ≥ 1, tokens ≥ 8 and alpha ≥ 1, got {rank}, {tokens} and {alpha}")
    check_targets(targets)
    return LoraTask(
        make=partial(
            adapted, base=base, identity=identity, rank=rank, alpha=alpha, targets=targets, seed=seed, both=both
        ),
        loss=token_loss,
        optimizer=partial(torch.optim.AdamW, lr=learning_rate, weight_decay=0.0),
        judging=TokenLikelihood(),
        steps=steps,
        batch=batch,
        seed=seed,
        precision=precision,
        buffers="fixed",
        base=base,
        identity=identity,
        tokens=tokens,
        both=both,
    )


def check_targets(targets: str | list[str]) -> None:
    """Raise unless these are all linear modules, or modules by plain names: a text would be a regular expression."""
    named = isinstance(targets, list) and bool(targets)
    if targets != ALL and not (named and all(isinstance(t, str) and NAME.fullmatch(t) for t in targets)):
        raise TaskError(f"targets are {ALL!r} or a list of names of modules, got {targets!r}")


def adapted(
    *, base: str, identity: str, rank: int, alpha: int, targets: str | list[str], seed: int, both: bool = False
) -> nn.Module:
    """The base, checked, with an adapter that changes nothing yet: B = 0."""
    found = load_base(base)
    check_identity(found, base, identity)
    import peft

    config = peft.LoraConfig(
        r=rank, lora_alpha=alpha, target_modules=targets, lora_dropout=0.0, bias="none", task_type="CAUSAL_LM"
    )
    try:
        module: nn.Module = peft.get_peft_model(_shared_copy(found.model), config)
    except ValueError as error:
        raise TaskError(f"the base {base} has no modules {targets}: {error}") from error
    for name, parameter in module.named_parameters():
        if ".lora_A." in name:
            layer = stored_name(name)
            parameter.data.copy_(torch.from_numpy(fixed_factor(layer, tuple(parameter.shape), seed=seed)))
            parameter.requires_grad_(both)
    return module


def check_identity(found: Base, base: str, identity: str) -> None:
    """Raise unless the base's weights are those that the terms name."""
    if not identity:
        raise TaskError(f"the terms must name the base's weights: identity = {found.identity!r} is that of {base}")
    if found.identity != identity:
        raise TaskError(f"the base {base} has weights of hash {found.identity}, the terms say {identity}")


def fixed_factor(name: str, shape: tuple[int, ...], *, seed: int) -> Vector:
    """A of a layer [rank, inputs]: ±1/√inputs, by bits of SHAKE-256 over seed and name."""
    count = math.prod(shape)
    bits = hashlib.shake_256(f"martfl adapter {seed} {name}".encode()).digest(-(-count // 8))
    signs = np.unpackbits(np.frombuffer(bits, np.uint8), count=count).astype(np.float32) * 2 - 1
    return signs.reshape(shape) / np.float32(math.sqrt(shape[-1]))


def stored_name(name: str) -> str:
    """The name under which PEFT stores a tensor of an adapter."""
    return name.replace(f".{ADAPTER}.", ".")


@lru_cache(maxsize=32)
def _packed_once(texts: tuple[str, ...], base: str, tokens: int) -> Arrays:
    """A seller trains on the same texts in every epoch."""
    return packed_rows(texts, load_base(base).tokenizer, tokens=tokens)


def _shared_copy(model: nn.Module) -> nn.Module:
    """A model of the same weights, in memory once, whose modules can be wrapped without touching the first."""
    return copy.deepcopy(model, {id(t): t for t in (*model.parameters(), *model.buffers())})
