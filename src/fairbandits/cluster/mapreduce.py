"""States of the parts of an input, computed in parallel and merged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from fairbandits.cluster.connection import Cluster, connect
from fairbandits.cluster.watch import gather

Part = TypeVar("Part")
State = TypeVar("State")

# Parts per thread of a cluster: more parts balance the load better, fewer parts move fewer states.
_PARTS_PER_THREAD = 4


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
        result: State = gather(client, last)
        return result


def _identity(value: Any) -> Any:
    return value


def _call(part: Part, function: Callable[[Part], State]) -> State:
    return function(part)


def _merge_pairwise(states: list[Any], merge: Callable[[Any, Any], Any]) -> Any:
    while len(states) > 1:
        pairs = zip(states[::2], states[1::2], strict=False)
        states = [*(merge(a, b) for a, b in pairs), *(states[-1:] if len(states) % 2 else [])]
    return states[0]
