"""The suite of worlds in which policies are compared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairbandits.compare.suite import LAST_FIFTH, SuiteWorld

# Without a training part, the means of groups are never reset.
_LONG = {"train": 0, "test": 100_000}
_PAPER = frozenset({"paper", "short", "synthetic", "fairbench"})
_SHORT = frozenset({"short", "synthetic", "fairbench"})
_LONG_TAGS = frozenset({"long", "synthetic"})
_SYNTHETIC = frozenset({"synthetic", "fairbench"})

#: Names of sets of worlds, and the tag that their worlds have; all worlds have the empty one.
WORLD_SETS = {name: name for name in ("paper", "short", "long", "real", "synthetic", "fairbench")} | {"all": ""}


def _paper(description: str, **params: Any) -> SuiteWorld:
    return SuiteWorld(description, params, tags=_PAPER)


def _variant(description: str, **params: Any) -> SuiteWorld:
    return SuiteWorld(description, params, tags=_SHORT)


def _unlike_the_paper(description: str, **params: Any) -> SuiteWorld:
    """Return a world of the same kind as those in which earlier default policies lost."""
    return SuiteWorld(description, params, measured=LAST_FIFTH, tags=_SYNTHETIC)


WORLDS: dict[str, SuiteWorld] = {
    "3:7": _paper("The paper's first world: 30 videos by male and 70 by female speakers."),
    "1:1": _paper("50 videos by male and 50 by female speakers.", male_videos=50, female_videos=50),
    "7:3": _paper("70 videos by male and 30 by female speakers.", male_videos=70, female_videos=30),
    "r2": _paper("The first world with a reward that does not depend on the match.", reward="r2"),
    "females_first": _paper(
        "7:3 videos; in training, all female students arrive before all male students.",
        male_videos=70,
        female_videos=30,
        order="females_first",
    ),
    "males_first": _paper(
        "7:3 videos; in training, all male students arrive before all female students.",
        male_videos=70,
        female_videos=30,
        order="males_first",
    ),
    "scarce": SuiteWorld(
        "No video by a male speaker is rated above 0.5, so giving every user the best arm is unfair.",
        {"scarce": "male"},
        measured=LAST_FIFTH,
        tags=_SHORT,
    ),
    "noisy": _variant("The first world with Gaussian noise of standard deviation 0.1 on the rewards.", noise=0.1),
    "bernoulli": _variant("The first world with Bernoulli rewards.", noise="bernoulli"),
    "minority": _variant("5% of the students are male, and 30% of the speakers.", male_share=0.05),
    "race": _variant("The groups are five races, in the proportions of the data.", sensitive="race"),
    "sex_x_race": _variant("The groups are the ten combinations of sex and race.", sensitive="sex x race"),
    "curved": _variant(
        "The reward is highest where rating and education level agree, which no linear model can represent.",
        reward="curved",
    ),
    "drift": _variant(
        "Half-way through, students start to prefer speakers of the other sex; measured after that.", drift=True
    ),
    "tiny_minority": _unlike_the_paper("2% of the students are male, and 30% of the speakers.", male_share=0.02),
    "long": SuiteWorld(
        "The first world for 100,000 rounds, without a training part.",
        _LONG,
        measured=LAST_FIFTH,
        tags=_LONG_TAGS,
    ),
    "long_scarce": SuiteWorld(
        "The scarce world for 100,000 rounds, without a training part.",
        {"scarce": "male", **_LONG},
        measured=LAST_FIFTH,
        tags=_LONG_TAGS,
    ),
}


def as_worlds(names: Iterable[str]) -> dict[str, SuiteWorld]:
    """Return the named worlds in the order of the suite.

    The names "paper", "short", "long", "real", "synthetic", "fairbench" and "all" stand for sets of worlds.

    Examples
    --------
    >>> list(as_worlds(["scarce", "r2"])), list(as_worlds(["long"]))
    (['r2', 'scarce'], ['long', 'long_scarce'])
    """
    wanted: set[str] = set()
    for name in names:
        if name in WORLD_SETS:
            wanted |= {title for title, world in WORLDS.items() if WORLD_SETS[name] in {*world.tags, ""}}
        elif name in WORLDS:
            wanted.add(name)
        else:
            raise ValueError(
                f"worlds must be some of {', '.join(WORLDS)}, or one of {', '.join(WORLD_SETS)}, or "
                f"module:Class(parameter=value, ...), got {name!r}"
            )
    return {name: world for name, world in WORLDS.items() if name in wanted}
