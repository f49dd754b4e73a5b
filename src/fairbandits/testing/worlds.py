"""Is this a world? A check for those who write their own."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.worlds.base import Visit, World

_PARTS = ("train", "test")


def check_world(world: World, *, reward_range: tuple[float, float] | None = (0.0, 1.0)) -> None:
    """Read a world from start to end, twice at once, and say what is wrong with it, if anything is.

    Parameters
    ----------
    world : World
        The world to check.
    reward_range : pair of floats or None
        What rewards must lie between; None for anything finite.

    Raises
    ------
    AssertionError
        At the first thing that is wrong, saying which round, what it is and how to mend it.

    Examples
    --------
    >>> from fairbandits.worlds import LinearWorld
    >>> check_world(LinearWorld(rounds=20))
    >>> check_world([1, 2])
    Traceback (most recent call last):
        ...
    AssertionError: list is not a World: give it the methods __len__() and visits()
    """
    assert isinstance(world, World), (
        f"{type(world).__name__} is not a World: give it the methods __len__() and visits()"
    )
    first: tuple[Visit, NDArray[np.float64]] | None = None
    last: Visit | None = None
    rounds = 0
    # Both readings go on at the same time, so that a generator they share would show as a difference.
    for visit, again in zip_longest(world.visits(), world.visits()):
        at = f"round {rounds}"
        assert visit is not None and again is not None, (  # noqa: PT018 - one fault, one message
            f"{at}: one reading ended before the other; visits() must start afresh every time"
        )
        _check_visit(visit, at, reward_range)
        _check_same(visit, again, at)
        if last is not None:
            _check_follows(last, visit, at)
        if first is None:
            first = (visit, _dense(visit.contexts).copy())
        last = visit
        rounds += 1
    assert rounds == len(world), f"visits() gave {rounds} rounds but len() says {len(world)}; make them agree"
    assert first is not None, "the world has no rounds; give it at least one"
    assert np.array_equal(_dense(first[0].contexts), first[1]), (
        "the contexts of round 0 changed after they were handed out; yield a new array every round"
    )


def _check_visit(visit: Visit, at: str, reward_range: tuple[float, float] | None) -> None:
    assert isinstance(visit, Visit), f"{at}: visits() gave a {type(visit).__name__}; yield Visit records"
    shape = np.shape(visit.contexts) if not hasattr(visit.contexts, "toarray") else visit.contexts.shape
    assert len(shape) == 2 and min(shape) > 0, (  # noqa: PT018
        f"{at}: contexts have shape {shape}; expected two dimensions, one row per arm"
    )
    _check_finite(_dense(visit.contexts), "contexts", at)
    for name, values in (("expected", visit.expected), ("rewards", visit.rewards)):
        assert np.shape(values) == shape[:1], (
            f"{at}: {name} has shape {np.shape(values)}; expected {shape[:1]}, one number per row of contexts"
        )
        _check_finite(np.asarray(values), name, at)
        _check_range(np.asarray(values), name, at, reward_range)
    _check_group(visit.group, at)
    _check_arms(visit, shape[0], at)
    assert visit.part in _PARTS, f"{at}: part is {visit.part!r}; expected 'train' or 'test'"


def _check_finite(values: NDArray[Any], name: str, at: str) -> None:
    assert np.issubdtype(values.dtype, np.number), f"{at}: {name} are {values.dtype}; expected numbers"
    assert np.isfinite(values).all(), f"{at}: {name} hold NaN or infinity; every number must be finite"


def _check_range(values: NDArray[Any], name: str, at: str, allowed: tuple[float, float] | None) -> None:
    if allowed is None:
        return
    least, most = allowed
    assert ((values >= least) & (values <= most)).all(), (
        f"{at}: {name} run from {values.min():g} to {values.max():g}; expected {least:g} to {most:g} "
        "(scale them, or say another reward_range)"
    )


def _check_group(group: Any, at: str) -> None:
    if isinstance(group, Mapping):
        assert group, f"{at}: group is an empty mapping; name at least one attribute, or give None"
        assert all(isinstance(name, str) for name in group), f"{at}: attributes {list(group)}; name them by text"
        values = list(group.values())
    else:
        values = [group]
    for value in values:
        assert _hashable(value), f"{at}: the group {value!r} cannot be hashed; use text, a number or a tuple"


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _check_arms(visit: Visit, count: int, at: str) -> None:
    if visit.arms is None:
        return
    assert len(visit.arms) == count, f"{at}: {len(visit.arms)} arms for {count} rows of contexts; name each row"
    assert all(isinstance(arm, str | int | np.integer) for arm in visit.arms), (
        f"{at}: the arms' ids are {list(visit.arms)[:3]} ...; use text or whole numbers"
    )
    assert len(set(visit.arms)) == count, f"{at}: two arms have the same id; give each its own"


def _check_same(visit: Visit, again: Visit, at: str) -> None:
    """Check that two readings agree on a round."""
    mend = "reading a world twice must give the same; seed a new generator inside visits()"
    for name in ("contexts", "expected", "rewards"):
        one, other = _dense(getattr(visit, name)), _dense(getattr(again, name))
        assert np.array_equal(one, other), f"{at}: {name} differ between two readings; {mend}"
    for name in ("group", "part"):
        one, other = getattr(visit, name), getattr(again, name)
        assert one == other, f"{at}: {name} is {one!r} in one reading and {other!r} in another; {mend}"
    names, others = (None if arms is None else list(arms) for arms in (visit.arms, again.arms))
    assert names == others, f"{at}: arms differ between two readings; {mend}"


def _check_follows(before: Visit, visit: Visit, at: str) -> None:
    """Check what has to stay the same from one round to the next."""
    width, was = _dense(visit.contexts).shape[1], _dense(before.contexts).shape[1]
    assert width == was, f"{at}: contexts are {width} wide after {was}; every round needs the same columns"
    assert (before.part, visit.part) != ("test", "train"), (
        f"{at}: a 'train' round after a 'test' round; all training comes first"
    )
    named, were = (_attributes(each.group) for each in (visit, before))
    assert named is None or were is None or named == were, (
        f"{at}: the group names {named} after {were}; name the same attributes in every round"
    )


def _attributes(group: Any) -> list[str] | None:
    """Return the attributes that a mapping names, an empty list for a plain group, None for none at all."""
    if group is None:
        return None
    return sorted(group) if isinstance(group, Mapping) else []


def _dense(contexts: Any) -> NDArray[Any]:
    return np.asarray(contexts.toarray() if hasattr(contexts, "toarray") else contexts)
