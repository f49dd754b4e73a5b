"""Which column of a log plays which role."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from fairbandits.logs.errors import LogError, nearest

# Names under which roles are found in logs, the likeliest first; case makes no difference.
_NAMES: dict[str, tuple[str, ...]] = {
    "arm": ("arm", "arm_id", "action", "action_id", "item", "item_id", "video", "product", "variant", "choice"),
    "reward": ("reward", "rating", "click", "clicked", "outcome", "gain", "score"),
    "propensity": ("propensity", "pscore", "propensity_score", "probability", "action_prob", "prob"),
    "time": ("time", "timestamp", "datetime", "date", "ts"),
    "decision": ("decision", "decision_id", "request_id", "event_id", "id"),
}
_GROUPS = ("sex", "gender", "race", "ethnicity", "age_group", "group", "nationality", "religion", "disability")
_CONTEXTS = ("context_", "feature_", "user_", "x_")

SINGLE = tuple(_NAMES)
SEVERAL = ("groups", "contexts")


@dataclass(frozen=True)
class Roles:
    """Which column of a log plays which role.

    Attributes
    ----------
    arm : str
        The arm that was picked.
    reward : str
        What it gave; empty where no reward came.
    groups : tuple of str
        The user's sensitive attributes, one column each.
    propensity : str, optional
        The probability with which the arm was picked.
    contexts : tuple of str
        What was known of the user, one column for each feature: numbers, or words.
    time : str, optional
        When it was decided.
    decision : str, optional
        The id of the decision.

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

    def __post_init__(self) -> None:
        for name in SEVERAL:
            object.__setattr__(self, name, _as_names(name, getattr(self, name)))
        for name in SINGLE:
            _check_name(name, getattr(self, name), needed=name in ("arm", "reward"))
        # A user's group may well be a feature, but nothing else is two things at once.
        taken = [column for name in SINGLE if (column := getattr(self, name)) is not None]
        twice = [column for column in taken if taken.count(column) > 1 or column in self.groups + self.contexts]
        twice += [column for names in (self.groups, self.contexts) for column in names if names.count(column) > 1]
        if twice:
            raise ValueError(f"column {twice[0]!r} was given more than one role, or one role twice; give it one")

    def __repr__(self) -> str:
        given = (f"{f.name}={value!r}" for f in fields(self) if (value := getattr(self, f.name)))
        return f"Roles({', '.join(given)})"

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that have a role."""
        single = (getattr(self, name) for name in SINGLE)
        return tuple(dict.fromkeys([*(name for name in single if name is not None), *self.groups, *self.contexts]))

    def to_dict(self) -> dict[str, Any]:
        """Give the roles as plain values, those that nobody plays left out."""
        given = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}


def read_roles(path: str | Path) -> dict[str, Any]:
    """Read roles from a small TOML file: `arm = "video"`, `groups = ["sex", "race"]`, and so on."""
    try:
        given = tomllib.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise LogError(f"{path}: cannot be read ({error.strerror}); name a TOML file with the roles") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LogError(f'{path}: not TOML ({error}); write lines such as arm = "video"') from None
    try:
        return checked_roles(given)
    except ValueError as error:
        raise LogError(f"{path}: {error}") from None


def checked_roles(given: Mapping[str, Any]) -> dict[str, Any]:
    """Refuse what is no role, or no name of a column; roles that are None count as not given."""
    for name in given:
        if name not in SINGLE + SEVERAL:
            raise ValueError(
                f"there is no role {name!r}; {nearest(name, SINGLE + SEVERAL)}"
                f"The roles are {', '.join(SINGLE + SEVERAL)}"
            )
    for name, value in given.items():
        if name in SINGLE:
            _check_name(name, value, needed=False)
    known = {name: value for name, value in given.items() if value is not None}
    return {name: _as_names(name, value) if name in SEVERAL else value for name, value in known.items()}


def find_roles(
    columns: Sequence[str], given: Mapping[str, Any], guess: bool, where: str
) -> tuple[Roles, dict[str, Any]]:
    """Put the roles together: those that were given, and guesses by name for the others.

    Returns
    -------
    roles : Roles
        All of them.
    guessed : dict
        Those that are guesses, role to column or columns.
    """
    for column in (*(given[name] for name in SINGLE if name in given), *_several(given)):
        _check_there(column, columns, where)
    guessed = _guess(columns, given) if guess else {}
    for name in ("arm", "reward"):
        if name not in given and name not in guessed:
            raise LogError(
                f"{where}: which column is the {name}? None is given{', nor found by its name' if guess else ''}; "
                f"{_separators(columns)}name it: {name}=... (--{name}). The columns are {_listed(columns)}"
            )
    roles = Roles(**{**guessed, **given})
    for column in roles.columns:
        _check_there(column, columns, where)
    return roles, guessed


def _guess(columns: Sequence[str], given: Mapping[str, Any]) -> dict[str, Any]:
    taken = {given[name] for name in SINGLE if name in given}
    # A feature may be a group as well, but nothing else is two things at once.
    free = {column.lower(): column for column in reversed(columns) if column not in taken}
    nothing_yet = {lower: column for lower, column in free.items() if column not in _several(given)}
    guessed: dict[str, Any] = {}
    for role, names in _NAMES.items():
        found = next((nothing_yet[name] for name in names if name in nothing_yet), None)
        if role not in given and found is not None:
            guessed[role] = found
            del nothing_yet[found.lower()], free[found.lower()]
    if "groups" not in given:
        guessed["groups"] = tuple(free[name] for name in _GROUPS if name in free)
    if "contexts" not in given:
        # In the order of the file: it is the order of the features.
        mine = (column for column in columns if nothing_yet.get(column.lower()) == column)
        guessed["contexts"] = tuple(column for column in mine if column.lower().startswith(_CONTEXTS))
    return {role: value for role, value in guessed.items() if value}


def _several(given: Mapping[str, Any]) -> list[str]:
    return [column for name in SEVERAL for column in given.get(name, ())]


def _check_there(column: str, columns: Sequence[str], where: str) -> None:
    if column not in columns:
        hint = _separators(columns) or nearest(column, columns)
        raise LogError(f"{where}: there is no column {column!r}; {hint}The columns are {_listed(columns)}")
    if list(columns).count(column) > 1:
        raise LogError(f"{where}: column {column!r} stands there more than once; rename one of them")


def _separators(columns: Sequence[str]) -> str:
    """Say the commonest reason for a file to have a single column."""
    is_other = len(columns) == 1 and any(mark in columns[0] for mark in ";\t|")
    return "its columns must be separated by commas. " if is_other else ""


def _listed(columns: Sequence[str]) -> str:
    shown = ", ".join(columns[:20])
    return f"{shown} and {len(columns) - 20} more" if len(columns) > 20 else shown


def _check_name(role: str, column: Any, *, needed: bool) -> None:
    if not (isinstance(column, str) and column) and (needed or column is not None):
        raise ValueError(f"{role} must be the name of a column; got {column!r}")


def _as_names(role: str, columns: Any) -> tuple[str, ...]:
    names = (columns,) if isinstance(columns, str) else columns
    if not isinstance(names, Iterable):
        raise ValueError(f"{role} must be names of columns, in a list; got {columns!r}")
    for name in (names := tuple(names)):
        _check_name(role, name, needed=True)
    return names
