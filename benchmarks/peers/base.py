"""The interface of all adapters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Peer:
    """A contender, as the measurements use it.

    Attributes
    ----------
    model : {"disjoint", "shared"}
        One regression per arm, or one for all arms.
    narrow : bool
        Whether it receives the columns of the user only.
    takes_users : bool
        Whether it takes one context per user.
    users_at_once : int
        The number of users per call of `choose_many`.
    """

    model = "disjoint"
    narrow = False
    takes_users = False
    users_at_once = 250

    def prepare(self, round_: Any) -> Any:
        """Convert a round to the input of the library; this is not timed."""
        return round_.contexts

    def choose(self, prepared: Any) -> int:
        """Choose an arm."""
        raise NotImplementedError

    def learn(self, arm: int, prepared: Any, reward: float) -> None:
        """Learn the reward of the arm in that round."""
        raise NotImplementedError

    def learn_many(self, arms: Sequence[int], rounds: Sequence[Any], rewards: Sequence[float]) -> None:
        """Learn a log; this is not timed."""
        for arm, round_, reward in zip(arms, rounds, rewards, strict=True):
            self.learn(arm, self.prepare(round_), reward)

    def prepare_many(self, rounds: Sequence[Any]) -> Any:
        """Convert many users to the input of the library; this is not timed."""
        return [self.prepare(round_) for round_ in rounds]

    def choose_many(self, prepared: Any) -> Sequence[int]:
        """Choose an arm for each of many users; one by one unless the library supports batches."""
        return [self.choose(one) for one in prepared]


class UserPeer(Peer):
    """A contender that takes one context per user, as a matrix with one row."""

    takes_users = True
    users_at_once = 10_000

    def prepare(self, round_: Any) -> Any:
        """Return the user's row."""
        return (round_.user[: round_.own] if self.narrow else round_.user)[None]
