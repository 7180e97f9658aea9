"""The table of an experiment with adapters: rules beside attacks, means over seeds of the last epoch."""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from martfl.lab.tables import markdown_lines
from martfl.values import Json


def adapter_table(rows: Iterable[Json]) -> str:
    """In Markdown. A cell: loss, attack success and the attackers' weight where one attacks, share bought, seeds."""
    runs: dict[tuple[str, str], dict[int, list[Json]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        runs[row["rule"], row["attack"]][row["seed"]].append(row)
    rules, attacks = (list(dict.fromkeys(key[i] for key in runs)) for i in (0, 1))
    lines = [["", *attacks], ["---"] * (1 + len(attacks))]
    lines += [[rule, *(_cell(attack, runs.get((rule, attack), {})) for attack in attacks)] for rule in rules]
    return markdown_lines(lines)


def _cell(attack: str, seeds: dict[int, list[Json]]) -> str:
    if not seeds:
        return "–"
    last = [max(rows, key=lambda row: row["epoch"]) for rows in seeds.values()]
    bought = np.mean([row["bought"] for rows in seeds.values() for row in rows])
    parts = [f"{np.mean([row['loss'] for row in last]):.3f}"]
    if attack != "none":
        weight = np.mean([row["kept_bad"] for rows in seeds.values() for row in rows])
        parts += [f"{np.mean([row['success'] for row in last]):.0%} success", f"{weight:.0%} weight"]
    return ", ".join([*parts, f"{bought:.0%} bought"]) + f" ({len(last)} × {min(row['epoch'] for row in last)})"
