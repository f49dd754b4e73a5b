"""Options of all commands that read a log."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec, TypeVar

import typer

from fairbandits.cli.console import echo
from fairbandits.cli.options import split_commas
from fairbandits.logs import Log
from fairbandits.logs.roles import read_roles, validate_roles

_PANEL = "Roles of columns"
_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def _column(help_: str) -> Any:
    return typer.Option(help=help_, rich_help_panel=_PANEL, metavar="COLUMN")


def _reading(help_: str, metavar: str | None = None) -> Any:
    return typer.Option(help=help_, rich_help_panel="Reading the log", metavar=metavar)


class Duplicates(StrEnum):
    """The treatment of rows that repeat a decision."""

    KEEP = "keep"
    DROP = "drop"


def open_log(
    log: Annotated[
        list[str],
        typer.Argument(
            help="Files, a folder, a quoted pattern ('logs/*.csv'), a .duckdb file, the URL of a database, or - "
            "for standard input.",
            show_default=False,
        ),
    ],
    arm: Annotated[str | None, _column("The arm that was chosen.")] = None,
    reward: Annotated[str | None, _column("The reward; empty if it is missing.")] = None,
    group: Annotated[
        list[str] | None, _column("A sensitive attribute of the user. Repeatable or comma-separated.")
    ] = None,
    propensity: Annotated[str | None, _column("The probability with which the arm was chosen.")] = None,
    context: Annotated[
        list[str] | None, _column("A feature of the user: numbers or text. Repeatable or comma-separated.")
    ] = None,
    time: Annotated[str | None, _column("The time of the decision.")] = None,
    decision: Annotated[str | None, _column("The id of the decision.")] = None,
    user: Annotated[str | None, _column("The id of the user.")] = None,
    position: Annotated[
        str | None, _column("The position of the arm in its slate, from 0 or 1; the slate is the decision.")
    ] = None,
    given: Annotated[
        list[str] | None,
        _column("A factor for which comparisons are adjusted: numbers or text. Repeatable or comma-separated."),
    ] = None,
    roles: Annotated[
        Path | None,
        typer.Option(
            help='A TOML file of roles: arm = "video", groups = ["sex"], ...',
            rich_help_panel=_PANEL,
            metavar="FILE",
        ),
    ] = None,
    no_guess: Annotated[
        bool, typer.Option("--no-guess", help="Do not guess roles from column names.", rich_help_panel=_PANEL)
    ] = False,
    query: Annotated[
        str | None, _reading("The rows to read from a database: a SELECT statement or the name of a table.", "SQL")
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="The file suffix to assume if the log's name has none, such as csv.gz. [default: csv for -]",
            show_default=False,
            rich_help_panel="Reading the log",
            metavar="SUFFIX",
        ),
    ] = None,
    na: Annotated[
        list[str] | None,
        _reading("A string that stands for a missing value, such as NA. Repeatable or comma-separated.", "TEXT"),
    ] = None,
    duplicates: Annotated[
        Duplicates, _reading("The treatment of rows that repeat the decision and the arm of an earlier row.")
    ] = Duplicates.KEEP,
) -> Log:
    """Open the log of a command; print the guessed roles, and the number of duplicates if there are any."""
    named = {
        "arm": arm,
        "reward": reward,
        "groups": split_commas(group) or None,
        "propensity": propensity,
        "contexts": split_commas(context) or None,
        "time": time,
        "decision": decision,
        "user": user,
        "position": position,
        "given": split_commas(given) or None,
    }
    chosen = validate_roles({} if roles is None else read_roles(roles)) | validate_roles(named)
    opened = Log.open(
        log[0] if len(log) == 1 else log,
        guess=not no_guess,
        query=query,
        format=format_,
        na=split_commas(na),
        duplicates=duplicates.value,
        **chosen,
    )
    if opened.guessed:
        guesses = (f"{role}={_list_columns(column)}" for role, column in opened.guessed.items())
        echo(f"guessed by name: {', '.join(guesses)} (override with --arm, --group, ...; disable with --no-guess)")
    if n_duplicates := opened.count_duplicates():
        what = "kept; --duplicates drop skips them" if duplicates is Duplicates.KEEP else "dropped"
        rows = "1 row repeats" if n_duplicates == 1 else f"{n_duplicates:,} rows repeat"
        echo(f"warning: {rows} the decision and the arm of an earlier row ({what})")
    return opened


def reads_log(command: Callable[Concatenate[Log, _Parameters], _Result]) -> Callable[..., _Result]:
    """Add the options of `open_log` to a command, which is then called with the opened log.

    The first parameter of the command is the log; its other parameters are its own options.
    """
    log_parameters = inspect.signature(open_log, eval_str=True).parameters
    own_parameters = [*inspect.signature(command, eval_str=True).parameters.values()][1:]

    def run(**given: Any) -> _Result:
        log = open_log(**{name: given.pop(name) for name in log_parameters})
        return command(log, **given)  # type: ignore[call-arg]  # typer checks them against the signature below

    first, *others = log_parameters.values()
    parameters = [
        parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in (first, *own_parameters, *others)
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _list_columns(columns: str | tuple[str, ...]) -> str:
    return columns if isinstance(columns, str) else ",".join(columns)
