"""The suite: the worlds that policies are compared in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

#: The test part of the paper: the last two fifths.
TEST_PART = Fraction(2, 5)
#: What has settled: the last fifth.
LAST_FIFTH = Fraction(1, 5)
#: How the two are called.
PART_TITLES = {TEST_PART: "the test part", LAST_FIFTH: "the last fifth"}

_SHORT = {"train": 3000, "test": 2000}
# Without a training part nothing starts anew on the way.
_LONG = {"train": 0, "test": 100_000}
_QUICK = 10


@dataclass(frozen=True)
class SuiteWorld:
    """A world of the suite.

    Parameters
    ----------
    kind : {"paper", "other", "long"}
        Which words of the command line mean it.
    about : str
        What it is, in one sentence.
    params : mapping
        The parameters of `fairbandits.worlds.StudentsAndVideos`.
    measured : Fraction
        The share of the rounds, the last ones, that count.
    """

    kind: str
    about: str
    params: Mapping[str, Any]
    measured: Fraction = TEST_PART

    def world_params(self, quick: bool = False) -> dict[str, Any]:
        """Give the parameters; for a tenth of the rounds where it should be quick."""
        params = {**_SHORT, **self.params}
        return params | {part: params[part] // _QUICK for part in _SHORT} if quick else params


WORLDS: dict[str, SuiteWorld] = {
    "3:7": SuiteWorld("paper", "The paper's first world: 30 videos by male speakers, 70 by female ones.", {}),
    "1:1": SuiteWorld(
        "paper", "As many videos by male as by female speakers.", {"male_videos": 50, "female_videos": 50}
    ),
    "7:3": SuiteWorld(
        "paper",
        "70 videos by male speakers, 30 by female ones.",
        {"male_videos": 70, "female_videos": 30},
    ),
    "r2": SuiteWorld("paper", "The first world with a reward that knows no match.", {"reward": "r2"}),
    "females_first": SuiteWorld(
        "paper",
        "7:3 videos; in training all female students come before all male ones.",
        {"male_videos": 70, "female_videos": 30, "order": "females_first"},
    ),
    "males_first": SuiteWorld(
        "paper",
        "7:3 videos; in training all male students come before all female ones.",
        {"male_videos": 70, "female_videos": 30, "order": "males_first"},
    ),
    "scarce": SuiteWorld(
        "other",
        "No video by a male speaker is rated above 0.5, so the best for everybody is itself unfair.",
        {"scarce": "male"},
        LAST_FIFTH,
    ),
    "noisy": SuiteWorld(
        "other", "The first world with Gaussian noise on the rewards, standard deviation 0.1.", {"noise": 0.1}
    ),
    "bernoulli": SuiteWorld(
        "other", "The first world with rewards that are 0 or 1, by their probability.", {"noise": "bernoulli"}
    ),
    "minority": SuiteWorld(
        "other", "Of 100 students 5 are male, and so are the speakers of 30 of 100 videos.", {"male_share": 0.05}
    ),
    "race": SuiteWorld("other", "The groups are five races, in the shares of the data.", {"sensitive": "race"}),
    "sex_x_race": SuiteWorld(
        "other", "The groups are the ten combinations of sex and race.", {"sensitive": "sex x race"}
    ),
    "curved": SuiteWorld(
        "other",
        "Students gain most from videos whose rating is near their education level; no linear model holds that.",
        {"reward": "curved"},
    ),
    "drift": SuiteWorld(
        "other",
        "Half-way, students turn to like speakers of the other sex; what is measured comes after.",
        {"turns": True},
    ),
    "long": SuiteWorld("long", "The first world for 100,000 rounds without a break.", _LONG, LAST_FIFTH),
    "long_scarce": SuiteWorld(
        "long", "The scarce world for 100,000 rounds without a break.", {"scarce": "male", **_LONG}, LAST_FIFTH
    ),
}

#: Words that mean several worlds at once.
_WORDS = {
    "paper": {"paper"},
    "short": {"paper", "other"},
    "long": {"long"},
    "all": {"paper", "other", "long"},
}


def as_worlds(names: Iterable[str]) -> tuple[str, ...]:
    """Check the names of worlds, and bring them into the order of the suite; none means the short ones.

    The words "paper", "short" and "all" mean several; "long" means the world of that name and its like.

    Examples
    --------
    >>> as_worlds(["scarce", "r2"]), as_worlds(["long"])
    (('r2', 'scarce'), ('long', 'long_scarce'))
    """
    wanted: set[str] = set()
    for name in list(names) or ["short"]:
        if name in _WORDS:
            wanted |= {world for world, entry in WORLDS.items() if entry.kind in _WORDS[name]}
        elif name in WORLDS:
            wanted.add(name)
        else:
            raise ValueError(
                f"there is no world {name!r} in the suite; expected some of {', '.join(WORLDS)}, "
                "or one of the words paper, short, long, all"
            )
    return tuple(name for name in WORLDS if name in wanted)
