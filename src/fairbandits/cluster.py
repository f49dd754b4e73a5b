"""Beyond one machine: Dask runs what would run here.

Nothing here schedules: tasks are handed to Dask, which gives those of a worker that died to another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

Part = TypeVar("Part")
State = TypeVar("State")
# Where something runs: a word, as `connected` takes it; a client that is connected; or here.
Cluster = Any

LOCAL = "local"
_HERE = "127.0.0.1"
# How long a scheduler may take to answer, in seconds.
_PATIENCE = 15
# Parts for each thread of a cluster: more even the load out, fewer move fewer states.
_PARTS_EACH = 4


@contextmanager
def connected(cluster: Cluster) -> Iterator[Any]:
    """Connect to a cluster.

    Parameters
    ----------
    cluster : str, distributed.Client or None
        "local" starts one process for each core, here; any other word is the address of a Dask scheduler. None,
        and a client that is connected already, stay as they are.

    Yields
    ------
    distributed.Client or None
        What to hand tasks to.
    """
    if not isinstance(cluster, str):
        yield cluster
        return
    try:
        import distributed  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError("a cluster needs Dask: pip install 'fairbandits[dask]'") from None
    dask: Any = distributed  # which has types in some places, and none in others
    if cluster == LOCAL:
        # Its page is for nobody else; a port that is taken must not matter.
        workers = dask.LocalCluster(
            host=_HERE, processes=True, threads_per_worker=1, dashboard_address=f"{_HERE}:0"
        )
        with workers, dask.Client(workers) as client:
            yield client
        return
    try:
        client = dask.Client(cluster, timeout=_PATIENCE)
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(
            f"cluster={cluster!r} came, and no Dask scheduler answers there ({error or 'it timed out'}); expected "
            f"{LOCAL!r} or an address such as tcp://10.0.0.1:8786"
        ) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=_PATIENCE)
        except TimeoutError:
            raise ValueError(f"cluster={cluster!r} came, and it has no workers; start some") from None
        yield client


@contextmanager
def runs_on(cluster: Cluster) -> Iterator[None]:
    """Let what joblib would run in processes here run on a cluster; None leaves it here."""
    if cluster is None:
        yield
        return
    with connected(cluster):
        from joblib import parallel_config  # noqa: PLC0415 - an extra

        with parallel_config(backend="dask"):
            yield


def map_reduce(
    cut: Callable[[int], Sequence[Part]],
    partial: Callable[[Part], State],
    merge: Callable[[State, State], State],
    cluster: Cluster = None,
) -> State:
    """Make a state of each part, and merge them two by two, neighbours first, until one is left.

    A part whose worker died is done again by another. The order of merges depends on the number of parts alone,
    so that results do not depend on who was fast.

    Parameters
    ----------
    cut : callable
        Cuts all there is into at most so many parts.
    partial : callable
        Makes the state of a part: a function of a module, as other processes have to find it.
    merge : callable
        Makes one state of two neighbours, and changes neither: a worker may die, and another one do it again.
    cluster : str or distributed.Client, optional
        Where: "local", or the address of a scheduler; left out, in this process, one part.

    Examples
    --------
    >>> from operator import add
    >>> map_reduce(lambda n: [range(1, 11)], sum, add)
    55
    """
    if cluster is None:
        here: State = _folded([partial(part) for part in cut(1)], merge)
        return here
    with connected(cluster) as client:
        n_threads = max(1, sum(client.nthreads().values()))
        # The function may hold much, such as what is known of all arms: it goes to each worker once. Not pure: two
        # parts that look alike are still two.
        how = client.submit(_same, partial, pure=False)
        states = client.map(_done, cut(_PARTS_EACH * n_threads), how=how, pure=False)
        last = _folded(states, lambda a, b: client.submit(merge, a, b, pure=False))
        del states  # what has been merged is let go of
        result: State = _result(last)
        return result


def _same(thing: Any) -> Any:
    return thing


def _done(part: Part, how: Callable[[Part], State]) -> State:
    return how(part)


def _result(future: Any) -> Any:
    from distributed import KilledWorker  # noqa: PLC0415

    try:
        return future.result()
    except KilledWorker as error:
        raise OSError(
            f"workers of the cluster died again and again at the same task ({error}); do they have enough memory?"
        ) from None


def _folded(states: list[Any], merge: Callable[[Any, Any], Any]) -> Any:
    while len(states) > 1:
        pairs = zip(states[::2], states[1::2], strict=False)
        states = [*(merge(a, b) for a, b in pairs), *(states[-1:] if len(states) % 2 else [])]
    return states[0]
