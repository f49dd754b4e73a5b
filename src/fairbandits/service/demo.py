"""The demo: videos for students, of the embedded stand-in; the paper's 100 videos, 134 columns and rewards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fairbandits.service.config import Config, as_config, load_config
from fairbandits.worlds.datasets.stand_in import stand_in_students, stand_in_videos
from fairbandits.worlds.datasets.tables import CATEGORIES, RANGES, Table
from fairbandits.worlds.features import QUARTILES, education_level, quartile_bin, rate_bin, video_rating
from fairbandits.worlds.rewards import REWARDS

_SEED = 0
_MALE_VIDEOS, _FEMALE_VIDEOS = 30, 70
_QUARTERS = ("q1", "q2", "q3", "q4")
_RATES = tuple(f"{low}-{low + 1}" for low in range(5))


def demo_config(**changed: Any) -> Config:
    """Make the configuration of the demo.

    Parameters
    ----------
    **changed
        What is to be otherwise.

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


def read_config(path: str | Path | None) -> Config:
    """Read a configuration; without a path, give that of the demo."""
    return load_config(path) if path else demo_config()


def _features() -> dict[str, Any]:
    """Say what is known of a student; what is left out is taken to be the usual."""
    students = stand_in_students()
    numbers = {
        name: {"low": low, "high": high, "default": float(np.median(students[name]))}
        for name, (low, high) in RANGES.items()
    }
    words: dict[str, dict[str, Any]] = {
        name: {"values": values, "default": values[np.bincount(students[name]).argmax()]}
        for name, values in CATEGORIES.items()
    }
    del words["sex"]["default"]  # there is no usual sex
    return numbers | words


class DemoStudents:
    """The students of the demo, as requests; and what each would gain from each video.

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
        """Give a student as a request for a decision."""
        features: dict[str, Any] = {name: float(self._students[name][number]) for name in RANGES}
        features |= {name: str(labels[number]) for name, labels in self._labels.items()}
        return {"features": features, "groups": {"sex": features["sex"]}}

    def reward(self, number: int, video: str) -> float:
        """Give what a student gains from a video, by the paper's first reward."""
        speaker = "Male" if video.startswith("m") else "Female"
        parts = self._rating[video], float(self._level[number]), speaker == self._labels["sex"][number]
        reward = REWARDS["r"](*(np.array(part, float) for part in parts))
        # Sums of tenths can miss 1 by a rounding error.
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
