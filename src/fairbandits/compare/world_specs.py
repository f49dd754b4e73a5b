"""The worlds of a comparison, however they are given: by name, as text, as a class or as an object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fairbandits import registry
from fairbandits.compare.suite import LAST_FIFTH, SuiteWorld
from fairbandits.compare.suite_worlds import WORLD_SETS, WORLDS, as_worlds
from fairbandits.simulate import FixedWorld
from fairbandits.worlds import World

#: A name of the suite, `Name(parameter=value, ...)`, `module:Class(...)`, a class, a world, or a SuiteWorld.
WorldLike = str | type | World | SuiteWorld


def parse_worlds(worlds: Iterable[WorldLike] | Mapping[str, WorldLike]) -> dict[str, SuiteWorld]:
    """Return the worlds by name: those of the suite in its order, then the others; by default the short ones.

    A class with the parameter `random_state` creates a separate world for every seed. A class without it and a
    world object give the same world for every seed; runs then differ only in the randomness of the policy.

    Examples
    --------
    >>> from fairbandits.worlds import LinearWorld
    >>> list(parse_worlds(["LinearWorld(rounds=50)", "r2"])), list(parse_worlds({"mine": LinearWorld(rounds=50)}))
    (['r2', 'LinearWorld(rounds=50)'], ['mine'])
    """
    if isinstance(worlds, str) or not isinstance(worlds, Iterable):
        raise ValueError(f"worlds must be a list or a mapping of worlds, got {worlds!r}")
    if isinstance(worlds, Mapping):
        return {str(name): _parse_world(world) for name, world in worlds.items()} or as_worlds(["short"])
    given = list(worlds) or ["short"]
    parsed = as_worlds(str(world) for world in given if _is_in_suite(world))
    for world in given:
        if _is_in_suite(world):
            continue
        name = _name(world)
        if name in parsed:
            raise ValueError(
                f"worlds must differ, got {name} twice; name them: worlds={{'first': ..., 'second': ...}}"
            )
        parsed[name] = _parse_world(world)
    return parsed


def _is_in_suite(world: Any) -> bool:
    return isinstance(world, str) and (world in WORLDS or world in WORLD_SETS)


def _parse_world(world: Any) -> SuiteWorld:
    if isinstance(world, SuiteWorld):
        return world
    if isinstance(world, str):
        return _parse_text(world)
    if isinstance(world, type):
        if not hasattr(world, "visits"):
            raise ValueError(
                f"world must be a class with the methods __len__() and visits(), got {world.__name__}"
            )
        return SuiteWorld(_first_line(world), world=world, measured=LAST_FIFTH)
    fixed = FixedWorld(world)
    return SuiteWorld(
        f"{_first_line(type(world))} The same world for every seed.", world=fixed, measured=LAST_FIFTH
    )


def _parse_text(text: str) -> SuiteWorld:
    if text in WORLDS:
        return WORLDS[text]
    if "(" not in text and ":" not in text and text not in registry.known_worlds():
        as_worlds([text])  # raises, and lists the worlds of the suite
    name, params = registry.parse_call(text)
    cls = registry.find_world(name)
    registry.check_parameters(cls, params)
    return SuiteWorld(_first_line(cls), params, cls, LAST_FIFTH)


def _name(world: Any) -> str:
    if isinstance(world, str):
        return world.strip()
    if isinstance(world, SuiteWorld):
        return world.world if isinstance(world.world, str) else _name(world.world)
    if isinstance(world, FixedWorld):
        return world.__name__
    return (world if isinstance(world, type) else type(world)).__name__


def _first_line(cls: type) -> str:
    """Return the first line of a class's documentation, or its name."""
    lines = (cls.__doc__ or "").strip().splitlines()
    return lines[0] if lines else f"{cls.__name__}."
