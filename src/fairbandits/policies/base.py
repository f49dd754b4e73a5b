"""What all policies share: choosing, learning, keeping."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self, overload

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId, ArmIndex, as_arm
from fairbandits.coded import Coded
from fairbandits.contexts import Offer
from fairbandits.fairness import Group, GroupKey, GroupRewards, as_group, as_groups
from fairbandits.fairness.rewards import as_range, as_reward
from fairbandits.linear import MapError, Row, Rows, RowSums, as_rows, check_width, stack_rows
from fairbandits.policies import files
from fairbandits.policies.decision import Decision, Scores
from fairbandits.policies.decisions import Decisions
from fairbandits.policies.ledger import Ledger
from fairbandits.policies.lessons import Lessons, as_lesson_rows, group_keys
from fairbandits.policies.params import Parameters
from fairbandits.policies.pick import (
    pick_best,
    pick_best_in_order,
    pick_best_of_many,
    pick_in_turn,
    share_of_best,
)
from fairbandits.policies.plain import (
    as_generator,
    params_from_plain,
    params_to_plain,
    part,
    rng_from_plain,
    rng_to_plain,
)
from fairbandits.policies.slate import Reward, Slate, as_slate_rewards, as_slate_size

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Term = Floats | float


@dataclass(slots=True, eq=False)
class Seen:
    """What a policy sees of a round, for one user or many: arrays with one line per user, one column per arm.

    Attributes
    ----------
    mean, width : arrays of shape (n_users, n_arms)
        The predicted reward, and how unsure it is.
    groups : tuple
        The group of each user, as pairs of attribute and value.
    rows : array of int, shape (n_arms,)
        The arms on offer, as the group record numbers them; -1 for one that nobody received yet.
    contexts : Rows
        The contexts, user after user.
    """

    mean: Floats
    width: Floats
    groups: tuple[GroupKey, ...]
    rows: Ints
    contexts: Rows


class Policy(Parameters):
    """The base of all policies: subclass it, or rather `LinearPolicy`, and say what to add to a score.

    Parameters
    ----------
    reward_range : tuple of two floats
        The lowest and highest reward; anything outside is refused.
    random_state : int, numpy Generator or None
        Where the randomness of ties and draws comes from.
    """

    groups: GroupRewards

    _kinds: ClassVar[dict[str, type[Policy]]] = {}
    _fixed: tuple[str, ...] = ("reward_range",)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        Policy._kinds[_kind(cls)] = cls

    def __init__(self, reward_range: tuple[float, float] = (0.0, 1.0), random_state: Any = None) -> None:
        self.reward_range = reward_range
        self.random_state = random_state
        self._check_params()
        self._rng = as_generator(random_state)
        self._arms = ArmIndex()
        self._ledger = Ledger()
        self.groups = GroupRewards(reward_range, self._arms)
        self.n_features_in_: int | None = None
        self.rounds_learned = 0
        # Plain values that go into the policy's file and come back with it: how its contexts are encoded, say.
        self.notes: dict[str, Any] = {}

    # -- what a subclass says --------------------------------------------------------------------------

    def terms(self, seen: Seen) -> tuple[Term, Term]:
        """Say what exploration and what fairness add to the predicted reward."""
        raise NotImplementedError(f"{type(self).__name__} must define terms(seen) -> (exploration, fairness)")

    def pick(self, scores: Scores, rng: np.random.Generator) -> tuple[int, float | None]:
        """Pick an arm by its score; return its place and the probability with which it was picked."""
        return pick_best(scores.total, rng)

    def chances(self, scores: Scores) -> Floats | None:
        """Give the probability with which `pick` picks each arm, from scores with one line per user.

        Override it together with `pick`; None stands for "no closed form", and `probabilities` then draws.
        """
        return share_of_best(scores.total) if type(self).pick is Policy.pick else None

    def pick_slate(self, scores: Scores, k: int, rng: np.random.Generator) -> tuple[list[int], float | None]:
        """Pick k arms in order; return their places and the probability of just these in just this order.

        Each is picked among those that are left, as `pick` picks one. Where the picks of a slate hang together,
        as they do when all come from one draw, say here what their probability is.
        """
        if type(self).pick is Policy.pick:
            return pick_best_in_order(scores.total, k, rng)
        return pick_in_turn(self.pick, scores, k, rng)

    @property
    def order_matters(self) -> bool:
        """Whether the same rewards in another order lead to other predictions: for models that forget."""
        return False

    @property
    def arms_learned(self) -> tuple[ArmId, ...]:
        """The arms of which something has been learned."""
        return tuple(self._arms.rows)

    # -- choosing --------------------------------------------------------------------------------------

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
        if type(self).pick is Policy.pick:
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
        exploration, fairness = self.terms(Seen(mean, width, keys, at, rows))
        try:
            total = mean + exploration
            if not _is_nothing(fairness):  # adding nothing takes as long as adding something
                total = total + fairness
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{type(self).__name__}.terms must return two numbers or arrays of shape {mean.shape}: {error}"
            ) from None
        return Scores(mean, width, _like(exploration, mean), _like(fairness, mean), total)

    def _prepare(self, rows: Rows) -> Rows:
        """Change contexts before they are used: for policies that leave columns out."""
        return rows

    def _predict(self, rows: Rows, at: Ints) -> tuple[Floats, Floats]:
        """Predict nothing: for policies without a model."""
        shape = (rows.n_users, rows.n_arms)
        return np.zeros(shape), np.zeros(shape)

    def _decide(self, scores: Scores, user: int, rows: Rows, key: GroupKey, ids: Sequence[ArmId]) -> Decision:
        own = scores.user(user)
        index, probability = self.pick(own, self._rng)
        row = rows.row(user, index)
        return Decision(
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

    # -- learning --------------------------------------------------------------------------------------

    def learn(self, decision: Decision | Slate, reward: Reward, *, again: bool = False) -> None:
        """Learn the reward of a decision: at once, later, in any order.

        Parameters
        ----------
        decision : Decision or Slate
            What `choose` returned.
        reward : float, or sequence for a slate
            Within `reward_range`. For a slate: one for each of its arms in their order, None for an arm that
            nobody looked at, which is then not learned; or a single number for the whole slate, which every
            one of its arms learns as its own. The user's groups count the mean of what came, once.
        again : bool
            Allow a decision that was learned before; its reward then counts once more.
        """
        checked = self._ledger.check(decision, again)
        if isinstance(checked, Slate):
            self._learn_slate(checked, *as_slate_rewards(reward, checked, self.reward_range))
        else:
            self._learn(checked, as_reward(reward, self.reward_range))

    def learn_many(
        self, decisions: Sequence[Decision | Slate], rewards: Iterable[Reward], *, again: bool = False
    ) -> None:
        """Learn the rewards of many decisions; all are checked before the first is learned.

        Only a row that float64 cannot hold (`RidgeBank.learn` says which) is found later: those before it are
        then learned, it and those behind it are not. That holds for the arms of one slate as well.
        """
        if not (isinstance(decisions, Iterable) and isinstance(rewards, Iterable)):
            raise ValueError("learn_many takes a list of decisions and a list of rewards; use learn for one")
        checked = [self._ledger.check(decision, again) for decision in decisions]
        given = list(rewards)
        if len(checked) != len(given):
            raise ValueError(f"got {len(checked)} decision(s) and {len(given)} reward(s); give one for each")
        if not again and len({(d.policy, d.number) for d in checked}) < len(checked):
            raise ValueError("a decision stands more than once; pass again=True if its reward counts twice")
        lessons: list[Callable[[], None]] = []
        for decision, reward in zip(checked, given, strict=True):
            if isinstance(decision, Slate):
                came = as_slate_rewards(reward, decision, self.reward_range)
                lessons.append(partial(self._learn_slate, decision, *came))
            else:
                lessons.append(partial(self._learn, decision, as_reward(reward, self.reward_range)))
        for learn in lessons:
            learn()

    def _learn(self, decision: Decision, reward: float) -> None:
        at = self._learn_arm(decision, decision.arm, decision.row, reward)
        # The model is the one that may still refuse; from here on nothing does.
        self.groups.record(reward, decision.group, at)
        self._note(decision)
        self._ledger.mark(decision)
        self.rounds_learned += 1

    def _note(self, decision: Decision | Slate) -> None:
        """Note more of a decision that has been learned: for policies that keep a record of their own."""

    def _learn_slate(self, slate: Slate, gain: float, rewards: list[float | None]) -> None:
        learned: list[tuple[int, float]] = []
        try:
            for arm, row, reward in zip(slate.picked, slate.rows, rewards, strict=True):
                if reward is not None:
                    learned.append((self._learn_arm(slate, arm, row, reward), reward))
        finally:
            # Where the model refuses an arm, those before it stay learned, and must not be learned again.
            if learned:
                self.groups.record_slate(gain, slate.group, learned)
                self._note(slate)
                self._ledger.mark(slate)
                self.rounds_learned += 1

    def _learn_arm(self, decision: Decision | Slate, arm: ArmId, row: Row, reward: float) -> int:
        """Let the model learn, and give the row of the arm; -1 for one that was forgotten meanwhile.

        Its reward still tells what its user received.
        """
        if self._ledger.is_gone(decision, arm):
            self._update(-1, row, reward)
            return -1
        self._update(self._arms.row_for(arm), row, reward)
        return self._arms.claim(arm)

    def _update(self, at: int, row: Row, reward: float) -> None:
        """Learn nothing: for policies without a model."""

    def learn_lessons(self, lessons: Lessons) -> None:
        """Learn what decisions of a log teach, which may be those of another policy: summed up, solved once.

        The same as learning them one by one, and much faster. For models to which the order matters use
        `learn_logged`.
        """
        if not self.lessons_add_up:
            raise ValueError(
                f"the order of rewards matters to {self!r}, so that they cannot be summed up; use learn_logged"
            )
        self._check_alike(lessons.policy)
        if lessons.width is None:
            return
        check_width(lessons.width, self._learned_width)
        self.n_features_in_ = lessons.width
        if lessons.sums is not None:
            self._learn_sums(lessons.sums, *lessons.places(self._arms))
        self.groups.merge(lessons.groups)
        self.rounds_learned += lessons.rounds

    def learn_logged(self, contexts: Any, arms: Coded, rewards: Floats, groups: Mapping[str, Coded]) -> None:
        """Learn decisions of a log, which may be those of another policy, in their order.

        Takes what `Lessons.add` takes.
        """
        if self.lessons_add_up:
            lessons = Lessons(self)
            lessons.add(contexts, arms, rewards, groups)
            self.learn_lessons(lessons)
            return
        rows = as_lesson_rows(self, contexts, rewards)
        self.n_features_in_ = rows.width
        picked = [as_arm(arm) for arm in arms.labels]
        for i, (code, reward, key) in enumerate(
            zip(arms.codes, rewards, group_keys(groups, len(rewards)), strict=True)
        ):
            arm, gain = picked[code], float(reward)
            self._update(self._arms.row_for(arm), rows.row(i, 0), gain)
            self.groups.record(gain, key, self._arms.claim(arm))
            self.rounds_learned += 1

    @property
    def lessons_add_up(self) -> bool:
        """Whether what a log teaches can be summed up: not where order matters, or a subclass learns its way."""
        return not self.order_matters and type(self)._update is Policy._update

    @property
    def _pooled(self) -> bool | None:
        """Whether all arms share one regression; None where there is no regression."""
        return None

    @property
    def _learned_width(self) -> int | None:
        """The width of what has been learned; None while that is nothing."""
        return self.n_features_in_ if self.rounds_learned else None

    def _learn_sums(self, sums: RowSums, ours: Ints, theirs: Ints) -> None:
        """Learn nothing: for policies without a model."""

    def forget_arm(self, arm: ArmId) -> None:
        """Retire an arm: what was learned of it is dropped, what its users received stays counted.

        Offered again under the same id, it is a new arm. Rewards of earlier decisions for it still count for the
        groups, and do not bring it back. What a shared model learned from it cannot be told apart, and stays.
        """
        arm = as_arm(arm)
        self._ledger.forget(arm)
        at = self._arms.release(arm)
        if at is not None:
            self.groups.forget_row(at)
            self._forget(at)

    def _forget(self, at: int) -> None:
        """Drop what the model knows of an arm."""

    # -- keeping ---------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save all of it: parameters, what was learned, and where the randomness stands.

        The file is safetensors with a JSON header and a checksum; it is written whole or not at all.
        """
        header, arrays = self._state()
        files.write(path, header, arrays)

    def checksum(self) -> str:
        """Give a fingerprint of what has been learned: equal to the bit, equal checksum.

        It leaves out where the randomness stands and which decisions are still open.
        """
        header, arrays = self._state()
        kept = {name: header[name] for name in ("kind", "arms", "groups", "rounds_learned")}
        learned = {name: array for name, array in arrays.items() if not name.startswith("ledger.")}
        return files.checksum(json.dumps(kept, sort_keys=True), learned)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, feature_map: Any = None) -> Self:
        """Load what `save` wrote; the policy goes on as if it had never stopped.

        Parameters
        ----------
        path : path
            The file.
        feature_map : fitted transformer, optional
            That of the policy's `Model`, where it has one. Files do not hold it, but can tell if it is the same.
        """
        header, arrays = files.read(path)
        try:
            kind = cls if header["kind"] == _kind(cls) else Policy._kinds[header["kind"]]
        except (KeyError, TypeError):
            raise files.FileError(
                f"{path}: holds a policy of class {header.get('kind')!r}, which is not defined here; "
                "import the module that defines it first"
            ) from None
        if not issubclass(kind, cls):
            raise files.FileError(
                f"{path}: holds a {kind.__name__}, not a {cls.__name__}; load it with its own class"
            )
        try:
            policy = kind(**params_from_plain(header["params"], feature_map))
            policy._restore(header, arrays)
        except MapError as error:
            raise files.FileError(f"{path}: {error}") from None
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
            raise files.FileError(f"{path}: its parts do not fit together ({error!r}); save it again") from None
        # Two policies may be loaded from one file: each numbers its decisions on an account of its own.
        policy._ledger.open_account()
        return policy

    def merge(self, other: Self) -> Self:
        """Make the policy that has learned all that the two have learned.

        Both stay as they are. They must have the same parameters (but for `random_state`) and no common
        past, which would count twice. Decisions of either can be learned by the result.
        """
        self._check_mergeable(other)
        merged = type(self)(**self.get_params())
        merged._restore(*self._state())
        merged.n_features_in_ = self.n_features_in_ or other.n_features_in_
        merged._absorb(other)
        merged.groups.merge(other.groups)
        merged._ledger.merge(other._ledger)
        merged._ledger.open_account()
        merged.rounds_learned += other.rounds_learned
        return merged

    def _check_alike(self, other: Policy) -> None:
        if type(other) is not type(self):
            raise ValueError(f"cannot merge a {type(self).__name__} with a {type(other).__name__}")
        ours, theirs = (params_to_plain(policy.get_params()) | {"random_state": None} for policy in (self, other))
        if ours != theirs:
            different = [name for name in ours if ours[name] != theirs[name]]
            raise ValueError(f"policies with different parameters do not merge; these differ: {different}")

    def _check_mergeable(self, other: Self) -> None:
        self._check_alike(other)
        if None not in (self.n_features_in_, other.n_features_in_) and self.n_features_in_ != other.n_features_in_:
            raise ValueError(
                "policies of different width do not merge: "
                f"{self.n_features_in_} and {other.n_features_in_} features"
            )
        for what in ("encoder", "catalogue"):
            if {what} <= self.notes.keys() & other.notes.keys() and self.notes[what] != other.notes[what]:
                raise ValueError(
                    f"the two policies were fitted to logs with another {what}: their features are not the same. "
                    "Keep both logs in one folder, and fit a policy to that"
                )
        if self._ledger.shares_history(other._ledger):
            raise ValueError(
                "the two policies come from one and the same, so what it had learned would count twice; "
                "merge policies that each began from nothing"
            )

    def _absorb(self, other: Self) -> None:
        """Add what the other's model has learned."""

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        header = {
            "kind": _kind(type(self)),
            "params": params_to_plain(self.get_params()),
            "rng": rng_to_plain(self._rng),
            "arms": self._arms.to_json(),
            "ledger": self._ledger.to_json(),
            "groups": self.groups.to_json(),
            "width": self.n_features_in_,
            "rounds_learned": self.rounds_learned,
            "notes": self.notes,
        }
        arrays: dict[str, NDArray[Any]] = {f"groups.{name}": a for name, a in self.groups.arrays().items()}
        arrays |= {f"ledger.{name}": a for name, a in self._ledger.arrays().items()}
        return header, arrays

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self._rng = rng_from_plain(header["rng"])
        self._arms = ArmIndex.from_json(header["arms"])
        self._ledger = Ledger.restore(header["ledger"], part(arrays, "ledger."))
        self.groups = GroupRewards(self.reward_range, self._arms)
        self.groups.restore(header["groups"], part(arrays, "groups."))
        self.n_features_in_ = None if header["width"] is None else int(header["width"])
        self.rounds_learned = int(header["rounds_learned"])
        self.notes = dict(header.get("notes", {}))  # older files have none

    # -- parameters ------------------------------------------------------------------------------------

    def _check_params(self) -> None:
        """Refuse parameters that make no sense; subclasses add theirs."""
        as_range(self.reward_range)
        as_generator(self.random_state)

    def _has_learned(self) -> bool:
        return self.rounds_learned > 0 or bool(self.groups.attributes)

    def _params_changed(self, names: set[str]) -> None:
        if "random_state" in names:
            self._rng = as_generator(self.random_state)
        if "reward_range" in names:
            self.groups = GroupRewards(self.reward_range, self._arms)


def _like(term: Term, mean: Floats) -> Floats:
    if isinstance(term, np.ndarray) and term.shape == mean.shape:
        return term
    return np.zeros(mean.shape) if _is_nothing(term) else np.zeros(mean.shape) + term


def _is_nothing(term: Term) -> bool:
    return type(term) is float and not term


def _kind(cls: type) -> str:
    """Name a class in a file: ours by name alone, wherever they will be moved; others by their module too."""
    if cls.__module__.split(".")[0] == "fairbandits":
        return cls.__qualname__
    return f"{cls.__module__}.{cls.__qualname__}"
