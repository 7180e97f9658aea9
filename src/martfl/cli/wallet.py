"""`martfl wallet …`: encrypted keystore files for the parties of a market."""

import typer

app = typer.Typer(no_args_is_help=True, help="Make and list encrypted keystore files.")
