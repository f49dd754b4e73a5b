"""Parallel computation of the states of the parts of an input, and merging of these states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from fairbandits.cluster.checkpoint import Checkpoint
from fairbandits.cluster.connection import Cluster, connect
from fairbandits.cluster.watch import gather
from fairbandits.progress import with_progress

Part = TypeVar("Part")
State = TypeVar("State")

# The number of parts per thread of a cluster. More parts balance the load better; fewer parts mean that fewer
# states are transferred.
_PARTS_PER_THREAD = 4


def map_reduce(
    split: Callable[[int], Sequence[Part]],
    compute: Callable[[Part], State],
    merge: Callable[[State, State], State],
    cluster: Cluster = None,
) -> State:
    """Compute a state from each part, and merge neighbouring states pairwise until one is left.

    If a worker dies, its part is computed again by another worker. The order of merges depends only on the number
    of parts, so the result does not depend on timing.

    Parameters
    ----------
    split : callable
        A function that splits the input into at most the given number of parts.
    compute : callable
        A function that computes the state of a part, and that other processes can import.
    merge : callable
        A function that merges two neighbouring states without changing them, so that the merge can be repeated if
        a worker dies.
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
        states = _submit(client, compute, split(_PARTS_PER_THREAD * n_threads))
        last = _merge_pairwise(states, lambda a, b: client.submit(merge, a, b, pure=False))
        del states  # so that the cluster can release states that have been merged
        [(_, result)] = gather(client, [last])
        merged: State = result
        return merged


def map_stream(
    parts: Iterable[Part], compute: Callable[[Part], State], cluster: Cluster = None
) -> Iterator[tuple[int, State]]:
    """Yield the index and the state of each part, in order of completion, with few parts in memory at a time.

    The parts are read in this process, so a cluster needs no access to their files.

    Parameters
    ----------
    parts : iterable
        The parts; may be an iterator that reads each part on demand.
    compute, cluster
        As for `map_reduce`.

    Examples
    --------
    >>> list(map_stream(iter(["ab", "c"]), str.upper))
    [(0, 'AB'), (1, 'C')]
    """
    with connect(cluster) as client:
        if client is None:
            yield from ((index, compute(part)) for index, part in enumerate(parts))
            return
        n_threads = max(1, sum(client.nthreads().values()))
        function = _scatter(client, compute)
        submitted = (client.submit(_call, part, function=function, pure=False) for part in parts)
        yield from gather(client, submitted, _PARTS_PER_THREAD * n_threads)


def resumable_map_reduce(
    parts: Sequence[Part],
    compute: Callable[[Part], State],
    merge: Callable[[State, State], State],
    cluster: Cluster,
    checkpoint: Checkpoint | None,
    step: str,
    progress: bool = False,
) -> State:
    """Compute and merge states as `map_reduce` does, part by part, so that the work can be interrupted.

    With a checkpoint, the state of each part is stored as soon as it is finished, and states that are already
    stored are not computed again. States are merged in this process, which holds few of them at a time if they are
    stored.

    Parameters
    ----------
    parts : sequence
        The parts, which must be the same whenever the work resumes, whatever the cluster.
    compute, cluster
        As for `map_reduce`.
    merge : callable
        A function that merges two neighbouring states; it may modify the first and return it.
    checkpoint : Checkpoint or None
        The states of finished parts.
    step : str
        The name of this step in the checkpoint and in the progress bar.
    progress : bool
        Whether to show a progress bar, in a terminal or a notebook, with the finished parts and the time left.
    """
    states = _States(checkpoint, step)
    missing = [number for number in range(len(parts)) if number not in states]
    with connect(cluster if missing else None) as client:
        finished = _compute_each(client, compute, [parts[number] for number in missing])
        done = len(parts) - len(missing)
        for index, state in with_progress(finished, len(parts), progress, step, done):
            states.store(missing[index], state)
    merged: State = states.merged(0, len(parts), merge)
    return merged


class _States:
    """The states of the parts of one step, in a checkpoint or in memory."""

    def __init__(self, checkpoint: Checkpoint | None, step: str) -> None:
        self._checkpoint, self._step = checkpoint, step
        self._memory: dict[int, Any] = {}

    def __contains__(self, part: int) -> bool:
        return self._checkpoint is not None and self._checkpoint.has(self._step, part)

    def store(self, part: int, state: Any) -> None:
        if self._checkpoint is None:
            self._memory[part] = state
        else:
            self._checkpoint.store(self._step, part, state)

    def merged(self, start: int, stop: int, merge: Callable[[Any, Any], Any]) -> Any:
        """Merge the states of a range of parts, starting with neighbours, so that few are loaded at a time."""
        if stop - start > 1:
            middle = (start + stop) // 2
            return merge(self.merged(start, middle, merge), self.merged(middle, stop, merge))
        return self._memory.pop(start) if self._checkpoint is None else self._checkpoint.load(self._step, start)


def _compute_each(client: Any, compute: Callable[[Part], State], parts: list[Part]) -> Iterator[tuple[int, State]]:
    """Yield the index and the state of each part, in order of completion."""
    if client is None:
        return ((index, compute(part)) for index, part in enumerate(parts))
    return gather(client, _submit(client, compute, parts))


def _submit(client: Any, compute: Callable[[Part], State], parts: Sequence[Part]) -> list[Any]:
    # With pure=False, two equal parts are still two tasks.
    futures: list[Any] = client.map(_call, parts, function=_scatter(client, compute), pure=False)
    return futures


def _scatter(client: Any, compute: Callable[[Part], State]) -> Any:
    """Return a task whose result is a function with possibly large objects; each worker gets it only once."""
    return client.submit(_identity, compute, pure=False)


def _identity(value: Any) -> Any:
    return value


def _call(part: Part, function: Callable[[Part], State]) -> State:
    return function(part)


def _merge_pairwise(states: list[Any], merge: Callable[[Any, Any], Any]) -> Any:
    while len(states) > 1:
        pairs = zip(states[::2], states[1::2], strict=False)
        states = [*(merge(a, b) for a, b in pairs), *(states[-1:] if len(states) % 2 else [])]
    return states[0]
