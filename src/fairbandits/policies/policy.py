"""Policies, which choose arms and learn from their rewards.

A policy is composed of a reward model, a picker, a group record and a ledger of decisions. An algorithm is a
subclass that defines one method, `terms`, which returns the exploration and fairness terms added to the predicted
reward.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self, overload

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId, ArmIndex, as_arm, as_arms
from fairbandits.contexts import Offer
from fairbandits.fairness import Group, GroupKey, GroupRewards, as_group, as_groups
from fairbandits.fairness.group_rewards import as_range, as_reward
from fairbandits.fairness.groups import DEFAULT_ATTRIBUTE
from fairbandits.locks import SharedLock, hold
from fairbandits.models import Model, RewardModel, Row, Rows, SparseRows, as_model, as_rows
from fairbandits.models.device import Backend, Device
from fairbandits.models.rows import check_width, stack_rows
from fairbandits.models.threads import sum_of
from fairbandits.parameters import Parameters, number, parameter
from fairbandits.policies import batch_learning, inputs, persistence
from fairbandits.policies.batch_learning import SufficientStatistics
from fairbandits.policies.batch_updates import learn_together
from fairbandits.policies.decisions import Decisions, LazyDecisions, as_arrays, flat, slate_of
from fairbandits.policies.device_choice import choose_on_device
from fairbandits.policies.device_decisions import DeviceDecisions, DeviceSlates
from fairbandits.policies.device_round import DeviceRound, backend_for
from fairbandits.policies.eligibility import Round, choose_eligible
from fairbandits.policies.ledger import Account, Ledger
from fairbandits.policies.min_probability import MinProbabilityPicker
from fairbandits.policies.mixed_decisions import MixedDecisions
from fairbandits.policies.notebook import policy_html
from fairbandits.policies.picker import GREEDY, Picker
from fairbandits.policies.predictions import Predictions, Term
from fairbandits.policies.records import (
    Decision,
    DecisionDraft,
    RankedArms,
    Record,
    Reward,
    Scores,
    Slate,
    as_slate_rewards,
    as_slate_size,
)
from fairbandits.policies.reward_scale import UnitScale
from fairbandits.policies.serialisation import as_generator

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Dividing by a smaller number overflows float64.
_SMALLEST_RIDGE = 1e-50


class Policy(Parameters):
    """Base class of all policies; subclasses define `terms`.

    Several threads may share a policy; calls to its methods are serialised.

    Attributes
    ----------
    groups : GroupRewards
        The rewards of each group so far.
    rounds_learned : int
        The number of decisions that the policy has learned from.
    metadata : dict
        JSON values that are saved with the policy, for example the encoding of its contexts.

    Examples
    --------
    >>> from fairbandits import Policy
    >>> class Greedy(Policy):
    ...     def terms(self, predictions):
    ...         return 0.0, 0.0  # nothing for exploration, nothing for fairness
    >>> Greedy(ridge=2.0)
    Greedy(ridge=2.0)
    """

    kinds: ClassVar[dict[str, type[Policy]]] = {}
    #: Whether `terms` works with any array library, as `device=` requires; set by the class that defines
    #: `terms`.
    array_terms: ClassVar[bool] = False

    ridge: float = parameter(
        default=1.0, check=number(above=_SMALLEST_RIDGE), doc="The ridge penalty.", fixed=True
    )
    model: str | Model | type[RewardModel] | None = parameter(
        default="disjoint",
        check=lambda _, value: as_model(value),
        doc='"disjoint" (a regression for each arm), "shared" (one for all arms), "hybrid" (both) or '
        '"auto" (all of them, weighted by how well each predicts); a `Model` for more options; or a class derived '
        "from `RewardModel`.",
        fixed=True,
    )
    reward_range: tuple[float, float] = parameter(
        default=(0.0, 1.0),
        check=lambda name, value: as_range(value, name),
        doc="The lowest and the highest reward; rewards outside this range are rejected. Models learn rewards "
        "scaled to [0, 1], so that the choice of arms does not depend on the units of reward; predictions, scores "
        "and records are in units of reward.",
        fixed=True,
    )
    min_probability: float = parameter(
        default=0.0,
        check=number(at_least=0.0, at_most=1.0),
        doc="The minimum probability of each arm on offer; at 1 / n_arms or above, all arms are equally probable. "
        "With a value above 0, other policies can be evaluated on this policy's log, at the cost of some reward.",
    )
    random_state: Any = parameter(
        default=None,
        check=lambda _, value: as_generator(value),
        doc="Seed or NumPy generator for ties and random draws.",
    )

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        Policy.kinds[persistence.kind_of(cls)] = cls

    def _begin(self) -> None:
        # Threads may share a policy and its records, so each public method holds this lock.
        self._lock = SharedLock()
        self._rng = as_generator(self.random_state)
        self._set_builder()
        self._arms = ArmIndex()
        self._ledger = Ledger()
        self._scale = UnitScale(self.reward_range)
        self.groups = self._new_record(self.reward_range, self._arms)
        self.rounds_learned = 0
        self.metadata: dict[str, Any] = {}
        self._feature_names: tuple[str, ...] | None = None

    def _new_record(self, reward_range: tuple[float, float], arms: ArmIndex | None = None) -> GroupRewards:
        """Return an empty group record that can be read while the policy learns."""
        return GroupRewards(reward_range, arms, self._lock)

    def _set_builder(self) -> None:
        self._builder = as_model(self.model)
        # The width that the feature map expects; None if there is no feature map.
        self._map_width = self._builder.width
        self._model: RewardModel | None = None

    def _repr_html_(self) -> str:
        return policy_html(self, len(self._arms))

    # -- what an algorithm defines ---------------------------------------------------------------------

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Return the exploration and fairness terms, which are added to the predicted reward.

        This method runs in every round, so it must be fast. The group record provides plain arrays
        (`groups.means`, `groups.counts`, `groups.arm_means`), single means (`groups.mean_of(attribute, value)`)
        and the gap without its interval (`groups.gap(confidence=None)`). Computing an interval would take longer
        than the rest of the round.

        Examples
        --------
        >>> import numpy as np
        >>> from fairbandits import LinUCB
        >>> class Considerate(LinUCB):
        ...     def terms(self, predictions):
        ...         # Explore less for users whose groups have a low mean reward.
        ...         means = [
        ...             min((self.groups.mean_of(*pair) for pair in group), default=1.0)
        ...             for group in predictions.groups
        ...         ]
        ...         return self.alpha_now() * np.array(means)[:, None] * predictions.width, 0.0
        >>> Considerate().choose([[1.0], [2.0]], group="female").score
        0.0
        """
        raise NotImplementedError(f"{type(self).__name__} must define terms(predictions)")

    @property
    def picker(self) -> Picker:
        """The rule that turns scores into a choice; by default, it takes the highest score."""
        return GREEDY

    def transform(self, rows: Rows) -> Rows:
        """Transform contexts before the model sees them, by default with the model's feature map."""
        return rows if self._map_width is None else self._builder.transform(rows)

    def records(self) -> Mapping[str, Record]:
        """Return the policy's records other than `groups`; they are saved and merged along with the policy."""
        return {}

    def observe(self, decision: Decision | Slate) -> None:
        """Update `records` with a decision that the policy has learned from."""

    # -- choosing --------------------------------------------------------------------------------------

    @overload
    def choose(
        self,
        contexts: Any,
        group: Group = None,
        arms: Sequence[ArmId] | None = None,
        *,
        eligible: Any = None,
        k: None = None,
    ) -> Decision: ...

    @overload
    def choose(
        self,
        contexts: Any,
        group: Group = None,
        arms: Sequence[ArmId] | None = None,
        *,
        eligible: Any = None,
        k: int,
    ) -> Slate: ...

    def choose(
        self,
        contexts: Any,
        group: Group = None,
        arms: Sequence[ArmId] | None = None,
        *,
        eligible: Any = None,
        k: int | None = None,
    ) -> Decision | Slate:
        """Choose an arm for one user, or an ordered slate of k arms.

        Parameters
        ----------
        contexts : Offer, or array-like, data frame or scipy sparse matrix of shape (n_arms, n_features)
            One row per arm on offer, or the offer of a `Catalogue`. A frame must have the same columns as earlier
            frames (`feature_names_in_`), in the same order.
        group : str, int, mapping or None
            The user's group, or groups by attribute; None if the group is unknown. A row of a data frame is
            treated as a mapping.
        arms : sequence of str or int, optional
            The ids of the arms on offer; by default, the index of a pandas frame or, for other contexts, 0..n-1.
        eligible : collection of ids, or boolean array of shape (n_arms,), optional
            The arms that this user may be offered; all by default.
        k : int, optional
            The number of arms in the slate; by default, a single arm is chosen.

        Returns
        -------
        Decision, or Slate if k is given
            Keep the decision until the reward arrives, and pass both to `learn`.
        """
        with self._lock:
            rows, ids, numbers = self._read(contexts, arms, as_rows)
            if rows.n_users != 1:
                raise ValueError(f"contexts must belong to one user, got those of {rows.n_users}; use choose_many")
            key = ((DEFAULT_ATTRIBUTE, group),) if type(group) is str else as_group(group)
            if eligible is not None:
                alone = eligible[None] if isinstance(eligible, np.ndarray) else [eligible]
                return choose_eligible(self, Round(rows, (key,), ids, numbers), alone, k)[0]
            if k is not None:
                return self._slates(rows, numbers, (key,), ids, k)[0]
            seen, scores = self._score(rows, numbers, (key,), ids)
            own = Scores(
                scores.mean[0], scores.width[0], scores.exploration[0], scores.fairness[0], scores.total[0]
            )
            # Pickers see scores scaled to [0, 1], so that ties do not depend on the units of reward.
            picker = self._mixed_picker() if self.min_probability else self.picker
            index, probability = picker.pick(
                own if self._scale.is_unit else self._scale.unit_scores(own), key, self._rng
            )
            ledger = self._ledger
            # `seen.row` is inlined for the common case, to save the call.
            row = Row(seen.parts, 0, index, seen.width) if type(seen) is SparseRows else seen.row(0, index)
            issued = ledger.issue()
            decision = DecisionDraft(
                ids[index], probability, key, own, ids, index, row, ledger.policy, issued, None
            )
            decision.__class__ = Decision
            return decision  # type: ignore[no-any-return]

    @overload
    def choose_many(
        self,
        contexts: Any,
        groups: Any = None,
        arms: Sequence[ArmId] | None = None,
        *,
        eligible: None = None,
        k: None = None,
        device: str | Device = "cpu",
    ) -> Decisions: ...

    @overload
    def choose_many(
        self,
        contexts: Any,
        groups: Any = None,
        arms: Sequence[ArmId] | None = None,
        *,
        eligible: Any,
        k: None = None,
        device: str | Device = "cpu",
    ) -> Decisions | MixedDecisions: ...

    @overload
    def choose_many(
        self,
        contexts: Any,
        groups: Any = None,
        arms: Sequence[ArmId] | None = None,
        *,
        eligible: Any = None,
        k: int,
        device: str | Device = "cpu",
    ) -> Sequence[Slate]: ...

    def choose_many(
        self,
        contexts: Any,
        groups: Any = None,
        arms: Sequence[ArmId] | None = None,
        *,
        eligible: Any = None,
        k: int | None = None,
        device: str | Device = "cpu",
    ) -> Decisions | MixedDecisions | Sequence[Slate]:
        """Choose an arm, or an ordered slate of k arms, for each of many users, without learning in between.

        This is equivalent to calling `choose` for each user in turn, except that `LinTS` makes its draws in a
        different order; it is also much faster.

        Parameters
        ----------
        contexts : Offer, array of shape (n_users, n_arms, n_features), or a sequence of matrices
            One row per arm for each user, as arrays, scipy sparse matrices or data frames; or the offer that a
            `Catalogue` makes to many users.
        groups : sequence or data frame, optional
            The group of each user. Each column of a frame is an attribute; a named series is a single attribute.
        arms : sequence of str or int, optional
            The ids of the arms, the same for all users; by default, the index of pandas frames or, for other
            contexts, 0..n-1.
        eligible : sequence of collections, or boolean array of shape (n_users, n_arms), optional
            The arms that each user may be offered; None allows all arms. Users with the same eligible arms are
            scored together; each gets the choice that `choose` would make if only these arms, in the order of
            `arms`, were on offer.
        k : int, optional
            The number of arms in each user's slate.
        device : {"cpu", "auto"}, name of a device, or Device
            The device on which scores are computed: "cuda" for a GPU, or "auto" for a GPU if one is available and
            can compute this policy's scores. The picked arms are the same as on the CPU, but only the scores of
            these arms are kept.

        Returns
        -------
        Decisions, or a sequence of Slates if k is given
            One decision or slate per user, in the order of the users. If not all users have the same eligible
            arms, the result is a `MixedDecisions`, whose `indices`, `arms` and `scores` refer to the eligible arms
            of each user.

        Examples
        --------
        >>> from fairbandits import LinUCB
        >>> contexts = [[[1.0, 0.0], [0.0, 1.0]]] * 3
        >>> eligible = [["a"], ["b"], None]
        >>> decisions = LinUCB(random_state=0).choose_many(contexts, arms=["a", "b"], eligible=eligible)
        >>> decisions.picked[:2], decisions.indices[:2].tolist()
        (['a', 'b'], [0, 0])
        """
        with self._lock:
            rows, keys, ids, numbers = offered = Round(*self._read_many(contexts, groups, arms))
            if device != "cpu" and (backend := backend_for(self, device, eligible)) is not None:
                return self._choose_on_device(offered, k, backend)
            if eligible is not None:
                return choose_eligible(self, offered, eligible, k)
            if k is not None:
                return self._slates(rows, numbers, keys, ids, k)
            seen, scores = self._score(rows, numbers, keys, ids)
            picks = self._mixed_picker().pick_many(self._scale.unit_scores(scores), keys, self._rng)
            first = self._ledger.issue(len(picks))
            numbered = range(first, first + len(picks))
            return Decisions(as_arrays(picks), scores, seen, keys, ids, self._ledger.policy, numbered)

    def _choose_on_device(self, offered: Round, k: int | None, backend: Backend) -> DeviceDecisions | DeviceSlates:
        size = 1 if k is None else as_slate_size(k, offered.rows.n_arms)
        on_device = DeviceRound(self, offered, backend)
        picks = choose_on_device(self, on_device, size)
        first = self._ledger.issue(len(offered.keys))
        numbers = range(first, first + len(offered.keys))
        result = DeviceDecisions if k is None else DeviceSlates
        return result(picks, on_device.rows, offered.keys, offered.ids, self._ledger.policy, numbers)

    def score(
        self,
        contexts: Any,
        groups: Sequence[Group] | None = None,
        arms: Sequence[ArmId] | None = None,
        *,
        device: str | Device = "cpu",
    ) -> Scores:
        """Score every arm for every user, without making a decision.

        The scores are arrays of shape (n_users, n_arms). The parameters are those of `choose_many`.
        """
        with self._lock:
            return self._score_offered(Round(*self._read_many(contexts, groups, arms)), backend_for(self, device))

    def _score_offered(self, offered: Round, backend: Backend | None) -> Scores:
        if backend is None:
            return self._score(offered.rows, offered.numbers, offered.keys, offered.ids)[1]
        return DeviceRound(self, offered, backend).scores()

    def rank(
        self,
        contexts: Any,
        groups: Any = None,
        arms: Sequence[ArmId] | None = None,
        *,
        k: int,
        random_state: Any = None,
        device: str | Device = "cpu",
    ) -> RankedArms:
        """Rank the k arms that `choose_many` would pick for each of many users, without making a decision.

        Parameters
        ----------
        contexts, groups, arms, k, device
            As in `choose_many`.
        random_state : int or NumPy generator, optional
            The seed or generator for ties and random draws; by default the policy's own generator.

        Examples
        --------
        >>> from fairbandits import LinUCB
        >>> ranked = LinUCB().rank([[[1.0], [3.0], [2.0]]] * 2, k=2)
        >>> ranked.indices.tolist(), ranked.probability.tolist()
        ([[1, 2], [1, 2]], [1.0, 1.0])
        """
        with self._lock:
            offered, backend = Round(*self._read_many(contexts, groups, arms)), backend_for(self, device)
            size = as_slate_size(k, offered.rows.n_arms)
            own = self._rng
            self._rng = own if random_state is None else as_generator(random_state)
            try:
                return self._rank(offered, size, backend)
            finally:
                self._rng = own

    def _rank(self, offered: Round, k: int, backend: Backend | None) -> RankedArms:
        if backend is not None:
            picks = choose_on_device(self, DeviceRound(self, offered, backend), k)
            return RankedArms(picks.indices, picks.scores.total, picks.probability, offered.ids)
        scores = self._score_offered(offered, None)
        unit_scores = self._scale.unit_scores(scores)
        indices, probability = self._mixed_picker().slates(unit_scores, k, offered.keys, self._rng)
        return RankedArms(indices, np.take_along_axis(scores.total, indices, 1), probability, offered.ids)

    def probabilities(
        self,
        contexts: Any,
        groups: Sequence[Group] | None = None,
        arms: Sequence[ArmId] | None = None,
        *,
        draws: int = 100,
        device: str | Device = "cpu",
    ) -> Floats:
        """Compute the probability of picking each arm, without making a decision.

        The result is an array of shape (n_users, n_arms).

        Parameters
        ----------
        contexts, groups, arms, device
            As in `choose_many`.
        draws : int
            The number of picks drawn per user to estimate probabilities that have no closed form (Thompson
            sampling with a shared model). The estimate is unbiased.

        Examples
        --------
        >>> from fairbandits import EpsilonGreedy
        >>> EpsilonGreedy(epsilon=0.2).probabilities([[[1.0], [1.0]], [[0.0], [1.0]]])
        array([[0.5, 0.5],
               [0.5, 0.5]])
        """
        if not isinstance(draws, int | np.integer) or draws < 1:
            raise ValueError(f"draws must be a positive integer, got {draws!r}")
        with self._lock:
            offered, backend = Round(*self._read_many(contexts, groups, arms)), backend_for(self, device)
            keys = offered.keys
            scores = self._scale.unit_scores(self._score_offered(offered, backend))
            picker = self._mixed_picker()
            each = picker.probabilities(scores, keys)
            if each is not None:
                return each
            counts = np.zeros(scores.total.shape)
            users = np.arange(len(counts))
            for draw in range(draws):
                drawn = self._scale.unit_scores(self._score_offered(offered, backend)) if draw else scores
                counts[users, [index for index, _ in picker.pick_many(drawn, keys, self._rng)]] += 1.0
            return counts / draws

    def _read_many(
        self, contexts: Any, groups: Sequence[Group] | None, arms: Sequence[ArmId] | None
    ) -> tuple[Rows, tuple[GroupKey, ...], Sequence[ArmId], Ints]:
        rows, ids, numbers = self._read(contexts, arms, stack_rows)
        n_users = rows.n_users
        if isinstance(groups, str | Mapping):
            raise ValueError(f"groups must be a list with one group per user, got {groups!r}")
        keys = ((),) * n_users if groups is None else as_groups(groups)
        if len(keys) != n_users:
            raise ValueError(
                f"groups must have one group per user, None if unknown, got {len(keys)} for {n_users} user(s)"
            )
        return rows, keys, ids, numbers

    def _read(
        self, contexts: Any, arms: Sequence[ArmId] | None, as_rows: Callable[[Any, int | None], Rows]
    ) -> tuple[Rows, Sequence[ArmId], Ints]:
        """Check contexts and arm ids, and look up the index of each arm."""
        width = self._expected_width()
        if not isinstance(contexts, Offer):
            if type(contexts) is not np.ndarray:
                return inputs.read_contexts(self, contexts, arms, as_rows)
            rows = as_rows(contexts, width)
            return rows, *self._arms.lookup(arms, rows.n_arms)
        if arms is not None and arms is not contexts.arms and as_arms(arms) != tuple(contexts.arms):
            raise ValueError(
                f"arms must be those of the offer, got {arms!r}; pass eligible arms to Catalogue.offer"
            )
        if width is not None and contexts.rows.width != width:
            check_width(contexts.rows.width, width)
        return contexts.rows, *self._arms.lookup_known(contexts.arms)

    def _score(
        self, contexts: Rows, numbers: Ints, keys: tuple[GroupKey, ...], ids: Sequence[ArmId]
    ) -> tuple[Rows, Scores]:
        """Score arms; also return the contexts as the model sees them."""
        rows = self.transform(contexts)
        model = self._model_for(rows.width)
        mean, width = self._predict(model, rows, numbers)
        return rows, self._add_terms(Predictions(mean, width, keys, numbers, contexts, rows, model, ids))

    def _add_terms(self, predictions: Predictions) -> Scores:
        """Add the terms for exploration and fairness to predictions, in NumPy or on a device."""
        mean = predictions.mean
        exploration, fairness = self.terms(predictions)
        try:
            total = mean + exploration if len(predictions.groups) == 1 else sum_of(mean, exploration)
            if type(fairness) is not float or fairness:  # adding zero takes as long as any addition
                total = total + fairness
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{type(self).__name__}.terms must return two numbers or arrays of shape {tuple(mean.shape)}, "
                f"got {error}"
            ) from None
        return Scores(
            mean, predictions.width, predictions.as_scores(exploration), predictions.as_scores(fairness), total
        )

    def _predict(self, model: RewardModel, rows: Rows, numbers: Ints) -> tuple[Floats, Floats]:
        """Predict rewards and their uncertainty in units of reward; all predictions on the host come from here."""
        found = model.score(rows, numbers)
        return found if self._scale.is_unit else self._scale.predictions(*found)

    def _mixed_picker(self) -> Picker:
        """Return a picker that gives every arm a probability of at least `min_probability`."""
        if not self.min_probability:
            return self.picker
        return MinProbabilityPicker(self.picker, float(self.min_probability))

    def _slates(
        self, contexts: Rows, numbers: Ints, keys: tuple[GroupKey, ...], ids: Sequence[ArmId], k: int
    ) -> list[Slate]:
        size = as_slate_size(k, contexts.n_arms)
        rows, scores = self._score(contexts, numbers, keys, ids)
        each = [scores.user(user) for user in range(len(keys))]
        picker, unit_scores = self._mixed_picker(), self._scale.unit_scores
        picks = [picker.slate(unit_scores(own), size, key, self._rng) for own, key in zip(each, keys, strict=True)]
        first = self._ledger.issue(len(keys))
        return [
            slate_of(rows, each[user], user, keys[user], ids, pick, self._ledger.policy, first + user)
            for user, pick in enumerate(picks)
        ]

    # -- learning --------------------------------------------------------------------------------------

    def learn(self, decision: Decision | Slate, reward: Reward, *, again: bool = False) -> None:
        """Learn from the reward of a decision, immediately or later, in any order.

        A policy loaded from a file can also learn from decisions that the original policy made, whether before or
        after it was saved. Each decision counts only once, unless `again` is true.

        Parameters
        ----------
        decision : Decision or Slate
            The decision or slate that `choose` returned.
        reward : float, or sequence for a slate
            A number within `reward_range`. For a slate, either one reward per arm, in order, or a single number
            for the whole slate, which is credited to every arm. In a sequence, None marks an arm that the user did
            not look at; nothing is learned about that arm. The mean of the rewards is recorded as one reward of
            the user's groups.
        again : bool
            Whether to allow a decision that the policy has already learned from; its reward then counts once more.
        """
        with self._lock:
            if isinstance(decision, Slate):
                self._ledger.check(decision, again)
                self._learn_slate(decision, *as_slate_rewards(reward, decision, self.reward_range), again)
                return
            low, high = self.reward_range
            if not (type(reward) is float and low <= reward <= high):
                self._ledger.check(decision, again)
                reward = as_reward(reward, self.reward_range)
            self._learn(decision, reward, again)

    def has_learned(self, decision: Decision | Slate) -> bool:
        """Return whether the policy has learned from a decision; False for a decision of another policy.

        After a crash, let the saved policy catch up on the decisions in your journal that it has not yet learned
        from:

            for decision, reward in journal:
                if not policy.has_learned(decision):
                    policy.learn(decision, reward)
        """
        with self._lock:
            return self._ledger.has_learned(decision)

    def learn_many(
        self,
        decisions: Sequence[Decision | Slate | LazyDecisions],
        rewards: Iterable[Reward],
        *,
        again: bool = False,
    ) -> None:
        """Learn from the rewards of many decisions; all of them are checked before learning begins.

        Up to rounding, this is equivalent to calling `learn` for each decision in turn. For single-arm decisions,
        it is several times as fast if the model is linear and does not forget.

        Only a row that would make the matrix A numerically singular (see `RidgeRegressions.learn`) is detected
        later: the policy then learns from the decisions before that row, but neither from the row itself nor from
        the decisions after it. The same applies to the arms of a slate. If anything else fails midway, for example
        for lack of memory, `has_learned` shows which decisions the policy has learned from. Ctrl-C takes effect
        only after the current batch has been processed.

        Parameters
        ----------
        decisions : sequence
            Decisions and slates, or the results of several calls to `choose_many`.
        rewards : iterable
            One reward per decision, in the same order; for a slate, in any form that `learn` accepts.
        again : bool
            Whether to allow decisions that the policy has already learned from; their rewards then count once
            more.
        """
        with self._lock:
            if not (isinstance(decisions, Iterable) and isinstance(rewards, Iterable)):
                raise ValueError("decisions and rewards must be lists; use learn for a single decision")
            inputs.refuse_frame(rewards)
            pending = decisions if isinstance(decisions, LazyDecisions) else list(decisions)
            given = rewards if isinstance(rewards, np.ndarray) else list(rewards)
            if self._learns_by_rows() and learn_together(self, pending, given, again):
                return
            self._learn_in_turn(flat(pending), list(given), again)

    def _learns_by_rows(self) -> bool:
        """Return whether learning depends only on the arm, row and reward of each decision, not on their order."""
        own = type(self)
        return self.is_additive and own.observe is Policy.observe and own._update is Policy._update

    def _learn_in_turn(
        self, decisions: Sequence[Decision | Slate], rewards: Sequence[Reward], again: bool
    ) -> None:
        """Check all decisions and rewards, then learn from them one by one."""
        for decision in decisions:
            self._ledger.check(decision, again)
        if len(decisions) != len(rewards):
            raise ValueError(
                f"rewards must have one entry per decision, got {len(rewards)} for {len(decisions)} decision(s)"
            )
        if not again and len({(d.policy, d.number) for d in decisions}) < len(decisions):
            raise ValueError("decisions must be unique; pass again=True if a reward is to be counted twice")
        values = [
            as_slate_rewards(reward, decision, self.reward_range)
            if isinstance(decision, Slate)
            else as_reward(reward, self.reward_range)
            for decision, reward in zip(decisions, rewards, strict=True)
        ]
        for decision, value in zip(decisions, values, strict=True):
            if isinstance(decision, Slate):
                self._learn_slate(decision, *value, again)  # type: ignore[call-arg, misc]
            else:
                self._learn(decision, value, again)  # type: ignore[arg-type]

    def _learn(self, decision: Decision, reward: float, again: bool) -> None:
        account, is_first = self._ledger.claim(decision, again)
        try:
            arm = self._learn_arm(decision, decision.arm, decision.row, reward, account)
        except BaseException:
            if is_first:
                account.unmark(decision.number)
            raise
        self.groups.record(reward, decision.group, arm)
        self.observe(decision)
        self.rounds_learned += 1

    def _learn_slate(self, slate: Slate, reward: float, rewards: list[float | None], again: bool) -> None:
        account = self._ledger.check(slate, again)
        learned: list[tuple[int, float]] = []
        try:
            for arm, row, value in zip(slate.picked, slate.rows, rewards, strict=True):
                if value is not None:
                    learned.append((self._learn_arm(slate, arm, row, value, account), value))
        finally:
            # If the model rejects an arm, it has already learned from the arms before that one, and must not
            # learn from them again.
            if learned:
                self.groups.record_slate(reward, slate.group, learned)
                self.observe(slate)
                account.mark(slate.number)
                self.rounds_learned += 1

    def _learn_arm(self, decision: Decision | Slate, arm: ArmId, row: Row, reward: float, account: Account) -> int:
        """Learn from an arm's reward; return the arm's number, or -1 if it was forgotten after the decision."""
        is_forgotten = decision.number < account.forgotten.get(arm, 0)
        return self._update(None if is_forgotten else arm, row, reward)

    def _update(self, arm: ArmId | None, row: Row, reward: float) -> int:
        """Update the model, and return the arm's number; if the model rejects the row, nothing changes."""
        model = self._model_for(row.width)
        if not self._scale.is_unit:
            reward = self._scale.to_unit(reward)
        if arm is None:
            model.learn(-1, row, reward)
            return -1
        is_new = arm not in self._arms.rows
        at = self._arms.claim(arm)
        try:
            model.learn(at, row, reward)
        except BaseException:
            if is_new:
                self._arms.unclaim(arm)
            raise
        return at

    def _update_logged(self, arm: ArmId, row: Row, reward: float) -> int:
        """Update the model with a logged decision, which another policy may have made."""
        return self._update(arm, row, reward)

    def replay(self, reward: float, group: GroupKey, items: Iterable[tuple[ArmId | None, Row, float]]) -> None:
        """Learn from one decision that is stored elsewhere, such as in the log of a service.

        The same decisions in the same order lead to bitwise identical states, regardless of which policy made them
        and of any choices made in between. `replay` does not check whether the policy has already learned from a
        decision. Policies that keep `records` of decisions cannot replay decisions.

        Parameters
        ----------
        reward : float
            The user's overall reward, within `reward_range`.
        group : tuple of (attribute, value) pairs
            The user's group.
        items : iterable of (arm, row, reward)
            One item for each arm that the user looked at: the arm (None if it has since been forgotten), its
            context and its reward. A row that the model rejects (see `RidgeRegressions.learn`) contributes only to
            the group record.
        """
        with self._lock:
            if self.records():
                raise ValueError(f"{type(self).__name__} cannot replay, because it keeps records of its decisions")
            learned = []
            for arm, row, value in items:
                self._check_row_width(row)
                try:
                    learned.append((self._update(arm, row, value), value))
                except ValueError:
                    learned.append((-1, value))
            self.groups.record_slate(reward, group, learned)
            self.rounds_learned += 1

    def learn_statistics(self, statistics: SufficientStatistics) -> None:
        """Learn from the sums of logged decisions of any policy, solving each regression once.

        This is equivalent to learning from the decisions one by one, but much faster. For models that depend on
        the order of rewards, use `learn_logged`.
        """
        with self._lock:
            batch_learning.learn_statistics(self, statistics)

    def learn_logged(self, contexts: Any, arms: Any, rewards: Any, groups: Any = None) -> None:
        """Learn from logged decisions, including those of other policies, in order.

        This method can be called repeatedly, with one part of a log at a time. All decisions are checked before
        learning begins; only a row that would make the matrix A numerically singular (see
        `RidgeRegressions.learn`) is detected later.

        Parameters
        ----------
        contexts : array-like, data frame or scipy sparse matrix, shape (n_decisions, n_features)
            The context of the picked arm, one row per decision.
        arms : sequence of ids, or Categorical
            The arm that was picked in each decision.
        rewards : sequence of float
            The reward of each decision.
        groups : sequence, data frame or mapping of str to sequence, optional
            The group of each user, with None where it is unknown, in any form that `choose_many` accepts; or a
            mapping from each attribute to its values.

        Examples
        --------
        >>> from fairbandits import LinUCB
        >>> policy = LinUCB()
        >>> policy.learn_logged([[1.0, 0.0], [1.0, 1.0]], ["a", "a"], [0.5, 1.0], groups=["female", None])
        >>> policy.rounds_learned, policy.coefficients("a").round(3).tolist()
        (2, [0.4, 0.3])
        """
        with self._lock:
            batch_learning.learn_logged(self, contexts, arms, rewards, groups)

    def forget_arm(self, arm: ArmId, *, missing_ok: bool = False) -> None:
        """Retire an arm: discard its learned state, but keep its rewards in the group means.

        If the arm is offered again under the same id, it counts as a new arm. Rewards that arrive later for
        earlier decisions are still included in the group means, but do not reinstate the arm. A shared model keeps
        the effect of the arm's rewards, because this effect cannot be separated out.

        Parameters
        ----------
        arm : str or int
            The id of the arm.
        missing_ok : bool
            Whether to allow an arm that the policy has learned nothing about, either because the arm was never
            chosen or because its rewards have yet to arrive and must not reinstate it. By default, such an arm
            raises an error, because its id may be misspelt.
        """
        with self._lock:
            arm = as_arm(arm)
            if not missing_ok and arm not in self._arms:
                raise ValueError(
                    f"arm must be one of the {len(self._arms)} arms about which something has been learned, "
                    f"got {arm!r}; pass missing_ok=True if its rewards may still arrive"
                )
            self._ledger.forget(arm)
            at = self._arms.release(arm)
            if at is not None:
                self.groups.forget_arm(at)
                if self._model is not None:
                    self._model.forget(at)

    # -- the reward model ------------------------------------------------------------------------------

    @property
    def reward_model(self) -> Any:
        """The reward model and its learned state, for rewards scaled to [0, 1]."""
        if self._model is None:
            raise ValueError("the policy must have seen contexts to have a reward model; call choose first")
        return self._model

    def coefficients(self, arm: ArmId | None = None) -> Floats:
        """Return the coefficients theta of one arm or, if no arm is given, those of the shared part.

        Theta predicts rewards scaled to [0, 1]: `low + (high - low) * theta.x` is in units of reward. With the
        logistic link, its entries are coefficients of the log-odds.
        """
        with self._lock:
            at = -1 if arm is None else self._arms.rows.get(as_arm(arm), -1)
            coefficients = getattr(self.reward_model, "coefficients", None)
            if coefficients is None:
                raise ValueError(f"model must be linear to have coefficients, got {self.model!r}")
            theta: Floats = coefficients(at)
            return theta

    @property
    def n_features_in_(self) -> int | None:
        """The number of features of the contexts; None before the first contexts."""
        if self._map_width is not None:
            return self._map_width
        return None if self._model is None else self._model.width

    @property
    def feature_names_in_(self) -> NDArray[np.object_] | None:
        """The names of the contexts' columns; None before the first data frame."""
        names = inputs.known_names(self)
        return None if names is None else np.array(names, object)

    @property
    def order_dependent(self) -> bool:
        """Whether the same rewards in a different order lead to different predictions."""
        return self._builder.order_dependent

    @property
    def is_additive(self) -> bool:
        """Whether logged decisions can be reduced to sums before the policy learns from them."""
        return self._builder.is_additive

    @property
    def is_mergeable(self) -> bool:
        """Whether policies with this model can be merged."""
        return self._builder.is_mergeable

    @property
    def arms_learned(self) -> tuple[ArmId, ...]:
        """The arms that the policy has learned something about."""
        with self._lock:
            return tuple(self._arms.rows)

    def _expected_width(self) -> int | None:
        """Return the required width of contexts; None, meaning any width, if nothing has been learned yet."""
        return self._learned_width() if self._map_width is None else self._map_width

    def _check_row_width(self, row: Row) -> None:
        """Check the width of a decision's row."""
        check_width(row.width, self._learned_width())

    def _learned_width(self) -> int | None:
        return self._model.width if self.rounds_learned and self._model is not None else None

    def _model_for(self, width: int) -> RewardModel:
        """Return the model for contexts of a given width, which is fixed once the policy has learned something."""
        model = self._model
        if model is None or model.width != width:
            if model is not None and self.rounds_learned:
                raise ValueError(
                    f"contexts must be {model.width} wide, like those the policy has learned, got {width}; a "
                    "feature map must not change once something has been learned"
                )
            model = self._model = self._builder.build(width, float(self.ridge))
        return model

    # -- state -----------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the parameters, everything that has been learned, and the state of the random generator.

        The file is in the safetensors format, with a JSON header and a checksum; it is written atomically.
        """
        with self._lock:
            content = persistence.state_of(self).to_bytes()
        persistence.write(path, content)

    def checksum(self) -> str:
        """Return a hash of the learned state: bitwise identical states have equal checksums.

        The hash excludes the state of the random generator and the set of open decisions.
        """
        with self._lock:
            return persistence.state_of(self).checksum()

    def state(self) -> persistence.PolicyState:
        """Return a copy of the policy's whole state, which another thread can save while the policy is in use."""
        with self._lock:
            return persistence.state_of(self).copy()

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, feature_map: Any = None) -> Self:
        """Load a policy that `save` wrote; the policy continues as if it had never stopped.

        Parameters
        ----------
        path : path
            The file.
        feature_map : fitted transformer, optional
            The feature map of the policy's `Model`, if it has one. The file does not contain the feature map, but
            loading checks that the one given is the same.
        """
        return cls.from_state(persistence.read(path), str(path), feature_map=feature_map)

    @classmethod
    def from_state(
        cls, state: persistence.PolicyState, name: str = "the state", *, feature_map: Any = None
    ) -> Self:
        """Rebuild a policy from its state; `name` identifies it in error messages."""
        return persistence.policy_from(state, cls, name, feature_map)

    def merge(self, other: Self) -> Self:
        """Return a policy that has learned from the decisions of both policies.

        Neither policy is changed. Apart from `random_state`, their parameters must be the same, and they must not
        share any history, because shared history would count twice. The merged policy can learn from the decisions
        of either.
        """
        locks = [each._lock for each in (self, other) if isinstance(each, Policy)]
        with hold(*locks):
            persistence.check_mergeable(self, other)
            merged = type(self)(**self.get_params(deep=False))
            persistence.restore(merged, persistence.state_of(self))
            if other._model is not None:
                model = merged._model_for(other._model.width)
                pairs = [(merged._arms.claim(arm), at) for arm, at in other._arms.rows.items()]
                model.merge(other._model, pairs)
            merged.groups.merge(other.groups)
            for name, record in other.records().items():
                merged.records()[name].merge(record)
            merged._ledger.merge(other._ledger)
            merged.rounds_learned += other.rounds_learned
            merged._feature_names = merged._feature_names or other._feature_names
            return merged

    # -- parameters ------------------------------------------------------------------------------------

    def set_params(self, **params: Any) -> Self:
        """Set parameters; all are checked before any of them is changed."""
        with self._lock:
            return super().set_params(**params)

    def _has_learned(self) -> bool:
        return self.rounds_learned > 0 or bool(self.groups.attributes)

    def _nested(self, name: str, value: Any) -> Parameters | None:
        if name != "model":
            return super()._nested(name, value)
        # A string is shorthand for the `Model` of that kind.
        builder = as_model(value)
        return builder if isinstance(builder, Model) else None

    def _changed(self, names: set[str]) -> None:
        if "random_state" in names:
            self._rng = as_generator(self.random_state)
        if names & {"model", "ridge", "reward_range"}:
            self._set_builder()
        if "reward_range" in names:
            self._scale = UnitScale(self.reward_range)
            self.groups = self._new_record(self.reward_range, self._arms)
