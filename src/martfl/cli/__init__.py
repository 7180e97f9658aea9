"""The `martfl` command. Rooms are imported inside the commands that use them, so that `--help` stays light.

Exit codes: 0 success; 1 a check failed (an audit, a verification); 2 bad usage or bad input, a file or a machine that
does not answer included; 70 a fault of this program, with its traceback; 130 interrupted.
"""

import logging
import sys
import traceback
from typing import Annotated

import typer

from martfl import __version__
from martfl.cli import acquirer, bench, ceremony, lab, provider, wallet
from martfl.cli.audit import audit
from martfl.cli.dashboard import dashboard, report
from martfl.cli.demo import demo
from martfl.errors import MartflError

app = typer.Typer(name="martfl", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
for command in (demo, audit, report, dashboard):
    app.command()(command)
app.add_typer(acquirer.app, name="acquirer")
app.add_typer(provider.app, name="provider")
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
    verbose: Annotated[int, typer.Option("-v", "--verbose", count=True, help="Log more; repeat for debugging.")] = 0,
    version: Annotated[bool, typer.Option("--version", is_eager=True, callback=_show_version)] = False,
) -> None:
    """Buy and sell model updates instead of raw data."""
    level = [logging.WARNING, logging.INFO, logging.DEBUG][min(verbose, 2)]
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)


def main() -> None:
    """Run the command; a known error becomes one line on stderr and exit code 2."""
    try:
        app()
    except (MartflError, OSError) as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
    except Exception:  # Python would exit with 1, which says that a check failed
        traceback.print_exc()
        sys.exit(70)
