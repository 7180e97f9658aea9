"""Everything of a run that does not change from round to round, checked before anything trains."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from martfl.lab.attacks import Attack, CraftView, Rows, make_attack
from martfl.lab.checkpoint import Progress
from martfl.lab.clients import ACQUIRER, Client, Clients, make_clients, providers_that_train
from martfl.lab.config import RunConfig, check_config
from martfl.lab.data import Dataset, load_dataset
from martfl.lab.evaluate import RowJudge, make_rowset
from martfl.lab.exam import Exam, make_exam
from martfl.lab.models import Model, make_model
from martfl.lab.quantise import make_quantiser
from martfl.lab.randomness import stream
from martfl.lab.rules import Rule, make_rule
from martfl.lab.runtime import Runtime
from martfl.lab.splits import Split, make_split, rows_of, wrong_labels
from martfl.lab.trainer import prepare_device


@dataclass(frozen=True)
class Setup:
    """A run made ready."""

    config: RunConfig
    device: torch.device
    rule: Rule
    attack: Attack
    model: Model
    split: Split
    clients: Clients
    judge: RowJudge  # on root rows
    test_judge: RowJudge | None  # on test rows: only where a run asks for it by name
    exam: Exam

    @cached_property
    def sizes(self) -> Tensor:
        """[n] rows of the providers."""
        return torch.as_tensor([len(rows) for rows in self.split.providers], device=self.device)

    @cached_property
    def honest(self) -> Tensor:
        """[n] bool."""
        return torch.as_tensor(~self.split.malicious, device=self.device)

    @cached_property
    def attackers(self) -> Tensor:
        """[k] the malicious providers."""
        return torch.as_tensor(np.flatnonzero(self.split.malicious), device=self.device)

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


def make_setup(config: RunConfig, runtime: Runtime, twins: Sequence[RunConfig] = ()) -> Setup:
    """Load, divide, poison and lay out the data; build the model, the trainer and the judges.

    Twins are measured beside the run: the success of their attacks on its model.
    """
    rule, attack, providers = check_run(config)
    device = prepare_device(runtime.device, precision=config.precision)
    dataset = load_dataset(config.dataset, folder=runtime.data)
    model = make_model(config.filled().model or "", dataset)
    split = make_split(dataset, config, providers=providers, acquirer=rule.server_driven)
    attack, *others = (
        one.aim(split.root_classes) if one.aim is not None else one
        for one in (attack, *(make_attack(twin.attack, **twin.attack_params) for twin in twins))
    )
    attack = dataclasses.replace(attack, trains=False, craft=None) if rule.honest_only else attack
    root = _root_rows(dataset, split, config)
    who = providers_that_train(dataset, split, attack, config.seed)
    who += [Client(ACQUIRER, root)] if rule.server_driven else []
    clients = make_clients(who, model, config, device=device, runtime=runtime)
    exam = make_exam(dataset, split, [attack, *others], model, device)
    judge = RowJudge(make_rowset(model, root.x, root.y, device), dataset.num_classes)
    leak = config.rule_params.get("baseline_data") == "test"
    test_judge = RowJudge(exam.test, dataset.num_classes) if leak else None
    return Setup(config, device, rule, attack, model, split, clients, judge, test_judge, exam)


def _root_rows(dataset: Dataset, split: Split, config: RunConfig) -> Rows:
    """The acquirer's rows, a share of them with wrong labels where the run says so."""
    rows = rows_of(dataset, split.root)
    wrong = wrong_labels(
        rows.y, share=config.root_poisoned, num_classes=dataset.num_classes, rng=stream(config.seed, "root labels")
    )
    return Rows(rows.x, wrong)
