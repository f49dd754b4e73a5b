"""The suite of worlds in which policies are compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

#: The test part of the paper: the last two fifths.
TEST_PART = Fraction(2, 5)
#: The last fifth, when policies have settled.
LAST_FIFTH = Fraction(1, 5)
#: The display names of the parts.
PART_TITLES = {TEST_PART: "the test part", LAST_FIFTH: "the last fifth"}

_SHORT = {"train": 3000, "test": 2000}
# Without a training part, the means of groups are never reset.
_LONG = {"train": 0, "test": 100_000}
# Quick runs have the number of rounds divided by this.
_QUICK = 10


@dataclass(frozen=True)
class SuiteWorld:
    """A world of the suite.

    Parameters
    ----------
    kind : {"paper", "other", "long"}
        The set of worlds it belongs to; see `as_worlds`.
    description : str
        A description in one sentence.
    params : mapping
        The parameters of `fairbandits.worlds.StudentsAndVideos`.
    measured : Fraction
        The share of rounds, at the end of the run, that is measured.
    """

    kind: str
    description: str
    params: Mapping[str, Any]
    measured: Fraction = TEST_PART

    def world_params(self, quick: bool = False) -> dict[str, Any]:
        """Return the parameters of the world, with a tenth of the rounds if `quick` is set."""
        params = {**_SHORT, **self.params}
        return params | {part: params[part] // _QUICK for part in _SHORT} if quick else params


WORLDS: dict[str, SuiteWorld] = {
    "3:7": SuiteWorld("paper", "The paper's first world: 30 videos by male and 70 by female speakers.", {}),
    "1:1": SuiteWorld(
        "paper", "50 videos by male and 50 by female speakers.", {"male_videos": 50, "female_videos": 50}
    ),
    "7:3": SuiteWorld(
        "paper",
        "70 videos by male and 30 by female speakers.",
        {"male_videos": 70, "female_videos": 30},
    ),
    "r2": SuiteWorld(
        "paper", "The first world with a reward that does not depend on the match.", {"reward": "r2"}
    ),
    "females_first": SuiteWorld(
        "paper",
        "7:3 videos; in training, all female students arrive before all male students.",
        {"male_videos": 70, "female_videos": 30, "order": "females_first"},
    ),
    "males_first": SuiteWorld(
        "paper",
        "7:3 videos; in training, all male students arrive before all female students.",
        {"male_videos": 70, "female_videos": 30, "order": "males_first"},
    ),
    "scarce": SuiteWorld(
        "other",
        "No video by a male speaker is rated above 0.5, so giving every user the best arm is unfair.",
        {"scarce": "male"},
        LAST_FIFTH,
    ),
    "noisy": SuiteWorld(
        "other", "The first world with Gaussian noise of standard deviation 0.1 on the rewards.", {"noise": 0.1}
    ),
    "bernoulli": SuiteWorld("other", "The first world with Bernoulli rewards.", {"noise": "bernoulli"}),
    "minority": SuiteWorld("other", "5% of the students are male, and 30% of the speakers.", {"male_share": 0.05}),
    "race": SuiteWorld(
        "other", "The groups are five races, in the proportions of the data.", {"sensitive": "race"}
    ),
    "sex_x_race": SuiteWorld(
        "other", "The groups are the ten combinations of sex and race.", {"sensitive": "sex x race"}
    ),
    "curved": SuiteWorld(
        "other",
        "The reward is highest where rating and education level agree, which no linear model can represent.",
        {"reward": "curved"},
    ),
    "drift": SuiteWorld(
        "other",
        "Half-way through, students start to prefer speakers of the other sex; measured after that.",
        {"drift": True},
    ),
    "long": SuiteWorld("long", "The first world for 100,000 rounds, without a training part.", _LONG, LAST_FIFTH),
    "long_scarce": SuiteWorld(
        "long",
        "The scarce world for 100,000 rounds, without a training part.",
        {"scarce": "male", **_LONG},
        LAST_FIFTH,
    ),
}

#: Names of sets of worlds, and the kinds that they contain.
_WORLD_SETS = {
    "paper": {"paper"},
    "short": {"paper", "other"},
    "long": {"long"},
    "all": {"paper", "other", "long"},
}


def as_worlds(names: Iterable[str]) -> tuple[str, ...]:
    """Return the named worlds in the order of the suite; by default the short ones.

    The names "paper", "short", "long" and "all" stand for sets of worlds.

    Examples
    --------
    >>> as_worlds(["scarce", "r2"]), as_worlds(["long"])
    (('r2', 'scarce'), ('long', 'long_scarce'))
    """
    wanted: set[str] = set()
    for name in list(names) or ["short"]:
        if name in _WORLD_SETS:
            wanted |= {title for title, world in WORLDS.items() if world.kind in _WORLD_SETS[name]}
        elif name in WORLDS:
            wanted.add(name)
        else:
            raise ValueError(
                f"worlds must be some of {', '.join(WORLDS)}, or one of {', '.join(_WORLD_SETS)}, got {name!r}"
            )
    return tuple(name for name in WORLDS if name in wanted)
