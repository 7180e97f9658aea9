"""Options that several commands share, and groups of them that belong together."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from martfl.values import Json

if TYPE_CHECKING:  # rooms are imported by the commands that use them
    from eth_account.signers.local import LocalAccount

Market = Annotated[Path, typer.Argument(help="The market's terms.", exists=True, dir_okay=False)]
Data = Annotated[str, typer.Option("--data", help="A folder with x.npy and y.npy, or module:function.")]
Config = Annotated[Path | None, typer.Option("--config", help="TOML file with chains (default: martfl.toml).")]
Insecure = Annotated[bool, typer.Option("--insecure", help="Without TLS: for one machine, or behind a proxy.")]
Keystore = Annotated[str, typer.Option("--keystore", help="A keystore file, or the name of a wallet.")]
PasswordFile = Annotated[
    Path | None, typer.Option("--password-file", help="Read the wallet's password from a file's first line.")
]
PasswordVariable = Annotated[
    str | None, typer.Option("--password-env", help="Read the password from this variable (default: MARTFL_PASSWORD).")
]
AllowedTasks = Annotated[
    list[str] | None,
    typer.Option("--allow-task", help="A module whose task may run here, beside the built-in ones; repeatable."),
]
RoleFolder = Annotated[
    Path | None, typer.Option("--folder", help="Journal and other files (default: below ~/.martfl/markets).")
]


@dataclass(frozen=True, kw_only=True)
class RoleOptions:
    """Who a party is, and where it keeps its files."""

    keystore: Keystore
    password_file: PasswordFile = None
    password_env: PasswordVariable = None
    folder: RoleFolder = None
    config: Config = None
    allow_task: AllowedTasks = None

    def place(self) -> Json:
        """What opening a market's place takes of these."""
        return {"config": self.config, "folder": self.folder, "allowed": self.allow_task or ()}

    def unlock(self) -> "LocalAccount":
        """The account in the wallet."""
        from martfl.federation import compose

        return compose.open_wallet(self.keystore, password_file=self.password_file, password_env=self.password_env)


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer wants it: the fields of its dataclass parameters become options of their own."""
    hints = get_type_hints(command, include_extras=True)
    groups: Json = {name: kind for name, kind in hints.items() if is_dataclass(kind)}

    @wraps(command)
    def flat(**given: Any) -> None:
        made = {name: kind(**{f.name: given.pop(f.name) for f in fields(kind)}) for name, kind in groups.items()}
        command(**given, **made)

    parameters = list(_flattened(command, hints))
    flat.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    flat.__annotations__ = {one.name: one.annotation for one in parameters}
    return flat


def _flattened(command: Callable[..., None], hints: Json) -> Iterator[inspect.Parameter]:
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if not is_dataclass(kind):
            yield parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=kind)
            continue
        types = get_type_hints(kind, include_extras=True)
        for field, own in inspect.signature(kind).parameters.items():  # type: ignore[arg-type]
            yield own.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=types[field])
