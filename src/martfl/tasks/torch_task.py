"""Any PyTorch module as a task: a function that makes it, a loss, an optimiser.

The traded vector is what the module trains (`requires_grad`) and then its floating buffers, by name. Buffers, such as
the statistics of a batch norm, change with training like parameters and are averaged like them: a seller's update holds
how far its own moved. With `buffers="fixed"` they are not traded and stay as they were made. Counters (integer buffers)
are never traded. A running variance that an aggregate leaves below zero is read as zero.

Torch has one random state for a process. Whoever trains or judges takes it alone and puts it back, so that threads of
one process give what they would give alone.
"""

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from martfl.arrays import Longs, Reals
from martfl.tasks.errors import TaskError
from martfl.tasks.judging import ClassProbability, Judging, Loss, NegativeLoss, RegressionError, Seen
from martfl.tasks.layout import Layout, Vector
from martfl.tasks.measures import Quality
from martfl.tasks.protocol import Data, Task, check_vector
from martfl.tasks.sources import Batch, RowSource, as_source
from martfl.tasks.words import Words, shapes_of

Optimizer = Callable[[list[nn.Parameter]], torch.optim.Optimizer]
Progress = Callable[[int, int], None]  # batches trained on, batches in all
ANSWERED = 1024  # texts at a time
PRECISIONS = {"float32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}
_TURN = threading.RLock()


def sgd(parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    """Steps of 0.05 with momentum."""
    return torch.optim.SGD(parameters, lr=0.05, momentum=0.9)


@dataclass(frozen=True)
class TorchTask(Task):
    """A module, how it is trained and how it is judged. Data are what `sources.as_source` understands."""

    make: Callable[[], nn.Module]
    loss: Loss = F.cross_entropy
    optimizer: Optimizer = sgd
    judging: Judging | None = None  # where it is not named: what suits the loss
    epochs: int = 1
    steps: int = 0  # train on so many batches and no more; 0: whole epochs
    batch: int = 32
    seed: int = 0
    device: str = ""  # MARTFL_DEVICE, or the processor, where it is not named
    precision: str = "float32"
    buffers: Literal["traded", "fixed"] = "traded"
    words: Words | None = None  # where inputs are texts: rules then compare what sellers teach of single words
    progress: Progress | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("epochs", "batch"):
            if getattr(self, name) < 1:
                raise TaskError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.precision not in PRECISIONS:
            raise TaskError(f"precision must be one of {', '.join(PRECISIONS)}, got {self.precision!r}")
        if self.buffers not in ("traded", "fixed"):
            raise TaskError(f"buffers must be 'traded' or 'fixed', got {self.buffers!r}")

    # --- the protocol ----------------------------------------------------------------------------------------------

    @cached_property
    def layout(self) -> Layout:
        """What is traded, by name."""
        return Layout.of(self.traded())

    def initial(self) -> Vector:
        """The module as it is made under the task's seed."""
        with _TURN:
            return self._made[1].copy()

    def train(self, model: Vector, data: Data, *, seed: int) -> Vector:
        """What training changes."""
        start = np.asarray(model, np.float32)
        source = as_source(data, batch=self.batch)
        if source.rows < 1:
            raise TaskError("a dataset has at least one row, this one has none")
        with self._alone(seed):
            self.put(start)
            self._fit(source, seed)
            return _flat(self.traded()) - start

    def goodness(self, models: Sequence[Vector], data: Data) -> Reals:
        """As the kind of judging says."""
        return np.stack([self._judging.goodness(self.look(model, data)) for model in models])

    def strata(self, data: Data) -> Longs | None:
        """As the kind of judging says."""
        parts = [self._judging.strata(target) for _, target in self._source(data).ordered(self.batch)]
        known = [part for part in parts if part is not None]
        return torch.cat(known).cpu().numpy() if known else None

    def logits(self, models: Sequence[Vector], data: Data) -> Reals | None:
        """As the kind of judging says."""
        found = [self._judging.logits(self.look(model, data)) for model in models]
        known = [logits for logits in found if logits is not None]
        return np.stack(known) if known else None

    def held_words(self, data: Data) -> NDArray[np.bool_] | None:
        """Which of the words occur in the data; None where the task names no words."""
        if self.words is None:
            return None
        seen = [self.words.texts(inputs).numpy() for inputs, _ in self._source(data).ordered(self.batch)]
        return np.isin(list(self.words.tokens), np.concatenate(seen))

    def by_word(self, models: Iterable[Vector], data: Data, *, seed: int) -> Iterator[Reals]:
        """What the module answers to texts of one word each, and to texts of the data beside which it stands."""
        if self.words is not None:
            rows = torch.cat([self.words.texts(inputs) for inputs, _ in self._source(data).ordered(self.batch)])
            texts = self.words.with_each(rows, seed)
            for model in models:
                found = self._answers(model, texts.flatten(0, 1))
                yield found.reshape(*texts.shape[:2], -1)

    def quality(self, model: Vector, data: Data) -> Quality:
        """As the kind of judging says."""
        return self._judging.quality(self.look(model, data))

    def rows(self, data: Data) -> int:
        """How many rows the data have."""
        return self._source(data).rows

    # --- the module ------------------------------------------------------------------------------------------------

    @property
    def module(self) -> nn.Module:
        """Made once; what it holds between two calls means nothing."""
        with _TURN:
            return self._made[0]

    def traded(self) -> dict[str, Tensor]:
        """The tensors of the module that are traded, by name."""
        return self.named(self.module)

    def named(self, module: nn.Module) -> dict[str, Tensor]:
        """Of a module of this task: what is traded, by name."""
        kept = set(module.state_dict(keep_vars=True))
        found: dict[str, Tensor] = {name: p for name, p in module.named_parameters() if p.requires_grad}
        if self.buffers == "traded":
            found |= {n: b for n, b in module.named_buffers() if n in kept and b.is_floating_point()}
        if not found:
            raise TaskError(f"{type(module).__name__} trains nothing: no parameter of it requires a gradient")
        return found

    def put(self, model: Vector) -> None:
        """Write a vector into the module."""
        views = self.layout.split(check_vector(self.layout, model, what="the model"))
        with torch.no_grad():
            for name, tensor in self.traded().items():
                tensor.copy_(torch.from_numpy(np.ascontiguousarray(views[name])))
                if name.endswith("running_var"):
                    tensor.clamp_(min=0.0)

    def look(self, model: Vector, data: Data) -> Seen:
        """What the kind of judging keeps of the module's outputs under a model."""
        kept: list[dict[str, Tensor]] = []
        with self._alone(0), torch.no_grad():
            self.put(np.asarray(model, np.float32))
            self.module.eval()
            for inputs, target in self._source(data).ordered(self._judged_at_once):
                output = self._call(inputs)
                kept.append({n: t.cpu() for n, t in self._judging.look(output, moved(target, self._device)).items()})
        return {name: torch.cat([part[name] for part in kept]).numpy() for name in kept[0]} if kept else {}

    def _answers(self, model: Vector, texts: Tensor) -> Reals:
        kept: list[Tensor] = []
        with self._alone(0), torch.no_grad():
            self.put(np.asarray(model, np.float32))
            self.module.eval()
            for at in range(0, len(texts), ANSWERED):
                kept.append(self._call(texts[at : at + ANSWERED]).cpu())
        found = torch.cat(kept).numpy()
        if found.ndim != 2:
            raise TaskError(f"a task with words gives [texts, classes], got outputs of shape {found.shape}")
        return np.asarray(found)

    # --- parts -----------------------------------------------------------------------------------------------------

    @cached_property
    def _made(self) -> tuple[nn.Module, Vector]:
        """The module, and what it held when it was made."""
        with self._alone(0):
            module = self.make().to(self._device)
            return module, _flat(self.named(module))

    @property
    def _judged_at_once(self) -> int:
        """Rows: a GPU has room for more than it is trained with, and waits for launches otherwise."""
        return self.batch if self._device.type == "cpu" else max(self.batch, 32)

    @cached_property
    def _judging(self) -> Judging:
        if self.judging is not None:
            return self.judging
        if self.loss is F.cross_entropy or isinstance(self.loss, nn.CrossEntropyLoss):
            return ClassProbability()
        if self.loss is F.mse_loss or isinstance(self.loss, nn.MSELoss):
            return RegressionError()
        return NegativeLoss(self.loss)

    @property
    def _device(self) -> torch.device:
        return torch.device(self.device or os.environ.get("MARTFL_DEVICE") or "cpu")

    def _source(self, data: Data) -> RowSource:
        return as_source(data, batch=self.batch)

    def _fit(self, source: RowSource, seed: int) -> None:
        self.module.train()
        optimizer = self.optimizer([p for p in self.module.parameters() if p.requires_grad])
        for number, (inputs, target) in enumerate(self._batches(source, seed), start=1):
            optimizer.zero_grad()
            loss = self.loss(self._call(inputs), moved(target, self._device))
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            if self.progress is not None:
                self.progress(number, self.steps or self.epochs * -(-source.rows // self.batch))

    def _batches(self, source: RowSource, seed: int) -> Iterator[Batch]:
        done, epoch = 0, 0
        while epoch < self.epochs or done < self.steps:
            order = int(np.random.SeedSequence([self.seed, seed, epoch]).generate_state(1)[0])
            for batch in source.shuffled(self.batch, order):
                if self.steps and done == self.steps:
                    return
                yield batch
                done += 1
            epoch += 1

    def _call(self, inputs: object) -> Tensor:
        there, kind = moved(inputs, self._device), PRECISIONS[self.precision]
        context = contextlib.nullcontext() if kind is None else torch.autocast(self._device.type, dtype=kind)
        try:
            with context:
                if isinstance(there, dict):
                    output = self.module(**there)
                else:
                    output = self.module(*there) if isinstance(there, tuple) else self.module(there)
        except RuntimeError as error:  # torch's word for shapes and types that do not fit
            raise TaskError(f"the network failed on inputs {shapes_of(there)}: {error}") from error
        found: Tensor = output if isinstance(output, Tensor) else output.logits
        return found.float()

    @contextlib.contextmanager
    def _alone(self, seed: int) -> Iterator[None]:
        """Torch's random state, seeded for the task, for one thread at a time."""
        devices = [self._device] if self._device.type == "cuda" else []
        with _TURN, torch.random.fork_rng(devices=devices):
            torch.manual_seed(int(np.random.SeedSequence([self.seed, seed]).generate_state(1)[0]))
            yield


def _flat(tensors: dict[str, Tensor]) -> Vector:
    return np.concatenate([tensor.detach().float().cpu().numpy().ravel() for tensor in tensors.values()])


def moved(value: Any, device: torch.device) -> Any:
    """Tensors, or dictionaries and tuples of them, on a device."""
    if isinstance(value, Tensor):
        return value.to(device)
    if isinstance(value, dict):
        return {name: moved(one, device) for name, one in value.items()}
    return tuple(moved(one, device) for one in value)
