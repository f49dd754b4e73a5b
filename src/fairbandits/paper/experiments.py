"""What each table of the paper runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fairbandits.policies import FairLinUCB, LinUCB, NaiveLinUCB, Policy
from fairbandits.simulate import Run
from fairbandits.worlds import PAPER_NAIVE_COLUMNS, StudentsAndVideos

ALPHA = 0.5
RIDGE = 1.0

#: How many videos by male and by female speakers each ratio means.
RATIOS = {"3:7": (30, 70), "1:1": (50, 50), "7:3": (70, 30)}


#: The ratio of the experiments on the order of arrival.
ORDER_RATIO = "7:3"


@dataclass(frozen=True)
class Size:
    """How long a run is.

    Parameters
    ----------
    train, test : int
        Rounds of each part.
    """

    train: int = 3000
    test: int = 2000


PAPER_SIZE = Size()
QUICK_SIZE = Size(train=300, test=200)


@dataclass(frozen=True)
class ExperimentSetting:
    """What the paper varies between its rows. Equal settings are one and the same run.

    Parameters
    ----------
    policy : {"linucb", "fair_linucb", "naive"}
        The policy.
    gamma : float
        How much fairness counts; Fair-LinUCB alone looks at it.
    ratio : {"3:7", "1:1", "7:3"}
        Videos by male and by female speakers.
    reward : {"r", "r2"}
        The reward.
    order : {"shuffled", "females_first", "males_first"}
        The order of the training students.

    Examples
    --------
    >>> run = ExperimentSetting("fair_linucb", gamma=3.0).run(seed=0, data="standin")
    >>> run.policy.__name__, run.world_params["male_videos"]
    ('FairLinUCB', 30)
    """

    policy: str
    gamma: float = 0.0
    ratio: str = "3:7"
    reward: str = "r"
    order: str = "shuffled"

    def run(self, seed: int, size: Size = PAPER_SIZE, data: str | Path = "auto") -> Run:
        """Say what to simulate for one seed."""
        kind, params = self._policy()
        male, female = RATIOS[self.ratio]
        world = {
            "male_videos": male,
            "female_videos": female,
            "reward": self.reward,
            "order": self.order,
            "train": size.train,
            "test": size.test,
            "data": data,
        }
        return Run(kind, StudentsAndVideos, seed, {"alpha": ALPHA, "ridge": RIDGE, **params}, world)

    def _policy(self) -> tuple[type[Policy], dict[str, Any]]:
        if self.policy == "fair_linucb":
            return FairLinUCB, {"gamma": self.gamma}
        if self.policy == "naive":
            return NaiveLinUCB, {"drop": PAPER_NAIVE_COLUMNS, "columns": StudentsAndVideos.columns}
        return LinUCB, {}


LINUCB = ExperimentSetting("linucb")
FAIR = ExperimentSetting("fair_linucb", gamma=3.0)
_BOTH = {"linucb": LINUCB, "fair_linucb_gamma_3": FAIR}

#: By table, the setting of every row; a row is named as in `published`, by policy first where that is.
TABLES: dict[str, dict[tuple[str, ...], ExperimentSetting]] = {
    "table_comparison": {
        ("fair_linucb_gamma_3",): FAIR,
        ("linucb",): LINUCB,
        ("naive",): ExperimentSetting("naive"),
    },
    "reward_r2": {(name,): replace(setting, reward="r2") for name, setting in _BOTH.items()},
    # With gamma = 0 Fair-LinUCB is LinUCB, to the bit.
    "table_gamma": {
        ("0",): LINUCB,
        **{(str(gamma),): replace(FAIR, gamma=float(gamma)) for gamma in (1, 2, 3, 4)},
    },
    "table_arm_ratio": {
        (name, ratio): replace(setting, ratio=ratio)
        for name, setting in _BOTH.items()
        for ratio in ("7:3", "1:1", "3:7")
    },
    "figure_order": {
        (name, order): replace(setting, ratio=ORDER_RATIO, order=order)
        for name, setting in _BOTH.items()
        for order in ("females_first", "males_first")
    },
}

#: What can be asked for: the tables, and the theory.
EXPERIMENTS = (*TABLES, "theory")

TITLES = {
    "table_comparison": "Fair-LinUCB, LinUCB and Naive",
    "reward_r2": "Reward r2, which knows no match",
    "table_gamma": "How much fairness counts: gamma",
    "table_arm_ratio": "Videos by male : female speakers",
    "figure_order": "Order of arrival (7:3 videos)",
    "theory": "Measured regret and the bound of Theorem 1",
}

POLICY_TITLES = {"linucb": "LinUCB", "fair_linucb_gamma_3": "Fair-LinUCB, gamma 3", "naive": "Naive"}


def row_title(path: tuple[str, ...]) -> str:
    """Write a row's name for a person to read.

    Examples
    --------
    >>> row_title(("linucb", "females_first")), row_title(("4",))
    ('LinUCB, females first', 'gamma 4')
    """
    words = [POLICY_TITLES.get(name, name.replace("_", " ")) for name in path]
    return f"gamma {words[0]}" if words[0].isdigit() else ", ".join(words)


def as_experiments(only: Iterable[str]) -> tuple[str, ...]:
    """Check the names of experiments, and bring them into the order of the paper; none means all.

    Examples
    --------
    >>> as_experiments(["table_gamma", "reward_r2"])
    ('reward_r2', 'table_gamma')
    """
    wanted = list(only)
    for name in wanted:
        if name not in EXPERIMENTS:
            raise ValueError(f"there is no experiment {name!r}; expected one of {', '.join(EXPERIMENTS)}")
    return tuple(name for name in EXPERIMENTS if name in wanted or not wanted)


def settings_of(experiments: Iterable[str]) -> tuple[ExperimentSetting, ...]:
    """Give the settings that the experiments need, each one once.

    Examples
    --------
    >>> len(settings_of(EXPERIMENTS))
    16
    """
    rows = (TABLES[name].values() for name in experiments if name in TABLES)
    return tuple(dict.fromkeys(setting for row in rows for setting in row))
