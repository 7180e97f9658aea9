"""`martfl init`: the terms of a new market from a few answers."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from martfl.cli.options import Config, grouped
from martfl.cli.output import JsonFlag, emit

if TYPE_CHECKING:  # rooms are imported by the commands that use them
    from martfl.market.terms import Terms

DIGITS = "martfl.lab.task:digits"


def _option(name: str, text: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(name, help=text)
    return option


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What a buyer settles; None: not said yet."""

    name: Annotated[str | None, _option("--name", "What people call the market.")] = None
    task: Annotated[str | None, _option("--task", f"module:function that makes the task (default: {DIGITS}).")] = None
    reward: Annotated[str | None, _option("--reward", "Reward of an epoch, in coins (default: 1).")] = None
    penalty: Annotated[str | None, _option("--penalty", "Penalty, in percent of the reward (default: 50).")] = None
    ask: Annotated[str | None, _option("--ask", "Price of an update where its seller names none (default: 0.01).")] = (
        None
    )
    training: Annotated[str | None, _option("--training", "Minutes to train and commit (default: 60).")] = None
    window: Annotated[str | None, _option("--window", "Minutes of each later phase (default: 60).")] = None
    chain: Annotated[str | None, _option("--chain", "The chain's name in martfl.toml (default: sepolia).")] = None


QUESTIONS = {  # field: what is asked, and what an empty answer means
    "name": ("What is the market called", "my market"),
    "task": ("Which task is trained (module:function)", DIGITS),
    "reward": ("What do the sellers of an epoch get together, in coins", "1"),
    "penalty": ("What do you lose if you publish nothing in time, in percent of it", "50"),
    "ask": ("What does an update cost where its seller names no price, in coins", "0.01"),
    "training": ("How many minutes do sellers have to train and commit", "60"),
    "window": ("How many minutes does each later phase take", "60"),
    "chain": ("What is the chain called in martfl.toml", "sepolia"),
}


@grouped
def init(
    choices: Choices,
    out: Annotated[Path, typer.Option("--out", help="The file to write.")] = Path("market.toml"),
    config: Config = None,
    as_json: JsonFlag = False,
) -> None:
    """Write the terms of a new market. Without options it asks, at a terminal; with any, the rest has its default."""
    from martfl.errors import InputError
    from martfl.market.terms_file import commented

    if out.exists():
        raise InputError(f"{out} exists already; name another file with --out")
    asking = choices == Choices() and sys.stdin.isatty() and not as_json
    given = {field: value for field in QUESTIONS if (value := getattr(choices, field)) is not None}
    usual = {field: default for field, (_, default) in QUESTIONS.items()} | given
    terms = _ask(usual) if asking else _terms(usual)
    out.write_text(commented(terms), encoding="utf-8")
    result = {"terms": str(out), "terms_hash": "0x" + terms.hash.hex(), "deposit": terms.money.deposit}
    emit(result, as_json=as_json, render=lambda: _next(out, terms, config))


def _ask(said: dict[str, str]) -> "Terms":
    """Terms from a person's answers; what breaks a rule is asked for again, with the other answers kept."""
    from martfl.errors import MartflError

    for field, (question, _) in QUESTIONS.items():
        said |= {field: _answer(field, question, said[field])}
    try:
        return _terms(said)
    except MartflError as error:
        typer.echo(f"error: {error}", err=True)
        return _ask(said)


def _answer(field: str, question: str, usual: str) -> str:
    from martfl.amounts import parse_coins
    from martfl.errors import MartflError

    while True:
        said = str(typer.prompt(question, default=usual, err=True))
        try:
            if field in ("reward", "ask"):
                parse_coins(said)
            elif field in ("penalty", "training", "window"):
                _number(field, said)
        except MartflError as error:
            typer.echo(f"error: {error}", err=True)
        else:
            return said


def _terms(said: dict[str, str]) -> "Terms":
    from martfl.amounts import parse_coins
    from martfl.market.terms import Terms
    from martfl.market.terms_parts import ChainTerms, DeadlineTerms, MoneyTerms, TaskTerms

    reward, window = parse_coins(said["reward"]), _minutes("window", said["window"])
    commit = _minutes("training", said["training"])
    margin = max(1, min(900, window // 4, commit // 4))
    ratio = round(100 * _number("penalty", said["penalty"]))
    deposit = -(-reward * (10_000 + ratio) // 10_000)
    return Terms(
        name=said["name"],
        task=TaskTerms(entry=said["task"]),
        money=MoneyTerms(
            reward=reward, penalty_ratio=ratio, ask=parse_coins(said["ask"]), minimum_deposit=min(10**15, deposit)
        ),
        deadlines=DeadlineTerms(commit=commit, buy=window, keys=window, publish=window, settle=window, margin=margin),
        chain=ChainTerms(profile=said["chain"]),
    )


def _minutes(name: str, text: str) -> int:
    return round(60 * _number(name, text))


def _number(name: str, text: str) -> float:
    from martfl.errors import InputError

    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < 1e7:
        raise InputError(f"{name} must be a positive number, got {text!r}")
    return value


def _next(out: Path, terms: "Terms", config: Path | None) -> list[str]:
    from martfl.amounts import coins
    from martfl.chain.profiles import load_profiles

    deposit = coins(terms.money.deposit, token=terms.money.token)
    lines = [f"Terms written into {out}. An epoch needs a deposit of {deposit}, and gas."]
    if terms.chain.profile not in load_profiles(config):
        lines.append(
            f"Name the chain's node in martfl.toml, in a table \\[chains.{terms.chain.profile}]: rpc, chain_id."
        )
    return [*lines, "Next: make a wallet, check this machine, put the contract on chain:"] + [
        f"  martfl {command}"
        for command in (
            "wallet new buyer",
            f"doctor {out} --keystore buyer",
            f"acquirer deploy {out} --keystore buyer",
        )
    ]
