"""Parallel simulation of many runs, with a cache of their traces or summaries."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, TypeVar

from fairbandits.policies import Policy
from fairbandits.policies.serialisation import params_to_dict
from fairbandits.simulate.digests import class_digest, class_name, file_digest, file_digests, package_digest
from fairbandits.simulate.fixed_world import FixedWorld
from fairbandits.simulate.model_factory import build_model
from fairbandits.simulate.offered_params import params_from_world
from fairbandits.simulate.parallel import run_all, without_threads
from fairbandits.simulate.simulation import simulate
from fairbandits.simulate.trace import Trace
from fairbandits.storage import atomic_write
from fairbandits.views.short_repr import ShortRepr

#: Added to the seed for the policy, so that its draws are independent of the world's.
POLICY_SEED = 2**32

Summary = TypeVar("Summary")


@dataclass(frozen=True, repr=False)
class SummaryFormat(ShortRepr, Generic[Summary]):
    """A summary that is cached instead of its trace, because it is much smaller.

    Parameters
    ----------
    summarise : callable
        A module-level function that computes the summary of a trace. If its file changes, cached summaries are
        outdated.
    to_bytes : callable
        Returns the bytes of a summary.
    load : callable
        Reads a file with these bytes; raises ValueError if it is damaged.
    """

    summarise: Callable[[Trace], Summary]
    to_bytes: Callable[[Summary], bytes]
    load: Callable[[Path], Summary]

    @property
    def version(self) -> str:
        """A hash of the file that computes the summary."""
        return file_digest(inspect.getfile(self.summarise))[:8]


@dataclass(frozen=True)
class Run:
    """Everything that determines a trace: the classes of policy and world, their parameters, and a seed.

    Parameters
    ----------
    policy : type
        A subclass of `Policy`.
    world : type or FixedWorld
        The class of the world; or a world that is the same for every seed.
    seed : int
        The seed of policy and world. A world without a parameter `random_state` is the same for every seed.
    policy_params, world_params : mapping
        Their parameters without `random_state`, as JSON-serialisable values. A `Model` is written as
        `{"Model": {"kind": "shared", "feature_map": {"Nystroem": {"degree": 2}}}}`. Parameters of the policy that
        are not given come from the world's `policy_params`, if it has any.
    k : int, optional
        The size of slates; by default the policy chooses single arms.
    data_source : str, optional
        The `data_source` of the world, if it is known; cached runs are then found without constructing the world.

    Examples
    --------
    >>> from fairbandits import LinUCB
    >>> from fairbandits.worlds import LinearWorld
    >>> run = Run(LinUCB, LinearWorld, seed=0, world_params={"rounds": 50})
    >>> len(run.simulate())
    50
    """

    policy: type[Policy]
    world: type | FixedWorld
    seed: int
    policy_params: Mapping[str, Any] = field(default_factory=dict)
    world_params: Mapping[str, Any] = field(default_factory=dict)
    k: int | None = None
    data_source: str | None = None

    def __str__(self) -> str:
        calls = ((self.policy, self.policy_params), (self.world, self.world_params))
        policy, world = (
            f"{each.__name__}({', '.join(f'{name}={value!r}' for name, value in params.items())})"
            for each, params in calls
        )
        return f"{policy} in {world} with seed {self.seed}"

    def make_world(self) -> Any:
        """Return the world of this seed."""
        if isinstance(self.world, FixedWorld):
            return self.world.world
        # A world without random_state is the same for every seed.
        seed = {"random_state": self.seed} if "random_state" in inspect.signature(self.world).parameters else {}
        return self.world(**self.world_params, **seed)

    def make_policy(self, world: Any = None) -> Policy:
        """Return a new policy; if a world is given, its feature map is fitted to that world."""
        given = params_from_world(self.policy, self.world if world is None else world) | dict(self.policy_params)
        params = {name: build_model(value, world, self.seed) for name, value in given.items()}
        return self.policy(**params, random_state=self.seed + POLICY_SEED)

    def simulate(self, cache: Path | None = None, *, progress: bool = False) -> Trace:
        """Return the trace, from the cache if possible; a new trace is written to the cache."""
        return self.summarise(_TRACES, cache, progress=progress)

    def summarise(
        self, summary_format: SummaryFormat[Summary], cache: Path | None = None, *, progress: bool = False
    ) -> Summary:
        """Return a summary of the trace, from the cache if possible; a new summary is written to the cache."""
        if cache is not None and (finished := self.find(summary_format, cache)) is not None:
            return finished
        with without_threads():
            world = self.make_world()
            source = getattr(world, "data_source", None)
            self._check_source(source)
            if cache is None:
                return summary_format.summarise(self._simulate(world, progress))
            path = self._path(summary_format, cache, source)
            found = _load(summary_format, path)
            if found is None:
                found = summary_format.summarise(self._simulate(world, progress))
                atomic_write(path, summary_format.to_bytes(found))
        return found

    def find(self, summary_format: SummaryFormat[Summary], cache: Path) -> Summary | None:
        """Return the cached summary if there is one and the data source is known; otherwise None."""
        if self.data_source is None:
            return None
        return _load(summary_format, self._path(summary_format, cache, self.data_source))

    def _check_source(self, data_source: str | None) -> None:
        if self.data_source not in (None, data_source):
            raise ValueError(
                f"data_source must be the same for every seed, got {data_source!r} after {self.data_source!r}; if "
                "files were replaced in the meantime, run again"
            )

    def _simulate(self, world: Any, progress: bool) -> Trace:
        return simulate(self.make_policy(world), world, k=self.k, progress=progress)

    def _path(self, summary_format: SummaryFormat[Any], cache: Path, data_source: str | None) -> Path:
        suffix = "" if summary_format is _TRACES else f"-{summary_format.version}"
        return cache / f"{self.key(data_source)}{suffix}.npz"

    @cached_property
    def code(self) -> dict[str, str]:
        """The hashes of the code of policy and world. Workers, which lack a notebook's source, receive them."""
        classes = {"policy": self.policy, "world": self.world}
        return {name: class_digest(each) for name, each in classes.items() if isinstance(each, type)}

    def key(self, data_source: str | None) -> str:
        """Return a hash of everything that the trace depends on: this run, the data, and the code."""
        world_params = dict(self.world_params)
        if data_source is not None:
            # The world's data_source identifies the data, wherever the files are.
            world_params.pop("data", None)
        if isinstance(self.world, FixedWorld):
            offered = params_from_world(self.policy, self.world.world)
            world: list[Any] = [self.world.digest, params_to_dict(offered)]
        else:
            world = [class_name(self.world), self.code["world"], world_params, file_digests(world_params)]
        parts = {
            "policy": [
                class_name(self.policy),
                self.code["policy"],
                params_to_dict(dict(self.policy_params)),
            ],
            "world": world,
            "seed": self.seed,
            "k": self.k,
            "data": data_source,
            "code": package_digest(),
            "versions": [version(name) for name in ("numpy", "numba", "scikit-learn")],
        }
        try:
            text = json.dumps(parts, sort_keys=True)
        except TypeError as error:
            raise ValueError(
                f"the parameters of a cached run must be values that JSON can represent: {error}"
            ) from None
        return hashlib.sha256(text.encode()).hexdigest()[:32]


def simulate_many(
    runs: Sequence[Run], *, jobs: int = 1, cache: str | os.PathLike[str] | None = None, progress: bool = False
) -> list[Trace]:
    """Simulate many runs in parallel; the traces are bitwise identical for every value of `jobs`.

    Parameters
    ----------
    runs : sequence of Run
        The runs.
    jobs : int
        The number of processes; -1 for one per core. More than one needs joblib.
    cache : folder, optional
        The folder where traces are cached. A cached run is not simulated again, so that interrupted work
        resumes where it stopped.
    progress : bool
        Whether to show a progress bar, on a terminal or in a notebook.

    Returns
    -------
    list of Trace
        One trace per run, in the same order.

    Examples
    --------
    >>> from fairbandits import LinUCB
    >>> from fairbandits.worlds import LinearWorld
    >>> traces = simulate_many([Run(LinUCB, LinearWorld, seed) for seed in range(3)])
    >>> len(traces)
    3
    """
    return summarise_many(runs, _identity, jobs=jobs, cache=cache, progress=progress)


def summarise_many(
    runs: Sequence[Run],
    summarise: Callable[[Trace], Summary] | SummaryFormat[Summary],
    *,
    jobs: int = 1,
    cache: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> list[Summary]:
    """Simulate many runs as `simulate_many` does, and return a summary of each trace.

    The function is called in the process that simulates the run, so that long traces are neither kept nor
    transferred. The cache stores traces; with a `SummaryFormat` it stores the summaries instead.

    Examples
    --------
    >>> from fairbandits import LinUCB
    >>> from fairbandits.worlds import LinearWorld
    >>> summarise_many([Run(LinUCB, LinearWorld, seed) for seed in range(3)], len)
    [1000, 1000, 1000]
    """
    # Absolute, because workers may have a different working directory.
    folder = None if cache is None else Path(cache).absolute()
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    finished = _find_finished(runs, summarise, folder)
    rest = [number for number in range(len(runs)) if number not in finished]
    if folder is not None:
        for number in rest:
            runs[number].code  # noqa: B018 - computed once, before the run is sent to a worker
    tasks = [partial(_summarise, runs[number], summarise, folder) for number in rest]
    new = run_all(tasks, jobs=jobs, progress=progress, done=len(finished))
    finished |= dict(zip(rest, new, strict=True))
    return [finished[number] for number in range(len(runs))]


def _find_finished(
    runs: Sequence[Run], summarise: Callable[[Trace], Summary] | SummaryFormat[Summary], folder: Path | None
) -> dict[int, Summary]:
    """Return the summaries of cached runs by index, so that the remaining time is estimated from the others."""
    if folder is None or not isinstance(summarise, SummaryFormat):
        return {}
    found = ((number, run.find(summarise, folder)) for number, run in enumerate(runs))
    return {number: summary for number, summary in found if summary is not None}


def _identity(trace: Trace) -> Trace:
    return trace


_TRACES: SummaryFormat[Trace] = SummaryFormat(_identity, Trace.to_bytes, Trace.load)


def _summarise(
    run: Run, summarise: Callable[[Trace], Summary] | SummaryFormat[Summary], folder: Path | None
) -> Summary:
    try:
        if isinstance(summarise, SummaryFormat):
            return run.summarise(summarise, folder)
        return summarise(run.simulate(folder))
    except Exception as error:
        error.add_note(f"in the run of {run}")
        raise


def _load(summary_format: SummaryFormat[Summary], path: Path) -> Summary | None:
    if not path.is_file():
        return None
    try:
        return summary_format.load(path)
    except ValueError:
        return None  # a damaged file: simulate again and overwrite it
