"""Pickers: the rule that turns scores into a choice."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from fairbandits.fairness import GroupKey
from fairbandits.jit import helper, kernel
from fairbandits.models.kernels.layouts import ZERO
from fairbandits.models.threads import USERS_AT_A_TIME, in_chunks
from fairbandits.policies.records import Scores

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: The index of the picked arm, and the probability with which it was picked; None without a closed form.
Pick = tuple[int, float | None]

# Scores that are equal in theory may differ in their last digits, depending on the order of summation. Scores that
# are closer than this, relative to the best score, are tied: no policy may prefer an arm because of the order in
# which its terms were added.
TIE = 1e-10
# Examining a score takes as long as this many multiplications.
_WORK_PER_SCORE = 30


@dataclass(frozen=True, eq=False)
class Picks(Sequence[Pick]):
    """The picks for many users as arrays, if every pick has a probability in closed form."""

    indices: Ints
    probabilities: Floats

    def __len__(self) -> int:
        return len(self.indices)

    @overload
    def __getitem__(self, user: int) -> Pick: ...

    @overload
    def __getitem__(self, user: slice) -> Picks: ...

    def __getitem__(self, user: int | slice) -> Pick | Picks:
        if isinstance(user, slice):
            return Picks(self.indices[user], self.probabilities[user])
        return int(self.indices[user]), float(self.probabilities[user])

    def __iter__(self) -> Iterator[Pick]:
        return zip(self.indices.tolist(), self.probabilities.tolist(), strict=True)


class Picker(ABC):
    """The rule that turns the scores of arms into a choice.

    A custom picker defines `probabilities`; picks and slates then follow. Return it from a policy's `picker`
    property. The picker sees scores on [0, 1], whatever the policy's `reward_range`.

    Examples
    --------
    >>> import numpy as np
    >>> from fairbandits import Picker, Scores
    >>> class Proportional(Picker):
    ...     def probabilities(self, scores, groups):
    ...         return scores.total / scores.total.sum(axis=1, keepdims=True)
    >>> zero = np.zeros(2)
    >>> Proportional().probability(Scores(zero, zero, zero, zero, np.array([1.0, 3.0])), (), index=1)
    0.75
    """

    @abstractmethod
    def probabilities(self, scores: Scores, groups: Sequence[GroupKey]) -> Floats | None:
        """Return the probability of picking each arm, of shape (n_users, n_arms); None without a closed form.

        Parameters
        ----------
        scores : Scores
            The scores, with one row per user.
        groups : sequence
            The group of each user, as pairs of attribute and value.
        """

    @property
    def has_random_scores(self) -> bool:
        """Whether scores hold random draws, as in Thompson sampling: slates then have no closed form."""
        return False

    def probability(self, scores: Scores, group: GroupKey, index: int) -> float | None:
        """Return the probability of picking one arm for one user; None without a closed form."""
        each = self.probabilities(scores.as_batch(), (group,))
        return None if each is None else float(each[0, index])

    def pick(self, scores: Scores, group: GroupKey, rng: np.random.Generator) -> Pick:
        """Pick an arm for one user, whose scores have one entry per arm."""
        each = self.probabilities(scores.as_batch(), (group,))
        if each is None:
            raise NotImplementedError(
                f"{type(self).__name__} must define pick, because its probabilities have no closed form"
            )
        index = int(rng.choice(each.shape[1], p=each[0]))
        return index, float(each[0, index])

    def pick_many(self, scores: Scores, groups: Sequence[GroupKey], rng: np.random.Generator) -> Sequence[Pick]:
        """Pick an arm for each of many users."""
        return [self.pick(scores.user(user), group, rng) for user, group in enumerate(groups)]

    def slate(
        self, scores: Scores, k: int, group: GroupKey, rng: np.random.Generator
    ) -> tuple[list[int], float | None]:
        """Pick k arms in order; return their indices and the probability of exactly these arms in this order.

        By default, `pick` picks each arm from the remaining arms.
        """
        left = np.arange(scores.total.size)
        picked: list[int] = []
        # Once arms have been passed over, their draws no longer have the original distribution.
        probability: float | None = None if self.has_random_scores and k > 1 else 1.0
        for _ in range(k):
            index, chance = self.pick(scores.at(left), group, rng)
            picked.append(int(left[index]))
            probability = None if probability is None or chance is None else probability * chance
            left = np.delete(left, index)
        return picked, probability

    def slates(
        self, scores: Scores, k: int, groups: Sequence[GroupKey], rng: np.random.Generator
    ) -> tuple[Ints, Floats]:
        """Pick k arms for each of many users, as `slate` does for one user after the other.

        Returns
        -------
        tuple of arrays of shape (n_users, k) and (n_users,)
            The indices, and the probability of each slate, NaN without a closed form.
        """
        each = [self.slate(scores.user(user), k, group, rng) for user, group in enumerate(groups)]
        indices, probability = zip(*each, strict=True) if each else ((), ())
        return np.array(indices, np.int64).reshape(-1, k), np.array(probability, np.float64)


class GreedyPicker(Picker):
    """Pick the highest score; ties are broken at random.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = Scores(*(np.array([0.7, 0.1, 0.7]) for _ in range(5)))
    >>> index, probability = GreedyPicker().pick(scores, (), rng)
    >>> index in (0, 2), probability
    (True, 0.5)
    """

    def probabilities(self, scores: Scores, groups: Sequence[GroupKey]) -> Floats | None:
        """Return the share of each arm in the ties for the highest score."""
        return share_of_best(scores.total)

    def pick(self, scores: Scores, group: GroupKey, rng: np.random.Generator) -> Pick:
        """Pick one of the arms with the highest score."""
        return pick_best(scores.total, rng)

    def pick_many(self, scores: Scores, groups: Sequence[GroupKey], rng: np.random.Generator) -> Picks:
        """Pick for each of many users, as `pick` does for one user after the other."""
        picked, count, bar = _count_best_of_many(scores.total)
        tied = np.flatnonzero(count != 1)
        if tied.size:
            picked[tied] = _among_best_of_many(scores.total, tied, count[tied], bar[tied], rng)
        return Picks(picked, 1.0 / count)

    def slate(
        self, scores: Scores, k: int, group: GroupKey, rng: np.random.Generator
    ) -> tuple[list[int], float | None]:
        """Pick the k arms with the highest scores, the highest first."""
        left = scores.total.copy()
        picked, probability = [], 1.0
        for _ in range(k):
            index, chance = pick_best(left, rng)
            picked.append(index)
            probability *= chance
            left[index] = -np.inf
        return picked, probability

    def slates(
        self, scores: Scores, k: int, groups: Sequence[GroupKey], rng: np.random.Generator
    ) -> tuple[Ints, Floats]:
        """Pick for each of many users; only users with ties need more than one compiled pass."""
        indices, is_clear = _rank_best(scores.total, k)
        probability = np.ones(len(indices))
        for user in np.flatnonzero(~is_clear).tolist():
            indices[user], probability[user] = self.slate(scores.user(user), k, groups[user], rng)
        return indices, probability


GREEDY = GreedyPicker()


def pick_best(total: Floats, rng: np.random.Generator) -> tuple[int, float]:
    """Pick one of the best arms at random; return its index and the probability with which it was picked.

    Examples
    --------
    >>> pick_best(np.array([0.1, 0.7, 0.3]), np.random.default_rng(0))
    (1, 1.0)
    """
    first, count, bar = _count_best(total)
    return (first, 1.0) if count == 1 else _among_best(total, count, bar, rng)


def share_of_best(total: Floats) -> Floats:
    """Return the probability with which `pick_best` picks each arm, for each of many users.

    Examples
    --------
    >>> share_of_best(np.array([[0.1, 0.7, 0.3], [0.7, 0.1, 0.7]]))
    array([[0. , 1. , 0. ],
           [0.5, 0. , 0.5]])
    """
    if not np.isfinite(total).all():
        raise ValueError("scores must be finite; check what the policy's terms return")
    _, count, bar = _count_best_of_many(total)
    return (total >= bar[:, None]) / count[:, None]


def _among_best(total: Floats, count: int, bar: float, rng: np.random.Generator) -> tuple[int, float]:
    [index] = _among_best_of_many(total[None], np.array([0]), np.array([count]), np.array([bar]), rng)
    return int(index), 1.0 / count


def _among_best_of_many(total: Floats, users: Ints, count: Ints, bar: Floats, rng: np.random.Generator) -> Ints:
    """Break the ties of some users at random, with the draws that they would get one after the other."""
    is_wrong = (count == 0) | ~np.isfinite(bar)
    if is_wrong.any():
        wrong = total[users[is_wrong.argmax()]]
        raise ValueError(f"scores must be finite, got {wrong}; check what the policy's terms return")
    return _find_nth_best(total, users, bar, rng.integers(count))


@helper()
def _find_best(total: Floats, user: int) -> tuple[int, int, float]:
    """Find the first of the best arms, how many there are, and the lowest score that counts as best."""
    best = total[user, 0]
    for i in range(total.shape[1]):
        if total[user, i] > best or total[user, i] != total[user, i]:
            best = total[user, i]
    bar = best - TIE * (abs(best) if abs(best) > 1.0 else 1.0)
    first = -1
    count = 0
    for i in range(total.shape[1]):
        if total[user, i] >= bar:
            count += 1
            if first < 0:
                first = i
    return first, count, bar


@kernel()
def _count_best(total: Floats) -> tuple[int, int, float]:
    return _find_best(total.reshape(1, -1), ZERO)


def _count_best_of_many(total: Floats) -> tuple[Ints, Ints, Floats]:
    n_users = len(total)
    first, count, bar = np.empty(n_users, np.int64), np.empty(n_users, np.int64), np.empty(n_users)
    in_chunks(
        lambda lo, hi: _count_best_of_users(total, first, count, bar, lo, hi),
        n_users,
        USERS_AT_A_TIME,
        _WORK_PER_SCORE * total.size,
    )
    return first, count, bar


@kernel()
def _find_nth_best(total: Floats, users: Ints, bar: Floats, nth: Ints) -> Ints:
    """Find, for each of some users, the n-th arm (from 0) whose score is at least the user's bar."""
    found = np.empty(users.size, np.int64)
    for i in range(users.size):
        left = nth[i]
        for arm in range(total.shape[1]):
            if total[users[i], arm] >= bar[i]:
                if left == 0:
                    found[i] = arm
                    break
                left -= 1
    return found


@kernel()
def _rank_best(total: Floats, k: int) -> tuple[Ints, NDArray[np.bool_]]:
    """Find the k best arms of each user in order, and whether these are clear: finite scores without ties.

    A position is a tie if the score of the next position, including the one after the k-th, is within the bar of
    `_find_best`.
    """
    n_users, n_arms = total.shape
    size = k + 1 if k < n_arms else n_arms
    picked, is_clear = np.empty((n_users, k), np.int64), np.ones(n_users, np.bool_)
    top, place = np.empty(size), np.empty(size, np.int64)
    for user in range(n_users):
        n = 0
        for arm in range(n_arms):
            score = total[user, arm]
            if not np.isfinite(score):
                is_clear[user] = False
            elif n < size or score > top[size - 1]:
                at = n if n < size else size - 1
                n = at + 1
                while at > 0 and top[at - 1] < score:
                    top[at], place[at] = top[at - 1], place[at - 1]
                    at -= 1
                top[at], place[at] = score, arm
        for i in range(size - 1):
            scale = abs(top[i]) if abs(top[i]) > 1.0 else 1.0
            if top[i + 1] >= top[i] - TIE * scale:
                is_clear[user] = False
        for i in range(k):
            picked[user, i] = place[i]
    return picked, is_clear


@kernel()
def _count_best_of_users(total: Floats, first: Ints, count: Ints, bar: Floats, lo: int, hi: int) -> int:
    for user in range(lo, hi):
        first[user], count[user], bar[user] = _find_best(total, user)
    return 0
