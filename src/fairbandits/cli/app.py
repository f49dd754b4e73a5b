"""The command-line application: all commands, one-line error messages, and exit statuses."""

from __future__ import annotations

import sys
import traceback
from importlib import import_module
from typing import Annotated

import typer

from fairbandits import __version__
from fairbandits.cli.console import echo, tolerate_closed_pipe
from fairbandits.worlds import DataError

# The module of each command, in the order in which the help lists them.
_MODULES = {
    **{name: name for name in ("reproduce", "compare", "fairbench", "simulate", "data", "sample", "fit")},
    **{name: name for name in ("recommend", "audit", "evaluate", "learn", "serve", "export", "verify", "backup")},
    "restore": "backup",
    "replace": "replace",
    "forget-user": "forget_user",
    "keys": "keys",
}

# The base class of all usage errors (unknown command, unknown option, wrong type); typer does not export it.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]

# The status of an unexpected error (EX_SOFTWARE). Python's default, 1, is the status of an audit that found
# unfairness.
_BROKEN = 70

# Some versions of typer turn an interrupt into this status; others raise typer.Abort.
_INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit status.

    An error is printed on one line, and the status is 2. An unexpected error is printed with its traceback, and
    the status is 70. Any other status is the result of the command.
    """
    with tolerate_closed_pipe():
        return _run((sys.argv[1:] if arguments is None else arguments) or ["--help"])


def _run(arguments: list[str]) -> int:
    try:
        status = make_app(arguments)(arguments, standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        status = _INTERRUPTED
    except _UsageError as error:
        message: str = error.format_message()  # type: ignore[attr-defined]  # see above
        return _fail(f"{message.rstrip('.')}; try --help")
    except (ValueError, DataError, OSError, ImportError) as error:
        return _fail("; ".join([str(error), *getattr(error, "__notes__", ())]))
    except MemoryError as error:
        return _fail(f"{error}; use fewer arms or rounds")
    except Exception:  # an unexpected error must not look like the result of a command
        traceback.print_exc()
        return _fail("unexpected error; please report it with the traceback above", _BROKEN)
    if status == _INTERRUPTED:
        return _fail(
            "interrupted; all written files are complete; reproduce, compare, fairbench, evaluate and recommend "
            "resume when run again",
            _INTERRUPTED,
        )
    return status if isinstance(status, int) else 0


def make_app(arguments: list[str]) -> typer.Typer:
    """Return the application with the command that the arguments name, or with all commands if they name none.

    Only the modules of these commands are imported, because importing all of them takes longer than running many
    of the commands.
    """
    app = typer.Typer(help="Contextual bandits that treat their users fairly.", add_completion=False)
    app.callback(invoke_without_command=True)(_version)
    for name in arguments[:1] if arguments[0] in _MODULES else _MODULES:
        command = getattr(import_module(f"fairbandits.cli.{_MODULES[name]}"), name.replace("-", "_"))
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command()(command)
    return app


def _version(
    show: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Contextual bandits that treat their users fairly."""
    if show:
        echo(f"fairbandits {__version__}")


def _fail(message: str, status: int = 2) -> int:
    typer.echo(f"error: {' '.join(message.split())}", err=True)
    return status
