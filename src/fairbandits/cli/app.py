"""The command line application: all commands, error messages in one line, and exit statuses."""

from __future__ import annotations

import sys
import traceback
from typing import Annotated

import typer

from fairbandits import __version__
from fairbandits.cli.audit import audit
from fairbandits.cli.backup import backup, restore
from fairbandits.cli.compare import compare
from fairbandits.cli.console import echo, tolerate_closed_pipe
from fairbandits.cli.data import data
from fairbandits.cli.evaluate import evaluate
from fairbandits.cli.export import export
from fairbandits.cli.fairbench import fairbench
from fairbandits.cli.fit import fit
from fairbandits.cli.forget_user import forget_user
from fairbandits.cli.keys import keys
from fairbandits.cli.learn import learn
from fairbandits.cli.replace import replace
from fairbandits.cli.reproduce import reproduce
from fairbandits.cli.sample import sample
from fairbandits.cli.serve import serve
from fairbandits.cli.simulate import simulate
from fairbandits.cli.verify import verify
from fairbandits.worlds import DataError

app = typer.Typer(help="Contextual bandits that treat their users fairly.", add_completion=False)
_COMMANDS = (
    *(reproduce, compare, fairbench, simulate, data, sample, fit, audit, evaluate, learn),
    *(serve, export, verify, backup, restore, replace, forget_user),
)
for command in _COMMANDS:
    app.command()(command)
app.add_typer(keys, name="keys")

# The base class of all usage errors (unknown command, unknown option, wrong type); typer does not export it.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]

# The status of an unexpected error (EX_SOFTWARE). Python's default, 1, means that an audit found unfairness.
_BROKEN = 70

# Some versions of typer turn an interrupt into this status, others raise typer.Abort.
_INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit status.

    An error is printed in one line, with status 2. An unexpected error is printed with its traceback, with status
    70. Any other status is the result of the command.
    """
    with tolerate_closed_pipe():
        return _run((sys.argv[1:] if arguments is None else arguments) or ["--help"])


def _run(arguments: list[str]) -> int:
    try:
        status = app(arguments, standalone_mode=False)
    except typer.Abort:
        status = _INTERRUPTED
    except _UsageError as error:
        message: str = error.format_message()  # type: ignore[attr-defined]  # see above
        return _fail(f"{message.rstrip('.')}; try --help")
    except (ValueError, DataError, OSError, ImportError) as error:
        return _fail(str(error))
    except MemoryError as error:
        return _fail(f"{error}; use fewer arms or rounds")
    except Exception:  # any unexpected error must not look like the result of a command
        traceback.print_exc()
        return _fail("unexpected error; please report it with the traceback above", _BROKEN)
    if status == _INTERRUPTED:
        return _fail(
            "interrupted; all written files are complete; reproduce, compare, fairbench and evaluate resume when "
            "run again",
            _INTERRUPTED,
        )
    return status if isinstance(status, int) else 0


@app.callback(invoke_without_command=True)
def version(
    show: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Contextual bandits that treat their users fairly."""
    if show:
        echo(f"fairbandits {__version__}")


def _fail(message: str, status: int = 2) -> int:
    typer.echo(f"error: {' '.join(message.split())}", err=True)
    return status
