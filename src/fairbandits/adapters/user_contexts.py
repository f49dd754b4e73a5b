"""One context per user, as in other libraries, for policies that take one context per arm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId
from fairbandits.categorical import Categorical
from fairbandits.contexts import Catalogue, Offer
from fairbandits.fairness import Group, as_groups
from fairbandits.models import Model, as_model
from fairbandits.policies import Decision, Decisions, Policy, Slate

Floats = NDArray[np.float64]
#: A function that returns the group of a user, given the user's context, or None if it is unknown.
GroupOf = Callable[[Any], Group]


class UserContexts:
    """A policy whose arms all have the same context: that of the user.

    Parameters
    ----------
    policy : Policy
        The policy; its model needs a part for each arm.
    group : callable, optional
        A function of a user's context that returns the user's group.
    """

    def __init__(self, policy: Policy, group: GroupOf | None = None) -> None:
        if not isinstance(policy, Policy):
            raise ValueError(f"policy must be a fairbandits policy, got {policy!r}")
        builder = as_model(policy.model)
        if isinstance(builder, Model) and builder.kind == "shared":
            raise ValueError(
                "model must have a part for each arm, because all arms have the user's context, got "
                f'{policy.model!r}; use model="disjoint" or "hybrid"'
            )
        self.policy = policy
        self._group = group
        self._catalogue: tuple[tuple[ArmId, ...], int, Catalogue] | None = None

    def groups(self, contexts: Floats) -> list[Group] | None:
        """Return the groups of users, or None if no function was given that determines them."""
        return None if self._group is None else [self._group(context) for context in contexts]

    def offer(self, contexts: Floats, arms: Sequence[ArmId]) -> Offer:
        """Offer arms to users."""
        return self._catalogue_of(tuple(arms), contexts.shape[1]).offer_many(contexts)

    def choose(self, context: Floats, arms: Sequence[ArmId]) -> Decision:
        """Choose an arm for one user."""
        return self.choose_many(context[None], arms)[0]

    def choose_many(self, contexts: Floats, arms: Sequence[ArmId]) -> Decisions:
        """Choose an arm for each user."""
        return self.policy.choose_many(self.offer(contexts, arms), self.groups(contexts))

    def choose_slate(self, context: Floats, arms: Sequence[ArmId], k: int) -> Slate:
        """Choose k arms for one user."""
        contexts = context[None]
        return self.policy.choose_many(self.offer(contexts, arms), self.groups(contexts), k=k)[0]

    def learn_one(self, context: Floats, arm: ArmId, reward: float) -> None:
        """Learn the reward of an arm that was chosen elsewhere, as if it had been the only arm on offer."""
        check_no_records(self.policy)
        self.policy.learn(self.choose(context, [arm]), reward)

    def learn_many(self, contexts: Floats, arms: Sequence[ArmId], rewards: Floats) -> None:
        """Learn the rewards of arms that were chosen elsewhere, in the given order."""
        check_no_records(self.policy)
        labels = list(dict.fromkeys(arms))
        groups = self.groups(contexts)
        keys = [dict(key) for key in as_groups(groups)] if groups is not None else []
        columns = {
            name: Categorical.from_values(values, [value for value in dict.fromkeys(values) if value is not None])
            for name in dict.fromkeys(name for key in keys for name in key)
            if (values := [key.get(name) for key in keys])
        }
        self.policy.learn_logged(contexts, Categorical.from_values(arms, labels), rewards, columns)

    def _catalogue_of(self, arms: tuple[ArmId, ...], width: int) -> Catalogue:
        if self._catalogue is None or self._catalogue[:2] != (arms, width):
            self._catalogue = arms, width, Catalogue(np.zeros((len(arms), 0)), width, arms)
        return self._catalogue[2]


def as_context(context: Any) -> Floats:
    """Return a user's context as a vector; it may be given as a vector or as a matrix with one row."""
    vector: Floats = np.asarray(context, np.float64)
    if vector.size != vector.shape[-1]:
        raise ValueError(f"context must belong to one user, got shape {vector.shape}; pass a matrix with one row")
    return vector.reshape(-1)


def check_no_records(policy: Policy) -> None:
    """Raise unless a policy can learn rewards of arms that were chosen elsewhere."""
    if policy.records():
        raise ValueError(
            f"{type(policy).__name__} keeps records of its own decisions, and cannot learn those of other "
            "policies; learn each reward right after its decision"
        )
