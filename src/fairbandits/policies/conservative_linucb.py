"""LinUCB that never earns much less than a baseline: conservative LinUCB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId, as_arm
from fairbandits.fairness import GroupKey
from fairbandits.models import Model, Row, Rows, as_model
from fairbandits.models.conservative import ConservativeBuilder, ConservativeModel
from fairbandits.models.rows import check_width
from fairbandits.parameters import number, parameter
from fairbandits.policies.baseline_rows import split_baseline, with_baseline
from fairbandits.policies.linucb import LinUCB
from fairbandits.policies.picker import TIE
from fairbandits.policies.predictions import Predictions, Term
from fairbandits.policies.records import Scores

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class ConservativeLinUCB(LinUCB):
    """LinUCB under the constraint that it has always earned at least `1 - max_loss` of the baseline's reward.

    The arm with the highest upper confidence bound is chosen if the constraint holds for every theta in the
    confidence region, including this round; otherwise, the baseline's arm is chosen. The baseline is the arm with
    a given id. It may stand for a different item in every round: the shared model tells arms apart only by their
    contexts. So offer, under this id, the item that the system in production would show.

    Let z be the sum of the contexts that were chosen instead of the baseline's, v the sum of the baseline's
    contexts in the same rounds, w the sum of the n contexts in which the baseline was chosen, and b the baseline's
    current context. Then the arm x is safe if

    - `min theta.(z + x) + n r >= (1 - max_loss) t r` in round t, where the baseline's mean reward r is known
      (CLUCB, Algorithm 1 of the paper; rewards of the baseline are then not learned);
    - `min theta.(z + x) + max_loss max(min theta.w, 0) >= (1 - max_loss) max theta.(v + b)` where it is not
      (CLUCB2, Algorithm 2, with the lowest reward as its r_l).

    Rewards are measured from the lowest one of `reward_range`. There are three differences from the paper: the
    confidence region is that of `LinUCB.alpha`; if the best arm is the baseline's own, the round counts as a round
    of the baseline; and a round counts only when its reward is learned, so open decisions are not yet part of the
    constraint. Each arm of a slate counts as a round. If the baseline is not on offer, LinUCB chooses, and the
    round counts only if the baseline's mean reward is known; the same applies to other arms in a log. Picks due to
    `min_probability` are not constrained.

    Decisions hold the context of the chosen arm followed by that of the baseline's arm.

    Guarantee: with linear rewards, 1-sub-Gaussian noise, `alpha="theory"` and rewards that are learned
    immediately, the constraint on expected rewards holds at all times with probability at least `1 - delta`. If
    the baseline's rewards are bounded away from 0, the regret is that of LinUCB plus a constant: the cost of
    playing safe does not grow with the number of rounds.

    Kazerouni, Ghavamzadeh, Abbasi-Yadkori, Van Roy: Conservative Contextual Linear Bandits, NIPS 2017.

    Examples
    --------
    >>> from fairbandits import ConservativeLinUCB
    >>> policy = ConservativeLinUCB(baseline="usual", baseline_reward=0.5, max_loss=0.1, random_state=0)
    >>> arms = []
    >>> for _ in range(24):
    ...     decision = policy.choose([[1.0, 0.0], [0.0, 1.0]], arms=["usual", "new"])
    ...     policy.learn(decision, 0.5)
    ...     arms.append(decision.arm)
    >>> arms.index("new")
    19
    """

    model: str | Model = parameter(
        default="shared",
        check=lambda _, value: as_model(value),
        doc='"shared", or a `Model` of that kind, linear and without forgetting.',
        fixed=True,
    )
    baseline: ArmId = parameter(
        default=0, check=lambda _, value: as_arm(value), doc="The id of the baseline's arm.", fixed=True
    )
    baseline_reward: float | None = parameter(
        default=None,
        check=number(or_none=True),
        doc="The mean reward of the baseline in a round; None if it is unknown.",
        fixed=True,
    )
    max_loss: float = parameter(
        default=0.1,
        check=number(at_least=0.0, at_most=1.0),
        doc="The share of the baseline's reward that may be lost: alpha in the paper.",
    )

    def _begin(self) -> None:
        super()._begin()
        # The baseline has a number from the start, so that it can be found among the arms on offer.
        self._arms.claim(self.baseline)

    def _changed(self, names: set[str]) -> None:
        super()._changed(names)
        if "baseline" in names:
            self._arms.claim(self.baseline)

    def _set_builder(self) -> None:
        super()._set_builder()
        if isinstance(self._builder, Model):
            self._builder = ConservativeBuilder(self._builder)

    # -- choosing --------------------------------------------------------------------------------------

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Return alpha times the width, and a term that makes the baseline's arm best if the best is not safe."""
        exploration = self.alpha_now() * predictions.width
        place = self._place(predictions.arms)
        if place is None:
            return exploration, 0.0
        fairness = np.zeros(exploration.shape)
        for user, own in enumerate(predictions.mean + exploration):
            best = [arm for arm in np.flatnonzero(own >= own.max() - TIE * self._scale.span) if arm != place]
            if not all(self._is_safe(predictions, user, int(arm), place) for arm in best):
                fairness[user, place] = own.max() - own[place] + self._scale.span
        return exploration, fairness

    def _is_safe(self, predictions: Predictions, user: int, arm: int, place: int) -> bool:
        """Return whether the constraint holds with an arm for every theta in the confidence region."""
        model, alpha = cast(ConservativeModel, predictions.model), self.alpha_now()
        kept = 1.0 - float(self.max_loss)
        (z, v, w), (_, n_baseline) = model.sums, model.rounds.tolist()
        x, b = (predictions.rows.row(user, each).dense() for each in (arm, place))
        earned, _ = model.bounds(z + x, alpha)
        if self.baseline_reward is not None:
            reward = self._scale.to_unit(float(self.baseline_reward))
            return bool(earned + n_baseline * reward >= kept * (int(model.rounds.sum()) + 1) * reward)
        from_baseline, _ = model.bounds(w, alpha)
        _, replaced = model.bounds(v + b, alpha)
        return bool(earned + self.max_loss * max(from_baseline, 0.0) >= kept * replaced)

    def _score(
        self, contexts: Rows, numbers: Ints, keys: tuple[GroupKey, ...], ids: Sequence[ArmId]
    ) -> tuple[Rows, Scores]:
        """Score arms; decisions also hold the context of the baseline's arm, which is needed to count them."""
        rows, scores = super()._score(contexts, numbers, keys, ids)
        return with_baseline(rows, self._place(numbers)), scores

    def _place(self, numbers: Ints) -> int | None:
        """Return the place of the baseline among the arms on offer; None if it is not on offer."""
        places = np.flatnonzero(numbers == self._arms.rows[self.baseline])
        return int(places[0]) if places.size else None

    # -- learning --------------------------------------------------------------------------------------

    def _update(self, arm: ArmId | None, row: Row, reward: float) -> int:
        return self._learn_and_count(arm, *split_baseline(row), reward)

    def _update_logged(self, arm: ArmId, row: Row, reward: float) -> int:
        return self._learn_and_count(arm, row, None, reward)

    def _learn_and_count(self, arm: ArmId | None, row: Row, baseline: Floats | None, reward: float) -> int:
        """Update the model, and count the round if the baseline's mean reward or its context is known."""
        is_baseline, is_known = arm == self.baseline, self.baseline_reward is not None
        learns = not (is_baseline and is_known)
        at = super()._update(arm, row, reward) if learns else self._arms.rows[self.baseline]
        if is_baseline or is_known or baseline is not None:
            cast(ConservativeModel, self._model_for(row.width)).count(row.dense(), baseline, is_baseline)
        return at

    def _check_row_width(self, row: Row) -> None:
        width = self._learned_width()
        check_width(row.width, None if width is None else 2 * width)

    def forget_arm(self, arm: ArmId, *, missing_ok: bool = False) -> None:
        """Retire an arm; see `Policy.forget_arm`. The rewards that it earned remain counted."""
        with self._lock:
            super().forget_arm(arm, missing_ok=missing_ok)
            self._arms.claim(self.baseline)

    def _check_together(self) -> None:
        super()._check_together()
        model = as_model(self.model)
        if not isinstance(model, Model) or model.kind != "shared" or model.order_dependent:
            raise ValueError(
                f'model must be shared, linear and without forgetting, got {self.model!r}; use model="shared"'
            )
        low, high = self.reward_range
        if self.baseline_reward is not None and not low <= self.baseline_reward <= high:
            raise ValueError(
                f"baseline_reward must lie in reward_range, [{low:g}, {high:g}], got {self.baseline_reward}"
            )
