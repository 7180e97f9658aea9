"""Terms as a file for people: each choice of a buyer with a word on what it means. `martfl init` writes it."""

from dataclasses import asdict
from typing import Any

from martfl.amounts import coins
from martfl.market.terms import Terms
from martfl.market.terms import _toml as toml_value
from martfl.market.terms_parts import TaskTerms

# The choices that are written down in any case; others only where they are not the default.
REMARKS = {
    "task.entry": "package.module:function; every party installs it",
    "money.reward": "wei: what the sellers of an epoch get together",
    "money.penalty_ratio": "basis points of the reward: what you lose if you buy and publish nothing in time",
    "money.ask": "wei: the price of an update where its seller names none",
    "money.token": "an ERC-20 token instead of the chain's coin",
    "deadlines.commit": "seconds from the opening: to train and commit",
    "deadlines.buy": "then: to score and buy",
    "deadlines.keys": "then: to hand over keys; more than twice the margin",
    "deadlines.publish": "then: to publish the new model",
    "deadlines.margin": "longer than anybody can keep a transaction out of the chain",
    "settlement.scheme": "exact: every parameter is checked; sampled: as in the paper",
    "settlement.scale": "the step of an update's values; with 16 bits they reach 32,767 steps",
    "selection.rule": "who is bought, who is kept: evidence, or martfl as in the paper",
    "selection.value": "what the bonus goes by: information (what updates add), or none (as the rule weighs)",
    "chain.profile": "a chain of martfl.toml; not part of what is agreed",
}
HEAD = """\
# The terms of a market. All but [chain] is hashed, and the contract holds the hash:
# nothing of it can be changed once the contract is deployed. What is left out has a default.
"""


def commented(terms: Terms) -> str:
    """A TOML file with these terms and a remark at each choice; `load_terms` reads it back to the same hash."""
    stated, usual = asdict(terms), asdict(Terms(name=terms.name, task=TaskTerms(entry=terms.task.entry)))
    lines = [HEAD, f"name = {toml_value(stated.pop('name'))}"]
    for section, values in stated.items():
        lines += ["", f"[{section}]"]
        for key, value in values.items():
            remark = REMARKS.get(f"{section}.{key}", "")
            if (remark and key != "token") or value != usual[section][key]:
                lines.append(_line(key, value, remark, terms.money.token))
    return "\n".join(_without_empty(lines)) + "\n"


def _line(key: str, value: Any, remark: str, token: str) -> str:
    if remark.startswith("wei"):
        remark = remark.replace("wei", coins(value, token=token), 1)
    return f"{f'{key} = {toml_value(value)}':<38} # {remark}" if remark else f"{key} = {toml_value(value)}"


def _without_empty(lines: list[str]) -> list[str]:
    """No heading that nothing stands under."""
    following = [*lines[1:], ""]
    kept = [not (line.startswith("[") and not after) for line, after in zip(lines, following, strict=True)]
    return [line for i, line in enumerate(lines) if kept[i] and (line or i + 1 == len(lines) or kept[i + 1])]
