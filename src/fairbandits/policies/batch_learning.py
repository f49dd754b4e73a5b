"""What a log teaches a policy: decisions that somebody else made, many at once."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmIndex, as_arm
from fairbandits.categorical import Categorical
from fairbandits.fairness import GroupKey, GroupRewards, as_group
from fairbandits.models import Rows, RowSums, as_rows, check_width

if TYPE_CHECKING:
    from fairbandits.policies.choosing import Choosing

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class SufficientStatistics:
    """What decisions of a log teach a policy, summed up: lessons of two parts of a log add up to those of both.

    For each arm A and b before anything is solved, for each group its rewards. A policy learns them by
    `learn_statistics`, and is then the one that has learned decision after decision.

    Parameters
    ----------
    policy : Policy
        The policy that is to learn them, which says how contexts are prepared. It stays as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from fairbandits import LinUCB
    >>> from fairbandits.categorical import Categorical
    >>> from fairbandits.policies import SufficientStatistics
    >>> policy = LinUCB(random_state=0)
    >>> lessons = SufficientStatistics(policy)
    >>> lessons.add([[1.0, 0.0], [1.0, 1.0]], Categorical(np.array([0, 0]), ["a"]), np.array([0.5, 1.0]), {})
    >>> policy.learn_statistics(lessons)
    >>> policy.rounds_learned, policy.coefficients("a").round(3).tolist()
    (2, [0.4, 0.3])
    """

    def __init__(self, policy: Choosing) -> None:
        self.policy = policy
        self.arms = ArmIndex()
        self.groups = GroupRewards(policy.reward_range, self.arms)
        self.sums: RowSums | None = None
        self.rounds = 0
        self.width: int | None = None

    def add(self, contexts: Any, arms: Categorical, rewards: Floats, groups: Mapping[str, Categorical]) -> None:
        """Add decisions.

        Parameters
        ----------
        contexts : array-like or scipy sparse, shape (n_decisions, n_features)
            The context of the arm that was picked.
        arms : Categorical
            The arm that was picked.
        rewards : array of shape (n_decisions,)
            What it gave.
        groups : mapping of str to Categorical
            By attribute, the user's group.
        """
        rows = as_logged_rows(self.policy, contexts, rewards)
        at = arms.renumbered({arm: self.arms.claim(as_arm(arm)) for _, arm in arms.first_rows()})
        if self.policy._pooled is not None:
            self._summed(rows.width).add(rows, np.zeros_like(at) if self.policy._pooled else at, rewards)
        self.groups.record_many(rewards, groups, at)
        self.rounds += len(rewards)
        self.width = rows.width

    def __add__(self, other: SufficientStatistics) -> SufficientStatistics:
        both = SufficientStatistics(self.policy)
        both._absorb(self)
        both._absorb(other)
        return both

    def _absorb(self, other: SufficientStatistics) -> None:
        check_width(other.width or 0, self.width if other.width else None)
        self.groups.merge(other.groups)
        if other.sums is not None:
            self._summed(other.sums.width).absorb(other.sums, *other.places(self.arms))
        self.rounds += other.rounds
        self.width = self.width or other.width

    def places(self, arms: ArmIndex) -> tuple[Ints, Ints]:
        """Give the regressions of an index of arms that learn these sums, and which of the sums each learns."""
        if self.policy._pooled:
            return np.zeros(1, np.int64), np.zeros(1, np.int64)
        ours = [arms.claim(arm) for arm in self.arms.rows]
        return np.array(ours, np.int64), np.array(list(self.arms.rows.values()), np.int64)

    def _summed(self, width: int) -> RowSums:
        if self.sums is None:
            self.sums = RowSums(width)
        return self.sums


def as_logged_rows(policy: Choosing, contexts: Any, rewards: Floats) -> Rows:
    """Check contexts and rewards of logged decisions, and prepare the contexts as the policy does."""
    low, high = policy.reward_range
    outside = ~((rewards >= low) & (rewards <= high))
    if outside.any():
        raise ValueError(
            f"reward must lie in [{low:g}, {high:g}]; got {rewards[outside][0]!r}. "
            "Rescale it, or declare the range: reward_range=(lowest, highest)"
        )
    if len(rewards) != np.shape(contexts)[0]:
        raise ValueError(f"got {len(rewards)} reward(s) for {np.shape(contexts)[0]} context(s); give one for each")
    return policy._prepare(as_rows(contexts, policy._width, len(rewards)))


def group_keys(groups: Mapping[str, Categorical], n: int) -> list[GroupKey]:
    """Give the groups of each of n users as policies write them down: pairs of attribute and value."""
    columns = []
    for name, coded in groups.items():
        # The last entry is for users of unknown group, whose code is -1.
        pairs = [*(as_group({name: label}) for label in coded.labels), ()]
        columns.append([pairs[code] for code in coded.codes.tolist()])
    return [tuple(chain.from_iterable(each)) for each in zip(*columns, strict=True)] if columns else [()] * n
