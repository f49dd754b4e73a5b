"""The world of the paper's experiments: students come, and videos are recommended to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.contexts import Catalogue
from fairbandits.worlds import checks
from fairbandits.worlds.datasets.loading import DATASETS, load_students, load_videos
from fairbandits.worlds.datasets.tables import CATEGORIES, Table
from fairbandits.worlds.encode import (
    CONTEXT_COLUMNS,
    EDUCATION_LEVELS,
    STUDENT_COLUMNS,
    education_step,
    student_features,
    video_features,
    video_rating,
)
from fairbandits.worlds.rewards import REWARDS
from fairbandits.worlds.world import Visit

#: Videos by the speakers who are scarce of good ones are rated no higher.
LOW_RATING = 0.5

#: What `sensitive` may say beside attributes: one group for each combination of them.
INTERSECTION = "sex x race"

_FEMALE, _MALE = (CATEGORIES["sex"].index(sex) for sex in ("Female", "Male"))
_FIRST = {"females_first": _FEMALE, "males_first": _MALE}
_SEX_COLUMNS = [STUDENT_COLUMNS.index(f"sex={sex}") for sex in CATEGORIES["sex"]]
_OTHER_SEX = {"female": "male", "male": "female"}
_MATCHING = {sex: {"sex": sex} for sex in (_FEMALE, _MALE)}


@dataclass(eq=False)
class StudentsAndVideos:
    """Students of the Adult dataset, to whom videos of a YouTube crawl are recommended.

    A context is the student (107 columns), the video (25), its speaker's sex, and whether that is the
    student's: 134 columns. The reward `"r"` is .3 rating + .4 education level + .3 match, `"r2"` is
    .5 rating + .5 education level, and `"curved"` is `(1 - |rating - education level|) (.7 + .3 match)`.

    Parameters
    ----------
    male_videos, female_videos : int
        How many videos have a male and a female speaker. They are drawn without replacement while there are
        videos enough, and their speakers' sexes are given out at random.
    reward : {"r", "r2", "curved"}
        The reward.
    order : {"shuffled", "females_first", "males_first"}
        The order of the students in the training part; the test part is always shuffled.
    train, test : int
        How many rounds each part has. Nobody comes twice while there are students enough; for longer runs
        than that, students are drawn with replacement.
    sensitive : {"sex", "race", "sex x race"} or a sequence of the first two
        What the groups are. One name gives groups such as "female" or "Black"; "sex x race" gives one for
        each combination, such as "female Black"; a sequence gives mappings such as
        {"sex": "female", "race": "Black"}.
    male_share : float
        The share of male students in each part, rounded to whole students, where sex is sensitive; otherwise
        students are drawn from all alike.
    noise : float or "bernoulli"
        The standard deviation of Gaussian noise on the rewards, cut off so that they stay in [0, 1] and
        their means stay what they are; see `fairbandits.worlds.checks.with_noise`. With "bernoulli", rewards
        are 0 or 1, with the probability that gives them their means.
    scarce : {"male", "female"} or None
        The speakers who have no video that is rated above 0.5.
    turns : bool
        Whether preferences turn half-way through the rounds: students then like speakers of the other sex.
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
    male_share: float = 0.5
    noise: float | str = 0.0
    scarce: str | None = None
    turns: bool = False
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
        self._set_videos(videos.take(self._draw_videos(videos, rng)))
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
            expected = self._expected_in(number, sex, step)
            rewards = checks.with_noise(expected, self.noise, rng) if self.noise else expected
            part = "train" if number < self.train else "test"
            yield Visit(offer, self._group(student), expected, rewards, self.arms, part)

    def twins(self) -> Iterator[tuple[Visit, Visit]]:
        """Go through the rounds, each beside that of the same student of the other sex.

        All else stays, also what goes with sex: a husband's twin is a woman whose relationship is "Husband".
        What changes are the two columns of the sex, which videos match, and the group. The rewards of twins
        are without noise.
        """
        for number, visit in enumerate(self.visits()):
            student = self._rounds[number]
            sex, step = self._kinds[student]
            other = _FEMALE if sex == _MALE else _MALE
            features = self._features[student].copy()
            features[_SEX_COLUMNS] = features[_SEX_COLUMNS[::-1]]
            offer = self._catalogue.offer(features, _MATCHING[other])
            expected = self._expected_in(number, other, step)
            yield visit, Visit(offer, _twin_group(visit.group), expected, expected, self.arms, visit.part)

    def _expected_in(self, number: int, sex: int, step: int) -> NDArray[np.float64]:
        before, after = self._expected
        by_sex = after if self.turns and number >= len(self) // 2 else before
        expected: NDArray[np.float64] = by_sex[sex][step]
        return expected

    def _check(self) -> None:
        for name in ("male_videos", "female_videos", "train", "test"):
            setattr(self, name, checks.whole(name, getattr(self, name), 0))
        if not self.male_videos + self.female_videos:
            raise ValueError("male_videos=0 and female_videos=0 came; expected at least one video")
        if not self.train + self.test:
            raise ValueError("train=0 and test=0 came; expected at least one round")
        checks.one_of("reward", self.reward, tuple(REWARDS))
        checks.one_of("order", self.order, ("shuffled", *_FIRST))
        self.male_share = checks.between("male_share", self.male_share, 0, 1)
        if self.noise != checks.BERNOULLI:
            self.noise = checks.between("noise", self.noise, 0)
        if self.scarce is not None:
            checks.one_of("scarce", self.scarce, ("male", "female"))
        if not isinstance(self.turns, bool):
            raise ValueError(f"turns={self.turns!r} came; expected True or False")
        self._names = _sensitive_names(self.sensitive)
        if not isinstance(self.data, str | Path):
            raise ValueError(f"data={self.data!r} came; expected 'auto', 'local', 'real', 'standin' or a folder")

    def _set_videos(self, videos: Table) -> None:
        """Prepare what does not change from round to round: the videos, and rewards."""
        speaker = self._speakers()
        levels = np.array(EDUCATION_LEVELS)[:, None]
        features = np.column_stack([video_features(videos), speaker == _MALE])
        self._catalogue = Catalogue(features, len(STUDENT_COLUMNS), self.arms, {"sex": speaker.tolist()})
        self.arms = self._catalogue.arms
        # Before preferences turn, and after; by sex.
        self._expected: tuple[list[NDArray[np.float64]], ...] = ([], [])
        for sex in (_FEMALE, _MALE):
            match = (speaker == sex).astype(np.float64)
            for rewards, liked in zip(self._expected, (match, 1 - match), strict=True):
                expected = REWARDS[self.reward](video_rating(videos), levels, liked)
                # Sums of tenths can miss 1 by a rounding error.
                rewards.append(_frozen(np.clip(expected, 0.0, 1.0)))

    def _speakers(self) -> NDArray[np.intp]:
        return np.where(np.arange(self.n_arms) < self.male_videos, _MALE, _FEMALE)

    def _draw_videos(self, videos: Table, rng: np.random.Generator) -> NDArray[np.intp]:
        """Draw the videos, in the order of the arms."""
        drawn = _draw(rng, np.arange(len(videos)), self.n_arms)
        if self.scarce is not None:
            theirs = np.flatnonzero(self._speakers() == (_MALE if self.scarce == "male" else _FEMALE))
            low = np.flatnonzero(video_rating(videos) <= LOW_RATING)
            drawn[theirs] = _draw(rng, np.setdiff1d(low, np.delete(drawn, theirs)), len(theirs))
        return drawn

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
        """Draw the students of one sex for both parts; where the share is half of an odd one, it is male."""
        males = (int(size * self.male_share + 0.5) for size in (self.train, self.test))
        train, test = males if sex == _MALE else (self.train - next(males), self.test - next(males))
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
        if self.sensitive == INTERSECTION:
            self._groups = [[" ".join(pair) for pair in zip(*labels.values(), strict=True)]]
        else:
            self._groups = [labels[name] for name in self._names]

    def _group(self, student: int) -> str | dict[str, str]:
        if isinstance(self.sensitive, str):
            return self._groups[0][student]
        return {name: labels[student] for name, labels in zip(self._names, self._groups, strict=True)}


def _twin_group(group: str | Mapping[str, str]) -> str | dict[str, str]:
    """Give the group of the same student of the other sex; groups by race alone stay."""
    if not isinstance(group, str):
        return {name: _OTHER_SEX.get(value, value) for name, value in group.items()}
    # Groups of both are such as "female Black".
    first, *rest = group.split(" ", 1)
    return " ".join([_OTHER_SEX.get(first, first), *rest])


def _sensitive_names(sensitive: Any) -> tuple[str, ...]:
    if sensitive == INTERSECTION:
        return ("sex", "race")
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
