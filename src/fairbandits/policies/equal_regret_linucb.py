"""Every group bears its share of the exploration: equal-regret LinUCB."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairbandits.fairness import GroupRewards, hedge_weights, per_user
from fairbandits.models import Model
from fairbandits.policies.base import Floats, Predictions, Term
from fairbandits.policies.decision import Decision
from fairbandits.policies.linucb import LinUCB
from fairbandits.policies.parameters import as_number
from fairbandits.policies.serialisation import part
from fairbandits.policies.slate import Slate


class EqualRegretLinUCB(LinUCB):
    """LinUCB that lets the groups explore more that have given up less for exploration so far.

    What a round gave up is estimated as the highest predicted reward minus that of the arm that was picked, as
    predicted when it was picked; `regrets` holds its mean for each group. The score is `theta.x + weight * alpha
    * width` with multiplicative weights `exp(-step * n * mean regret)`, 1 on average over the groups of an
    attribute (`fairbandits.fairness.hedge_weights`): groups with the smaller regret explore more, until they are
    level. Users of several attributes have the average of their weights; of unknown group, weight 1, as by
    LinUCB.

    Equal regret is not equal reward: where the best arms give one group more, they still do.

    How exploration is shared among groups: Raghavan, Slivkins, Vaughan, Wu: The Externalities of Exploration and
    How Data Diversity Helps Exploitation, COLT 2018; Baek, Farias: Fair Exploration via Axiomatic Bargaining,
    NeurIPS 2021.

    Parameters
    ----------
    alpha : float or "theory"
        How much being unsure counts, as in `LinUCB`.
    step : float
        How fast the weights move, not below 0. With 0 it is LinUCB.
    ridge : float
        The ridge penalty, > 0.
    model : {"disjoint", "shared", "hybrid"} or Model
        One regression for each arm, one for all arms, or both; a `Model` says more.
    delta : float
        With `alpha="theory"`: the probability that any interval of any round fails.
    theta_norm : float
        With `alpha="theory"`: a bound on the Euclidean norm of the true coefficients.
    reward_range : tuple of two floats
        The lowest and highest reward; anything outside is refused.
    random_state : int, numpy Generator or None
        Where the randomness of ties comes from.

    Attributes
    ----------
    regrets : GroupRewards
        The estimated regrets of each group, in units of reward.

    Examples
    --------
    >>> from fairbandits import EqualRegretLinUCB
    >>> policy = EqualRegretLinUCB(alpha=2.0, step=1.0, random_state=0)
    >>> policy.learn(policy.choose([[1.0]], "female", arms=["known"]), 0.8)
    >>> decision = policy.choose([[1.0], [1.0]], "male", arms=["known", "new"])
    >>> policy.learn(decision, 0.1)
    >>> decision.arm, [(regret.group, regret.mean) for regret in policy.regrets.summaries()]
    ('new', [('female', 0.0), ('male', 0.4)])
    >>> scores = policy.score([[[1.0]], [[1.0]]], ["female", "male"], arms=["known"])
    >>> (scores.exploration / scores.width).round(3).tolist()
    [[2.395], [1.605]]
    """

    def __init__(
        self,
        alpha: float | str = 0.5,
        step: float = 0.1,
        ridge: float = 1.0,
        model: str | Model = "disjoint",
        delta: float = 0.05,
        theta_norm: float = 1.0,
        reward_range: tuple[float, float] = (0.0, 1.0),
        random_state: Any = None,
    ) -> None:
        self.step = step
        super().__init__(alpha, ridge, model, delta, theta_norm, reward_range, random_state)
        self.regrets = self._no_regrets()

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Add alpha times the width, times the share of the exploration that the group is to bear."""
        weights = hedge_weights(self.regrets, float(self.step))
        weight = per_user(weights, self.regrets, predictions.groups, unknown=1.0)
        return self.alpha_now() * weight * predictions.width, 0.0

    def _note(self, decision: Decision | Slate) -> None:
        picked = list(decision.indices) if isinstance(decision, Slate) else [decision.index]
        self.regrets.record(self._regret(decision.scores.mean, picked), decision.group, -1)

    def _regret(self, mean: Floats, picked: list[int]) -> float:
        """Give how much more the best arms were predicted to give than those that were picked, on average."""
        best = np.sort(mean)[-len(picked) :]
        # A prediction can leave the range of rewards, a regret cannot.
        return min(max(0.0, float(best.mean() - mean[picked].mean())), self.regrets.reward_range[1])

    def _no_regrets(self) -> GroupRewards:
        low, high = self.reward_range
        return GroupRewards((0.0, float(high) - float(low)))

    def _absorb(self, other: Self) -> None:
        super()._absorb(other)
        self.regrets.merge(other.regrets)

    def _state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        header, arrays = super()._state()
        header["regrets"] = self.regrets.to_json()
        return header, arrays | {f"regrets.{name}": array for name, array in self.regrets.arrays().items()}

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._restore(header, arrays)
        self.regrets = self._no_regrets()
        self.regrets.restore(header["regrets"], part(arrays, "regrets."))

    def _check_params(self) -> None:
        super()._check_params()
        as_number("step", self.step, least=0.0)

    def _params_changed(self, names: set[str]) -> None:
        super()._params_changed(names)
        if "reward_range" in names:
            self.regrets = self._no_regrets()
