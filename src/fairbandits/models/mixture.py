"""A mixture of models: every model predicts every reward, and those that predict best get the most weight.

It is not known beforehand which model suits a stream: the shared model learns fastest, the hybrid and the disjoint
models can represent more, and the fading model follows changes. Each model can predict every observed reward, so
the models are compared online, by exponential weights (Cesa-Bianchi and Lugosi 2006, Prediction, Learning, and
Games). The hybrid and the disjoint models, which can represent the most, prevail until another model has predicted
better: a model that is too simple predicts best while little is known, and would keep a policy from exploring
further.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairbandits.models.disjoint import DisjointModel
from fairbandits.models.fading import FadingSharedModel
from fairbandits.models.hybrid import HybridModel
from fairbandits.models.kernels.layouts import Floats, Ints
from fairbandits.models.reward_model import RewardModel
from fairbandits.models.ridge import in_widths
from fairbandits.models.rows import Row, Rows, checked_entries
from fairbandits.models.shared import SharedModel

#: The effective number of past rounds whose errors count.
WINDOW = 1000.0
#: The learning rate of the weights: the largest for which squared errors of numbers in [0, 1] are exp-concave.
RATE = 0.5
#: The initial loss of the simple experts, whose arms all have the same coefficients.
HANDICAP = 10.0
#: The root-mean-square prediction error at which the mixture's widths equal those of the experts, and the number
#: of rounds for which this value counts, as if it had been observed.
TYPICAL_ERROR, PRIOR_ROUNDS = 0.15, 100.0
#: The largest factor by which widths are scaled; because of `PRIOR_ROUNDS`, the smallest factor is 0.3.
MOST_SCALE = 2.0
_SIMPLE = ("shared", "fading")
# With this discount, the fading model looks back over about 100 rewards.
_FADING = 0.99
# A model whose weight is less than this share of the largest weight does not contribute to predictions until its
# weight has grown.
_LEAST_SHARE = 0.01
# A hybrid model has two matrices per arm; a mixture gives up its hybrid model if the matrices would take more
# bytes than this.
_MOST_HYBRID_BYTES = 2**29

Expert = DisjointModel | SharedModel | HybridModel


class MixtureModel(RewardModel):
    """The mean of several models' predictions, weighted by how well each has predicted the rewards so far.

    The models, called `experts`, are disjoint, shared, hybrid, and shared with forgetting. Let c_i be the
    discounted sum of the squared errors of expert i. This sum starts at `HANDICAP` for the two shared experts and
    at 0 for the others, and is multiplied by `1 - 1/WINDOW` after every round. Then

        weight of i = exp(-RATE c_i) / sum_j exp(-RATE c_j)

    Each prediction is made before the experts learn from the reward, and is clipped to [0, 1]. Whatever the
    rewards are, the following holds after every round:

        c of the mixture <= min_i c_i + log(number of experts) / RATE

    where c of the mixture is the same sum for the weighted mean of the clipped predictions. This is a bound on the
    errors for the chosen arms, not on the reward that is earned.

    The experts' widths assume that the noise of rewards is known. A mixture measures its own errors instead, which
    include the noise: it multiplies widths by `scale()`, which is the root-mean-square error of the mixture,
    relative to `TYPICAL_ERROR`, and at most `MOST_SCALE`. So a policy explores more where rewards are hard to
    predict, and less where they are not.

    All experts learn from every reward, but those with a negligible weight do not contribute to predictions until
    their weight has grown.

    Parameters
    ----------
    width, ridge, dtype
        As in `RidgeRegressions`.

    Examples
    --------
    >>> import numpy as np
    >>> from fairbandits.models import MixtureModel, as_rows
    >>> model = MixtureModel(width=1, ridge=1.0)
    >>> row = as_rows([[1.0]]).row(0, 0)
    >>> for reward in [1.0] * 50:
    ...     model.learn(0, row, reward)
    >>> {name: round(weight, 2) for name, weight in model.weights().items()}
    {'disjoint': 0.45, 'shared': 0.0, 'hybrid': 0.54, 'fading': 0.0}
    """

    is_mergeable = True

    def __init__(self, width: int, ridge: float, dtype: str = "float64") -> None:
        super().__init__(width)
        self.experts: dict[str, Expert] = {
            "disjoint": DisjointModel(width, ridge, dtype),
            "shared": SharedModel(width, ridge, dtype),
            "hybrid": HybridModel(width, ridge, dtype),
            "fading": FadingSharedModel(width, ridge, dtype, discount=_FADING),
        }
        #: The discounted sum of squared errors of each expert; infinite for one that has been given up.
        self.losses: Floats = np.array([HANDICAP if name in _SIMPLE else 0.0 for name in self.experts])
        #: The discounted sum of squared errors of the mixture, and the discounted number of rounds.
        self.own_loss: Floats = np.zeros(2)
        self.rounds = 0
        self._set_weights()

    def _set_weights(self) -> None:
        weights = np.exp(-RATE * (self.losses - self.losses.min()))
        self._weights: Floats = weights / weights.sum()
        active = np.where(self._weights < _LEAST_SHARE * self._weights.max(), 0.0, self._weights)
        self._active: Floats = active / active.sum()

    def weights(self) -> dict[str, float]:
        """Return the weight of each expert."""
        return dict(zip(self.experts, self._weights.tolist(), strict=True))

    def scale(self) -> float:
        """Return the factor, from 0.3 to `MOST_SCALE`, by which the widths of the experts are multiplied."""
        squares, n = self.own_loss.tolist()
        error = math.sqrt((squares + PRIOR_ROUNDS * TYPICAL_ERROR**2) / (n + PRIOR_ROUNDS))
        return min(error / TYPICAL_ERROR, MOST_SCALE)

    def asked(self) -> Iterator[tuple[float, Expert]]:
        """Yield the experts that contribute to predictions, with their weights."""
        for weight, expert in zip(self._active.tolist(), self.experts.values(), strict=True):
            if weight:
                yield weight, expert

    def score(self, rows: Rows, arms: Ints) -> tuple[Floats, Floats]:
        """Return the weighted mean of the experts' predictions, and `scale()` times that of their widths."""
        mean, width = np.zeros((2, rows.n_users, rows.n_arms))
        for weight, expert in self.asked():
            expected, uncertainty = expert.score(rows, arms)
            mean += weight * expected
            width += weight * uncertainty
        return mean, self.scale() * width

    def sample(self, rows: Rows, arms: Ints, rng: np.random.Generator) -> Floats:
        """Draw the error of each mean, in units of its width."""
        deviation, width = np.zeros((2, rows.n_users, rows.n_arms))
        for weight, expert in self.asked():
            uncertainty = weight * expert.score(rows, arms)[1]
            deviation += uncertainty * expert.sample(rows, arms, rng)
            width += uncertainty
        return in_widths(deviation, width)

    def learn(self, arm: int, row: Row, reward: float) -> None:
        """Learn from the reward of an arm with a context, after each expert has predicted that reward.

        An expert that rejects the row does not learn from it; if all experts reject the row, so does the mixture.
        """
        errors = self._predictions(arm, row) - reward
        refusals = [refusal for expert in self._learning(arm) if (refusal := _refusal(expert, arm, row, reward))]
        if len(refusals) == np.isfinite(self.losses).sum():
            raise refusals[0]
        # Discounted immediately, because the weights computed next are those of the coming round.
        fade = 1.0 - 1.0 / WINDOW
        self.own_loss = fade * (self.own_loss + np.array([(self._weights @ errors) ** 2, 1.0]))
        self.losses = fade * (self.losses + errors**2)
        self.rounds += 1
        self._set_weights()

    def _predictions(self, arm: int, row: Row) -> Floats:
        """Return each expert's prediction for a row, clipped to [0, 1]; 0 for an expert that has been given up."""
        columns, values, _ = checked_entries(row, self.width)
        found = [
            expert.mean_of(arm, columns, values) if math.isfinite(loss) else 0.0
            for loss, expert in zip(self.losses.tolist(), self.experts.values(), strict=True)
        ]
        return np.clip(found, 0.0, 1.0)

    def _learning(self, arm: int) -> Iterator[Expert]:
        """Yield the experts that learn; the hybrid one is given up if it would take too much memory."""
        for place, (name, expert) in enumerate(self.experts.items()):
            if isinstance(expert, HybridModel) and self._is_too_large(expert, arm):
                self._give_up(place, name, expert)
            if np.isfinite(self.losses[place]):
                yield self.experts[name]

    def _give_up(self, place: int, name: str, hybrid: HybridModel) -> None:
        """Empty the hybrid model; its infinite loss keeps it from learning again."""
        self.experts[name] = HybridModel(self.width, hybrid.ridge, hybrid.arms.dtype)
        self.losses[place] = np.inf

    def _is_too_large(self, hybrid: HybridModel, arm: int) -> bool:
        return (arm + 1) * self.width * (self.width + 1) * hybrid.arms.moment.itemsize > _MOST_HYBRID_BYTES

    def forget(self, arm: int) -> None:
        """Drop what is known about an arm, as far as the experts can tell it apart from other arms."""
        for expert in self.experts.values():
            expert.forget(arm)

    def merge(self, other: Self, pairs: Iterable[tuple[int, int]]) -> None:
        """Add what the experts of another mixture have learned; weights and scale follow from the mean losses.

        An expert that either mixture has given up stays empty.
        """
        pairs = list(pairs)
        largest = max((arm for arm, _ in pairs), default=-1)
        given_up = np.isinf(self.losses) | np.isinf(other.losses)
        for place, (name, expert) in enumerate(self.experts.items()):
            if isinstance(expert, HybridModel) and (given_up[place] or self._is_too_large(expert, largest)):
                self._give_up(place, name, expert)
            else:
                expert.merge(other.experts[name], pairs)  # type: ignore[arg-type]
        share = other.rounds / max(self.rounds + other.rounds, 1)
        finite = np.isfinite(self.losses) & np.isfinite(other.losses)
        losses = np.full(len(finite), np.inf)
        losses[finite] = (1.0 - share) * self.losses[finite] + share * other.losses[finite]
        self.losses, self.own_loss = losses, self._merged_own_loss(other, share)
        self.rounds += other.rounds
        self._set_weights()

    def _merged_own_loss(self, other: Self, share: float) -> Floats:
        """Return the sums of two mixtures' own errors: those of one mixture with the rounds of both."""
        if share in {0.0, 1.0}:
            return (other if share else self).own_loss.copy()
        ours, theirs = (mixture.own_loss[0] / mixture.own_loss[1] for mixture in (self, other))
        # The discounted number of rounds, as `learn` counts them.
        n = (WINDOW - 1.0) * (1.0 - (1.0 - 1.0 / WINDOW) ** (self.rounds + other.rounds))
        return np.array([n * ((1.0 - share) * ours + share * theirs), n])

    def coefficients(self, arm: int) -> Floats:
        """Return the weighted mean of the experts' coefficients, with which the mixture predicts."""
        theta: Floats = sum(
            (weight * expert.coefficients(arm) for weight, expert in self.asked()), start=np.zeros(self.width)
        )
        return theta

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as arrays."""
        found = {
            f"{name}.{key}": array
            for name, expert in self.experts.items()
            for key, array in expert.arrays().items()
        }
        return found | {"losses": self.losses, "own_loss": self.own_loss, "rounds": np.array([self.rounds])}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restore what `arrays` returned."""
        losses = np.array(arrays["losses"], np.float64)
        if losses.shape != self.losses.shape or not (losses >= 0.0).all() or not np.isfinite(losses).any():
            raise ValueError(f"losses must be {len(self.losses)} non-negative numbers, got {losses.tolist()}")
        own_loss = np.array(arrays["own_loss"], np.float64)
        if own_loss.shape != (2,) or not 0.0 <= own_loss[0] <= own_loss[1] * (1.0 + 1e-9) < WINDOW:
            raise ValueError(
                f"own_loss must be two numbers in ascending order, from 0 to below {WINDOW:g}, "
                f"got {own_loss.tolist()}"
            )
        for name, expert in self.experts.items():
            prefix = f"{name}."
            expert.restore({key.removeprefix(prefix): a for key, a in arrays.items() if key.startswith(prefix)})
        self.losses, self.own_loss, self.rounds = losses, own_loss, int(arrays["rounds"].item())
        self._set_weights()


def _refusal(expert: Expert, arm: int, row: Row, reward: float) -> ValueError | None:
    """Make an expert learn from a reward; return the error if the expert rejects the row."""
    try:
        expert.learn(arm, row, reward)
    except ValueError as error:
        return error
    return None
