"""Policies with the interface of MABWiser's bandits.

Off-policy evaluation accepts MABWiser bandits directly: `fairbandits.ope.evaluate(log, mab)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.adapters.user_contexts import GroupOf, UserContexts
from fairbandits.arms import ArmId, as_arm, as_arms
from fairbandits.policies import Policy

Floats = NDArray[np.float64]
Expectations = dict[ArmId, float]


class PolicyMAB:
    """A policy with the interface of `mabwiser.mab.MAB`, which can also be used in MABWiser's `Simulator`.

    Parameters
    ----------
    arms : list of str or int
        The arms.
    policy : Policy
        The policy, of which an untrained copy is made. Its model needs a part for each arm, because MABWiser has
        one context per user.
    is_contextual : bool
        Whether users have contexts; if not, the context of all users is a constant 1.
    group : callable, optional
        A function of a user's context, as a vector, that returns the user's group.

    Attributes
    ----------
    policy : Policy
        The policy, in its current learned state.

    Examples
    --------
    >>> from fairbandits import LinUCB
    >>> mab = PolicyMAB(["algebra", "biology"], LinUCB(alpha=0.1, random_state=0))
    >>> mab.fit(["algebra", "biology"], [0, 1], [[1.0, 0.0], [1.0, 1.0]])
    >>> mab.predict([[1.0, 1.0]])
    'biology'
    >>> {arm: round(value, 2) for arm, value in mab.predict_expectations([[1.0, 1.0]]).items()}
    {'algebra': 0.12, 'biology': 0.75}
    """

    #: Read by the simulator; all work is done in one process.
    n_jobs, backend = 1, None

    def __init__(
        self, arms: Sequence[ArmId], policy: Policy, *, is_contextual: bool = True, group: GroupOf | None = None
    ) -> None:
        self.arms = list(as_arms(arms))
        self.is_contextual = is_contextual
        self._unlearned, self._group = policy, group
        self._is_fitted = False
        self._reset()
        _register(type(self))

    def fit(self, decisions: Any, rewards: Any, contexts: Any = None) -> None:
        """Discard the learned state, and learn the rewards of past decisions."""
        self._reset()
        self.partial_fit(decisions, rewards, contexts)

    def partial_fit(self, decisions: Any, rewards: Any, contexts: Any = None) -> None:
        """Learn the rewards of further decisions."""
        chosen = [as_arm(arm) for arm in np.asarray(decisions).tolist()]
        unknown = [arm for arm in chosen if arm not in self.arms]
        if unknown:
            raise ValueError(f"decisions must be among the arms, got {unknown[0]!r}; call add_arm first")
        values = np.asarray(rewards, np.float64)
        if contexts is not None and not self.is_contextual:
            raise ValueError("contexts must be None, because is_contextual=False, got some")
        users = self._contexts(contexts, len(chosen))
        if not len(chosen) == len(values) == len(users):
            raise ValueError(
                "decisions, rewards and contexts must have the same length, got "
                f"{len(chosen)}, {len(values)} and {len(users)}"
            )
        self._users.learn_many(users, chosen, values)
        self._is_fitted = True

    def predict(self, contexts: Any = None) -> ArmId | list[ArmId]:
        """Choose an arm for each context; return a list, or the arm itself for a single context."""
        self._check_fitted()
        picked = self._users.choose_many(self._contexts(contexts, None), self.arms).picked
        return picked if len(picked) > 1 else picked[0]

    def predict_expectations(self, contexts: Any = None) -> Expectations | list[Expectations]:
        """Return the scores of the arms, including exploration and fairness; the highest score is chosen."""
        self._check_fitted()
        users = self._contexts(contexts, None)
        scores = self.policy.score(self._users.offer(users, self.arms), self._users.groups(users)).total
        found = [dict(zip(self.arms, row, strict=True)) for row in scores.tolist()]
        return found if len(found) > 1 else found[0]

    def add_arm(self, arm: ArmId, binarizer: None = None) -> None:
        """Add an arm; a `binarizer` is not accepted, because policies learn rewards as they are."""
        if binarizer is not None:
            raise ValueError(f"binarizer must be None, got {binarizer!r}; pass binary rewards")
        if as_arm(arm) in self.arms:
            raise ValueError(f"arm must be a new one, got {arm!r}")
        self.arms.append(as_arm(arm))

    def remove_arm(self, arm: ArmId) -> None:
        """Remove an arm, and discard what has been learned about it."""
        if arm not in self.arms:
            raise ValueError(f"arm must be one of {self.arms}, got {arm!r}")
        self.arms.remove(arm)
        if arm in self.policy.arms_learned:
            self.policy.forget_arm(arm)

    @property
    def cold_arms(self) -> list[ArmId]:
        """The arms about which nothing has been learned."""
        learned = set(self.policy.arms_learned)
        return [arm for arm in self.arms if arm not in learned]

    @property
    def arm_to_expectation(self) -> Expectations:
        """The scores of the arms, without contexts."""
        return dict.fromkeys(self.arms, 0.0) if self.is_contextual else self.predict_expectations()  # type: ignore[return-value]

    @property
    def _imp(self) -> PolicyMAB:
        # The simulator looks for the implementation that a MAB wraps.
        return self

    def __repr__(self) -> str:
        return f"PolicyMAB({self.arms}, {self._unlearned!r})"

    def _reset(self) -> None:
        from sklearn.base import clone  # noqa: PLC0415 - slow to import

        self.policy: Policy = clone(self._unlearned)
        self._users = UserContexts(self.policy, self._group)
        self._is_fitted = False

    def _check_fitted(self) -> None:
        if not self._is_fitted:
            raise ValueError("fit must be called before predict, got a bandit that has learned nothing")

    def _contexts(self, contexts: Any, n: int | None) -> Floats:
        """Return the contexts of n users, or of any number of users if n is None."""
        if not self.is_contextual:
            return np.ones(((n or 1) if contexts is None else len(contexts), 1))
        if contexts is None:
            raise ValueError("contexts must be given, because is_contextual=True, got none")
        matrix: Floats = np.asarray(contexts, np.float64)
        # As in MABWiser, a list of numbers is the context of one user, or a single feature of several users.
        if matrix.ndim == 1:
            matrix = matrix[:, None] if n is not None and n == len(matrix) > 1 else matrix[None]
        return matrix


def _register(bandit: type) -> None:
    """Register a class as a virtual subclass of MABWiser's base class, which its simulator requires."""
    try:
        from mabwiser.base_mab import BaseMAB  # noqa: PLC0415 - optional
    except ImportError:
        return
    BaseMAB.register(bandit)
