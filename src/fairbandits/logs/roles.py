"""The roles of the columns of a log: arm, reward, groups and so on."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from fairbandits.logs.errors import LogError, after_hint, suggest
from fairbandits.logs.role_guessing import (
    ONE_COLUMN,
    SEVERAL_COLUMNS,
    columns_of_several,
    guess_roles,
    role_of_candidate,
)

_ALL_ROLES = ONE_COLUMN + SEVERAL_COLUMNS


@dataclass(frozen=True)
class Roles:
    """The roles of the columns of a log.

    Attributes
    ----------
    arm : str
        The arm that was chosen.
    reward : str
        The reward; empty where it is missing.
    groups : tuple of str
        The user's sensitive attributes, one column each.
    propensity : str, optional
        The probability with which the arm was chosen.
    contexts : tuple of str
        The user's features, one column each: numbers or text.
    time : str, optional
        The time of the decision.
    decision : str, optional
        The id of the decision.
    user : str, optional
        The id of the user.
    position : str, optional
        The position of the arm in its slate, from 0 or from 1; the slate is the decision.
    given : tuple of str
        The factors for which a comparison of groups is adjusted, one column each: numbers or text. They are never
        guessed, and may also be groups or contexts.

    Examples
    --------
    >>> Roles(arm="video", reward="rating", groups=("sex", "race"), propensity="p")
    Roles(arm='video', reward='rating', groups=('sex', 'race'), propensity='p')
    """

    arm: str
    reward: str
    groups: tuple[str, ...] = ()
    propensity: str | None = None
    contexts: tuple[str, ...] = ()
    time: str | None = None
    decision: str | None = None
    user: str | None = None
    position: str | None = None
    given: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in SEVERAL_COLUMNS:
            object.__setattr__(self, name, _as_names(name, getattr(self, name)))
        for name in ONE_COLUMN:
            _check_name(name, getattr(self, name), is_required=name in ("arm", "reward"))
        # Only groups, features and factors may share columns.
        several = [getattr(self, name) for name in SEVERAL_COLUMNS]
        single = [column for name in ONE_COLUMN if (column := getattr(self, name)) is not None]
        repeated = [c for c in single if single.count(c) > 1 or any(c in columns for columns in several)]
        repeated += [c for columns in several for c in columns if columns.count(c) > 1]
        if repeated:
            raise ValueError(f"a column must have at most one role, got {repeated[0]!r} more than once")

    def __repr__(self) -> str:
        given = (f"{f.name}={value!r}" for f in fields(self) if (value := getattr(self, f.name)))
        return f"Roles({', '.join(given)})"

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that have a role."""
        single = (getattr(self, name) for name in ONE_COLUMN)
        several = (column for name in SEVERAL_COLUMNS for column in getattr(self, name))
        return tuple(dict.fromkeys([*(name for name in single if name is not None), *several]))

    def to_dict(self) -> dict[str, Any]:
        """Return the roles that have a column as JSON values."""
        given = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}


def read_roles(path: str | Path) -> dict[str, Any]:
    """Read roles from a TOML file with lines such as `arm = "video"` and `groups = ["sex", "race"]`."""
    try:
        given = tomllib.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise LogError(f"{path}: cannot be read ({error.strerror}); pass a TOML file with roles") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LogError(f'{path}: not TOML ({error}); write lines such as arm = "video"') from None
    try:
        return validate_roles(given)
    except ValueError as error:
        raise LogError(f"{path}: {error}") from None


def validate_roles(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the roles that are not None; raise on unknown roles and invalid column names."""
    for name in given:
        if name not in _ALL_ROLES:
            roles = after_hint(suggest(name, _ALL_ROLES), f"the roles are {', '.join(_ALL_ROLES)}")
            raise ValueError(f"there is no role {name!r}; {roles}")
    for name, value in given.items():
        if name in ONE_COLUMN:
            _check_name(name, value, is_required=False)
    known = {name: value for name, value in given.items() if value is not None}
    return {name: _as_names(name, value) if name in SEVERAL_COLUMNS else value for name, value in known.items()}


def resolve_roles(
    columns: Sequence[str], given: Mapping[str, Any], guess: bool, source: str
) -> tuple[Roles, dict[str, Any]]:
    """Complete the given roles with guesses from column names.

    Returns
    -------
    roles : Roles
        All roles.
    guessed : dict
        The guessed roles, with their column or columns.
    """
    for column in (*(given[name] for name in ONE_COLUMN if name in given), *columns_of_several(given)):
        _check_exists(column, columns, source)
    guessed = guess_roles(columns, given) if guess else {}
    for name in ("arm", "reward"):
        if name not in given and name not in guessed:
            if guess and (taken := role_of_candidate(name, columns, given)) is not None:
                raise LogError(
                    f"{source}: column {taken[0]!r} already has the role {taken[1]}, so it cannot be the {name}; "
                    f"set {name}=... (--{name}). The columns are {_list_columns(columns)}"
                )
            raise LogError(
                f"{source}: no {name} column is given{' or recognised by its name' if guess else ''}; "
                f"{_separator_hint(columns)}set {name}=... (--{name}). The columns are {_list_columns(columns)}"
            )
    roles = Roles(**{**guessed, **given})
    for column in roles.columns:
        _check_exists(column, columns, source)
    return roles, guessed


def _check_exists(column: str, columns: Sequence[str], source: str) -> None:
    if column not in columns:
        hint = _separator_hint(columns) or suggest(column, columns)
        known = after_hint(hint, f"the columns are {_list_columns(columns)}")
        raise LogError(f"{source}: there is no column {column!r}; {known}")
    if list(columns).count(column) > 1:
        raise LogError(f"{source}: column {column!r} appears more than once; rename one of them")


def _separator_hint(columns: Sequence[str]) -> str:
    """Return a hint about the most common reason why a file has a single column, or an empty string."""
    is_other = len(columns) == 1 and any(mark in columns[0] for mark in ";\t|")
    return "columns must be separated by commas. " if is_other else ""


def _list_columns(columns: Sequence[str]) -> str:
    shown = ", ".join(columns[:20])
    return f"{shown} and {len(columns) - 20} more" if len(columns) > 20 else shown


def _check_name(role: str, column: Any, *, is_required: bool) -> None:
    if not (isinstance(column, str) and column) and (is_required or column is not None):
        raise ValueError(f"{role} must be a column name, got {column!r}")


def _as_names(role: str, columns: Any) -> tuple[str, ...]:
    names = (columns,) if isinstance(columns, str) else columns
    if not isinstance(names, Iterable):
        raise ValueError(f"{role} must be a list of column names, got {columns!r}")
    for name in (names := tuple(names)):
        _check_name(role, name, is_required=True)
    return names
