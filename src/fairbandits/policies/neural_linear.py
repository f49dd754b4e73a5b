"""NeuralLinear (Riquelme, Tucker and Snoek 2018): Thompson sampling on a learned representation."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from fairbandits.models.neural_linear import NeuralLinearModel
from fairbandits.models.ordered_builder import OrderedBuilder
from fairbandits.parameters import number, one_of, parameter
from fairbandits.policies.lints import ThompsonPicker
from fairbandits.policies.picker import Picker
from fairbandits.policies.policy import Policy
from fairbandits.policies.predictions import Predictions, Term


def _check_hidden(name: str, value: Any) -> None:
    is_listed = isinstance(value, tuple | list) and len(value) > 0
    if not is_listed or not all(type(units) is int and units > 0 for units in value):
        raise ValueError(f"{name} must be a tuple of positive integers, got {value!r}")


class NeuralLinear(Policy):
    """Choose the best arm for coefficients drawn from their posterior on the last layer of a neural network.

    Contexts x are represented by the last hidden layer z of a network. A Bayesian linear regression on z has noise
    of unknown variance: `sigma^2 ~ InverseGamma(a, b)` and `beta ~ N(theta, sigma^2 A^-1)`. For every choice, both
    are drawn, and the arm with the highest `beta.z` is chosen. The regression learns each reward exactly and
    immediately. The network is trained at intervals, after which the regression is solved again on the new z.

    Riquelme, Tucker, Snoek: Deep Bayesian Bandits Showdown, ICLR 2018, Section 3 (NeuralLinear) with their
    equations for the posterior: `A = ridge I + sum z z'`, `a = a0 + n / 2`, `b = b0 + (sum r^2 - theta' A theta) /
    2`. The policy serves as a non-linear yardstick: no regret bound is known, since the representation changes,
    and it does nothing for fairness. Unlike the paper's, the network has one output for all arms, so contexts must
    tell the arms apart, as they do in this library. The network is trained from scratch each time, whenever the
    number of rewards has grown by `growth`, and z has a constant. With `model="shared"`, all arms also share
    one regression.

    All rewards and their contexts are kept for training, and are saved with the policy. The network's initial
    weights and batches are the same in every policy, so a log determines the state that is learned from it. Two
    policies cannot be merged, because networks cannot be added. Training gives the same weights as scikit-learn's
    `MLPRegressor`.

    Examples
    --------
    >>> from fairbandits import NeuralLinear
    >>> policy = NeuralLinear(hidden=(8,), random_state=0)
    >>> decision = policy.choose([[1.0, 0.0], [0.0, 1.0]])
    >>> policy.learn(decision, reward=0.8)
    >>> decision.probability is None, policy.reward_model.regression.width
    (True, 9)
    """

    model: str = parameter(
        default="shared",
        check=one_of("disjoint", "shared"),
        doc='The linear layer: "disjoint" (a regression for each arm, as in the paper) or "shared" (one for all '
        "arms).",
        fixed=True,
    )
    hidden: tuple[int, ...] = parameter(
        default=(50,), check=_check_hidden, doc="The number of units of each hidden layer.", fixed=True
    )
    growth: float = parameter(
        default=0.5,
        check=number(above=0.0),
        doc="The network is retrained when the number of rewards has grown by this share; the first time "
        "after 50 rewards.",
        fixed=True,
    )
    noise_shape: float = parameter(
        default=6.0, check=number(above=0.0), doc="The prior's a0 (6 in the paper): the weight of `noise_scale`."
    )
    noise_scale: float = parameter(
        default=6.0,
        check=number(above=0.0),
        doc="The prior's b0 (6 in the paper) for rewards scaled to [0, 1]: the prior variance is about b0 / a0.",
    )

    def _set_builder(self) -> None:
        super()._set_builder()
        make = partial(NeuralLinearModel, layer=self.model, hidden=tuple(self.hidden), growth=float(self.growth))
        self._builder = OrderedBuilder(make)

    def _changed(self, names: set[str]) -> None:
        super()._changed(names)
        if names & {"hidden", "growth"}:
            self._set_builder()

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Return the deviation of the drawn reward from the predicted one, and nothing for fairness."""
        model: Any = predictions.model
        a, b = model.noise(predictions.arms, float(self.noise_shape), float(self.noise_scale))
        # NumPy draws the same value for a scalar as for an array of length one, in a sixth of the time.
        gamma = self._rng.standard_gamma(a if len(a) > 1 else a.item(), (len(predictions.mean), len(a)))
        sigma = np.sqrt(b / gamma)
        drawn = model.sample(predictions.rows, predictions.arms, self._rng)
        return sigma * predictions.width * drawn, 0.0

    @property
    def picker(self) -> Picker:
        """The rule that picks the highest draw; its probability has no closed form."""
        return ThompsonPicker(alpha=1.0, is_independent=False)
