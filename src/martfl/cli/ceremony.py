"""`martfl ceremony …`: the set-up of sampled settlement, among parties that need not trust each other."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from martfl.cli.output import JsonFlag, emit

if TYPE_CHECKING:
    from martfl.settlement.sampled.ceremony import Ceremony

app = typer.Typer(no_args_is_help=True, help="Make the Groth16 key of sampled markets, each party in turn.")

CeremonyFile = Annotated[Path, typer.Argument(help="The ceremony's file, which goes from hand to hand.")]


@app.command()
def start(
    file: CeremonyFile,
    providers: Annotated[int, typer.Option(min=1, help="Slots of the circuit: settlement.providers of the terms.")],
    samples: Annotated[int, typer.Option(min=1, help="Sampled parameters: settlement.samples of the terms.")],
    json: JsonFlag = False,
) -> None:
    """Write a file to which nobody has contributed yet. It holds no secrets."""
    from martfl.errors import InputError
    from martfl.settlement.sampled import Shape, ceremony
    from martfl.settlement.sampled.ceremony.file import save

    if file.exists():
        raise InputError(f"{file} exists; a ceremony is not overwritten")
    shape = Shape(providers=providers, samples=samples)
    state = ceremony.start(ceremony.compile_circuit(shape))
    save(state, file, shape=shape)
    _say(state, json, f"{file}: now every party contributes in turn (martfl ceremony contribute)")


@app.command()
def contribute(
    file: CeremonyFile,
    by: Annotated[str, typer.Option(help="Who you are, for the record.")],
    json: JsonFlag = False,
) -> None:
    """Multiply fresh secrets into the file, and forget them. Keep the receipt that is printed."""
    from martfl.settlement.sampled import ceremony
    from martfl.settlement.sampled.ceremony.file import load, save

    state, shape = load(file)
    state = ceremony.contribute(state, by=by)
    save(state, file, shape=shape)
    _say(state, json, f"{file}: contributed; your receipt is the last line's")


@app.command()
def prepare(file: CeremonyFile, json: JsonFlag = False) -> None:
    """End the first phase: check it and derive the circuit's key, without any secret. Then all contribute once more."""
    from martfl.settlement.sampled import ceremony
    from martfl.settlement.sampled.ceremony.file import load, save

    state, shape = load(file)
    state = ceremony.prepare(state, ceremony.compile_circuit(shape))
    save(state, file, shape=shape)
    _say(state, json, f"{file}: the second phase begins; every party contributes in turn")


@app.command()
def check(file: CeremonyFile, json: JsonFlag = False) -> None:
    """Check that the key is the circuit's own and holds every contribution. Look for your receipts."""
    _checked(file, json, installed=False)


@app.command()
def install(file: CeremonyFile, json: JsonFlag = False) -> None:
    """Check, then store the key for this user's markets."""
    _checked(file, json, installed=True)


def _checked(file: Path, json: bool, *, installed: bool) -> None:
    from martfl.settlement.sampled import ceremony, keys
    from martfl.settlement.sampled.ceremony.file import load

    state, shape = load(file)
    key = ceremony.check(state, ceremony.compile_circuit(shape))
    place = f"; installed as {keys.install(key, shape=shape)}" if installed else ""
    digest = keys.key_hash(key.verifying).hex()
    _say(state, json, f"{file}: the key follows from these contributions{place}", key=digest)


def _say(state: "Ceremony", json: bool, message: str, **more: str) -> None:
    from rich.markup import escape

    from martfl.settlement.sampled.ceremony import receipts

    listed = [{"phase": c.phase, "by": c.by, "receipt": receipt.hex()} for c, receipt in receipts(state.transcript)]
    lines = [f"phase {c['phase']}  {c['receipt']}  {escape(str(c['by']))}" for c in listed]
    emit(
        {"contributions": listed, **more},
        as_json=json,
        render=lambda: [message, *lines, *(f"{name} {value}" for name, value in more.items())],
    )
