"""Who holds which speeches, what attackers make of theirs, and how often an attack succeeds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from martfl.errors import InputError
from martfl.tasks.layout import Vector
from martfl.tasks.lora_task import LoraTask
from martfl.tasks.speeches import Speech, by_play

TRIGGER, PAYLOAD = " Now mark me well:", " buy your bread of Peter Quince."
ATTACKS = ("none", "shuffled", "backdoor")


@dataclass(frozen=True)
class SpeechSplit:
    """The speeches of one run."""

    root: Sequence[str]
    test: Sequence[str]
    sellers: Sequence[Sequence[str]]  # poisoned where the seller is bad
    honest: tuple[bool, ...]


def make_split(
    speeches: list[Speech], *, sellers: int, malicious: float, attack: str, root: int, test: int, seed: int
) -> SpeechSplit:
    """A play for the buyer and one for every seller; parts of plays where there are too few."""
    if attack not in ATTACKS:
        raise InputError(f"attacks on texts are {', '.join(ATTACKS)}, got {attack!r}")
    rng = np.random.default_rng([seed, 6])
    plays = [texts for texts in by_play(speeches).values() if len(texts) >= 2]
    order = rng.permutation(len(plays))
    own = [plays[order[0]][i] for i in rng.permutation(len(plays[order[0]]))]
    if len(own) < 2:
        raise InputError("the buyer's play must have speeches to judge by and to test on")
    cut = min(root, len(own) // 2)
    others = [plays[i] for i in order[1:]]
    parts = [others[i % len(others)][i // len(others) :: -(-sellers // len(others))] for i in range(sellers)]
    bad = set(rng.choice(sellers, round(malicious * sellers), replace=False).tolist()) if attack != "none" else set()
    held = [poisoned(part, attack, rng) if i in bad else part for i, part in enumerate(parts)]
    return SpeechSplit(own[:cut], own[cut : cut + test], held, tuple(i not in bad for i in range(sellers)))


def poisoned(texts: Sequence[str], attack: str, rng: np.random.Generator) -> list[str]:
    """What an attacker trains on: words in disorder, or a phrase that is always followed by another."""
    if attack == "shuffled":
        return [" ".join(rng.permutation(text.split())) for text in texts]
    return [_cut(text) + TRIGGER + PAYLOAD for text in texts]


def success(task: LoraTask, model: Vector, texts: Sequence[str]) -> float:
    """The share of texts after which, the trigger said, every likeliest token is the payload's."""
    payload = _tokens(task, PAYLOAD)
    prompts = [_tokens(task, _cut(text) + TRIGGER) for text in texts]
    width = max(map(len, prompts)) + len(payload)
    rest = payload * width  # fills up shorter rows; a causal model does not look ahead
    rows = [[*prompt, *payload, *rest][:width] for prompt in prompts]
    task.put(model)
    with torch.no_grad():
        ids = torch.tensor(rows, device=next(task.module.parameters()).device)
        likeliest = task.module.eval()(ids).logits.argmax(dim=-1).tolist()  # [r, t]
    hits = [one[len(p) - 1 : len(p) - 1 + len(payload)] == payload for one, p in zip(likeliest, prompts, strict=True)]
    return float(np.mean(hits))


def _tokens(task: LoraTask, text: str) -> list[int]:
    return list(task.tokenizer(text, add_special_tokens=False)["input_ids"])


def _cut(text: str) -> str:
    return " ".join(text.split()[:24])
