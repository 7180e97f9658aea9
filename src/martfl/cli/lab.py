"""`martfl lab …`: run experiments, render their tables and figures."""

import typer

app = typer.Typer(no_args_is_help=True, help="Run experiments; render their tables and figures.")
