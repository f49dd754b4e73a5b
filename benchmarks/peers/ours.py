"""fairbandits through its public interface, with all checks and a full record of every decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import fairbandits
from peers.base import Peer


class Ours(Peer):
    """A policy that receives contexts as a matrix."""

    def __init__(self, policy: Any) -> None:
        self.policy, self.model = policy, policy.model

    def prepare(self, round_: Any) -> Any:
        """Return the matrix and the group."""
        return round_.contexts, round_.group

    def choose(self, prepared: Any) -> int:
        """Choose an arm, and store the decision for `learn`."""
        contexts, group = prepared
        self.decision = self.policy.choose(contexts, group=group)
        index: int = self.decision.index
        return index

    def learn(self, arm: int, prepared: Any, reward: float) -> None:
        """Learn the decision."""
        self.policy.learn(self.decision, reward)

    def learn_many(self, arms: Sequence[int], rounds: Sequence[Any], rewards: Sequence[float]) -> None:
        """Offer only the logged arm, so that all contenders learn the same."""
        for arm, round_, reward in zip(arms, rounds, rewards, strict=True):
            self.policy.learn(self._offered(arm, round_), reward)

    def _offered(self, arm: int, round_: Any) -> Any:
        return self.policy.choose(round_.contexts[[arm]], group=round_.group, arms=[arm])

    def prepare_many(self, rounds: Sequence[Any]) -> Any:
        """Stack the contexts: (n_users, n_arms, width)."""
        return np.stack([round_.contexts for round_ in rounds]), [round_.group for round_ in rounds]

    def choose_many(self, prepared: Any) -> Sequence[int]:
        """Choose for all users."""
        contexts, groups = prepared
        arms: list[int] = self.policy.choose_many(contexts, groups).picked
        return arms


class FromCatalogue(Ours):
    """A policy that receives contexts from a catalogue; making the offer is timed.

    Contexts that are products of user and arm cannot be kept in a catalogue and are passed as a matrix.
    """

    catalogue: Any = None
    users_at_once = 10_000

    def prepare(self, round_: Any) -> Any:
        """Return the columns of the user, and the group."""
        if round_.is_product:
            return super().prepare(round_)
        self._ensure_catalogue(round_)
        return round_.own_columns, round_.group

    def choose(self, prepared: Any) -> int:
        """Offer all arms, and choose one."""
        if self.catalogue is not None:
            user, group = prepared
            prepared = self.catalogue.offer(user, {"sex": group}), group
        return super().choose(prepared)

    def _offered(self, arm: int, round_: Any) -> Any:
        if round_.is_product:
            return super()._offered(arm, round_)
        self._ensure_catalogue(round_)
        offer = self.catalogue.offer(round_.own_columns, {"sex": round_.group}, [arm])
        return self.policy.choose(offer, group=round_.group)

    def prepare_many(self, rounds: Sequence[Any]) -> Any:
        """Stack the users: (n_users, n_columns)."""
        if rounds[0].is_product:
            return super().prepare_many(rounds)
        self._ensure_catalogue(rounds[0])
        return np.stack([round_.own_columns for round_ in rounds]), [round_.group for round_ in rounds]

    def choose_many(self, prepared: Any) -> Sequence[int]:
        """Offer all arms to all users, and choose."""
        if self.catalogue is not None:
            users, groups = prepared
            prepared = self.catalogue.offer_many(users, {"sex": groups}), groups
        return super().choose_many(prepared)

    def _ensure_catalogue(self, round_: Any) -> None:
        """Build the catalogue from the first round; the last column is whether an arm matches the user."""
        if self.catalogue is None:
            other = {"female": "male", "male": "female"}[round_.group]
            sexes = [round_.group if match else other for match in round_.arm_columns[:, -1]]
            self.catalogue = fairbandits.Catalogue(round_.arm_columns[:, :-1], round_.own, matches={"sex": sexes})


def make(
    n_arms: int, width: int, own: int, alpha: float, ridge: float,
    policy: str = "LinUCB", model: Any = "disjoint", matrix: bool = False, dtype: str = "float64",
) -> Ours:  # fmt: skip
    """Return the adapter of a policy, by its name."""
    if dtype != "float64":
        model = fairbandits.Model(kind=model, dtype=dtype)
    instance = getattr(fairbandits, policy)(alpha=alpha, ridge=ridge, model=model, random_state=0)
    return Ours(instance) if matrix else FromCatalogue(instance)
