"""A world of observed ratings: users are offered items that they have rated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.validation import check_integer, check_random_state
from fairbandits.worlds.grouping import group_columns, read_groups, sensitive_params
from fairbandits.worlds.rating_table import RatingTable, read_ratings
from fairbandits.worlds.reward_scaling import scale_rewards
from fairbandits.worlds.table_contexts import Matches, contexts_of_tables
from fairbandits.worlds.world import Visit

# A user who rated a single item leaves no choice.
_LEAST_RATED = 2


class RatingsWorld:
    """Users and items of a table of ratings; every reward is a rating that the user gave.

    In each round, a user is drawn at random and offered some of the items that the user rated. So the reward of
    every arm on offer is known, and nothing is imputed. `expected` is the rating, scaled to [0, 1], which counts
    as the truth. The world cannot show how users would like items that they did not rate. People rate items that
    they chose to see, so means are higher than those of items shown at random.

    A context consists of a constant, the columns of the user, those of the item, and `matches`, encoded as in
    `fairbandits.Recommender`; the columns of groups are also features, unless `features` leaves them out. If no
    column describes users (or items), their ids are features if there are at most 50; if there are more, only
    policies with a model per arm can tell items apart.

    Parameters
    ----------
    ratings : data frame, or path of a CSV or Parquet file
        One row per rating. Rows without user, item or rating are dropped; of several ratings of an item by the
        same user, the last one counts.
    users, items : data frame or path, optional
        One row per user, and one per item, with their columns. By default, columns of `ratings` that have one
        value per user (or per item) describe users (or items); all others, such as the time of a rating, are
        ignored.
    user, item, reward : str
        The columns of users' ids, items' ids and ratings. `user` and `item` are also the names of the columns of
        ids in `users` and `items`.
    group : str or sequence of str
        The columns of users that define groups. One name gives labels such as "female"; a sequence gives mappings
        such as {"sex": "female", "age": "under 30"}.
    features : sequence of str, optional
        The columns of users that are features; by default all but the id.
    matches : sequence of str, or mapping of str to (user column, item column)
        Properties that users and items can have in common.
    categories : sequence of str
        Numeric columns that hold categories.
    n_arms : int, optional
        The number of items, those with the most ratings; by default all items.
    offered : int
        The number of items on offer in a round; fewer if the user rated fewer. Users who rated only one of the
        items do not take part.
    reward_range : pair of floats, optional
        The ratings that become 0 and 1; by default the lowest and the highest of the table.
    rounds : int
        The number of rounds; all of them belong to the test part.
    random_state : int, numpy Generator or None
        The seed, or the source of randomness, which determines the users who arrive and the items they are
        offered.

    Attributes
    ----------
    arms : tuple of ids
        The ids of the items.
    columns : tuple of str
        The names of the columns of contexts.
    policy_params : dict
        The sensitive columns, as the parameters `drop` and `swap` of policies that refer to them.
    data_source : str
        One line that names the data, with a hash of the ratings.

    Examples
    --------
    >>> import pandas as pd
    >>> ratings = pd.DataFrame({
    ...     "user": [1, 1, 1, 2, 2, 2], "film": ["Solaris", "Stalker", "Alien"] * 2, "stars": [5, 4, 1, 2, 3, 5],
    ...     "sex": ["female"] * 3 + ["male"] * 3,
    ... })
    >>> world = RatingsWorld(ratings, user="user", item="film", reward="stars", group="sex", offered=2, rounds=3)
    >>> for visit in world.visits():
    ...     print(visit.group, visit.arms, visit.expected)
    male ('Stalker', 'Solaris') [0.5  0.25]
    male ('Stalker', 'Alien') [0.5 1. ]
    male ('Solaris', 'Alien') [0.25 1.  ]
    """

    def __init__(
        self,
        ratings: Any,
        users: Any = None,
        items: Any = None,
        *,
        user: str,
        item: str,
        reward: str,
        group: str | Sequence[str],
        features: Sequence[str] | None = None,
        matches: Matches = (),
        categories: Sequence[str] = (),
        n_arms: int | None = None,
        offered: int = 20,
        reward_range: tuple[float, float] | None = None,
        rounds: int = 5000,
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        self.rounds = check_integer("rounds", rounds, 1)
        self._offered = check_integer("offered", offered, 2)
        if n_arms is not None:
            check_integer("n_arms", n_arms, 2)
        table = read_ratings(
            ratings, users, items, user=user, item=item, reward=reward, group=group_columns(group), n_arms=n_arms
        )
        self._contexts = contexts_of_tables(
            table.users,
            table.items,
            user_id=user,
            item_id=item,
            features=features,
            matches=matches,
            categories=categories,
        )
        self.data_source = table.data_source
        self.columns = self._contexts.columns
        self.policy_params = sensitive_params(self.columns, group)
        self.arms = self._contexts.arms
        self._groups = read_groups(table.users, group)
        self._draw(table, scale_rewards(table.rating, reward_range), check_random_state(random_state))

    def __len__(self) -> int:
        return self.rounds

    def visits(self) -> Iterator[Visit]:
        """Iterate over the rounds from the start; contexts are offers of a catalogue."""
        bounds = zip(self._starts, self._starts[1:], strict=False)
        for user, (start, stop) in zip(self._user_of_round, bounds, strict=True):
            offer = self._contexts.offer(user).select(self._places[start:stop])
            expected = self._expected[start:stop]
            yield Visit(offer, self._groups[user], expected, expected, offer.arms)

    def _draw(self, table: RatingTable, rewards: NDArray[np.float64], rng: np.random.Generator) -> None:
        """Draw the user of every round, and the ratings on offer."""
        counts = np.bincount(table.user, minlength=len(table.users))
        (able,) = np.nonzero(counts >= _LEAST_RATED)
        if not able.size:
            raise ValueError("ratings must have a user with at least two rated items, got none; see n_arms")
        users = rng.choice(able, self.rounds)
        sizes = np.minimum(counts, self._offered)[users]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        # Sort ratings by user, so that the ratings of a user are a slice.
        order = np.argsort(table.user, kind="stable")
        first = np.concatenate([[0], np.cumsum(counts)])
        chosen = np.empty(starts[-1], np.int64)
        by_user = np.argsort(users, kind="stable")
        for rounds in np.split(by_user, np.flatnonzero(np.diff(users[by_user])) + 1):
            user = users[rounds[0]]
            keys = rng.random((len(rounds), counts[user]))
            drawn = keys.argsort(axis=1)[:, : sizes[rounds[0]]]
            chosen[starts[rounds][:, None] + np.arange(drawn.shape[1])] = order[first[user] + drawn]
        self._user_of_round: list[int] = users.tolist()
        self._starts: list[int] = starts.tolist()
        self._places = table.item[chosen]
        self._expected = rewards[chosen]
        self._expected.flags.writeable = False
