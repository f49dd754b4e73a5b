"""The description of a world in a comparison."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from fairbandits import registry
from fairbandits.simulate import FixedWorld
from fairbandits.worlds import StudentsAndVideos

#: The test part of the paper: the last two fifths.
TEST_PART = Fraction(2, 5)
#: The last fifth, by which time policies have settled.
LAST_FIFTH = Fraction(1, 5)
#: The display names of the parts.
PART_TITLES = {TEST_PART: "the test part", LAST_FIFTH: "the last fifth"}

#: The suffixes of files that contain tables.
TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".gz", ".parquet", ".pq")

_SHORT = {"train": 3000, "test": 2000}
# Quick runs divide the number of rounds by this.
_QUICK = 10


@dataclass(frozen=True)
class SuiteWorld:
    """A world of a comparison: a class with parameters, or a world object.

    Parameters
    ----------
    description : str
        A description in one sentence.
    params : mapping
        The parameters of the class, without `random_state`.
    world : str, type or FixedWorld
        A class or its name (as `fairbandits.registry.find_world` takes it), from which every seed creates its own
        world; or a world that is the same for every seed.
    measured : Fraction
        The share of rounds, at the end of the run, that is measured.
    tags : set of str
        The sets to which the world belongs; see `fairbandits.compare.suite_worlds.as_worlds`.
    needs : str
        The data that the world needs. A world whose data are unavailable is skipped, and the report says so.
    is_identifiable : bool
        Whether the rewards that count can be learned from the observed ones. If not, the default policy makes no
        promises in this world, but its results are still reported.
    """

    description: str
    params: Mapping[str, Any] = field(default_factory=dict)
    world: str | type | FixedWorld = "StudentsAndVideos"
    measured: Fraction = TEST_PART
    tags: frozenset[str] = frozenset()
    needs: str = ""
    is_identifiable: bool = True

    @property
    def origin(self) -> str:
        """The world that this one is a variant of: its own class, or that of the world that it modifies."""
        modified = self.params.get("world")
        if isinstance(modified, Mapping):
            return str(next(iter(modified)))
        return self.world if isinstance(self.world, str) else self.world.__name__

    def world_class(self) -> type | FixedWorld:
        """Return the class of the world, or the world that is the same for every seed."""
        return registry.find_world(self.world) if isinstance(self.world, str) else self.world

    def world_params(self, quick: bool = False, data: Any = None) -> dict[str, Any]:
        """Return the parameters of the class.

        Parameters
        ----------
        quick : bool
            Whether to run a tenth of the rounds, if the class has a parameter `rounds`, or `train` and `test`.
        data : str or Path, optional
            The source of the data, for a class with the parameter `data`.
        """
        cls = self.world_class()
        if isinstance(cls, FixedWorld):
            return {}
        known = inspect.signature(cls).parameters
        params = ({**_SHORT} if cls is StudentsAndVideos else {}) | _with_absolute_paths(self.params)
        if data is not None and "data" in known:
            params.setdefault("data", data)
        if isinstance(params.get("world"), Mapping):
            params["world"] = self._inner_params(params["world"], quick, data)
        if quick:
            params |= {name: max(size // _QUICK, 1) for name, size in _sizes(known, params).items() if size}
        return params

    def _inner_params(self, world: Mapping[str, Any], quick: bool, data: Any) -> dict[str, Any]:
        """Return the parameters of the world that this one modifies, by the name of its class."""
        return {
            name: SuiteWorld(self.description, params, name).world_params(quick, data)
            for name, params in world.items()
        }


def _with_absolute_paths(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters with absolute paths of files, because workers may have another working directory."""
    files = {name: Path(value) for name, value in params.items() if _looks_like_a_path(value)}
    return dict(params) | {name: str(path.absolute()) for name, path in files.items() if path.is_file()}


def _looks_like_a_path(value: Any) -> bool:
    # Any other text may be the name of a column, even if a file has the same name.
    return (
        isinstance(value, str)
        and "\0" not in value
        and (value.endswith(TABLE_SUFFIXES) or Path(value).name != value)
    )


def _sizes(known: Mapping[str, inspect.Parameter], params: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of rounds of each part, as given or by default."""
    sizes = {name: params.get(name, known[name].default) for name in ("train", "test", "rounds") if name in known}
    return {name: size for name, size in sizes.items() if isinstance(size, int)}
