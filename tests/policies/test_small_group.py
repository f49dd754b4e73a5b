"""A group of a few dozen users borrows strength from the others."""

import numpy as np

from fairbandits import EvenLinUCB
from fairbandits.simulate import simulate
from fairbandits.worlds import Visit

N_ARMS, ROUNDS, FEW = 60, 3000, 30


class Rare:
    """A world in which one user in a hundred belongs to a small group, whose taste differs a little."""

    def __init__(self, seed):
        self.seed = seed

    def __len__(self):
        return ROUNDS

    def visits(self):
        rng = np.random.default_rng(self.seed)
        few = set(rng.choice(ROUNDS, FEW, replace=False).tolist())
        topics = rng.random((N_ARMS, 4))
        for number in range(ROUNDS):
            user, is_few = rng.random(4), float(number in few)
            match = topics * user
            own = is_few * topics[:, :1]
            expected = 0.1 + 0.2 * match.sum(axis=1) + 0.1 * own[:, 0]
            contexts = np.hstack([np.ones((N_ARMS, 1)), np.eye(N_ARMS), match, own])
            rewards = np.clip(expected + rng.normal(0, 0.1, N_ARMS), 0, 1)
            yield Visit(contexts, "few" if is_few else "many", expected, rewards)


class Alone(Rare):
    """The visits of the small group alone."""

    def __len__(self):
        return FEW

    def visits(self):
        return (visit for visit in super().visits() if visit.group == "few")


def late_rewards(world):
    """Return the mean reward of the small group over the last half, that of the best arms and of the worst."""
    parts = []
    for seed in range(5):
        trace = simulate(EvenLinUCB(random_state=seed), world(seed))
        trace = trace.last(len(trace) // 2)
        few = trace.group["group"] == "few"
        assert few.sum() >= 10
        parts.append([trace.expected[few], trace.best[few], trace.worst[few]])
    return [np.concatenate(values).mean() for values in zip(*parts, strict=True)]


def test_a_small_group_is_not_starved_and_borrows_strength():
    reward, best, worst = late_rewards(Rare)
    alone, *_ = late_rewards(Alone)
    assert best - reward < 0.2 * (best - worst)
    assert reward > alone + 0.1 * (best - worst)
