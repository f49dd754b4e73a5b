"""Worlds for the evaluation of policies: logs whose logging policy, candidate and true values are known exactly.

A world has a finite number of kinds of users. The logging policy and the candidate are probabilities of arms by
kind, and so the true value of the candidate is a weighted sum over kinds and arms.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbandits.logs import Roles

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: The prefix of the columns with the candidate's probabilities of arms.
PREFIX = "pi_"
#: The worlds in which the candidate plays an arm that the log never shows, to anybody or to a group.
WITHOUT_OVERLAP = ("an arm never shown", "an arm never shown to a group")
# A learning policy is updated after so many rows.
_BATCH = 50


@dataclass(frozen=True, eq=False)
class World:
    """Kinds of users, two policies, and the mean rewards of arms.

    Attributes
    ----------
    rows : int
        The number of rows of a log.
    features : array of shape (kinds, any)
        The context of each kind.
    group : array of int, shape (kinds,)
        The group of each kind.
    shares : array of shape (kinds,)
        The share of each kind of the users.
    mean, logging, candidate : arrays of shape (kinds, arms)
        Mean rewards, and the probabilities of arms under both policies.
    visits : int
        The number of rows of a user.
    spread : float
        The means of a user are those of the kind times 1 + spread or 1 - spread, with probability one half each.
    is_learning : bool
        Whether the logging policy learns: it is then epsilon-greedy by kind, and `logging` is not used.
    """

    rows: int
    features: Floats
    group: Ints
    shares: Floats
    mean: Floats
    logging: Floats
    candidate: Floats
    visits: int = 1
    spread: float = 0.0
    is_learning: bool = False

    @property
    def groups(self) -> list[str]:
        """The names of the groups: a, b, ..."""
        return [chr(ord("a") + group) for group in range(int(self.group.max()) + 1)]

    @property
    def pairs(self) -> list[str]:
        """The names of the gaps."""
        return [f"{first} - {second}" for first, second in combinations(self.groups, 2)]

    def truth(self) -> dict[str, float]:
        """Return the true value of the candidate overall and in each group, and the gaps."""
        by_kind = (self.candidate * self.mean).sum(axis=1)
        values = {"value": float(np.average(by_kind, weights=self.shares))}
        for number, group in enumerate(self.groups):
            of_group = self.group == number
            values[group] = float(np.average(by_kind[of_group], weights=self.shares[of_group]))
        return values | {
            f"{first} - {second}": values[first] - values[second] for first, second in combinations(self.groups, 2)
        }

    def draw(self, rng: np.random.Generator) -> pd.DataFrame:
        """Draw a log, with the candidate's probabilities in columns."""
        return self.draw_with_kinds(rng)[0]

    def draw_with_kinds(self, rng: np.random.Generator) -> tuple[pd.DataFrame, Ints]:
        """Draw a log, and the kind of the user of each row."""
        user = np.repeat(np.arange(self.rows // self.visits), self.visits)
        kind = rng.choice(len(self.shares), user.max() + 1, p=self.shares)[user]
        factor = (1.0 + self.spread * rng.choice([-1.0, 1.0], user.max() + 1))[user]
        means = self.mean[kind] * factor[:, None]
        draw = _draw_learning if self.is_learning else _draw_fixed
        arm, reward, propensity = draw(kind, means, self.logging, rng)
        columns: dict[str, Any] = {"arm": arm, "reward": reward, "propensity": propensity}
        columns["group"] = np.array(self.groups)[self.group[kind]]
        columns |= {f"x_{i}": column for i, column in enumerate(self.features[kind].T)}
        columns |= {f"{PREFIX}{i}": column for i, column in enumerate(self.candidate[kind].T)}
        return pd.DataFrame(columns | ({"user": user} if self.visits > 1 else {})), kind

    def roles(self) -> Roles:
        """Return the roles of the columns of a log."""
        context = tuple(f"x_{i}" for i in range(self.features.shape[1]))
        return Roles("arm", "reward", ("group",), "propensity", context, user="user" if self.visits > 1 else None)


def _draw_fixed(kind: Ints, means: Floats, logging: Floats, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    arm = _choose(logging[kind], rng)
    rows = np.arange(len(kind))
    return arm, (rng.random(len(kind)) < means[rows, arm]) * 1.0, logging[kind, arm]


def _draw_learning(kind: Ints, means: Floats, logging: Floats, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Draw a log of an epsilon-greedy policy, which chooses the arm with the highest mean of each kind."""
    arm, reward, propensity = np.zeros(len(kind), int), np.zeros(len(kind)), np.zeros(len(kind))
    count, total = np.full(logging.shape, 2.0), np.ones(logging.shape)
    n_arms = logging.shape[1]
    for start in range(0, len(kind), _BATCH):
        rows = np.arange(start, min(start + _BATCH, len(kind)))
        epsilon = max(0.1, (1.0 + start / _BATCH) ** -0.5)
        now = np.full(logging.shape, epsilon / n_arms)
        now[np.arange(len(now)), (total / count).argmax(axis=1)] += 1.0 - epsilon
        arm[rows] = _choose(now[kind[rows]], rng)
        propensity[rows] = now[kind[rows], arm[rows]]
        reward[rows] = rng.random(len(rows)) < means[rows, arm[rows]]
        np.add.at(count, (kind[rows], arm[rows]), 1.0)
        np.add.at(total, (kind[rows], arm[rows]), reward[rows])
    return arm, reward, propensity


def _choose(probabilities: Floats, rng: np.random.Generator) -> Ints:
    chosen = (rng.random(len(probabilities))[:, None] > probabilities.cumsum(axis=1)).sum(axis=1)
    return np.minimum(chosen, probabilities.shape[1] - 1)  # the sum may be below 1 by rounding


def worlds() -> dict[str, World]:
    """Return all worlds by name."""
    return {
        "benign": _few_arms(3_000, (0.9, 0.1)),
        "80 arms, 0.4% rewards, 10,000 rows": _rare(10_000),
        "80 arms, 0.4% rewards, 100,000 rows": _rare(100_000),
        "heavy-tailed weights": _heavy(10_000),
        "20 visits per user": _few_arms(6_000, (0.8, 0.2), visits=20, spread=0.5),
        "groups of 50 to 5,000 rows": _few_arms(6_250, (0.8, 0.16, 0.032, 0.008)),
        "a learning policy": _few_arms(5_000, (0.8, 0.2), is_learning=True),
        "hardly any success": _rare(2_000, rate=0.0005),
        WITHOUT_OVERLAP[0]: _without_arm(_few_arms(3_000, (0.9, 0.1))),
        WITHOUT_OVERLAP[1]: _without_arm(_few_arms(3_000, (0.7, 0.3)), group=1),
    }


def _few_arms(rows: int, sizes: tuple[float, ...], **options: Any) -> World:
    """Return a world of five arms; the candidate mostly plays the best one."""
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(len(sizes)), 4)
    bits = np.tile([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], (len(sizes), 1))
    # The product of the bits is not in the reward model, which is linear.
    mean = 0.4 + np.column_stack([bits, bits.prod(axis=1)]) @ rng.uniform(-0.15, 0.15, (3, 5))
    mean *= 1.0 - 0.1 * group[:, None]
    candidate = np.full(mean.shape, 0.04)
    candidate[np.arange(len(mean)), mean.argmax(axis=1)] += 0.8
    logging = 0.02 + 0.9 * rng.dirichlet(np.full(5, 2.0), len(mean))
    shares = np.array(sizes)[group] / 4.0
    return World(rows, bits, group, shares, mean, logging, candidate, **options)


def _rare(rows: int, rate: float = 0.004) -> World:
    """Return a world of 80 arms that are shown at random; the candidate mostly plays one of them."""
    rng = np.random.default_rng(3)
    group = np.array([0, 0, 1, 1])
    features = np.array([[0.0], [1.0], [0.0], [1.0]])
    mean = rate * rng.uniform(0.5, 1.5, (4, 80))
    candidate = np.full(mean.shape, 0.1 / 80)
    candidate[:, 7] += 0.9
    shares = np.array([0.4, 0.4, 0.1, 0.1])
    return World(rows, features, group, shares, mean, np.full(mean.shape, 1.0 / 80), candidate)


def _heavy(rows: int) -> World:
    """Return a world in which some arms that the candidate likes are hardly ever shown."""
    rng = np.random.default_rng(4)
    kinds, n_arms = 400, 10
    group = (np.arange(kinds) % 5 == 0) * 1
    logging, liking = np.exp(rng.normal(0.0, 2.2, (kinds, n_arms))), rng.normal(size=(kinds, n_arms))
    logging /= logging.sum(axis=1, keepdims=True)
    candidate = np.exp(2.0 * liking)
    candidate /= candidate.sum(axis=1, keepdims=True)
    mean = 0.5 * (1.0 + 0.6 * np.tanh(liking)) * (1.0 - 0.2 * group[:, None])
    features = liking[:, :2]
    return World(rows, features, group, np.full(kinds, 1.0 / kinds), mean, logging, candidate)


def _without_arm(world: World, group: int | None = None) -> World:
    """Return the world with an arm that the candidate often plays and the log never shows, or not to a group."""
    logging, candidate = world.logging.copy(), world.candidate.copy()
    of_group = np.ones(len(logging), bool) if group is None else world.group == group
    logging[of_group, 3] = 0.0
    candidate[of_group, 3] += 0.5
    logging /= logging.sum(axis=1, keepdims=True)
    candidate /= candidate.sum(axis=1, keepdims=True)
    options = {key: getattr(world, key) for key in ("rows", "features", "group", "shares", "mean")}
    return World(**options, logging=logging, candidate=candidate)
