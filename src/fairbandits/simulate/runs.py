"""Many runs at once, and none of them twice."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import os
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from fairbandits.models.threads import one_thread
from fairbandits.policies import Policy
from fairbandits.simulate.loop import shown, simulate
from fairbandits.simulate.models import made
from fairbandits.simulate.trace import Trace
from fairbandits.storage import write_whole

# So that the policy's draws do not repeat the world's.
_POLICY_SEED = 2**32

Summary = TypeVar("Summary")

_PACKAGE = Path(__file__).parents[1]
# What a trace depends on: all of the package from here downwards.
_CODE = (
    "models",
    "statistics",
    "fairness",
    "contexts",
    "policies",
    "worlds",
    "simulate",
    "arms.py",
    "categorical.py",
    "storage.py",
)


@dataclass(frozen=True)
class Run:
    """All that determines a trace: a kind of policy, a kind of world, their parameters, and a seed.

    Parameters
    ----------
    policy : type
        A subclass of `Policy`.
    world : type
        What makes a world of its parameters.
    seed : int
        Where the randomness of both comes from.
    policy_params, world_params : mapping
        Their parameters but for `random_state`: plain values, such as JSON knows. A `Model` is written as
        `{"Model": {"kind": "shared", "feature_map": {"Nystroem": {"degree": 2}}}}`.

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
        """Make the world, from its start."""
        # A world without randomness of its own is the same for every seed.
        seed = {"random_state": self.seed} if "random_state" in inspect.signature(self.world).parameters else {}
        return self.world(**self.world_params, **seed)

    def make_policy(self, world: Any = None) -> Policy:
        """Make the policy, which has learned nothing yet; in a world, with its feature map fitted there."""
        # Any subclass of Policy names its parameters, and random_state is one of them.
        params = {name: made(value, world, self.seed) for name, value in self.policy_params.items()}
        return self.policy(**params, random_state=self.seed + _POLICY_SEED)

    def simulate(self, cache: Path | None = None, *, progress: bool = False) -> Trace:
        """Give the trace: out of the cache if it is there, and into the cache if not."""
        from threadpoolctl import threadpool_limits  # noqa: PLC0415 - slow to import, and needed only here

        # The number of threads can change the last digit of a sum; and cores are for other runs.
        with threadpool_limits(limits=1), one_thread():
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
                pass  # damaged: what was computed once can be computed again, and is written over
        trace = simulate(self.make_policy(world), world, k=self.k, progress=progress)
        write_whole(path, trace.to_bytes())
        return trace

    def key(self, data_source: str | None) -> str:
        """Give a hash of all that the trace depends on: this run, the data, and the code itself."""
        world_params = dict(self.world_params)
        if data_source is not None:
            # The world itself says which data it shows; where that lies makes no difference.
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
            raise ValueError(f"the parameters of a run that is kept must be plain values: {error}") from None
        return hashlib.sha256(text.encode()).hexdigest()[:32]


def simulate_many(
    runs: Sequence[Run], *, jobs: int = 1, cache: str | os.PathLike[str] | None = None, progress: bool = False
) -> list[Trace]:
    """Simulate many runs, side by side; the traces are the same to the bit whatever `jobs` is.

    Parameters
    ----------
    runs : sequence of Run
        What to simulate.
    jobs : int
        How many processes; -1 for one per core. More than one needs joblib.
    cache : folder, optional
        Where finished runs are kept. A run that is there is not simulated again, so what was interrupted
        goes on where it stopped.
    progress : bool
        Show a progress bar, where somebody sees it.

    Returns
    -------
    list of Trace
        One for each run, in their order.

    Examples
    --------
    >>> from fairbandits import LinUCB
    >>> from fairbandits.worlds import LinearWorld
    >>> traces = simulate_many([Run(LinUCB, LinearWorld, seed) for seed in range(3)])
    >>> len(traces)
    3
    """
    return summarise_many(runs, _whole, jobs=jobs, cache=cache, progress=progress)


def summarise_many(
    runs: Sequence[Run],
    summarise: Callable[[Trace], Summary],
    *,
    jobs: int = 1,
    cache: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> list[Summary]:
    """Simulate many runs as `simulate_many` does, and keep of each trace only what a function makes of it.

    The function is called where the run was, so that a thousand long traces need not be held or sent.

    Examples
    --------
    >>> from fairbandits import LinUCB
    >>> from fairbandits.worlds import LinearWorld
    >>> summarise_many([Run(LinUCB, LinearWorld, seed) for seed in range(3)], len)
    [1000, 1000, 1000]
    """
    if isinstance(jobs, bool) or not isinstance(jobs, int) or (jobs < 1 and jobs != -1):
        raise ValueError(f"jobs={jobs!r} came; expected a whole number of at least 1, or -1 for one per core")
    folder = None if cache is None else Path(cache).absolute()  # for processes that stand elsewhere
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    if jobs == 1:
        return list(shown((summarise(run.simulate(folder)) for run in runs), len(runs), progress, "runs"))
    try:
        from joblib import Parallel, delayed  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError(f"jobs={jobs} needs joblib: pip install 'fairbandits[cli]'") from None
    parallel = Parallel(n_jobs=jobs, return_as="generator")
    found = parallel(delayed(_summarise_in_worker)(run, summarise, folder, os.getpid()) for run in runs)
    return list(shown(found, len(runs), progress, "runs"))


def _whole(trace: Trace) -> Trace:
    return trace


def _summarise_in_worker(
    run: Run, summarise: Callable[[Trace], Summary], folder: Path | None, parent: int
) -> Summary:
    # An interrupt from the keyboard reaches all processes; the first one answers it, and ends the others. Those
    # of a cluster run this in a thread, which may not say who answers, and need not.
    if os.getpid() != parent and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return summarise(run.simulate(folder))


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _source(kind: type) -> str:
    """Give a hash of the files that define a class from outside the package, and its bases: they may change."""
    digest = hashlib.sha256()
    for base in kind.__mro__:
        if base.__module__.split(".")[0] in ("fairbandits", "builtins", "abc", "typing"):
            continue
        try:
            digest.update(Path(inspect.getfile(base)).read_bytes())
        except (OSError, TypeError):
            raise ValueError(
                f"the source of {_name(base)} cannot be read, so nobody could tell when its kept runs are out of "
                "date; put it into a file, or keep no runs"
            ) from None
    return digest.hexdigest()


@functools.cache
def _package_source() -> str:
    digest = hashlib.sha256()
    for place in (_PACKAGE / name for name in _CODE):
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(path.read_bytes())
    return digest.hexdigest()
