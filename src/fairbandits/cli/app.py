"""The commands put together, and how they end: a status, and one line for every error."""

from __future__ import annotations

import sys
import traceback
from typing import Annotated

import typer

from fairbandits import __version__
from fairbandits.cli.audit import audit
from fairbandits.cli.compare import compare
from fairbandits.cli.console import say
from fairbandits.cli.data import data
from fairbandits.cli.evaluate import evaluate
from fairbandits.cli.export import export
from fairbandits.cli.fit import fit
from fairbandits.cli.keys import keys
from fairbandits.cli.reproduce import reproduce
from fairbandits.cli.sample import sample
from fairbandits.cli.serve import serve
from fairbandits.cli.simulate import simulate
from fairbandits.worlds import DataError

app = typer.Typer(help="Contextual bandits that treat their users fairly.", add_completion=False)
for command in (reproduce, compare, simulate, data, sample, fit, audit, evaluate, serve, export):
    app.command()(command)
app.add_typer(keys, name="keys")

# Whatever is wrong with what somebody typed: no command, no such option, a word for a number.
# Typer shows its own class for it, but not under a public name.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]

# What the command ends with where it is at fault itself. Python's own 1 would be a verdict: unfair.
_BROKEN = 70

# Some versions of typer turn an interrupt into this status, others into typer.Abort.
_INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> int:
    """Run the command; every error is one line, and status 2. Another status is a command's own verdict.

    What nobody thought of is told with all lines, and status 70.
    """
    try:
        status = app((sys.argv[1:] if arguments is None else arguments) or ["--help"], standalone_mode=False)
    except typer.Abort:
        status = _INTERRUPTED
    except _UsageError as error:
        message: str = error.format_message()  # type: ignore[attr-defined]  # see above
        return _fail(f"{message.rstrip('.')}; try --help")
    except (ValueError, DataError, OSError, ImportError) as error:
        return _fail(str(error))
    except MemoryError as error:
        return _fail(f"{error}; take fewer arms or rounds")
    except Exception:  # whatever it is, it must not look like a verdict
        traceback.print_exc()
        return _fail("this should not happen, whatever came; please report it with the lines above", _BROKEN)
    if status == _INTERRUPTED:
        return _fail(
            "interrupted; nothing is half written; reproduce and compare go on from what is done",
            _INTERRUPTED,
        )
    return status if isinstance(status, int) else 0


@app.callback(invoke_without_command=True)
def version(
    show: Annotated[bool, typer.Option("--version", help="Say which version this is.")] = False,
) -> None:
    """Contextual bandits that treat their users fairly."""
    if show:
        say(f"fairbandits {__version__}")


def _fail(message: str, status: int = 2) -> int:
    typer.echo(f"error: {' '.join(message.split())}", err=True)
    return status
