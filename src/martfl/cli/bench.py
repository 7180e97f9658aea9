"""`martfl bench …`: one command for every figure that the documentation names."""

import typer

app = typer.Typer(no_args_is_help=True, help="Measure; every figure is of this run, with its peer beside it.")
