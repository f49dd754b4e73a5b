"""Run work on a Dask cluster instead of in this process.

Dask does the scheduling, and reassigns the tasks of a worker that died.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

Part = TypeVar("Part")
State = TypeVar("State")
#: Where work runs: "local" or an address, as `connect` takes it; a connected client; or None for this process.
Cluster = Any

LOCAL = "local"
_LOCALHOST = "127.0.0.1"
# Seconds to wait for the answer of a scheduler.
_TIMEOUT = 15
# Parts per thread of a cluster: more parts balance the load better, fewer parts move fewer states.
_PARTS_PER_THREAD = 4


@contextmanager
def connect(cluster: Cluster) -> Iterator[Any]:
    """Connect to a cluster.

    Parameters
    ----------
    cluster : str, distributed.Client or None
        "local" starts one process per core on this machine; any other string is the address of a Dask scheduler.
        None and a connected client are returned unchanged.

    Yields
    ------
    distributed.Client or None
        The client that takes tasks.
    """
    if not isinstance(cluster, str):
        yield cluster
        return
    try:
        import distributed  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError("a cluster needs Dask: pip install 'fairbandits[dask]'") from None
    dask: Any = distributed  # only partly typed
    if cluster == LOCAL:
        # The dashboard is for this machine only, on any free port.
        workers = dask.LocalCluster(
            host=_LOCALHOST, processes=True, threads_per_worker=1, dashboard_address=f"{_LOCALHOST}:0"
        )
        with workers, dask.Client(workers) as client:
            yield client
        return
    try:
        client = dask.Client(cluster, timeout=_TIMEOUT)
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(
            f"cluster must be {LOCAL!r} or the address of a running Dask scheduler, such as tcp://10.0.0.1:8786, "
            f"got {cluster!r} ({error or 'it timed out'})"
        ) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=_TIMEOUT)
        except TimeoutError:
            raise ValueError(f"cluster must have at least one worker, got {cluster!r} with none") from None
        yield client


@contextmanager
def parallel_on(cluster: Cluster) -> Iterator[None]:
    """Run joblib's parallel work on a cluster; None leaves it on this machine."""
    if cluster is None:
        yield
        return
    with connect(cluster):
        from joblib import parallel_config  # noqa: PLC0415 - an extra

        with parallel_config(backend="dask"):
            yield


def map_reduce(
    split: Callable[[int], Sequence[Part]],
    compute: Callable[[Part], State],
    merge: Callable[[State, State], State],
    cluster: Cluster = None,
) -> State:
    """Compute a state from each part, and merge neighbouring states pairwise until one is left.

    A part whose worker died is computed again by another worker. The order of merges depends only on the number of
    parts, so the result does not depend on timing.

    Parameters
    ----------
    split : callable
        Splits the input into at most the given number of parts.
    compute : callable
        Computes the state of a part; a function that other processes can import.
    merge : callable
        Merges two neighbouring states without changing them, so that it can be repeated after a worker died.
    cluster : str or distributed.Client, optional
        "local", or the address of a scheduler; by default everything runs in this process, as one part.

    Examples
    --------
    >>> from operator import add
    >>> map_reduce(lambda n: [range(1, 11)], sum, add)
    55
    """
    if cluster is None:
        state: State = _merge_pairwise([compute(part) for part in split(1)], merge)
        return state
    with connect(cluster) as client:
        n_threads = max(1, sum(client.nthreads().values()))
        # The function may hold large objects, such as a catalogue: send it to each worker once, not per part.
        # With pure=False, two equal parts are still two tasks.
        function = client.submit(_identity, compute, pure=False)
        states = client.map(_call, split(_PARTS_PER_THREAD * n_threads), function=function, pure=False)
        last = _merge_pairwise(states, lambda a, b: client.submit(merge, a, b, pure=False))
        del states  # so that the cluster can release states that have been merged
        result: State = _result(last)
        return result


def _identity(value: Any) -> Any:
    return value


def _call(part: Part, function: Callable[[Part], State]) -> State:
    return function(part)


def _result(future: Any) -> Any:
    from distributed import KilledWorker  # noqa: PLC0415

    try:
        return future.result()
    except KilledWorker as error:
        raise OSError(
            f"workers of the cluster died repeatedly at the same task ({error}); they may need more memory"
        ) from None


def _merge_pairwise(states: list[Any], merge: Callable[[Any, Any], Any]) -> Any:
    while len(states) > 1:
        pairs = zip(states[::2], states[1::2], strict=False)
        states = [*(merge(a, b) for a, b in pairs), *(states[-1:] if len(states) % 2 else [])]
    return states[0]
