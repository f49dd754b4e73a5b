"""Worlds of real data: published labels, ratings and doses as rewards.

`docs/reference/data_cards.md` describes the data.

Sensitive attributes are also columns of the contexts, as in most work on these data and in the paper's world: a
policy may use them, and a policy that must not can be given the other columns by name (`world.columns`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fairbandits.validation import check_choice
from fairbandits.worlds.datasets.compas import clean_compas
from fairbandits.worlds.datasets.frames import load_frame
from fairbandits.worlds.datasets.german import clean_german
from fairbandits.worlds.datasets.tables import clean_adult
from fairbandits.worlds.datasets.warfarin import clean_warfarin
from fairbandits.worlds.labelled import LabelledWorld
from fairbandits.worlds.ratings import RatingsWorld

Seed = int | np.random.Generator | None


class AdultIncome(LabelledWorld):
    """People of the Adult dataset; the arms are the two income brackets, and the right one has reward 1.

    Parameters
    ----------
    group : {"sex", "race"}
        The sensitive attribute.
    rounds : int
        The number of rounds; people are drawn without replacement, up to 32,561.
    random_state : int, numpy Generator or None
        The seed, or the source of randomness.
    data : {"auto", "local", "real", "stand-in"} or a folder
        The source of the data; see `fairbandits.worlds.load_dataset`.

    Examples
    --------
    >>> world = AdultIncome(rounds=2, data="stand-in")
    >>> [(visit.group, visit.arms[int(visit.expected.argmax())]) for visit in world.visits()]
    [('male', '>50K'), ('female', '>50K')]
    """

    def __init__(
        self, *, group: str = "sex", rounds: int = 5000, random_state: Seed = 0, data: str | Path = "auto"
    ) -> None:
        column = _column_of(group, {"sex": "sex", "race": "race"})
        frame, source = load_frame("adult", data, clean_adult)
        super().__init__(frame, label="label", group=column, rounds=rounds, random_state=random_state)
        self.data_source = source


class Compas(LabelledWorld):
    """Defendants of the COMPAS data; the arms predict whether they were charged again within two years.

    The reward of the right arm is 1. Contexts contain age, sex, race, charge and earlier offences, but not the
    score.

    Parameters
    ----------
    group : {"race", "sex"}
        The sensitive attribute. Races with fewer than 40 defendants belong to "Other".
    rounds : int
        The number of rounds; defendants are drawn without replacement, up to 6,172.
    random_state, data
        As for `AdultIncome`.

    Examples
    --------
    >>> Compas(rounds=2, data="stand-in").arms
    ('new charge', 'no new charge')
    """

    def __init__(
        self, *, group: str = "race", rounds: int = 5000, random_state: Seed = 0, data: str | Path = "auto"
    ) -> None:
        column = _column_of(group, {"race": "race", "sex": "sex"})
        frame, source = load_frame("compas", data, clean_compas)
        super().__init__(frame, label="label", group=column, rounds=rounds, random_state=random_state)
        self.data_source = source


class GermanCredit(LabelledWorld):
    """Applicants of the German Credit data; the arms are good and bad risk, and the right one has reward 1.

    Parameters
    ----------
    group : {"age", "sex"}
        The sensitive attribute; ages are up to 25 and over 25. Sex is derived, as in most work on these data, from
        a column that may not contain it; see the data card.
    rounds : int
        The number of rounds. There are 1,000 applicants: for more rounds they are drawn with replacement, so a
        policy meets most of them again.
    random_state, data
        As for `AdultIncome`.

    Examples
    --------
    >>> GermanCredit(rounds=2, data="stand-in").arms
    ('bad', 'good')
    """

    def __init__(
        self, *, group: str = "age", rounds: int = 5000, random_state: Seed = 0, data: str | Path = "auto"
    ) -> None:
        column = _column_of(group, {"age": "age_band", "sex": "sex"})
        frame, source = load_frame("german", data, clean_german)
        super().__init__(frame, label="label", group=column, rounds=rounds, random_state=random_state)
        self.data_source = source


class Warfarin(LabelledWorld):
    """Patients who take warfarin; the arms are a low, medium or high weekly dose; the right one has reward 1.

    The right dose is the one that the patient's physician found in the end: low below 21 mg a week, medium from 21
    to 49 mg, high above 49 mg.

    Parameters
    ----------
    group : {"race", "sex", "age"}
        The sensitive attribute; ages are under 70, and 70 and over.
    rounds : int
        The number of rounds; patients are drawn without replacement, up to 5,528.
    random_state, data
        As for `AdultIncome`.

    Examples
    --------
    >>> Warfarin(rounds=2, data="stand-in").arms
    ('high', 'low', 'medium')
    """

    def __init__(
        self, *, group: str = "race", rounds: int = 5000, random_state: Seed = 0, data: str | Path = "auto"
    ) -> None:
        column = _column_of(group, {"race": "race", "sex": "sex", "age": "age_band"})
        frame, source = load_frame("warfarin", data, clean_warfarin)
        super().__init__(frame, label="label", group=column, rounds=rounds, random_state=random_state)
        self.data_source = source


class MovieLens(RatingsWorld):
    """Users of MovieLens, who are offered films that they rated; one star is reward 0, and five are reward 1.

    Parameters
    ----------
    group : {"sex", "age", "occupation"}
        The sensitive attribute; ages are four bands.
    n_arms : int
        The number of films, those with the most ratings.
    offered : int
        The number of films on offer in a round; fewer if the user rated fewer of them.
    rounds : int
        The number of rounds; users are drawn with replacement.
    random_state, data
        As for `AdultIncome`.

    Examples
    --------
    >>> world = MovieLens(n_arms=50, offered=5, rounds=2, data="stand-in")
    >>> [len(visit.arms) for visit in world.visits()]
    [5, 5]
    """

    def __init__(
        self,
        *,
        group: str = "sex",
        n_arms: int = 300,
        offered: int = 20,
        rounds: int = 10_000,
        random_state: Seed = 0,
        data: str | Path = "auto",
    ) -> None:
        column = _column_of(group, {"sex": "sex", "age": "age_band", "occupation": "occupation"})
        ratings, source = load_frame("movielens-ratings", data)
        users, films = (load_frame(name, data)[0] for name in ("movielens-users", "movielens-films"))
        super().__init__(
            ratings,
            users,
            films,
            user="user",
            item="film",
            reward="stars",
            group=column,
            n_arms=min(n_arms, len(ratings["film"].unique())),  # the stand-in has fewer
            offered=offered,
            reward_range=(1, 5),
            rounds=rounds,
            random_state=random_state,
        )
        self.data_source = source


def _column_of(group: Any, columns: dict[str, str]) -> str:
    return columns[check_choice("group", group, tuple(columns))]
