"""The students and videos of the demo: the paper's 100 videos, 134 columns and rewards, from stand-in data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fairbandits.service.auth.user_secret import create_user_secret
from fairbandits.service.config import Config, as_config, load_config
from fairbandits.service.log.start import with_stored_start
from fairbandits.worlds.datasets.stand_in import stand_in_students, stand_in_videos
from fairbandits.worlds.datasets.tables import CATEGORIES, RANGES, Table
from fairbandits.worlds.features import QUARTILES, education_level, quartile_bin, rate_bin, video_rating
from fairbandits.worlds.rewards import REWARDS

_SEED = 0
_MALE_VIDEOS, _FEMALE_VIDEOS = 30, 70
_QUARTERS = ("q1", "q2", "q3", "q4")
# The file is next to the log of the demo, in the folder in which the command runs.
_SECRET_FILE = Path("fairbandits.secret")
_RATES = tuple(f"{low}-{low + 1}" for low in range(5))


def demo_config(**changed: Any) -> Config:
    """Return the configuration of the demo.

    Parameters
    ----------
    **changed
        Settings to replace.

    Examples
    --------
    >>> config = demo_config()
    >>> len(config.arms), len(config.columns)
    (100, 134)
    """
    plain = {
        "title": "Videos for students",
        "policy": "FairLinUCB(alpha=0.5, gamma=2)",
        "features": _features(),
        "attributes": {"sex": CATEGORIES["sex"]},
        "arm_features": {name: {"values": _QUARTERS} for name in QUARTILES}
        | {"rate": {"values": _RATES}, "male speaker": {"low": 0, "high": 1}},
        "matches": ["sex"],
        "arms": _arms(),
    }
    return as_config(plain | changed)


def load_config_or_demo(path: str | Path | None) -> Config:
    """Read a configuration; without a path, return that of the demo."""
    return with_stored_start(load_config(path)) if path else demo_config(users={"secret_file": _SECRET_FILE})


def prepare_config_or_demo(path: str | Path | None) -> Config:
    """Read a configuration that is to be served; create the secret of the demo if it does not exist yet."""
    if not path:
        create_user_secret(_SECRET_FILE)
    return load_config_or_demo(path)


def _features() -> dict[str, Any]:
    """Return the features of a student, with the median or the most frequent value as the default."""
    students = stand_in_students()
    numeric = {
        name: {"low": low, "high": high, "default": float(np.median(students[name]))}
        for name, (low, high) in RANGES.items()
    }
    categorical: dict[str, dict[str, Any]] = {
        name: {"values": values, "default": values[np.bincount(students[name]).argmax()]}
        for name, values in CATEGORIES.items()
    }
    del categorical["sex"]["default"]  # the sex must not be assumed
    return numeric | categorical


class DemoStudents:
    """The students of the demo as requests, with the reward of each student for each video.

    Examples
    --------
    >>> students = DemoStudents()
    >>> students.request(0)["groups"], students.reward(0, "f00")
    ({'sex': 'Female'}, 0.7)
    """

    def __init__(self) -> None:
        self._students = stand_in_students()
        self._labels = {name: self._students.labels(name) for name in CATEGORIES}
        self._level = education_level(self._students)
        self._rating = dict(zip(_names(), video_rating(_videos()).tolist(), strict=True))

    def __len__(self) -> int:
        return len(self._students)

    def request(self, number: int) -> dict[str, Any]:
        """Return the body of a request for a decision for a student."""
        features: dict[str, Any] = {name: float(self._students[name][number]) for name in RANGES}
        features |= {name: str(labels[number]) for name, labels in self._labels.items()}
        return {"features": features, "groups": {"sex": features["sex"]}}

    def user_id(self, number: int) -> str:
        """Return the id of a student, which is the same in every visit."""
        return f"student-{number}"

    def reward(self, number: int, video: str) -> float:
        """Return the reward of a student for a video, by the paper's first reward function."""
        speaker = "Male" if video.startswith("m") else "Female"
        parts = self._rating[video], float(self._level[number]), speaker == self._labels["sex"][number]
        reward = REWARDS["r"](*(np.array(part, float) for part in parts))
        # Because of rounding errors, a sum of tenths can exceed 1.
        return min(float(reward), 1.0)


def _videos() -> Table:
    videos = stand_in_videos()
    return videos.take(np.random.default_rng(_SEED).choice(len(videos), len(_names()), replace=False))


def _names() -> list[str]:
    return [f"m{at:02}" for at in range(_MALE_VIDEOS)] + [f"f{at:02}" for at in range(_FEMALE_VIDEOS)]


def _arms() -> list[dict[str, Any]]:
    videos = _videos()
    quarters = {name: quartile_bin(videos, name).tolist() for name in QUARTILES}
    rates = rate_bin(videos).tolist()
    arms = []
    for at, name in enumerate(_names()):
        is_male = name.startswith("m")
        features: dict[str, Any] = {column: _QUARTERS[of[at]] for column, of in quarters.items()}
        features |= {"rate": _RATES[rates[at]], "male speaker": float(is_male)}
        arms.append({"arm": name, "features": features, "matches": {"sex": "Male" if is_male else "Female"}})
    return arms
