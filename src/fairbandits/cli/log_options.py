"""The options that say how to read a log, written once for all commands that read one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec, TypeVar

import typer

from fairbandits.cli.console import echo
from fairbandits.cli.options import split_commas
from fairbandits.logs import Log
from fairbandits.logs.roles import checked_roles, read_roles

_PANEL = "Which column is what"
_Given = ParamSpec("_Given")
_Out = TypeVar("_Out")


def _column(help_: str) -> Any:
    return typer.Option(help=help_, rich_help_panel=_PANEL, metavar="COLUMN")


def open_log(
    log: Annotated[Path, typer.Argument(help="A .csv or .parquet file, or a folder of such.", show_default=False)],
    arm: Annotated[str | None, _column("The arm that was picked.")] = None,
    reward: Annotated[str | None, _column("What it gave; empty where no reward came.")] = None,
    group: Annotated[
        list[str] | None, _column("A sensitive attribute of the user. Repeatable, or by comma.")
    ] = None,
    propensity: Annotated[str | None, _column("The probability with which the arm was picked.")] = None,
    context: Annotated[
        list[str] | None, _column("What was known of the user: numbers or words. Repeatable, or by comma.")
    ] = None,
    time: Annotated[str | None, _column("When it was decided.")] = None,
    decision: Annotated[str | None, _column("The id of the decision.")] = None,
    roles: Annotated[
        Path | None,
        typer.Option(
            help='A TOML file that says all of this: arm = "video", groups = ["sex"], ...',
            rich_help_panel=_PANEL,
            metavar="FILE",
        ),
    ] = None,
    no_guess: Annotated[
        bool, typer.Option("--no-guess", help="Guess nothing from names of columns.", rich_help_panel=_PANEL)
    ] = False,
) -> Log:
    """Open the log that a command names, and say which roles were guessed."""
    named = {
        "arm": arm,
        "reward": reward,
        "groups": split_commas(group) or None,
        "propensity": propensity,
        "contexts": split_commas(context) or None,
        "time": time,
        "decision": decision,
    }
    given = checked_roles({} if roles is None else read_roles(roles)) | checked_roles(named)
    opened = Log.open(log, guess=not no_guess, **given)
    if opened.guessed:
        said = (f"{role}={_shown(column)}" for role, column in opened.guessed.items())
        echo(f"guessed by name: {', '.join(said)} (name others with --arm, --group, ...; refuse with --no-guess)")
    return opened


def reads_log(command: Callable[Concatenate[Log, _Given], _Out]) -> Callable[..., _Out]:
    """Give a command the options that say how to read a log; it is called with the log, opened.

    The first parameter of the command is the log; its others are its own options.
    """
    ours = inspect.signature(open_log, eval_str=True).parameters
    own = [*inspect.signature(command, eval_str=True).parameters.values()][1:]

    def run(**given: Any) -> _Out:
        log = open_log(**{name: given.pop(name) for name in ours})
        return command(log, **given)  # type: ignore[call-arg]  # what it takes is in the signature below

    first, *others = ours.values()
    parameters = [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in (first, *own, *others)]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _shown(column: str | tuple[str, ...]) -> str:
    return column if isinstance(column, str) else ",".join(column)
