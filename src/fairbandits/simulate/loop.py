"""Policy + world -> trace: the one loop that everything simulated goes through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from fairbandits.fairness import GroupKey
from fairbandits.policies import Decision, Policy, Slate
from fairbandits.simulate.trace import Trace, as_objects
from fairbandits.worlds import Visit, World
from fairbandits.worlds.checks import whole

# The arms of a round; its reward, what was expected, the best and the worst there was; and who decided.
Lived = tuple[Any, tuple[float, float, float, float], Decision | Slate]


def simulate(
    policy: Policy, world: World, rounds: int | None = None, *, k: int | None = None, progress: bool = False
) -> Trace:
    """Let a policy live in a world, and write down what happens.

    Every round the policy chooses, sees the reward of the arm that it picked, and learns it. Where the
    training part ends and the test part begins, the mean rewards of the groups start anew; what was learned
    of the arms stays, and learning goes on.

    Parameters
    ----------
    policy : Policy
        It learns as it goes: hand in a new one to start from nothing.
    world : World
        Where it lives.
    rounds : int, optional
        How many rounds; left out, as long as the world lasts.
    k : int, optional
        How many arms the policy puts into a slate every round; left out, it chooses one arm. The policy learns the
        reward of each arm of the slate. What the trace holds of a round is then the mean over the slate, beside
        the k best and the k worst arms.
    progress : bool
        Show a progress bar, where somebody sees it.

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
    total = _as_rounds(rounds, world)
    live = _choose_one if k is None else partial(_choose_slate, whole("k", k, 1))
    # Arrays, and lists of what is there anyway: a new tuple every round would keep the garbage collector busy.
    reward, expected, best, worst, probability = np.full((5, total), np.nan)
    arm: list[Any] = []
    part: list[str] = []
    keys: list[GroupKey] = []
    for number, visit in enumerate(shown(islice(world.visits(), total), total, progress)):
        if part and part[-1] == "train" and visit.part == "test":
            policy.groups.restart()
        chosen, figures, decision = live(policy, visit)
        reward[number], expected[number], best[number], worst[number] = figures
        if decision.probability is not None:
            probability[number] = decision.probability
        arm.append(chosen)
        part.append(visit.part)
        keys.append(decision.group)
    if len(arm) < total:
        raise ValueError(f"{type(world).__name__} ended after {len(arm)} of {total} rounds; see check_world")
    source = getattr(world, "data_source", f"synthetic data: {type(world).__name__}")
    words = as_objects(arm), as_objects(part), _columns(keys)
    return Trace(reward, expected, best, worst, probability, *words, source)


def _choose_one(policy: Policy, visit: Visit) -> Lived:
    decision = policy.choose(visit.contexts, visit.group, visit.arms)
    reward, expected = visit.rewards[decision.index], visit.expected[decision.index]
    policy.learn(decision, reward)
    return decision.arm, (reward, expected, visit.expected.max(), visit.expected.min()), decision


def _choose_slate(k: int, policy: Policy, visit: Visit) -> Lived:
    slate = policy.choose(visit.contexts, visit.group, visit.arms, k=k)
    places = list(slate.indices)
    rewards, expected = visit.rewards[places], visit.expected[places]
    policy.learn(slate, rewards)
    ranked = np.sort(visit.expected)
    return slate.picked, (rewards.mean(), expected.mean(), ranked[-k:].mean(), ranked[:k].mean()), slate


def shown(items: Iterable[Any], total: int, progress: bool, title: str | None = None) -> Iterator[Any]:
    """Go through items behind a progress bar, or without one."""
    if not progress:
        return iter(items)
    try:
        from tqdm import tqdm  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError("a progress bar needs tqdm: pip install 'fairbandits[cli]'") from None
    # disable=None: not where the output is no terminal.
    bar: Iterator[Any] = iter(tqdm(items, total=total, desc=title, disable=None, leave=False))
    return bar


def _as_rounds(rounds: Any, world: World) -> int:
    if not isinstance(world, World):
        raise ValueError(f"a {type(world).__name__} came; expected a world, with __len__() and visits()")
    if rounds is None:
        return len(world)
    if whole("rounds", rounds, 1) > len(world):
        raise ValueError(f"rounds={rounds!r} came; expected 1 to {len(world)}, for so long the world lasts")
    return int(rounds)


def _columns(keys: Iterable[GroupKey]) -> dict[str, Any]:
    """Turn each round's pairs of attribute and value into a column for each attribute."""
    rounds = [dict(key) for key in keys]
    attributes = dict.fromkeys(attribute for groups in rounds for attribute in groups)
    return {name: as_objects([groups.get(name) for groups in rounds]) for name in attributes}
