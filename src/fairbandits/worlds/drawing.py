"""Draw users and items from tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fairbandits.validation import check_number

Ints = NDArray[np.intp]


def draw(rng: np.random.Generator, pool: Ints, size: int) -> Ints:
    """Draw without replacement, or with replacement if the pool is too small."""
    return rng.choice(pool, size, replace=size > len(pool))


def draw_by_share(
    groups: Sequence[str], shares: Mapping[str, float], sizes: Sequence[int], rng: np.random.Generator
) -> list[Ints]:
    """Draw users for several parts, with a given share of some groups in each part.

    Parameters
    ----------
    groups : sequence of str
        The group of each user.
    shares : mapping of group to float
        The shares; other groups share the rest, in proportion to their users.
    sizes : sequence of int
        The number of users in each part.
    rng : numpy Generator
        The source of randomness.

    Examples
    --------
    >>> groups = ["a"] * 50 + ["b"] * 30 + ["c"] * 20
    >>> parts = draw_by_share(groups, {"c": 0.5}, [40, 8], np.random.default_rng(0))
    >>> [[sum(groups[user] == name for user in part) for name in "abc"] for part in parts]
    [[13, 7, 20], [3, 1, 4]]
    """
    names, codes, counts = np.unique(np.asarray(groups), return_inverse=True, return_counts=True)
    unknown = [name for name in shares if name not in names]
    if unknown:
        raise ValueError(
            f"shares must name groups of the data, got {unknown[0]!r}; the groups are {', '.join(names)}"
        )
    wanted = np.array([check_number(f"shares[{name!r}]", shares.get(name, 0.0), 0, 1) for name in names.tolist()])
    is_other = np.array([name not in shares for name in names.tolist()])
    rest = 1.0 - wanted.sum()
    if rest < -1e-9 or (rest > 1e-9 and not is_other.any()):
        raise ValueError(f"shares must sum to {'at most ' if is_other.any() else ''}1, got {wanted.sum():g}")
    wanted[is_other] = max(rest, 0.0) * counts[is_other] / max(counts[is_other].sum(), 1)
    of_parts = [_apportion(wanted, size) for size in sizes]
    drawn: list[list[Ints]] = [[] for _ in sizes]
    for group in range(len(names)):
        own = [int(numbers[group]) for numbers in of_parts]
        users = draw(rng, np.flatnonzero(codes == group), sum(own))
        for part, chosen in zip(drawn, np.split(users, np.cumsum(own)[:-1]), strict=True):
            part.append(chosen)
    return [np.concatenate(part) for part in drawn]


def _apportion(shares: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    """Return whole numbers close to the shares of a size, which they sum to (largest remainders)."""
    exact = shares * size
    numbers = np.floor(exact).astype(np.int64)
    numbers[np.argsort(numbers - exact, kind="stable")[: size - numbers.sum()]] += 1
    return numbers
