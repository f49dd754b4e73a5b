"""The experiments behind each table of the paper."""

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

#: The numbers of videos by male and by female speakers.
RATIOS = {"3:7": (30, 70), "1:1": (50, 50), "7:3": (70, 30)}


#: The ratio in the experiments on the order of arrival.
ORDER_RATIO = "7:3"


@dataclass(frozen=True)
class RunLength:
    """The number of rounds of each part of a run."""

    train: int = 3000
    test: int = 2000


PAPER_LENGTH = RunLength()
QUICK_LENGTH = RunLength(train=300, test=200)


@dataclass(frozen=True)
class ExperimentSetting:
    """The parameters that the paper varies. Rows with equal settings share their runs.

    Parameters
    ----------
    policy : {"linucb", "fair_linucb", "naive"}
        The policy.
    gamma : float
        The weight of fairness, for Fair-LinUCB only.
    ratio : {"3:7", "1:1", "7:3"}
        The ratio of videos by male and by female speakers.
    reward : {"r", "r2"}
        The reward function.
    order : {"shuffled", "females_first", "males_first"}
        The order of the students in the training part.

    Examples
    --------
    >>> run = ExperimentSetting("fair_linucb", gamma=3.0).run(seed=0, data="stand-in")
    >>> run.policy.__name__, run.world_params["male_videos"]
    ('FairLinUCB', 30)
    """

    policy: str
    gamma: float = 0.0
    ratio: str = "3:7"
    reward: str = "r"
    order: str = "shuffled"

    def run(self, seed: int, length: RunLength = PAPER_LENGTH, data: str | Path = "auto") -> Run:
        """Return the run with one seed."""
        policy, params = self._policy()
        male, female = RATIOS[self.ratio]
        world = {
            "male_videos": male,
            "female_videos": female,
            "reward": self.reward,
            "order": self.order,
            "train": length.train,
            "test": length.test,
            "data": data,
        }
        return Run(policy, StudentsAndVideos, seed, {"alpha": ALPHA, "ridge": RIDGE, **params}, world)

    def _policy(self) -> tuple[type[Policy], dict[str, Any]]:
        if self.policy == "fair_linucb":
            return FairLinUCB, {"gamma": self.gamma}
        if self.policy == "naive":
            return NaiveLinUCB, {"drop": PAPER_NAIVE_COLUMNS, "columns": StudentsAndVideos.columns}
        return LinUCB, {}


LINUCB = ExperimentSetting("linucb")
FAIR = ExperimentSetting("fair_linucb", gamma=3.0)
_BOTH = {"linucb": LINUCB, "fair_linucb_gamma_3": FAIR}

#: The setting of every row of every table; rows are named as in `published`, with the policy first if it varies.
TABLES: dict[str, dict[tuple[str, ...], ExperimentSetting]] = {
    "table_comparison": {
        ("fair_linucb_gamma_3",): FAIR,
        ("linucb",): LINUCB,
        ("naive",): ExperimentSetting("naive"),
    },
    "reward_r2": {(name,): replace(setting, reward="r2") for name, setting in _BOTH.items()},
    # With gamma = 0, Fair-LinUCB is bitwise identical to LinUCB.
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

#: All experiments: the tables and the theory.
EXPERIMENTS = (*TABLES, "theory")

TITLES = {
    "table_comparison": "Fair-LinUCB, LinUCB and Naive",
    "reward_r2": "Reward r2, without a preference for matching speakers",
    "table_gamma": "The weight of fairness, gamma",
    "table_arm_ratio": "Ratio of videos by male and female speakers",
    "figure_order": "Order of arrival (7:3 videos)",
    "theory": "Measured regret and the bound of Theorem 1",
}

POLICY_TITLES = {"linucb": "LinUCB", "fair_linucb_gamma_3": "Fair-LinUCB, gamma 3", "naive": "Naive"}


def row_title(path: tuple[str, ...]) -> str:
    """Return the display name of a row.

    Examples
    --------
    >>> row_title(("linucb", "females_first")), row_title(("4",))
    ('LinUCB, females first', 'gamma 4')
    """
    names = [POLICY_TITLES.get(name, name.replace("_", " ")) for name in path]
    return f"gamma {names[0]}" if names[0].isdigit() else ", ".join(names)


def as_experiments(only: Iterable[str]) -> tuple[str, ...]:
    """Return the named experiments in the order of the paper; by default all.

    Examples
    --------
    >>> as_experiments(["table_gamma", "reward_r2"])
    ('reward_r2', 'table_gamma')
    """
    wanted = list(only)
    for name in wanted:
        if name not in EXPERIMENTS:
            raise ValueError(f"experiments must be among {', '.join(EXPERIMENTS)}, got {name!r}")
    return tuple(name for name in EXPERIMENTS if name in wanted or not wanted)


def settings_of(experiments: Iterable[str]) -> tuple[ExperimentSetting, ...]:
    """Return the settings of the experiments, without duplicates.

    Examples
    --------
    >>> len(settings_of(EXPERIMENTS))
    16
    """
    rows = (TABLES[name].values() for name in experiments if name in TABLES)
    return tuple(dict.fromkeys(setting for row in rows for setting in row))
