"""Sample tables of users and items for experiments, and rewards that depend on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbandits.validation import check_integer

if TYPE_CHECKING:
    import pandas as pd

_LANGUAGES = ("en", "fr", "de")
_TOPICS = ("art", "maths", "music", "sport")
_FAVOURITES = {"female": "art", "male": "sport"}
_LEVELS = (1, 2, 3)
_AGE_BANDS = ("under 30", "30 to 49", "50 and over")


class SampleTables:
    """Users and courses, as an application might have them, with the rewards that users would give.

    Parameters
    ----------
    n_users, n_items : int
        The sizes of the tables.
    seed : int
        The random seed.

    Attributes
    ----------
    users : pandas.DataFrame
        `user`, `age` with missing values, `language`, `level`, `since`, and the sensitive attributes `sex` and
        `age_band` with missing values.
    items : pandas.DataFrame
        Indexed by `item`: `title`, `topic` and `hours` (both with missing values), `level`, `released`,
        `language`.

    Examples
    --------
    >>> tables = SampleTables()
    >>> tables.users.shape, tables.items.shape
    ((1000, 7), (200, 6))
    >>> 0.0 <= tables.reward(tables.users.iloc[0], "course 7") <= 1.0
    True
    """

    def __init__(self, n_users: int = 1000, n_items: int = 200, seed: int = 0) -> None:
        try:
            import pandas as pd  # noqa: PLC0415 - optional
        except ImportError:
            raise ImportError("sample tables need pandas: pip install pandas") from None
        n_users, n_items = check_integer("n_users", n_users, 1), check_integer("n_items", n_items, 1)
        self._rng = np.random.default_rng(check_integer("seed", seed, 0))
        self.users: pd.DataFrame = pd.DataFrame(self._draw_users(n_users))
        self.items: pd.DataFrame = pd.DataFrame(self._draw_items(n_items)).set_index("item")

    def _draw_users(self, n: int) -> dict[str, Any]:
        rng = self._rng
        age = rng.integers(18, 80, n).astype(float)
        band = np.array(_AGE_BANDS, object)[np.digitize(age, [30, 50])]
        age[rng.random(n) < 0.1] = np.nan
        band[rng.random(n) < 0.05] = None
        return {
            "user": [f"user {i}" for i in range(n)],
            "age": age,
            "language": rng.choice(_LANGUAGES, n),
            "level": rng.choice(_LEVELS, n),
            "since": _dates(rng, n),
            "sex": rng.choice(["female", "male"], n, p=[0.4, 0.6]),
            "age_band": band,
        }

    def _draw_items(self, n: int) -> dict[str, Any]:
        rng = self._rng
        topic, hours = rng.choice(_TOPICS, n).astype(object), rng.gamma(4.0, 5.0, n)
        topic[rng.random(n) < 0.05] = None
        hours[rng.random(n) < 0.1] = np.nan
        return {
            "item": [f"course {i}" for i in range(n)],
            "title": [f"Course number {i}" for i in range(n)],
            "topic": topic,
            "hours": hours.round(1),
            "level": rng.choice(_LEVELS, n),
            "released": _dates(rng, n),
            "language": rng.choice(_LANGUAGES, n),
        }

    def reward(self, user: Mapping[str, Any], item: Any) -> float:
        """Draw the reward of an item for a user, from 0 to 1: shared language, favourite topic, suitable level."""
        course = self.items.loc[item]
        suits = 1.0 - abs(int(course["level"]) - int(user["level"])) / 2.0
        is_favourite = course["topic"] == _FAVOURITES[user["sex"]]
        mean = 0.1 + 0.3 * (course["language"] == user["language"]) + 0.3 * is_favourite + 0.2 * suits
        return float(np.clip(mean + 0.05 * self._rng.standard_normal(), 0.0, 1.0))


def _dates(rng: np.random.Generator, n: int) -> Any:
    days: Any = np.datetime64("2020-01-01", "s") + rng.integers(0, 1800, n) * np.timedelta64(86400, "s")
    return days
