"""Everything of a run that does not change from round to round, checked before anything trains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from martfl.errors import InputError
from martfl.lab.attacks import Attack, CraftView, Rows, make_attack
from martfl.lab.checkpoint import Progress
from martfl.lab.config import RunConfig, check_config
from martfl.lab.data import Dataset, load_dataset
from martfl.lab.evaluate import RowJudge, Rowset, make_rowset
from martfl.lab.models import Model, make_model
from martfl.lab.quantise import make_quantiser
from martfl.lab.randomness import stream
from martfl.lab.rules import Rule, make_rule
from martfl.lab.splits import Split, make_split, wrong_labels
from martfl.lab.trainer import LocalTraining, Shards, Trainer, make_shards, make_trainer, prepare_device

if TYPE_CHECKING:
    from martfl.lab.experiment import Runtime

ACQUIRER = 0  # its number in random streams; provider i has i + 1


@dataclass(frozen=True)
class Setup:
    """A run made ready."""

    config: RunConfig
    device: torch.device
    rule: Rule
    attack: Attack
    model: Model
    num_classes: int
    split: Split
    local: LocalTraining
    shards: Shards  # of the providers that train and, last, of an acquirer
    trainer: Trainer
    clients: list[int]  # stream numbers of those who train
    class_shares: np.ndarray  # of those who train
    trained: Tensor  # [t] the providers that train
    attackers: Tensor  # [k] the malicious providers
    sizes: Tensor  # [n]
    honest: Tensor  # [n] bool
    judge: RowJudge
    test_judge: RowJudge | None
    test: Rowset
    validation: Rowset
    probe: Rowset | None

    def craft_view(
        self, index: int, progress: Progress, updates: Tensor, own: Tensor, generator: torch.Generator
    ) -> CraftView:
        """What the attackers see in a round."""
        return CraftView(
            index=index,
            model=progress.model,
            previous=progress.previous,
            updates=updates[self.attackers],
            providers=len(updates),
            generator=generator,
            seed=self.config.seed,
            honest=updates[self.honest],
            own=own if self.rule.server_driven else None,
        )


def check_run(config: RunConfig) -> tuple[Rule, Attack, int]:
    """(rule, attack, number of providers), or an error that names what is wrong; loads no data."""
    check_config(config)
    make_quantiser(config.quantise)
    rule = make_rule(config.rule, **config.rule_params)
    attack = make_attack(config.attack, **config.attack_params)
    participants = config.filled().participants
    assert participants is not None
    providers = participants - 1 if rule.server_driven else participants
    rule.check(providers)
    return rule, attack, providers


def make_setup(config: RunConfig, runtime: Runtime) -> Setup:
    """Load, divide, poison and lay out the data; build the model, the trainer and the judges."""
    rule, attack, providers = check_run(config)
    full = config.filled()
    device = prepare_device(runtime.device, precision=config.precision)
    dataset = load_dataset(config.dataset, folder=runtime.data)
    model = make_model(full.model or "", dataset)
    split = make_split(dataset, config, providers=providers)
    attack = attack.aim(split.root_classes) if attack.aim is not None else attack
    root = _root_rows(dataset, split, config)
    assert full.optimizer is not None and full.learning_rate is not None
    local = LocalTraining(
        full.optimizer, full.learning_rate, config.momentum, config.epochs, config.batch, config.precision
    )
    who = [i for i in range(providers) if attack.trains or not split.malicious[i]]
    parts = [_provider_rows(dataset, split, attack, i, config.seed) for i in who]
    shares = [attack.class_share if split.malicious[i] else 1.0 for i in who]
    clients = [i + 1 for i in who]
    if rule.server_driven:
        parts.append(root)
        shares.append(1.0)
        clients.append(ACQUIRER)
    shards = make_shards(parts, device)
    trainer = make_trainer(
        runtime.trainer,
        model,
        shards,
        local,
        class_shares=np.array(shares),
        memory_mb=runtime.memory_mb,
        memory_share=runtime.memory_share,
        workers=runtime.workers,
    )
    test = make_rowset(dataset.test_x, dataset.test_y, device)
    probe = attack.probe(dataset) if attack.probe is not None else None
    leak = config.rule_params.get("baseline_data") == "test"
    return Setup(
        config=config,
        device=device,
        rule=rule,
        attack=attack,
        model=model,
        num_classes=dataset.num_classes,
        split=split,
        local=local,
        shards=shards,
        trainer=trainer,
        clients=clients,
        class_shares=np.array(shares),
        trained=torch.as_tensor(who, device=device),
        attackers=torch.as_tensor(np.flatnonzero(split.malicious), device=device),
        sizes=torch.as_tensor([len(rows) for rows in split.providers], device=device),
        honest=torch.as_tensor(~split.malicious, device=device),
        judge=RowJudge(model, make_rowset(root.x, root.y, device), dataset.num_classes),
        test_judge=RowJudge(model, test, dataset.num_classes) if leak else None,
        test=test,
        validation=_validation(dataset, split, device),
        probe=make_rowset(probe.x, probe.y, device) if probe is not None else None,
    )


def _rows(dataset: Dataset, rows: np.ndarray) -> Rows:
    return Rows(dataset.train_x[rows], dataset.train_y[rows])


def _root_rows(dataset: Dataset, split: Split, config: RunConfig) -> Rows:
    """The acquirer's rows, a share of them with wrong labels where the run says so."""
    rows = _rows(dataset, split.root)
    wrong = wrong_labels(
        rows.y, share=config.root_poisoned, num_classes=dataset.num_classes, rng=stream(config.seed, "root labels")
    )
    return Rows(rows.x, wrong)


def _validation(dataset: Dataset, split: Split, device: torch.device) -> Rowset:
    if not len(split.validation):
        raise InputError(f"dataset {dataset.name} is too small to hold validation rows")
    held = _rows(dataset, split.validation)
    return make_rowset(held.x, held.y, device)


def _provider_rows(dataset: Dataset, split: Split, attack: Attack, provider: int, seed: int) -> Rows:
    rows = _rows(dataset, split.providers[provider])
    if split.malicious[provider] and attack.poison is not None:
        return attack.poison(dataset, rows, stream(seed, "poison", provider))
    return rows
