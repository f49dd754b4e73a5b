"""How a policy chooses: read contexts, score arms, pick, write the decision down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import numpy as np

from fairbandits.arms import ArmId
from fairbandits.contexts import Offer
from fairbandits.fairness import Group, GroupKey, as_group, as_groups
from fairbandits.models import Rows, as_rows, check_width, stack_rows
from fairbandits.policies.core import Core, Floats, Ints, Predictions, Term
from fairbandits.policies.decision import Decision, Scores, decided
from fairbandits.policies.decisions import Decisions
from fairbandits.policies.picker import (
    pick_best_of_many,
)
from fairbandits.policies.slate import Slate, as_slate_size


class Choosing(Core):
    """A policy as far as it chooses."""

    @overload
    def choose(
        self, contexts: Any, group: Group = None, arms: Sequence[ArmId] | None = None, *, k: None = None
    ) -> Decision: ...

    @overload
    def choose(
        self, contexts: Any, group: Group = None, arms: Sequence[ArmId] | None = None, *, k: int
    ) -> Slate: ...

    def choose(
        self, contexts: Any, group: Group = None, arms: Sequence[ArmId] | None = None, *, k: int | None = None
    ) -> Decision | Slate:
        """Choose an arm for one user; or k arms, in an order.

        Parameters
        ----------
        contexts : Offer, or array-like or scipy sparse of shape (n_arms, n_features)
            One row per arm on offer; or what a `Catalogue` offers.
        group : str, int, mapping or None
            The user's group, or groups by attribute; None where it is not known.
        arms : sequence of str or int, optional
            The ids of the arms on offer; left out, they are 0..n-1.
        k : int, optional
            How many arms the user gets, from 1 to all; left out, one that is not in a slate.

        Returns
        -------
        Decision, or Slate where k is given
            Keep it until the reward comes, and hand both to `learn`.
        """
        rows, ids, at = self._read(contexts, arms, as_rows)
        if rows.n_users != 1:
            raise ValueError(f"choose serves one user; this offer is for {rows.n_users}. Use choose_many")
        key = as_group(group)
        if k is not None:
            return self._slates(rows, at, (key,), ids, k)[0]
        self.n_features_in_ = rows.width
        scores = self._score(rows, at, (key,))
        return self._decide(scores, 0, rows, key, ids)

    @overload
    def choose_many(
        self,
        contexts: Any,
        groups: Sequence[Group] | None = None,
        arms: Sequence[ArmId] | None = None,
        *,
        k: None = None,
    ) -> Decisions: ...

    @overload
    def choose_many(
        self, contexts: Any, groups: Sequence[Group] | None = None, arms: Sequence[ArmId] | None = None, *, k: int
    ) -> list[Slate]: ...

    def choose_many(
        self,
        contexts: Any,
        groups: Sequence[Group] | None = None,
        arms: Sequence[ArmId] | None = None,
        *,
        k: int | None = None,
    ) -> Decisions | list[Slate]:
        """Choose an arm for each of many users, or k arms for each, with what is known now.

        The same as calling `choose` for one user after the other, but for how `LinTS` draws, and much faster: the
        result is a sequence of decisions, each of which is written when it is asked for; or a list of slates.

        Parameters
        ----------
        contexts : Offer, array of shape (n_users, n_arms, n_features), or a sequence of matrices
            For each user one row per arm, dense or scipy sparse; or what a `Catalogue` offers to many.
        groups : sequence, optional
            The group of each user.
        arms : sequence of str or int, optional
            The ids of the arms, the same for all users.
        k : int, optional
            How many arms each user gets, in a slate.
        """
        rows, keys, ids, at = self._many(contexts, groups, arms)
        if k is not None:
            return self._slates(rows, at, keys, ids, k)
        self.n_features_in_ = rows.width
        scores = self._score(rows, at, keys)
        picks = self._pick_many(scores)
        return Decisions(picks, scores, rows, keys, ids, self._ledger.policy, self._ledger.issue(len(picks)))

    def _pick_many(self, scores: Scores) -> list[tuple[int, float | None]]:
        if type(self).pick is Core.pick:
            return pick_best_of_many(scores.total, self._rng)
        return [self.pick(scores.user(user), self._rng) for user in range(len(scores.total))]

    def score(
        self, contexts: Any, groups: Sequence[Group] | None = None, arms: Sequence[ArmId] | None = None
    ) -> Scores:
        """Score every arm for every user, without deciding: arrays of shape (n_users, n_arms).

        Takes what `choose_many` takes.
        """
        rows, keys, _, at = self._many(contexts, groups, arms)
        self.n_features_in_ = rows.width
        return self._score(rows, at, keys)

    def probabilities(
        self,
        contexts: Any,
        groups: Sequence[Group] | None = None,
        arms: Sequence[ArmId] | None = None,
        *,
        draws: int = 100,
    ) -> Floats:
        """Give the probability with which each arm would be picked, without deciding: (n_users, n_arms).

        Parameters
        ----------
        contexts, groups, arms
            What `choose_many` takes.
        draws : int
            Where the probability has no closed form (Thompson sampling with a shared model, say): from how many
            picks for each user it is counted. What is counted is right on average, whatever the number.

        Examples
        --------
        >>> from fairbandits import EpsilonGreedy
        >>> EpsilonGreedy(epsilon=0.2).probabilities([[[1.0], [1.0]], [[0.0], [1.0]]])
        array([[0.5, 0.5],
               [0.5, 0.5]])
        """
        if not isinstance(draws, int | np.integer) or draws < 1:
            raise ValueError(f"draws must be a whole number from 1; got {draws!r}")
        scores = self.score(contexts, groups, arms)
        chances = self.chances(scores)
        if chances is not None:
            return chances
        counts = np.zeros(scores.total.shape)
        users = np.arange(len(counts))
        for draw in range(draws):
            picks = self._pick_many(self.score(contexts, groups, arms) if draw else scores)
            counts[users, [index for index, _ in picks]] += 1.0
        return counts / draws

    def _many(
        self, contexts: Any, groups: Sequence[Group] | None, arms: Sequence[ArmId] | None
    ) -> tuple[Rows, tuple[GroupKey, ...], Sequence[ArmId], Ints]:
        rows, ids, at = self._read(contexts, arms, stack_rows)
        n_users = rows.n_users
        if isinstance(groups, str | Mapping):
            raise ValueError(f"groups takes one group for each of {n_users} user(s), in a list; got {groups!r}")
        keys = ((),) * n_users if groups is None else as_groups(groups)
        if len(keys) != n_users:
            raise ValueError(
                f"got {len(keys)} group(s) for {n_users} user(s); give one for each, None where unknown"
            )
        return rows, keys, ids, at

    def _read(
        self, contexts: Any, arms: Sequence[ArmId] | None, as_rows: Callable[[Any, int | None], Rows]
    ) -> tuple[Rows, Sequence[ArmId], Ints]:
        """Check contexts and the ids of arms, and find the rows of those arms."""
        if not isinstance(contexts, Offer):
            rows = self._prepare(as_rows(contexts, self._width))
            return rows, *self._arms.lookup(arms, rows.n_arms)
        if arms is not None and arms is not contexts.arms and tuple(arms) != tuple(contexts.arms):
            raise ValueError("an offer knows its arms; name those that may be offered to Catalogue.offer")
        check_width(contexts.rows.width, self._width)
        return self._prepare(contexts.rows), *self._arms.lookup_known(contexts.arms)

    @property
    def _width(self) -> int | None:
        """The width that contexts must have: any, while nothing has been learned."""
        return self._learned_width

    def _score(self, rows: Rows, at: Ints, keys: tuple[GroupKey, ...]) -> Scores:
        mean, width = self._predict(rows, at)
        exploration, fairness = self.terms(Predictions(mean, width, keys, at, rows))
        try:
            total = mean + exploration
            if type(fairness) is float and not fairness:
                fairness = np.zeros(mean.shape)  # adding nothing would take as long as adding something
            else:
                total = total + fairness
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{type(self).__name__}.terms must return two numbers or arrays of shape {mean.shape}: {error}"
            ) from None
        return Scores(mean, width, _like(exploration, mean), _like(fairness, mean), total)

    def _decide(self, scores: Scores, user: int, rows: Rows, key: GroupKey, ids: Sequence[ArmId]) -> Decision:
        own = scores.user(user)
        index, probability = self.pick(own, self._rng)
        row = rows.row(user, index)
        return decided(
            ids[index], probability, key, own, ids, index, row, self._ledger.policy, self._ledger.issue()
        )

    def _slates(
        self, rows: Rows, at: Ints, keys: tuple[GroupKey, ...], ids: Sequence[ArmId], k: int
    ) -> list[Slate]:
        size = as_slate_size(k, rows.n_arms)
        self.n_features_in_ = rows.width
        scores = self._score(rows, at, keys)
        each = [scores.user(user) for user in range(len(keys))]
        picks = [self.pick_slate(own, size, self._rng) for own in each]
        first = self._ledger.issue(len(keys))
        return [
            Slate(
                tuple(ids[place] for place in places),
                probability,
                keys[user],
                each[user],
                ids,
                tuple(places),
                tuple(rows.row(user, place).alone() for place in places),
                self._ledger.policy,
                first + user,
            )
            for user, (places, probability) in enumerate(picks)
        ]


def _like(term: Term, mean: Floats) -> Floats:
    if isinstance(term, np.ndarray) and term.shape == mean.shape:
        return term
    return np.zeros(mean.shape) + term
