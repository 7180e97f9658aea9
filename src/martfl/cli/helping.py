"""Help of arguments, which typer 0.20 (flwr wants no newer) loses under click 8.5: click clears what typer has set."""

from typing import get_type_hints

import click
from typer.models import ArgumentInfo


def restore_help(command: click.Command) -> click.Command:
    """The command, and those below it, with the help that their functions' annotations state."""
    for child in getattr(command, "commands", {}).values():
        restore_help(child)
    stated = get_type_hints(command.callback, include_extras=True) if command.callback else {}
    for parameter in command.params:
        for info in getattr(stated.get(parameter.name or ""), "__metadata__", ()):
            if isinstance(info, ArgumentInfo) and not getattr(parameter, "help", None):
                parameter.help = info.help
    return command
