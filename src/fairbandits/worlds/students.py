"""The world of the paper's experiments: students come, and videos are recommended to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.contexts import Catalogue
from fairbandits.worlds import checks
from fairbandits.worlds.base import Visit
from fairbandits.worlds.data import DATASETS, load_students, load_videos
from fairbandits.worlds.encode import (
    CONTEXT_COLUMNS,
    EDUCATION_LEVELS,
    STUDENT_COLUMNS,
    education_step,
    student_features,
    video_features,
    video_rating,
)
from fairbandits.worlds.tables import CATEGORIES, Table

#: What the video's rating, the student's education level and their match count for in each reward.
REWARDS: dict[str, tuple[float, float, float]] = {"r": (0.3, 0.4, 0.3), "r2": (0.5, 0.5, 0.0)}

_FEMALE, _MALE = (CATEGORIES["sex"].index(sex) for sex in ("Female", "Male"))
_FIRST = {"females_first": _FEMALE, "males_first": _MALE}
_MATCHING = {sex: {"sex": sex} for sex in (_FEMALE, _MALE)}


@dataclass(eq=False)
class StudentsAndVideos:
    """Students of the Adult dataset, to whom videos of a YouTube crawl are recommended.

    A context is the student (107 columns), the video (25), its speaker's sex, and whether that is the
    student's: 134 columns. The reward `"r"` is .3 rating + .4 education level + .3 match, and `"r2"` is
    .5 rating + .5 education level.

    Parameters
    ----------
    male_videos, female_videos : int
        How many videos have a male and a female speaker. They are drawn without replacement while there are
        videos enough, and their speakers' sexes are given out at random.
    reward : {"r", "r2"}
        The reward.
    order : {"shuffled", "females_first", "males_first"}
        The order of the students in the training part; the test part is always shuffled.
    train, test : int
        How many rounds each part has. Where sex is sensitive, half of each part is of either sex (an odd
        one out is male); otherwise students are drawn from all alike. Nobody comes twice while there are
        students enough; for longer runs than that, students are drawn with replacement.
    sensitive : {"sex", "race"} or a sequence of them
        What the groups are. One name gives groups such as "female" or "Black"; a sequence gives mappings
        such as {"sex": "female", "race": "Black"}.
    noise : float
        The standard deviation of Gaussian noise on the rewards, cut off so that they stay in [0, 1] and
        their means stay what they are; see `fairbandits.worlds.checks.with_noise`.
    data : {"auto", "local", "real", "standin"} or a folder
        Where the students and videos come from; see `fairbandits.worlds.load_students`. With "auto", look at
        `data_source` to see what came.
    random_state : int, numpy Generator or None
        Where all randomness comes from.

    Attributes
    ----------
    columns : tuple of str
        The names of the 134 columns.
    arms : tuple of str
        The ids of the videos: "m00", "m01", ... by male speakers, then "f00", "f01", ...
    n_arms : int
        How many videos there are.
    data_source : str
        A line that says which data the world shows.

    Examples
    --------
    >>> world = StudentsAndVideos(train=3, test=1, data="standin", random_state=0)
    >>> len(world), world.n_arms, len(world.columns)
    (4, 100, 134)
    >>> for visit in world.visits():
    ...     print(visit.part, visit.group, visit.contexts.shape, round(visit.expected.max(), 2))
    train male (100, 134) 1.0
    train male (100, 134) 0.9
    train female (100, 134) 0.8
    test male (100, 134) 0.7
    """

    male_videos: int = 30
    female_videos: int = 70
    reward: str = "r"
    order: str = "shuffled"
    train: int = 3000
    test: int = 2000
    sensitive: str | Sequence[str] = "sex"
    noise: float = 0.0
    data: str | Path = "auto"
    random_state: int | np.random.Generator | None = 0
    columns: tuple[str, ...] = field(init=False, repr=False, default=CONTEXT_COLUMNS)

    def __post_init__(self) -> None:
        self._check()
        rng = checks.generator(self.random_state)
        students, videos = load_students(self.data), load_videos(self.data)
        self.data_source = _data_source(students, videos)
        self.arms: Sequence[str | int] = (*_ids("m", self.male_videos), *_ids("f", self.female_videos))
        self.n_arms = len(self.arms)
        self._set_videos(videos.take(_draw(rng, np.arange(len(videos)), self.n_arms)))
        self._set_students(students, self._draw_students(students, rng))
        self._noise_seed = int(rng.integers(2**63))

    def __len__(self) -> int:
        return self.train + self.test

    def visits(self) -> Iterator[Visit]:
        """Go through the rounds from the start.

        Contexts come as offers of a catalogue, `numpy.asarray` writes them out. `expected` and, without noise,
        `rewards` are shared between visits and cannot be written to.
        """
        rng = np.random.default_rng(self._noise_seed)
        for number, student in enumerate(self._rounds):
            sex, step = self._kinds[student]
            offer = self._catalogue.offer(self._features[student], _MATCHING[sex])
            expected = self._expected[sex][step]
            rewards = checks.with_noise(expected, self.noise, rng) if self.noise else expected
            part = "train" if number < self.train else "test"
            yield Visit(offer, self._group(student), expected, rewards, self.arms, part)

    def _check(self) -> None:
        for name in ("male_videos", "female_videos", "train", "test"):
            setattr(self, name, checks.whole(name, getattr(self, name), 0))
        if not self.male_videos + self.female_videos:
            raise ValueError("male_videos=0 and female_videos=0 came; expected at least one video")
        if not self.train + self.test:
            raise ValueError("train=0 and test=0 came; expected at least one round")
        checks.one_of("reward", self.reward, tuple(REWARDS))
        checks.one_of("order", self.order, ("shuffled", *_FIRST))
        self.noise = checks.between("noise", self.noise, 0)
        self._names = _sensitive_names(self.sensitive)
        if not isinstance(self.data, str | Path):
            raise ValueError(f"data={self.data!r} came; expected 'auto', 'local', 'real', 'standin' or a folder")

    def _set_videos(self, videos: Table) -> None:
        """Prepare what does not change from round to round: the videos, and rewards."""
        of_rating, of_education, of_match = REWARDS[self.reward]
        speaker = np.where(np.arange(self.n_arms) < self.male_videos, _MALE, _FEMALE)
        levels = np.array(EDUCATION_LEVELS)[:, None]
        features = np.column_stack([video_features(videos), speaker == _MALE])
        self._catalogue = Catalogue(features, len(STUDENT_COLUMNS), self.arms, {"sex": speaker.tolist()})
        self.arms = self._catalogue.arms
        self._expected = []
        for sex in (_FEMALE, _MALE):
            match = (speaker == sex).astype(np.float64)
            expected = of_rating * video_rating(videos) + of_education * levels + of_match * match
            # Sums of tenths can miss 1 by a rounding error.
            self._expected.append(_frozen(np.clip(expected, 0.0, 1.0)))

    def _draw_students(self, students: Table, rng: np.random.Generator) -> NDArray[np.intp]:
        """Draw who comes, round by round."""
        sexes = students["sex"]
        if "sex" in self._names:
            drawn = [self._draw_parts(np.flatnonzero(sexes == sex), sex, rng) for sex in (_FEMALE, _MALE)]
            train, test = (np.concatenate(part) for part in zip(*drawn, strict=True))
        else:
            train, test = np.split(_draw(rng, np.arange(len(students)), len(self)), [self.train])
        train, test = rng.permutation(train), rng.permutation(test)
        if self.order in _FIRST:
            train = train[np.argsort(sexes[train] != _FIRST[self.order], kind="stable")]
        return np.concatenate([train, test])

    def _draw_parts(
        self, pool: NDArray[np.intp], sex: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Draw the students of one sex for both parts: half of each, the odd one out being male."""
        train, test = ((size + (sex == _MALE)) // 2 for size in (self.train, self.test))
        drawn = _draw(rng, pool, train + test)
        return drawn[:train], drawn[train:]

    def _set_students(self, students: Table, rounds: NDArray[np.intp]) -> None:
        """Prepare every student that comes, once however often that is."""
        who, self._rounds = (part.tolist() for part in np.unique(rounds, return_inverse=True))
        mine = students.take(np.array(who))
        self._features = student_features(mine)
        self._kinds = list(zip(mine["sex"].tolist(), education_step(mine).tolist(), strict=True))
        labels: dict[str, list[str]] = {name: mine.labels(name).tolist() for name in ("sex", "race")}
        labels["sex"] = [sex.lower() for sex in labels["sex"]]
        self._groups = [labels[name] for name in self._names]

    def _group(self, student: int) -> str | dict[str, str]:
        if isinstance(self.sensitive, str):
            return self._groups[0][student]
        return {name: labels[student] for name, labels in zip(self._names, self._groups, strict=True)}


def _sensitive_names(sensitive: Any) -> tuple[str, ...]:
    names = (sensitive,) if isinstance(sensitive, str) else sensitive
    if not isinstance(names, Sequence) or not names or any(names.count(name) > 1 for name in names):
        raise ValueError(f"sensitive={sensitive!r} came; expected 'sex', 'race' or a sequence of both")
    return tuple(checks.one_of("sensitive", name, ("sex", "race")) for name in names)


def _ids(letter: str, count: int) -> list[str]:
    width = max(2, len(str(count - 1)))
    return [f"{letter}{number:0{width}}" for number in range(count)]


def _draw(rng: np.random.Generator, pool: NDArray[np.intp], size: int) -> NDArray[np.intp]:
    """Draw without replacement, or with it where the pool is too small."""
    return rng.choice(pool, size, replace=size > len(pool))


def _frozen(array: NDArray[np.float64]) -> NDArray[np.float64]:
    array.flags.writeable = False
    return array


def _data_source(students: Table, videos: Table) -> str:
    loaded = {DATASETS["adult"].title: students.real, DATASETS["youtube"].title: videos.real}
    real = ", ".join(title for title, is_real in loaded.items() if is_real)
    standin = " and ".join(title for title, is_real in loaded.items() if not is_real)
    lines = [f"real data: {real}"] if real else []
    lines += [f"STAND-IN data: synthetic rows dealt from counts of {standin}"] if standin else []
    return "; ".join(lines)
