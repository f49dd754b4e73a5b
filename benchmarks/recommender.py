"""How long a recommender takes for one user: with its own encoder, and with a ColumnTransformer of scikit-learn.

    python benchmarks/recommender.py

Both encode the same columns; turns alternate, and the median of each is printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

from sklearn.compose import make_column_transformer
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from fairbandits import LinUCB, Recommender
from fairbandits.worlds import SampleTables
from timing import Work, seconds_per_call

TURNS = 5
SECONDS = 0.5


def choosing(recommender: Recommender, user: Mapping[str, Any]) -> Work:
    """Return the work of choosing for one user."""

    def work() -> None:
        recommender.choose(user)

    return work


def main() -> None:
    """Measure and print."""
    tables = SampleTables()
    users = tables.users.dropna()
    user = users.iloc[0].to_dict()
    transformer = make_column_transformer((MinMaxScaler(), ["age", "level"]), (OneHotEncoder(), ["language"]))
    groups = ["sex", "age_band"]
    recommenders = {
        "own encoder": Recommender(
            LinUCB(random_state=0), users, tables.items, groups, features=["age", "level", "language"]
        ),
        "ColumnTransformer": Recommender(
            LinUCB(random_state=0), users, tables.items, groups, user_encoder=transformer.fit(users)
        ),
    }
    for recommender in recommenders.values():
        recommender.learn(recommender.choose(user), 0.5)
    taken: dict[str, list[float]] = {name: [] for name in recommenders}
    for _ in range(TURNS):
        for name, recommender in recommenders.items():
            taken[name].append(seconds_per_call(choosing(recommender, user), SECONDS))
    for name, seconds in taken.items():
        print(f"{name}: {median(seconds) * 1e6:,.0f} us per user, {len(tables.items)} items")
    print(f"ratio: {median(taken['ColumnTransformer']) / median(taken['own encoder']):.0f}")


if __name__ == "__main__":
    main()
