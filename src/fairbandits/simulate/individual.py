"""Individual fairness by simulation: rewards of users and of their counterfactual twins."""

from __future__ import annotations

from fairbandits.contexts import Offer
from fairbandits.fairness import IndividualGaps
from fairbandits.policies import Policy
from fairbandits.policies.reward_scale import UnitScale
from fairbandits.policies.twins import reward_of_best
from fairbandits.worlds import TwinWorld, Visit


def individual_gaps(policy: Policy, world: TwinWorld, part: str = "test") -> IndividualGaps:
    """Measure the gaps in true reward between users and their twins, who differ only in the sensitive attribute.

    The policy does not learn. A user's reward is the true mean reward of the arm with the highest score for that
    user; the same holds for the twin. A policy with random scores, such as `LinTS`, makes one draw for the user
    and one for the twin.

    Parameters
    ----------
    policy : Policy
        A policy that has learned, in this world or another.
    world : World with `twins()`
        For example `StudentsAndVideos` or `LinearWorld`.
    part : str
        The part of the world whose users are measured, "train" or "test".

    Examples
    --------
    >>> from fairbandits import LinUCB
    >>> from fairbandits.simulate import simulate
    >>> from fairbandits.worlds import LinearWorld
    >>> world, policy = LinearWorld(noise=0.0, rounds=300), LinUCB(random_state=0)
    >>> trace = simulate(policy, world)
    >>> gaps = individual_gaps(policy, world)
    >>> gaps.count, 0.05 < gaps.mean() < 0.2
    (300, True)
    """
    if not isinstance(world, TwinWorld):
        raise ValueError(f"world must have a method twins(), got a {type(world).__name__}")
    gaps = IndividualGaps(policy.reward_range)
    for visit, twin in world.twins():
        if visit.part == part:
            gaps.add(_true_reward(policy, visit), _true_reward(policy, twin))
    if not gaps.count:
        raise ValueError(f"part must be a part in which {type(world).__name__} has visits, got {part!r}")
    return gaps


def _true_reward(policy: Policy, visit: Visit) -> float:
    contexts = visit.contexts if isinstance(visit.contexts, Offer) else [visit.contexts]
    total = policy.score(contexts, [visit.group], visit.arms).total
    return float(reward_of_best(UnitScale(policy.reward_range).to_unit(total), visit.expected[None])[0])
