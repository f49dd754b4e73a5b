"""Policy + world with twins -> how differently users fare who differ in the sensitive attribute alone."""

from __future__ import annotations

from fairbandits.contexts import Offer
from fairbandits.fairness import IndividualGaps
from fairbandits.policies import Policy
from fairbandits.policies.twins import reward_of_best
from fairbandits.worlds import TwinWorld, Visit


def individual_gaps(policy: Policy, world: TwinWorld, part: str = "test") -> IndividualGaps:
    """Measure by true rewards how differently a policy treats users and their twins.

    The policy is asked as it stands, and learns nothing: a user's reward is the true mean of the arm with the
    highest score for that user, and the twin's that of the arm with the highest score for the twin. A policy that
    draws its scores, such as `LinTS`, is asked for one draw each.

    Parameters
    ----------
    policy : Policy
        One that has learned, in this world or another.
    world : World with `twins()`
        `StudentsAndVideos` and `LinearWorld` have them.
    part : str
        The part of the world whose users are asked about, "train" or "test".

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
        raise ValueError(f"a {type(world).__name__} came; expected a world with twins(), pairs of visits")
    gaps = IndividualGaps(policy.reward_range)
    for visit, twin in world.twins():
        if visit.part == part:
            gaps.add(_true_reward(policy, visit), _true_reward(policy, twin))
    if not gaps.count:
        raise ValueError(f"part={part!r} came; nobody visits {type(world).__name__} in that part")
    return gaps


def _true_reward(policy: Policy, visit: Visit) -> float:
    contexts = visit.contexts if isinstance(visit.contexts, Offer) else [visit.contexts]
    total = policy.score(contexts, [visit.group], visit.arms).total
    return float(reward_of_best(total, visit.expected[None])[0])
