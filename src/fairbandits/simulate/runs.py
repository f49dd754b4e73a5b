"""Simulate many runs in parallel, and cache their traces."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from fairbandits.extras import install_hint
from fairbandits.models.threads import one_thread
from fairbandits.policies import Policy
from fairbandits.progress import with_progress
from fairbandits.simulate.model_factory import build_model
from fairbandits.simulate.simulation import simulate
from fairbandits.simulate.trace import Trace
from fairbandits.storage import atomic_write

#: Added to the seed for the policy, so that its draws are independent of the world's.
POLICY_SEED = 2**32

Summary = TypeVar("Summary")

_PACKAGE = Path(__file__).parents[1]
# The layers above this one, on which no trace depends; everything else counts, new modules as well.
_OTHER_CODE = frozenset(
    (
        *("adapters", "audit", "cli", "compare", "logs", "ope"),
        *("paper", "registry", "report", "service", "testing", "tuning"),
    )
)


@dataclass(frozen=True)
class Run:
    """Everything that determines a trace: classes of policy and world, their parameters, and a seed.

    Parameters
    ----------
    policy : type
        A subclass of `Policy`.
    world : type
        The class of the world.
    seed : int
        The seed of both.
    policy_params, world_params : mapping
        Their parameters without `random_state`, as values that JSON can represent. A `Model` is written as
        `{"Model": {"kind": "shared", "feature_map": {"Nystroem": {"degree": 2}}}}`.
    k : int, optional
        The size of slates; by default the policy chooses single arms.

    Examples
    --------
    >>> from fairbandits import LinUCB
    >>> from fairbandits.worlds import LinearWorld
    >>> run = Run(LinUCB, LinearWorld, seed=0, world_params={"rounds": 50})
    >>> len(run.simulate())
    50
    """

    policy: type[Policy]
    world: type
    seed: int
    policy_params: Mapping[str, Any] = field(default_factory=dict)
    world_params: Mapping[str, Any] = field(default_factory=dict)
    k: int | None = None

    def make_world(self) -> Any:
        """Return a new world."""
        # A world without random_state is the same for every seed.
        seed = {"random_state": self.seed} if "random_state" in inspect.signature(self.world).parameters else {}
        return self.world(**self.world_params, **seed)

    def make_policy(self, world: Any = None) -> Policy:
        """Return a new policy; if a world is given, its feature map is fitted to that world."""
        params = {name: build_model(value, world, self.seed) for name, value in self.policy_params.items()}
        return self.policy(**params, random_state=self.seed + POLICY_SEED)

    def simulate(self, cache: Path | None = None, *, progress: bool = False) -> Trace:
        """Return the trace, from the cache if possible; a new trace is written to the cache."""
        with without_threads():
            return self._simulate(cache, progress)

    def _simulate(self, cache: Path | None, progress: bool) -> Trace:
        world = self.make_world()
        if cache is None:
            return simulate(self.make_policy(world), world, k=self.k, progress=progress)
        path = cache / f"{self.key(getattr(world, 'data_source', None))}.npz"
        if path.is_file():
            try:
                return Trace.load(path)
            except ValueError:
                pass  # a damaged file: simulate again and overwrite it
        trace = simulate(self.make_policy(world), world, k=self.k, progress=progress)
        atomic_write(path, trace.to_bytes())
        return trace

    def key(self, data_source: str | None) -> str:
        """Return a hash of everything that the trace depends on: this run, the data, and the code."""
        world_params = dict(self.world_params)
        if data_source is not None:
            # The world's data_source identifies the data, wherever the files are.
            world_params.pop("data", None)
        parts = {
            "policy": [_name(self.policy), _source(self.policy), dict(self.policy_params)],
            "world": [_name(self.world), _source(self.world), world_params],
            "seed": self.seed,
            "k": self.k,
            "data": data_source,
            "code": _package_source(),
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
    summarise: Callable[[Trace], Summary],
    *,
    jobs: int = 1,
    cache: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> list[Summary]:
    """Simulate many runs as `simulate_many` does, and return a summary of each trace.

    The function is called in the process of the run, so that long traces are neither kept nor sent.

    Examples
    --------
    >>> from fairbandits import LinUCB
    >>> from fairbandits.worlds import LinearWorld
    >>> summarise_many([Run(LinUCB, LinearWorld, seed) for seed in range(3)], len)
    [1000, 1000, 1000]
    """
    # Absolute, because workers may have another working directory.
    folder = None if cache is None else Path(cache).absolute()
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    return run_all([partial(_summarise, run, summarise, folder) for run in runs], jobs=jobs, progress=progress)


def run_all(tasks: Sequence[Callable[[], Summary]], *, jobs: int, progress: bool = False) -> list[Summary]:
    """Call functions in parallel processes, and return what they return, in their order.

    Parameters
    ----------
    tasks : sequence of callables
        The functions, which can be pickled.
    jobs, progress
        As in `simulate_many`.
    """
    if isinstance(jobs, bool) or not isinstance(jobs, int) or (jobs < 1 and jobs != -1):
        raise ValueError(f"jobs must be an integer of at least 1, or -1 for one per core, got {jobs!r}")
    if jobs == 1:
        return list(with_progress((task() for task in tasks), len(tasks), progress, "runs"))
    try:
        from joblib import Parallel, delayed  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError(f"jobs={jobs} needs joblib; {install_hint('cli')}") from None
    parallel = Parallel(n_jobs=jobs, return_as="generator")
    found = parallel(delayed(_run_in_worker)(task, os.getpid()) for task in tasks)
    return list(with_progress(found, len(tasks), progress, "runs"))


@contextmanager
def without_threads() -> Iterator[None]:
    """Compute on one thread: how many there are can change the last digit of a sum; cores are for other runs."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - slow to import

    with threadpool_limits(limits=1), one_thread():
        yield


def _identity(trace: Trace) -> Trace:
    return trace


def _summarise(run: Run, summarise: Callable[[Trace], Summary], folder: Path | None) -> Summary:
    return summarise(run.simulate(folder))


def _run_in_worker(task: Callable[[], Summary], parent: int) -> Summary:
    # Ctrl-C reaches all processes of the terminal: workers ignore it, and the parent stops them. Workers of a
    # cluster run this in a thread, where a signal handler cannot be set and is not needed.
    if os.getpid() != parent and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return task()


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _source(kind: type) -> str:
    """Return a hash of the files outside this package that define a class and its bases."""
    digest = hashlib.sha256()
    for base in kind.__mro__:
        if base.__module__.split(".")[0] in ("fairbandits", "builtins", "abc", "typing"):
            continue
        try:
            digest.update(Path(inspect.getfile(base)).read_bytes())
        except (OSError, TypeError):
            raise ValueError(
                f"the source of {_name(base)} cannot be read, so its cached runs could not be recognised as "
                "outdated; define it in a file, or use no cache"
            ) from None
    return digest.hexdigest()


@functools.cache
def _package_source() -> str:
    digest = hashlib.sha256()
    for file in sorted(_PACKAGE.rglob("*.py")):
        if file.relative_to(_PACKAGE).with_suffix("").parts[0] not in _OTHER_CODE:
            digest.update(file.read_bytes())
    return digest.hexdigest()
