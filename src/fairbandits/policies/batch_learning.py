"""Learning logged decisions, many at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmIndex, as_arm
from fairbandits.categorical import Categorical
from fairbandits.fairness import GroupKey, GroupRewards, as_group
from fairbandits.models import NormalEquations, Rows, as_rows
from fairbandits.models.rows import check_width
from fairbandits.policies.logged_decisions import LoggedDecisions, as_logged, check_one_per_context
from fairbandits.policies.persistence import check_same_parameters

if TYPE_CHECKING:
    from fairbandits.policies.policy import Policy

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class SufficientStatistics:
    """The sums from which a policy learns logged decisions; those of two parts of a log can be added.

    The sums are A and b of each arm, before anything is solved, and the rewards of each group. A policy that
    learns them by `learn_statistics` is equal to one that has learned the decisions one by one.

    Parameters
    ----------
    policy : Policy
        The policy that is to learn them, which determines how contexts are transformed. The policy does not
        change.

    Examples
    --------
    >>> import numpy as np
    >>> from fairbandits import LinUCB
    >>> from fairbandits.categorical import Categorical
    >>> from fairbandits.policies import SufficientStatistics
    >>> policy = LinUCB(random_state=0)
    >>> statistics = SufficientStatistics(policy)
    >>> arms = Categorical(np.array([0, 0]), ["a"])
    >>> statistics.add([[1.0, 0.0], [1.0, 1.0]], arms, np.array([0.5, 1.0]), {})
    >>> policy.learn_statistics(statistics)
    >>> policy.rounds_learned, policy.coefficients("a").round(3).tolist()
    (2, [0.4, 0.3])
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.arms = ArmIndex()
        self.groups = GroupRewards(policy.reward_range, self.arms)
        self.equations: NormalEquations | None = None
        self.rounds = 0
        self.width: int | None = None
        self._model: Any = None

    def add(self, contexts: Any, arms: Categorical, rewards: Floats, groups: Mapping[str, Categorical]) -> None:
        """Add decisions.

        Parameters
        ----------
        contexts : array-like or scipy sparse, shape (n_decisions, n_features)
            The context of the arm that was picked.
        arms : Categorical
            The arm that was picked.
        rewards : array of shape (n_decisions,)
            The reward of that arm.
        groups : mapping of str to Categorical
            The users' groups, by attribute.
        """
        rows = as_logged_rows(self.policy, contexts, rewards)
        at = arms.recoded({arm: self.arms.claim(as_arm(arm)) for _, arm in arms.first_rows()})
        slots_in_equations = self._slots_in_equations(rows.width)
        if slots_in_equations is not None:
            self._equations_for(rows.width).add(rows, slots_in_equations(at), self.policy._scale.to_unit(rewards))
        self.groups.record_many(rewards, groups, at)
        self.rounds += len(rewards)
        self.width = rows.width

    def __add__(self, other: SufficientStatistics) -> SufficientStatistics:
        both = SufficientStatistics(self.policy)
        both._merge(self)
        both._merge(other)
        return both

    def _merge(self, other: SufficientStatistics) -> None:
        check_width(other.width or 0, self.width if other.width else None)
        self.groups.merge(other.groups)
        if other.equations is not None:
            ours, theirs = other.numbers_in(self.arms)
            slots: Any = self._slots_in_equations(other.equations.width)
            pairs = np.unique(np.column_stack([slots(ours), slots(theirs)]), axis=0)
            self._equations_for(other.equations.width).merge(other.equations, pairs[:, 0], pairs[:, 1])
        self.rounds += other.rounds
        self.width = self.width or other.width

    def numbers_in(self, arms: ArmIndex) -> tuple[Ints, Ints]:
        """Return the numbers of the arms in another index, and in this one."""
        ours = [arms.claim(arm) for arm in self.arms.rows]
        return np.array(ours, np.int64), np.array(list(self.arms.rows.values()), np.int64)

    def _equations_for(self, width: int) -> NormalEquations:
        if self.equations is None:
            self.equations = NormalEquations(width)
        return self.equations

    def _slots_in_equations(self, width: int) -> Callable[[Ints], Ints] | None:
        """Return the function that maps arms to slots of the equations; None for a policy without a model."""
        if self._model is None:
            self._model = self.policy._builder.build(width, 1.0)
        return getattr(self._model, "slots_in_equations", None)


def learn_statistics(policy: Policy, statistics: SufficientStatistics) -> None:
    """Learn decisions that have been summed up; see `Policy.learn_statistics`."""
    if not policy.is_additive:
        raise ValueError(
            f"statistics need a model for which the order of rewards does not matter, got {policy!r}; use "
            "learn_logged"
        )
    check_same_parameters(policy, statistics.policy)
    if statistics.width is None:
        return
    check_width(statistics.width, policy._learned_width())
    model: Any = policy._model_for(statistics.width)
    ours, theirs = statistics.numbers_in(policy._arms)
    if statistics.equations is not None:
        model.learn_equations(statistics.equations, zip(ours.tolist(), theirs.tolist(), strict=True))
    policy.groups.merge(statistics.groups)
    policy.rounds_learned += statistics.rounds


def learn_logged(policy: Policy, contexts: Any, arms: Any, rewards: Any, groups: Any) -> None:
    """Learn logged decisions in order; see `Policy.learn_logged`."""
    logged = as_logged(policy, contexts, arms, rewards, groups)
    if policy.is_additive:
        statistics = SufficientStatistics(policy)
        statistics.add(logged.contexts, logged.arms, logged.rewards, logged.groups)
        learn_statistics(policy, statistics)
    else:
        _learn_in_order(policy, logged)
    if logged.names is not None:
        policy._feature_names = logged.names


def _learn_in_order(policy: Policy, logged: LoggedDecisions) -> None:
    rewards = logged.rewards
    rows = as_logged_rows(policy, logged.contexts, rewards)
    ids = [as_arm(arm) for arm in logged.arms.labels]
    keys = _group_keys(logged.groups, len(rewards))
    for i, (code, reward, key) in enumerate(zip(logged.arms.codes, rewards, keys, strict=True)):
        arm = policy._update_logged(ids[code], rows.row(i, 0), float(reward))
        policy.groups.record(float(reward), key, arm)
        policy.rounds_learned += 1


def as_logged_rows(policy: Policy, contexts: Any, rewards: Floats) -> Rows:
    """Check contexts and rewards of logged decisions, and transform the contexts as the policy does."""
    low, high = policy.reward_range
    outside = np.flatnonzero(~((rewards >= low) & (rewards <= high)))
    if outside.size:
        row = int(outside[0])
        remedy = "rescale it, or declare its range: reward_range=(lowest, highest)"
        raise ValueError(
            f"reward must lie in [{low:g}, {high:g}], got {rewards[row].item()!r} in row {row}; "
            f"{'leave out decisions without a reward' if np.isnan(rewards[row]) else remedy}"
        )
    check_one_per_context("rewards", len(rewards), contexts)
    return policy.transform(as_rows(contexts, policy._expected_width(), len(rewards)))


def _group_keys(groups: Mapping[str, Categorical], n: int) -> list[GroupKey]:
    """Return the groups of each of n users in their canonical form."""
    columns = []
    for name, column in groups.items():
        # The last entry is for users of unknown group, whose code is -1.
        pairs = [*(as_group({name: label}) for label in column.labels), ()]
        columns.append([pairs[code] for code in column.codes.tolist()])
    return [tuple(chain.from_iterable(each)) for each in zip(*columns, strict=True)] if columns else [()] * n
