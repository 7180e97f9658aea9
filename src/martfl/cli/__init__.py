"""The `martfl` command. Rooms are imported inside the commands that use them, so that `--help` stays light.

Exit codes: 0 success; 1 a check failed (an audit, a verification); 2 bad usage or bad input, a file or a machine that
does not answer included; 70 a fault of this program, with its traceback; 130 interrupted.
"""

import logging
import sys
import traceback
from typing import Annotated

import typer
from typer.main import get_command

from martfl import __version__, extras, waiting
from martfl.cli import acquirer, bench, ceremony, lab, model, provider, wallet
from martfl.cli.audit import audit
from martfl.cli.dashboard import dashboard, report
from martfl.cli.demo import demo
from martfl.cli.doctor import doctor
from martfl.cli.helping import restore_help
from martfl.cli.init import init
from martfl.cli.telling import Lines, say
from martfl.errors import MartflError

app = typer.Typer(name="martfl", no_args_is_help=True, pretty_exceptions_enable=False)
for command in (demo, init, doctor, audit, report, dashboard):
    app.command()(command)
app.add_typer(acquirer.app, name="acquirer")
app.add_typer(provider.app, name="provider")
app.add_typer(model.app, name="model")
app.add_typer(lab.app, name="lab")
app.add_typer(wallet.app, name="wallet")
app.add_typer(ceremony.app, name="ceremony")
app.add_typer(bench.app, name="bench")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def configure(
    verbose: Annotated[
        int,
        typer.Option("-v", "--verbose", count=True, metavar=" ", show_default=False, help="Log more; twice: all."),
    ] = 0,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version.")
    ] = False,
) -> None:
    """Buy and sell model updates instead of raw data."""
    level = [logging.WARNING, logging.INFO, logging.DEBUG][min(verbose, 2)]
    form = "%(levelname)s %(name)s: %(message)s" if verbose else "note: %(message)s"
    logging.basicConfig(level=level, format=form, handlers=[Lines()])


def main() -> None:
    """Run the command; a known error becomes one line on stderr and exit code 2."""
    try:
        with waiting.heard(waiting.TimeLeft(say)):
            restore_help(get_command(app))()
    except (MartflError, OSError) as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and (said := extras.explain(error, command=_command())):
            typer.echo(f"error: {said}", err=True)
            sys.exit(2)
        traceback.print_exc()  # Python would exit with 1, which says that a check failed
        sys.exit(70)


def _command() -> str:
    """The first word that is no option."""
    return next((word for word in sys.argv[1:] if not word.startswith("-")), "")
