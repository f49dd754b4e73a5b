"""A check for custom worlds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmIndex
from fairbandits.contexts import Offer
from fairbandits.fairness import as_group
from fairbandits.models import as_rows
from fairbandits.worlds.world import Visit, World, dense

_PARTS = ("train", "test")
_ENDED: Any = object()


def check_world(world: World, *, reward_range: tuple[float, float] | None = (0.0, 1.0)) -> None:
    """Iterate over a world twice at the same time, and check every round.

    Parameters
    ----------
    world : World
        The world to check.
    reward_range : pair of floats or None
        The range of rewards; None for any finite rewards.

    Raises
    ------
    AssertionError
        If there is a problem; the message names the round of the first problem, the problem and the remedy.

    Examples
    --------
    >>> from fairbandits.worlds import LinearWorld
    >>> check_world(LinearWorld(rounds=20))
    >>> check_world([1, 2])
    Traceback (most recent call last):
        ...
    AssertionError: a world must have the methods __len__() and visits(), got a list
    """
    assert isinstance(world, World), (
        f"a world must have the methods __len__() and visits(), got a {type(world).__name__}"
    )
    first: tuple[Visit, NDArray[Any]] | None = None
    previous: Visit | None = None
    rounds = 0
    # The iterations are interleaved, so that a random generator shared by them shows up as a difference.
    for visit, again in zip_longest(_iterate(world), _iterate(world), fillvalue=_ENDED):
        at = f"round {rounds}"
        assert visit is not _ENDED and again is not _ENDED, (  # noqa: PT018 - one fault, one message
            f"{at}: one iteration ended before the other; visits() must start from the beginning every time"
        )
        for each in (visit, again):
            assert isinstance(each, Visit), f"{at}: visits() must yield Visit objects, got a {type(each).__name__}"
        _check_visit(visit, at, reward_range)
        _check_same(visit, again, at)
        if previous is not None:
            _check_consistent(previous, visit, at)
        if first is None:
            first = (visit, dense(visit.contexts).copy())
        previous = visit
        rounds += 1
    yielded = f"more than {len(world)}" if rounds > len(world) else rounds
    assert rounds == len(world), f"visits() must yield len(world) = {len(world)} rounds, got {yielded}"
    assert first is not None, "a world must have at least one round, got none"
    assert np.array_equal(dense(first[0].contexts), first[1]), (
        "the contexts of round 0 changed after they were yielded; yield a new array in every round"
    )


def _iterate(world: World) -> Iterator[Visit]:
    """Return an iterator that ends at most one round after the world should end; a world may be endless."""
    visits = world.visits()
    assert isinstance(visits, Iterator), (
        f"visits() must return an iterator, got a {type(visits).__name__}; yield the visits, or return iter(...)"
    )
    return islice(visits, len(world) + 1)


def _check_visit(visit: Visit, at: str, reward_range: tuple[float, float] | None) -> None:
    # Policies check everything else about contexts, but complex sparse matrices would only lead to a warning.
    assert not np.iscomplexobj(visit.contexts), f"{at}: contexts must be real numbers, got complex ones"
    if not isinstance(visit.contexts, Offer):  # the catalogue has checked an offer
        _check_as_policies_do(as_rows, visit.contexts, at)
    count = np.shape(dense(visit.contexts))[0]
    for name, values in (("expected", visit.expected), ("rewards", visit.rewards)):
        _check_numbers(values, name, at, count)
        _check_range(values[~np.isnan(values)], name, at, reward_range)
    unknown = np.isnan(visit.expected)
    assert np.isnan(visit.rewards)[unknown].all(), (
        f"{at}: expected is NaN where rewards is not; a mean may be unknown only if the reward is never seen"
    )
    assert not unknown.all(), f"{at}: expected must be known for at least one arm, got NaN for all"
    assert not isinstance(visit.group, Mapping) or visit.group, (
        f"{at}: a mapping of groups must have at least one attribute, got none; use None for an unknown group"
    )
    _check_as_policies_do(as_group, visit.group, at)
    _check_as_policies_do(partial(ArmIndex().lookup, n=count), visit.arms, at)
    assert visit.part in _PARTS, f"{at}: part must be 'train' or 'test', got {visit.part!r}"
    is_whole = isinstance(visit.delay, int | np.integer) and not isinstance(visit.delay, bool)
    assert is_whole and visit.delay >= 0, (  # noqa: PT018 - one fault, one message
        f"{at}: delay must be a non-negative integer, got {visit.delay!r}; use 0 for a reward that arrives at once"
    )


def _check_as_policies_do(check: Callable[[Any], object], value: Any, at: str) -> None:
    try:
        check(value)
    except (TypeError, ValueError) as error:
        raise AssertionError(f"{at}: {error}") from None


def _check_numbers(values: Any, name: str, at: str, count: int) -> None:
    assert isinstance(values, np.ndarray), f"{at}: {name} must be a numpy array, got a {type(values).__name__}"
    assert values.shape == (count,), (
        f"{at}: {name} must have shape {(count,)}, one number per row of contexts, got {values.shape}"
    )
    assert values.dtype.kind in "iuf", f"{at}: {name} must be real numbers, got {values.dtype}"
    assert not np.isinf(values).any(), f"{at}: {name} must be finite, or NaN if unknown, got infinity"


def _check_range(values: NDArray[Any], name: str, at: str, reward_range: tuple[float, float] | None) -> None:
    if reward_range is None:
        return
    low, high = reward_range
    assert not values.size or ((values >= low) & (values <= high)).all(), (
        f"{at}: {name} must be from {low:g} to {high:g}, got {values.min():g} to {values.max():g}; "
        "scale them, or give another reward_range"
    )


def _check_same(visit: Visit, again: Visit, at: str) -> None:
    """Check that both iterations yield the same round."""
    remedy = "every iteration must yield the same visits; seed a new generator inside visits()"
    for name in ("contexts", "expected", "rewards"):
        one, other = dense(getattr(visit, name)), dense(getattr(again, name))
        assert np.array_equal(one, other, equal_nan=True), f"{at}: {name} differ between two iterations; {remedy}"
    for name in ("group", "part", "delay"):
        one, other = getattr(visit, name), getattr(again, name)
        assert one == other, f"{at}: {name} is {one!r} in one iteration and {other!r} in another; {remedy}"
    arms, others = (None if arms is None else list(arms) for arms in (visit.arms, again.arms))
    assert arms == others, f"{at}: arms differ between two iterations; {remedy}"


def _check_consistent(previous: Visit, visit: Visit, at: str) -> None:
    """Check the properties that must not change from one round to the next."""
    width, expected = dense(visit.contexts).shape[1], dense(previous.contexts).shape[1]
    assert width == expected, (
        f"{at}: contexts must have the same columns in every round, got {width} after {expected}"
    )
    assert (previous.part, visit.part) != ("test", "train"), (
        f"{at}: a 'train' round follows a 'test' round; all training rounds must come first"
    )
    named, before = (_attributes(each.group) for each in (visit, previous))
    assert named is None or before is None or named == before, (
        f"{at}: groups must have the same attributes in every round, got {named} after {before}"
    )


def _attributes(group: Any) -> list[str] | None:
    """Return the attributes of a mapping, an empty list for a plain group, or None for an unknown group."""
    if group is None:
        return None
    return sorted(group) if isinstance(group, Mapping) else []
