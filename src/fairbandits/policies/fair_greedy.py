"""Fair-Greedy (Grazzi, Akhavan, Falk, Cella and Pontil 2022): the best candidate relative to its own group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from fairbandits.arms import ArmId, as_arm
from fairbandits.labels import LabelValue, as_label
from fairbandits.models import Rows
from fairbandits.models.first_half import FirstHalfModel
from fairbandits.models.ordered_builder import OrderedBuilder
from fairbandits.parameters import number, parameter
from fairbandits.policies.candidate_history import CandidateHistory
from fairbandits.policies.candidate_rows import CandidateRow, candidate_rows
from fairbandits.policies.policy import Policy
from fairbandits.policies.predictions import Predictions, Term
from fairbandits.policies.records import Decision, Record, Slate


def _as_groups(name: str, pairs: Any) -> dict[ArmId, LabelValue]:
    """Return the group of each arm that has been given one."""
    try:
        listed = [(as_arm(arm), as_label(group, "group")) for arm, group in pairs or ()]
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be pairs of an arm and its group, or None, got {pairs!r}") from None
    groups = dict(listed)
    if len(groups) < len(listed):
        raise ValueError(f"{name} must have one group per arm, got an arm twice: {pairs!r}")
    return groups


def _check_memory(name: str, value: Any) -> None:
    if value is not None and (not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1):
        raise ValueError(f"{name} must be a positive integer or None, got {value!r}")


class FairGreedy(Policy):
    """Choose the candidate with the highest relative rank: the best one compared with others in its own group.

    Here, fairness concerns the arms: they are candidates of sensitive groups, whose rewards are not comparable
    between groups. The relative rank of a candidate with context x is the probability that another candidate of
    its group has a reward of at most `theta.x`. A policy is group-meritocratic if it always chooses the candidate
    with the highest rank. Fair-Greedy estimates theta by a ridge regression on the first half of the rounds, and
    the rank by the share of the candidates in the second half whose predicted reward is no higher. It then chooses
    greedily. Ties are broken at random. The user's group plays no part.

    Grazzi, Akhavan, Falk, Cella, Pontil: Group Meritocratic Fairness in Linear Contextual Bandits, NeurIPS 2022.
    They prove a fair pseudo-regret, the sum of differences between the highest relative rank and the chosen one,
    of order `sqrt(d T)` up to logarithms, with high probability. It assumes rewards linear in the context with one
    theta for all groups, sub-Gaussian noise, candidates that are independent between groups and over rounds, and
    rewards with a continuous distribution in every group. Every group is then chosen with the same probability
    (demographic parity). This is proved for `growth=0` and `memory=None`. The defaults make rounds cheaper: theta
    is renewed when the number of rounds has grown by a fifth, and ranks are relative to the candidates of 500
    rounds, which, for a fixed theta, makes them accurate to within 0.061 with a probability of 95% (Dvoretzky,
    Kiefer, Wolfowitz, with Massart's constant). In the authors' program, theta is perturbed by noise of 1e-8,
    which breaks ties, and a candidate of a group without known candidates has a random rank. Here, ties are broken
    by the picker, and such a candidate has the rank 0.5.

    A decision holds the contexts of all its candidates. Stored decisions (`Decision.to_dict`) and logs hold only
    that of the chosen candidate: a policy can learn theta from them, but not the ranks. Two policies cannot be
    merged, because the halves of their separate rounds do not combine into halves of all rounds.

    Attributes
    ----------
    candidates : CandidateHistory
        The candidates of the second half of the rounds.

    Examples
    --------
    >>> from fairbandits import FairGreedy
    >>> policy = FairGreedy(arm_groups=[("ann", "f"), ("bob", "m")], growth=0.0, random_state=0)
    >>> for ann, bob in ((0.2, 0.7), (0.3, 0.8), (0.1, 0.9), (0.2, 0.6)):
    ...     policy.learn(policy.choose([[ann], [bob]], arms=["ann", "bob"]), 0.5)
    >>> scores = policy.score([[[0.3], [0.6]]], arms=["ann", "bob"])  # a good one of hers, a bad one of his
    >>> scores.total.tolist()
    [[1.0, 0.5]]
    """

    # The paper's model: one theta for all candidates.
    model: Any = "shared"

    arm_groups: Sequence[tuple[ArmId, LabelValue]] | None = parameter(
        default=None,
        check=_as_groups,
        doc="Pairs of an arm and its sensitive group. An arm that is not named forms its own group, as in the "
        "paper, where a candidate of each group is on offer.",
        fixed=True,
    )
    growth: float = parameter(
        default=0.2,
        check=number(at_least=0.0),
        doc="Theta is re-estimated when the number of rounds has grown by this share; 0 means every round, as in "
        "the paper.",
        fixed=True,
    )
    memory: int | None = parameter(
        default=500,
        check=_check_memory,
        doc="The number of rounds whose candidates are remembered; None means half of all rounds, as in the "
        "paper.",
        fixed=True,
    )

    def _set_builder(self) -> None:
        super()._set_builder()
        self._builder = OrderedBuilder(partial(FirstHalfModel, growth=float(self.growth)))
        self._group_of = _as_groups("arm_groups", self.arm_groups)
        self._last_groups: tuple[Sequence[ArmId] | None, Sequence[LabelValue]] = None, ()
        self.candidates = CandidateHistory(float(self.growth), self.memory)

    def _changed(self, names: set[str]) -> None:
        super()._changed(names)
        if names & {"arm_groups", "growth", "memory"}:
            self._set_builder()

    def transform(self, rows: Rows) -> Rows:
        """Return contexts from which a decision keeps those of all its candidates."""
        return candidate_rows(rows)

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Return nothing for exploration, and the term that turns predicted rewards into relative ranks."""
        model: Any = predictions.model
        groups = self._groups(predictions.ids)
        rewards = self._scale.to_unit(predictions.mean)
        ranks = self.candidates.ranks(model.coefficients(-1), groups, rewards)
        return 0.0, self._scale.low + self._scale.span * ranks - predictions.mean

    def records(self) -> Mapping[str, Record]:
        """Return the candidates."""
        return {"candidates": self.candidates}

    def observe(self, decision: Decision | Slate) -> None:
        """Remember the candidates of a decision, unless it was stored without them."""
        row = decision.row if isinstance(decision, Decision) else decision.rows[0]
        if isinstance(row, CandidateRow):
            self.candidates.add(row.candidates(), self._groups(decision.arms))

    def _groups(self, ids: Sequence[ArmId]) -> Sequence[LabelValue]:
        """Return the groups of arms; for the same arms as last time, the same object."""
        if ids is not self._last_groups[0]:
            self._last_groups = ids, tuple(self._group_of.get(arm, arm) for arm in ids)
        return self._last_groups[1]
