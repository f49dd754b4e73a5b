"""Is this a world? A check for those who write their own."""

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
    first: tuple[Visit, NDArray[Any]] | None = None
    last: Visit | None = None
    rounds = 0
    # Both readings go on at the same time, so that a generator they share would show as a difference.
    for visit, again in zip_longest(_reading(world), _reading(world), fillvalue=_ENDED):
        at = f"round {rounds}"
        assert visit is not _ENDED and again is not _ENDED, (  # noqa: PT018 - one fault, one message
            f"{at}: one reading ended before the other; visits() must start afresh every time"
        )
        for each in (visit, again):
            assert isinstance(each, Visit), f"{at}: visits() gave a {type(each).__name__}; yield Visit records"
        _check_visit(visit, at, reward_range)
        _check_same(visit, again, at)
        if last is not None:
            _check_follows(last, visit, at)
        if first is None:
            first = (visit, dense(visit.contexts).copy())
        last = visit
        rounds += 1
    came = f"more than {len(world)}" if rounds > len(world) else rounds
    assert rounds == len(world), f"visits() gave {came} rounds but len() says {len(world)}; make them agree"
    assert first is not None, "the world has no rounds; give it at least one"
    assert np.array_equal(dense(first[0].contexts), first[1]), (
        "the contexts of round 0 changed after they were handed out; yield a new array every round"
    )


def _reading(world: World) -> Iterator[Visit]:
    """Start a reading that ends one round after the world should, for a world may not end by itself."""
    visits = world.visits()
    assert isinstance(visits, Iterator), (
        f"visits() gave a {type(visits).__name__}; expected an iterator: yield the visits, or return iter(...)"
    )
    return islice(visits, len(world) + 1)


def _check_visit(visit: Visit, at: str, reward_range: tuple[float, float] | None) -> None:
    # As the policies check them; sparse ones that are complex would slip through there with a warning.
    assert not np.iscomplexobj(visit.contexts), f"{at}: contexts are complex; expected real numbers"
    if not isinstance(visit.contexts, Offer):  # which its catalogue has checked
        _check_by(as_rows, visit.contexts, at)
    count = np.shape(dense(visit.contexts))[0]
    for name, values in (("expected", visit.expected), ("rewards", visit.rewards)):
        _check_numbers(values, name, at, count)
        _check_range(values, name, at, reward_range)
    assert not isinstance(visit.group, Mapping) or visit.group, (
        f"{at}: group is an empty mapping; name at least one attribute, or give None"
    )
    _check_by(as_group, visit.group, at)
    _check_by(partial(ArmIndex().lookup, n=count), visit.arms, at)
    assert visit.part in _PARTS, f"{at}: part is {visit.part!r}; expected 'train' or 'test'"


def _check_by(check: Callable[[Any], object], value: Any, at: str) -> None:
    """Check a value as the policies do, who will be given it."""
    try:
        check(value)
    except (TypeError, ValueError) as error:
        raise AssertionError(f"{at}: {error}") from None


def _check_numbers(values: Any, name: str, at: str, count: int) -> None:
    assert isinstance(values, np.ndarray), f"{at}: {name} is a {type(values).__name__}; expected a numpy array"
    assert values.shape == (count,), (
        f"{at}: {name} has shape {values.shape}; expected {(count,)}, one number per row of contexts"
    )
    assert values.dtype.kind in "iuf", f"{at}: {name} are {values.dtype}; expected real numbers"
    assert np.isfinite(values).all(), f"{at}: {name} hold NaN or infinity; every number must be finite"


def _check_range(values: NDArray[Any], name: str, at: str, allowed: tuple[float, float] | None) -> None:
    if allowed is None:
        return
    least, most = allowed
    assert ((values >= least) & (values <= most)).all(), (
        f"{at}: {name} run from {values.min():g} to {values.max():g}; expected {least:g} to {most:g} "
        "(scale them, or say another reward_range)"
    )


def _check_same(visit: Visit, again: Visit, at: str) -> None:
    """Check that two readings agree on a round."""
    mend = "reading a world twice must give the same; seed a new generator inside visits()"
    for name in ("contexts", "expected", "rewards"):
        one, other = dense(getattr(visit, name)), dense(getattr(again, name))
        assert np.array_equal(one, other), f"{at}: {name} differ between two readings; {mend}"
    for name in ("group", "part"):
        one, other = getattr(visit, name), getattr(again, name)
        assert one == other, f"{at}: {name} is {one!r} in one reading and {other!r} in another; {mend}"
    names, others = (None if arms is None else list(arms) for arms in (visit.arms, again.arms))
    assert names == others, f"{at}: arms differ between two readings; {mend}"


def _check_follows(before: Visit, visit: Visit, at: str) -> None:
    """Check what has to stay the same from one round to the next."""
    width, was = dense(visit.contexts).shape[1], dense(before.contexts).shape[1]
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
