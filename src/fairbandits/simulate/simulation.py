"""The simulation loop: policy + world -> trace."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from fairbandits.fairness import GroupKey
from fairbandits.policies import Decision, Policy, Slate
from fairbandits.progress import with_progress
from fairbandits.simulate.trace import Trace, as_objects
from fairbandits.validation import check_integer
from fairbandits.worlds import Visit, World


class RoundOutcome(NamedTuple):
    """The outcome of one round; with slates, rewards are means over the slate.

    `reward` is the mean of the rewards that are ever observed, NaN if there are none. `expected` is the true mean
    reward of the choice; `best` and `worst` are those of the best and the worst choice. `observed` is the input of
    `learn`: a reward, the rewards of a slate, or None if there is nothing to learn.
    """

    arm: Any
    reward: float
    expected: float
    best: float
    worst: float
    decision: Decision | Slate
    observed: Any


class DelayedRewards:
    """Rewards that have not arrived yet."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, Decision | Slate, Any]] = []

    def add(self, due: int, number: int, decision: Decision | Slate, observed: Any) -> None:
        """Add the reward of a round, which arrives after the decision of the round `due`."""
        heapq.heappush(self._waiting, (due, number, decision, observed))

    def deliver(self, policy: Policy, number: int) -> None:
        """Learn the rewards that have arrived by a round; if several arrive together, the oldest first."""
        while self._waiting and self._waiting[0][0] <= number:
            _, _, decision, observed = heapq.heappop(self._waiting)
            policy.learn(decision, observed)


def simulate(
    policy: Policy, world: World, rounds: int | None = None, *, k: int | None = None, progress: bool = False
) -> Trace:
    """Run a policy in a world, and record every round.

    In each round the policy chooses an arm, sees the reward of that arm, and learns it. A delayed reward is
    learned when it arrives, and not at all if the simulation has ended by then; a missing one (NaN) never is. When
    the test part begins, the mean rewards of the groups are reset; the reward model is kept, and learning
    continues.

    Parameters
    ----------
    policy : Policy
        The policy. It learns during the simulation; pass a new one to start from scratch.
    world : World
        The environment.
    rounds : int, optional
        The number of rounds; by default all rounds of the world.
    k : int, optional
        The size of the slate that the policy chooses in each round; by default it chooses a single arm. The policy
        learns the reward of each arm of the slate. The trace then records means over the slate, with the k best
        and the k worst arms as reference.
    progress : bool
        Whether to show a progress bar, on a terminal or in a notebook.

    Examples
    --------
    >>> from fairbandits import FairLinUCB
    >>> from fairbandits.worlds import LinearWorld
    >>> trace = simulate(FairLinUCB(gamma=1.0, random_state=0), LinearWorld(noise=0.0), rounds=500)
    >>> 0 < trace.metrics()["utility_loss"] < 0.1
    True
    >>> slates = simulate(FairLinUCB(gamma=1.0, random_state=0), LinearWorld(noise=0.0), rounds=500, k=2)
    >>> len(slates.arm[0])
    2
    """
    total = _check_rounds(rounds, world)
    play = _play_arm if k is None else partial(_play_slate, check_integer("k", k, 1))
    # One column per field: keeping a tuple per round would slow the garbage collector down.
    reward, expected, best, worst, probability = np.full((5, total), np.nan)
    arm: list[Any] = []
    part: list[str] = []
    keys: list[GroupKey] = []
    delayed = DelayedRewards()
    for number, visit in enumerate(with_progress(islice(world.visits(), total), total, progress)):
        if part and part[-1] == "train" and visit.part == "test":
            policy.groups.restart()
        outcome = play(policy, visit)
        if outcome.observed is not None:
            delayed.add(number + visit.delay, number, outcome.decision, outcome.observed)
        delayed.deliver(policy, number)
        reward[number], expected[number] = outcome.reward, outcome.expected
        best[number], worst[number] = outcome.best, outcome.worst
        if outcome.decision.probability is not None:
            probability[number] = outcome.decision.probability
        arm.append(outcome.arm)
        part.append(visit.part)
        keys.append(outcome.decision.group)
    if len(arm) < total:
        raise ValueError(f"{type(world).__name__} ended after {len(arm)} of {total} rounds; see check_world")
    source = getattr(world, "data_source", f"synthetic data: {type(world).__name__}")
    return Trace(
        reward,
        expected,
        best,
        worst,
        probability,
        arm=as_objects(arm),
        part=as_objects(part),
        group=_columns(keys),
        data_source=source,
    )


def _play_arm(policy: Policy, visit: Visit) -> RoundOutcome:
    decision = policy.choose(visit.contexts, visit.group, visit.arms)
    reward, expected = float(visit.rewards[decision.index]), visit.expected[decision.index]
    observed = None if math.isnan(reward) else reward
    best, worst = visit.expected.max(), visit.expected.min()
    return RoundOutcome(decision.arm, reward, expected, best, worst, decision, observed)


def _play_slate(k: int, policy: Policy, visit: Visit) -> RoundOutcome:
    slate = policy.choose(visit.contexts, visit.group, visit.arms, k=k)
    indices = list(slate.indices)
    rewards, expected = visit.rewards[indices], visit.expected[indices]
    seen = rewards[~np.isnan(rewards)]
    reward, observed = math.nan, None
    if seen.size:
        reward, observed = seen.mean(), [None if math.isnan(each) else each for each in rewards.tolist()]
    ranked = np.sort(visit.expected)
    best, worst = ranked[-k:].mean(), ranked[:k].mean()
    return RoundOutcome(slate.picked, reward, expected.mean(), best, worst, slate, observed)


def _check_rounds(rounds: Any, world: World) -> int:
    if not isinstance(world, World):
        raise ValueError(f"world must have the methods __len__() and visits(), got a {type(world).__name__}")
    if rounds is None:
        return len(world)
    if check_integer("rounds", rounds, 1) > len(world):
        raise ValueError(f"rounds must be at most {len(world)}, the length of the world, got {rounds!r}")
    return int(rounds)


def _columns(keys: Iterable[GroupKey]) -> dict[str, Any]:
    """Return one column per attribute, from each round's pairs of attribute and value."""
    rounds = [dict(key) for key in keys]
    attributes = dict.fromkeys(attribute for groups in rounds for attribute in groups)
    return {name: as_objects([groups.get(name) for groups in rounds]) for name in attributes}
