"""The suite of worlds in which policies are compared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairbandits.compare.suite import LAST_FIFTH, SuiteWorld

# The split into a training and a test part, at which the group means are reset, follows the paper. Each of the
# other worlds is a single stream, as in production.
_STREAM = {"train": 0, "test": 5000}
_LONG = {"train": 0, "test": 100_000}
_PAPER = frozenset({"paper", "short", "synthetic"})
_SHORT = frozenset({"short", "synthetic"})
# FairBench must finish within 90 minutes, so it contains one world of each kind; the other short worlds lack this
# tag.
_IN_FAIRBENCH = frozenset({"fairbench"})
_LONG_TAGS = frozenset({"long", "synthetic"})
_SYNTHETIC = frozenset({"synthetic", "fairbench"})
_REAL = frozenset({"real", "fairbench"})

#: The sets of worlds by name, with the tag that their worlds have; the empty tag matches all worlds.
WORLD_SETS = {name: name for name in ("paper", "short", "long", "real", "synthetic", "fairbench")} | {"all": ""}


def _paper(description: str, **params: Any) -> SuiteWorld:
    return SuiteWorld(description, params, tags=_PAPER)


def _variant(description: str, **params: Any) -> SuiteWorld:
    return SuiteWorld(description, _STREAM | params, tags=_SHORT | _IN_FAIRBENCH)


def _hard(description: str, **params: Any) -> SuiteWorld:
    """Return a world of the same kind as those in which an earlier default policy lost."""
    return SuiteWorld(description, _STREAM | params, measured=LAST_FIFTH, tags=_SYNTHETIC)


def _feedback(description: str, is_identifiable: bool = True, **options: Any) -> SuiteWorld:
    """Return the first world of the suite with different feedback."""
    params = {"world": {"StudentsAndVideos": _STREAM}, **options}
    return SuiteWorld(
        description, params, "ModifiedWorld", LAST_FIFTH, _SYNTHETIC, is_identifiable=is_identifiable
    )


def _real(world: str, description: str, needs: str, **params: Any) -> SuiteWorld:
    return SuiteWorld(description, params, world, LAST_FIFTH, _REAL, needs)


WORLDS: dict[str, SuiteWorld] = {
    "3:7": SuiteWorld(
        "The paper's first world: 30 videos by male and 70 by female speakers.", tags=_PAPER | _IN_FAIRBENCH
    ),
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
        _STREAM | {"scarce": "male"},
        measured=LAST_FIFTH,
        tags=_SHORT | _IN_FAIRBENCH,
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
    "drift_half": _hard(
        "Half-way through, preferences reverse, and the match counts for half of the reward.",
        reward="match_half",
        drift=True,
    ),
    "scarce_half": _hard(
        "No video by a male speaker is rated above 0.5, and the match counts for half of the reward.",
        reward="match_half",
        scarce="male",
    ),
    "tiny_minority": _hard("2% of the students are male, and 30% of the speakers.", male_share=0.02),
    "small_groups": _hard(
        "Five races, two of 1.2% of the users each, over 10,000 rounds, so that all of them count.",
        sensitive="race",
        shares={"Amer-Indian-Eskimo": 0.012, "Other": 0.012},
        test=10_000,
    ),
    "unequal": SuiteWorld(
        "The worst arm of one group is better than the best arm of the other: no policy can close the gap.",
        {"rounds": 5000},
        "UnequalWorld",
        LAST_FIFTH,
        _SYNTHETIC,
    ),
    "delayed": _feedback("Rewards arrive 50 to 250 rounds late.", delay=[50, 250]),
    "missing": _feedback(
        "The reward is never seen in 60% of the rounds of male and 10% of those of female students.",
        missing={"male": 0.6, "female": 0.1},
    ),
    "biased": _feedback(
        "The rewards that are seen are 0.1 too low for male students; the true ones count.",
        is_identifiable=False,
        bias={"male": -0.1},
    ),
    "come_and_go": _feedback("Half of the videos are on offer at a time; they come and go.", present=0.5),
    "adult_income": _real("AdultIncome", "Adult: which income bracket? Groups: sex.", "UCI Adult", group="sex"),
    "compas": _real("Compas", "COMPAS: charged again within two years? Groups: race.", "COMPAS", group="race"),
    "german_credit": _real(
        "GermanCredit",
        "German Credit: good or bad risk? Groups: age.",
        "German Credit",
        group="age",
    ),
    "movielens_sex": _real(
        "MovieLens", "Ratings of 300 films, 20 on offer in a round. Groups: sex.", "MovieLens-100K", group="sex"
    ),
    "movielens_age": _real(
        "MovieLens", "Ratings of 300 films, 20 on offer in a round. Groups: age.", "MovieLens-100K", group="age"
    ),
    "movielens_occupation": _real(
        "MovieLens",
        "Ratings of 300 films, 20 on offer in a round. Groups: occupation.",
        "MovieLens-100K",
        group="occupation",
    ),
    "warfarin": _real(
        "Warfarin", "Warfarin: a low, medium or high dose? Groups: race.", "IWPC warfarin", group="race"
    ),
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
