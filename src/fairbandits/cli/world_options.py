"""Worlds on the command line, given by name or by a table, and modifications of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairbandits.cli.options import split_commas
from fairbandits.compare.suite import TABLE_SUFFIXES
from fairbandits.simulate import Run
from fairbandits.worlds import LabelledWorld, ModifiedWorld, RatingsWorld, ReplayWorld

# The kinds of tables: the world, its parameter for the table, and the required columns. The first column
# identifies the kind.
_KINDS: dict[str, tuple[type, str, tuple[str, ...]]] = {
    "ratings": (RatingsWorld, "ratings", ("item", "user", "reward")),
    "labelled rows": (LabelledWorld, "table", ("label",)),
    "decisions": (ReplayWorld, "log", ("arm", "reward")),
}


def find_world(
    world: str, roles: Mapping[str, str | None], group: list[str] | None, tables: Mapping[str, str | None]
) -> tuple[str, dict[str, Any]]:
    """Return the name of a world and the parameters that follow from its table; a world given by name has none.

    Parameters
    ----------
    world : str
        The value of `--world`.
    roles : mapping of str to str or None
        The columns, by option.
    group : list of str or None
        The sensitive columns.
    tables : mapping of str to str or None
        The tables of users and items.
    """
    given = {option: value for option, value in {**roles, **tables}.items() if value is not None}
    if not (Path(world).is_file() or world.endswith(TABLE_SUFFIXES)):
        for option in [*given, *(["group"] if group else [])]:
            raise ValueError(f"--{option} needs a table as --world, such as ratings.csv, got --world {world}")
        return world, {}
    kind = next((kind for kind, (_, _, needed) in _KINDS.items() if needed[0] in given), None)
    if kind is None:
        raise ValueError(
            f"--world {world} is a table; give --user, --item and --reward for ratings, --label for labelled "
            "rows, or --arm and --reward for decisions made uniformly at random"
        )
    cls, parameter, needed = _KINDS[kind]
    groups = split_commas(group)
    for option in (*needed, "group"):
        if option not in given and not (option == "group" and groups):
            raise ValueError(f"--{option} must be given for a table of {kind}")
    for option in given:
        if option not in needed and not (cls is RatingsWorld and option in tables):
            raise ValueError(f"--{option} must not be given for a table of {kind}")
    return _path(cls), {parameter: world, "group": groups[0] if len(groups) == 1 else groups, **given}


def modify_world(run: Run, changes: Mapping[str, Any]) -> Run:
    """Return the run in a `ModifiedWorld` if there are any changes, which are written as `0.3` or `female=0.3`."""
    if not changes:
        return run
    if "period" in changes and "present" not in changes:
        raise ValueError("--period must be given with --present, the share of arms that are on offer at a time")
    options = {name: _parse(name, value) for name, value in changes.items()}
    params = {"world": {_path(run.world): dict(run.world_params)}, **options}
    return replace(run, world=ModifiedWorld, world_params=params)


def _path(cls: Any) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def _parse(name: str, value: Any) -> Any:
    if not isinstance(value, str) or (name == "noise" and value.isalpha()):
        return value
    try:
        if "=" in value:
            pairs = (pair.rpartition("=") for pair in value.split(","))
            return {group.strip(): float(number) for group, _, number in pairs}
        if name == "delay":
            rounds = [int(number) for number in value.split(",")]
            return rounds[0] if len(rounds) == 1 else rounds
        return float(value)
    except ValueError:
        example = {"delay": "50 or 0,100", "noise": "0.1 or bernoulli"}.get(name, "0.3 or female=0.3,male=0.1")
        raise ValueError(f"--{name} must be written as {example}, got {value!r}") from None
