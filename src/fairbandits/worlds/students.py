"""The world of the paper's experiments: videos are recommended to students."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairbandits.contexts import Catalogue
from fairbandits.validation import check_choice, check_integer, check_number, check_random_state
from fairbandits.worlds.datasets.loading import SOURCES, load_students, load_videos
from fairbandits.worlds.datasets.published import DATASETS
from fairbandits.worlds.datasets.tables import CATEGORIES, Table
from fairbandits.worlds.drawing import draw, draw_by_share
from fairbandits.worlds.features import (
    CONTEXT_COLUMNS,
    EDUCATION_LEVELS,
    PAPER_NAIVE_COLUMNS,
    STUDENT_COLUMNS,
    education_step,
    student_features,
    video_features,
    video_rating,
)
from fairbandits.worlds.noise import BERNOULLI, with_noise
from fairbandits.worlds.rewards import REWARDS
from fairbandits.worlds.world import Visit

#: The highest rating of videos by the `scarce` speakers.
LOW_RATING = 0.5

#: The value of `sensitive` that makes one group of each combination of sex and race.
INTERSECTION = "sex x race"

_FEMALE, _MALE = (CATEGORIES["sex"].index(sex) for sex in ("Female", "Male"))
# The prefixes of the columns that rewards are computed from.
_CAUSES = ("education=", "video-rate=", "match")
_FIRST = {"females_first": _FEMALE, "males_first": _MALE}
_SEX_COLUMNS = [STUDENT_COLUMNS.index(f"sex={sex}") for sex in CATEGORIES["sex"]]
_OTHER_SEX = {"female": "male", "male": "female"}
_MATCHING = {sex: {"sex": sex} for sex in (_FEMALE, _MALE)}


@dataclass(eq=False)
class StudentsAndVideos:
    """Students from the Adult dataset, to whom videos from a YouTube crawl are recommended.

    A context has 134 columns: the student (107), the video (25), the speaker's sex, and whether student and
    speaker have the same sex. The reward `"r"` is .3 rating + .4 education level + .3 match, `"r2"` is
    .5 rating + .5 education level, `"match_half"` is .2 rating + .3 education level + .5 match, and `"curved"` is
    `(1 - |rating - education level|) (.7 + .3 match)`.

    Parameters
    ----------
    male_videos, female_videos : int
        The number of videos by male and by female speakers. Videos are drawn without replacement while enough
        are left, and the sexes of their speakers are assigned at random.
    reward : {"r", "r2", "match_half", "curved"}
        The reward function.
    order : {"shuffled", "females_first", "males_first"}
        The order of the students in the training part; the test part is always shuffled.
    train, test : int
        The number of rounds of each part. Students are drawn without replacement; runs with more rounds than
        students draw with replacement.
    sensitive : {"sex", "race", "sex x race"} or a sequence of the first two
        The sensitive attribute. One name gives groups such as "female" or "Black"; "sex x race" gives one
        group per combination, such as "female Black"; a sequence gives mappings such as
        {"sex": "female", "race": "Black"}.
    male_share : float
        The share of male students in each part, if sex is sensitive. Otherwise students are drawn uniformly.
    shares : mapping of group to float, optional
        The share of students in each group in each part, such as {"Black": 0.3}, instead of `male_share`. Groups
        that are not named share the rest, in the proportions of the data. Groups must be given by one name.
    noise : float or "bernoulli"
        The standard deviation of Gaussian noise on the rewards, truncated so that rewards stay in [0, 1] and
        keep their means; see `fairbandits.worlds.noise.with_noise`. With "bernoulli", rewards are 0 or 1.
    scarce : {"male", "female"} or None
        The sex of the speakers whose videos are all rated 0.5 or lower.
    drift : bool
        Whether preferences change half-way through the rounds: students then prefer speakers of the other sex.
    data : {"auto", "local", "real", "stand-in"} or a folder
        The source of the students and videos; see `fairbandits.worlds.load_students`. With "auto", `data_source`
        shows which data was loaded.
    random_state : int, numpy Generator or None
        The seed, or the source of randomness.

    Attributes
    ----------
    columns : tuple of str
        The names of the 134 columns.
    arms : tuple of str
        The ids of the videos: "m00", "m01", ... by male speakers, then "f00", "f01", ...
    n_arms : int
        The number of videos.
    data_source : str
        A one-line description of the data.

    Examples
    --------
    >>> world = StudentsAndVideos(train=3, test=1, data="stand-in", random_state=0)
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
    shares: Mapping[str, float] | None = None
    noise: float | str = 0.0
    scarce: str | None = None
    drift: bool = False
    data: str | Path = "auto"
    random_state: int | np.random.Generator | None = 0
    columns: tuple[str, ...] = field(init=False, repr=False, default=CONTEXT_COLUMNS)
    #: Parameters for policies that refer to columns.
    policy_params: ClassVar[Mapping[str, Any]] = {
        "drop": PAPER_NAIVE_COLUMNS,
        "swap": (("sex=Female", "sex=Male"),),
        "flip": ("match",),
        "columns": CONTEXT_COLUMNS,
        "separators": tuple(name for name in CONTEXT_COLUMNS if name.startswith(_CAUSES)),
    }

    def __post_init__(self) -> None:
        self._check_parameters()
        rng = check_random_state(self.random_state)
        students, videos = load_students(self.data), load_videos(self.data)
        self.data_source = _data_source(students, videos)
        self.arms: Sequence[str | int] = (*_ids("m", self.male_videos), *_ids("f", self.female_videos))
        self.n_arms = len(self.arms)
        self._prepare_videos(videos.take(self._draw_videos(videos, rng)))
        self._prepare_students(students, self._draw_students(students, rng))
        self._noise_seed = int(rng.integers(2**63))

    def __len__(self) -> int:
        return self.train + self.test

    def visits(self) -> Iterator[Visit]:
        """Iterate over the rounds from the start.

        Contexts are offers of a catalogue; `numpy.asarray` converts them to dense arrays. `expected` and,
        without noise, `rewards` are shared between visits and read-only.
        """
        rng = np.random.default_rng(self._noise_seed)
        for round_, student in enumerate(self._student_of_round):
            sex, step = self._sex_and_education[student]
            offer = self._catalogue.offer(self._features[student], _MATCHING[sex])
            expected = self._expected_rewards(round_, sex, step)
            rewards = with_noise(expected, self.noise, rng) if self.noise else expected
            part = "train" if round_ < self.train else "test"
            yield Visit(offer, self._group(student), expected, rewards, self.arms, part)

    def twins(self) -> Iterator[tuple[Visit, Visit]]:
        """Iterate over the rounds as pairs: a student's visit, and that of the same student with the other sex.

        Only the two columns of sex, the matching videos and the group change. Attributes that correlate with sex
        stay the same: a husband's twin is a woman whose relationship is "Husband". The rewards of twins have no
        noise.
        """
        for round_, visit in enumerate(self.visits()):
            student = self._student_of_round[round_]
            sex, step = self._sex_and_education[student]
            other = _FEMALE if sex == _MALE else _MALE
            features = self._features[student].copy()
            features[_SEX_COLUMNS] = features[_SEX_COLUMNS[::-1]]
            offer = self._catalogue.offer(features, _MATCHING[other])
            expected = self._expected_rewards(round_, other, step)
            yield visit, Visit(offer, _twin_group(visit.group), expected, expected, self.arms, visit.part)

    def _expected_rewards(self, round_: int, sex: int, step: int) -> NDArray[np.float64]:
        before_drift, after_drift = self._expected
        by_sex = after_drift if self.drift and round_ >= len(self) // 2 else before_drift
        expected: NDArray[np.float64] = by_sex[sex][step]
        return expected

    def _check_parameters(self) -> None:
        for name in ("male_videos", "female_videos", "train", "test"):
            setattr(self, name, check_integer(name, getattr(self, name), 0))
        if not self.male_videos + self.female_videos:
            raise ValueError("male_videos + female_videos must be at least 1, got 0")
        if not self.train + self.test:
            raise ValueError("train + test must be at least 1 round, got 0")
        check_choice("reward", self.reward, tuple(REWARDS))
        check_choice("order", self.order, ("shuffled", *_FIRST))
        self.male_share = check_number("male_share", self.male_share, 0, 1)
        if self.noise != BERNOULLI:
            self.noise = check_number("noise", self.noise, 0)
        if self.scarce is not None:
            check_choice("scarce", self.scarce, ("male", "female"))
        if not isinstance(self.drift, bool):
            raise ValueError(f"drift must be True or False, got {self.drift!r}")
        self._names = _sensitive_names(self.sensitive)
        if self.shares is not None and not isinstance(self.sensitive, str):
            raise ValueError(f"shares must be None if sensitive is a sequence, got {self.shares!r}")
        if not isinstance(self.data, str | Path):
            raise ValueError(f"data must be {SOURCES}, got {self.data!r}")

    def _prepare_videos(self, videos: Table) -> None:
        """Compute what all rounds share: the catalogue and the expected rewards."""
        speaker = self._speakers()
        levels = np.array(EDUCATION_LEVELS)[:, None]
        features = np.column_stack([video_features(videos), speaker == _MALE])
        self._catalogue = Catalogue(features, len(STUDENT_COLUMNS), self.arms, {"sex": speaker.tolist()})
        self.arms = self._catalogue.arms
        # Before the drift and after it; each by the student's sex.
        self._expected: tuple[list[NDArray[np.float64]], ...] = ([], [])
        for sex in (_FEMALE, _MALE):
            match = (speaker == sex).astype(np.float64)
            for rewards, preferred in zip(self._expected, (match, 1 - match), strict=True):
                expected = REWARDS[self.reward](video_rating(videos), levels, preferred)
                # Rounding can push a sum of tenths slightly above 1.
                rewards.append(_read_only(np.clip(expected, 0.0, 1.0)))

    def _speakers(self) -> NDArray[np.intp]:
        return np.where(np.arange(self.n_arms) < self.male_videos, _MALE, _FEMALE)

    def _draw_videos(self, videos: Table, rng: np.random.Generator) -> NDArray[np.intp]:
        """Draw the videos, in the order of the arms."""
        drawn = draw(rng, np.arange(len(videos)), self.n_arms)
        if self.scarce is not None:
            scarce = np.flatnonzero(self._speakers() == (_MALE if self.scarce == "male" else _FEMALE))
            low_rated = np.flatnonzero(video_rating(videos) <= LOW_RATING)
            drawn[scarce] = draw(rng, np.setdiff1d(low_rated, np.delete(drawn, scarce)), len(scarce))
        return drawn

    def _draw_students(self, students: Table, rng: np.random.Generator) -> NDArray[np.intp]:
        """Draw the student of every round."""
        sexes = students["sex"]
        if self.shares is not None:
            train, test = draw_by_share(self._labels(students)[0], self.shares, (self.train, self.test), rng)
        elif "sex" in self._names:
            drawn = [self._draw_parts(np.flatnonzero(sexes == sex), sex, rng) for sex in (_FEMALE, _MALE)]
            train, test = (np.concatenate(part) for part in zip(*drawn, strict=True))
        else:
            train, test = np.split(draw(rng, np.arange(len(students)), len(self)), [self.train])
        train, test = rng.permutation(train), rng.permutation(test)
        if self.order in _FIRST:
            train = train[np.argsort(sexes[train] != _FIRST[self.order], kind="stable")]
        return np.concatenate([train, test])

    def _draw_parts(
        self, pool: NDArray[np.intp], sex: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Draw the students of one sex for both parts; the number of male students is rounded half up."""
        males = (int(size * self.male_share + 0.5) for size in (self.train, self.test))
        train, test = males if sex == _MALE else (self.train - next(males), self.test - next(males))
        drawn = draw(rng, pool, train + test)
        return drawn[:train], drawn[train:]

    def _prepare_students(self, students: Table, rounds: NDArray[np.intp]) -> None:
        """Compute features and groups of every student drawn, once per student."""
        rows, self._student_of_round = (part.tolist() for part in np.unique(rounds, return_inverse=True))
        drawn = students.take(np.array(rows))
        self._features = student_features(drawn)
        self._sex_and_education = list(zip(drawn["sex"].tolist(), education_step(drawn).tolist(), strict=True))
        self._groups = self._labels(drawn)

    def _labels(self, students: Table) -> list[list[str]]:
        """Return the groups of students, by attribute."""
        labels: dict[str, list[str]] = {name: students.labels(name).tolist() for name in ("sex", "race")}
        labels["sex"] = [sex.lower() for sex in labels["sex"]]
        if self.sensitive == INTERSECTION:
            return [[" ".join(pair) for pair in zip(*labels.values(), strict=True)]]
        return [labels[name] for name in self._names]

    def _group(self, student: int) -> str | dict[str, str]:
        if isinstance(self.sensitive, str):
            return self._groups[0][student]
        return {name: labels[student] for name, labels in zip(self._names, self._groups, strict=True)}


def _twin_group(group: str | Mapping[str, str]) -> str | dict[str, str]:
    """Return the group of the same student with the other sex; groups by race alone do not change."""
    if not isinstance(group, str):
        return {name: _OTHER_SEX.get(value, value) for name, value in group.items()}
    # A group of sex and race reads "female Black".
    first, *rest = group.split(" ", 1)
    return " ".join([_OTHER_SEX.get(first, first), *rest])


def _sensitive_names(sensitive: Any) -> tuple[str, ...]:
    if sensitive == INTERSECTION:
        return ("sex", "race")
    names = (sensitive,) if isinstance(sensitive, str) else sensitive
    if not isinstance(names, Sequence) or not names or any(names.count(name) > 1 for name in names):
        raise ValueError(
            f"sensitive must be 'sex', 'race', {INTERSECTION!r} or ('sex', 'race'), got {sensitive!r}"
        )
    return tuple(check_choice("sensitive", name, ("sex", "race")) for name in names)


def _ids(letter: str, count: int) -> list[str]:
    width = max(2, len(str(count - 1)))
    return [f"{letter}{number:0{width}}" for number in range(count)]


def _read_only(array: NDArray[np.float64]) -> NDArray[np.float64]:
    array.flags.writeable = False
    return array


def _data_source(students: Table, videos: Table) -> str:
    loaded = {DATASETS["adult"].title: students.real, DATASETS["youtube"].title: videos.real}
    real = ", ".join(title for title, is_real in loaded.items() if is_real)
    stand_in = " and ".join(title for title, is_real in loaded.items() if not is_real)
    sentences = [f"real data: {real}"] if real else []
    sentences += [f"STAND-IN data: synthetic rows with the counts of {stand_in}"] if stand_in else []
    return "; ".join(sentences)
