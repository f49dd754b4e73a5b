"""Predicted rewards of users and of their twins, who have another value of the sensitive attribute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId
from fairbandits.fairness import Group
from fairbandits.policies.picker import share_of_best
from fairbandits.policies.records import Scores
from fairbandits.policies.reward_scale import UnitScale

Floats = NDArray[np.float64]


class Scorer(Protocol):
    """Anything that scores arms as a `Policy` does."""

    @property
    def reward_range(self) -> tuple[float, float]:
        """The lowest and the highest reward."""
        ...

    def score(
        self, contexts: Any, groups: Sequence[Group] | None = None, arms: Sequence[ArmId] | None = None
    ) -> Scores:
        """Score every arm for every user: arrays of shape (n_users, n_arms)."""
        ...


def twin_rewards(
    policy: Scorer,
    contexts: Any,
    twins: Any,
    groups: Sequence[Group] | None = None,
    twin_groups: Sequence[Group] | None = None,
    arms: Sequence[ArmId] | None = None,
) -> tuple[Floats, Floats]:
    """Predict the rewards of users from the arms with the highest scores, and those of their twins.

    `fairbandits.IndividualGaps` summarises their gaps.

    Parameters
    ----------
    policy : Policy, or anything with its `score` and `reward_range`
        A policy with random scores, such as `LinTS`, draws once for users and once for twins.
    contexts : as for `choose_many`
        The users' contexts: an offer of a `Catalogue`, an array of shape (n_users, n_arms, n_features), or
        matrices.
    twins : the same
        The contexts of the same users with another value of the sensitive attribute: its columns are changed, and
        so is everything that is computed from them, such as whether an arm matches.
    groups, twin_groups : sequence, optional
        The groups of the users and of their twins.
    arms : sequence of str or int, optional
        The ids of the arms.

    Returns
    -------
    own, twin : arrays of shape (n_users,)
        The predicted rewards; the mean over ties for the highest score.

    Examples
    --------
    >>> from fairbandits import Catalogue, IndividualGaps, LinUCB
    >>> videos = Catalogue([[1.0, 0.0], [0.0, 1.0]], n_user_features=2, matches={"sex": ["female", "male"]})
    >>> policy = LinUCB(alpha=0.0, random_state=0)
    >>> woman, man = videos.offer([1.0, 0.0], {"sex": "female"}), videos.offer([0.0, 1.0], {"sex": "male"})
    >>> for offer, group, reward in ((woman, "female", 0.9), (man, "male", 0.6)):
    ...     policy.learn(policy.choose(offer, group), reward)
    >>> own, twin = twin_rewards(policy, woman, man, ["female"], ["male"])
    >>> gaps = IndividualGaps()
    >>> gaps.add(own, twin)
    >>> gaps.count
    1
    """
    ours, theirs = policy.score(contexts, groups, arms), policy.score(twins, twin_groups, arms)
    if len(ours.total) != len(theirs.total):
        raise ValueError(
            f"twins must have one entry per user, got {len(theirs.total)} for {len(ours.total)} user(s)"
        )
    scale = UnitScale(policy.reward_range)
    own, twin = (reward_of_best(scale.to_unit(each.total), each.mean) for each in (ours, theirs))
    return own, twin


def reward_of_best(total: Floats, reward: Floats) -> Floats:
    """Return each user's reward from the arm with the highest score, on [0, 1]; the mean over ties.

    Examples
    --------
    >>> reward_of_best(np.array([[0.9, 0.9, 0.1]]), np.array([[0.2, 0.4, 0.8]])).round(9)
    array([0.3])
    """
    mean: Floats = (share_of_best(total) * reward).sum(axis=1)
    return mean
