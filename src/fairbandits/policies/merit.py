"""Merit-proportional choice: exposure of arms in proportion to their merit, a function of the mean reward."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairbandits.fairness import GroupKey
from fairbandits.parameters import number, one_of, parameter
from fairbandits.policies.picker import Pick, Picker
from fairbandits.policies.policy import Policy
from fairbandits.policies.records import Scores

Floats = NDArray[np.float64]

# Beyond this, one arm has all the exposure that a float64 can resolve.
_STEEPEST = 500.0


class Merit:
    """A merit function: how much exposure an arm deserves, given its mean reward on [0, 1].

    Both kinds are at least 1, and Lipschitz with the constant L: `exp(c mu)` with L = c e^c, and `1 + mu^c` with
    L = c.

    Parameters
    ----------
    kind : {"exponential", "power"}
        `exp(c mu)` or `1 + mu^c`.
    steepness : float
        c, at least 1 for "power", whose slope is not bounded otherwise. The steeper, the more exposure goes to the
        best arms.

    Examples
    --------
    >>> Merit("power", 2.0).shares(np.array([[0.0, 1.0]])).round(3).tolist()
    [[0.333, 0.667]]
    """

    def __init__(self, kind: str, steepness: float) -> None:
        if kind == "power" and steepness < 1.0:
            raise ValueError(
                f'steepness must be at least 1 for merit="power", got {steepness}; use merit="exponential"'
            )
        self.kind = kind
        self.steepness = steepness

    def relative(self, mean: Floats, highest: Floats | float = 1.0) -> Floats:
        """Return merits of mean rewards, divided by a constant that keeps exponentials within range."""
        values: Floats = (
            np.exp(self.steepness * (mean - highest)) if self.kind == "exponential" else 1.0 + mean**self.steepness
        )
        return values

    def shares(self, mean: Floats) -> Floats:
        """Return the share of each arm in the total merit, row by row."""
        # A score is a sum: rounding may leave it just outside [0, 1].
        inside = mean.clip(0.0, 1.0)
        merit = self.relative(inside, inside.max(axis=1, keepdims=True))
        shares: Floats = merit / merit.sum(axis=1, keepdims=True)
        return shares

    def optimistic(self, low: Floats, high: Floats) -> Floats:
        """Return the mean rewards within [low, high] for which the fair policy earns most, row by row.

        The policy that picks in proportion to merit earns `sum f(mu_a) mu_a / sum f(mu_a)`. By Dinkelbach's method
        its maximum is the root v of `max over mu of sum f(mu_a) (mu_a - v)`, in which arms separate. For both
        merit functions `f(mu) (mu - v)` first falls and then rises, or only rises, on [0, 1]: it is highest at one
        end of the interval of its arm, so the solution is exact. Bad arms are taken at their lower end, where
        their merit, and hence their exposure, is lowest.

        Dinkelbach: On Nonlinear Fractional Programming, Management Science 1967.

        Examples
        --------
        >>> low, high = np.array([[0.8, 0.1]]), np.array([[0.9, 0.3]])
        >>> Merit("exponential", 10.0).optimistic(low, high)
        array([[0.9, 0.1]])
        """
        top = high.max(axis=1, keepdims=True)
        merit_low, merit_high = self.relative(low, top), self.relative(high, top)
        chosen, best = high, _earned(high, merit_high)
        while True:
            is_high = merit_high * (high - best) >= merit_low * (low - best)
            mean = np.where(is_high, high, low)
            earned = _earned(mean, np.where(is_high, merit_high, merit_low))
            if not (earned > best).any():
                return chosen
            chosen, best = np.where(earned > best, mean, chosen), np.maximum(earned, best)


def _earned(mean: Floats, merit: Floats) -> Floats:
    """Return the reward of picking in proportion to merit, as a column with one entry per user."""
    earned: Floats = (merit * mean).sum(axis=1, keepdims=True) / merit.sum(axis=1, keepdims=True)
    return earned


class MeritPicker(Picker):
    """Pick each arm with a probability equal to its share in the total merit.

    For a slate, arms are picked one after the other, each in proportion to merit among the remaining arms.

    Parameters
    ----------
    merit : Merit
        The merit function of the scores.
    is_random : bool
        Whether scores hold random draws: shares then hold for one draw, and the probability of a pick over all
        draws has no closed form.
    """

    def __init__(self, merit: Merit, is_random: bool = False) -> None:
        self.merit = merit
        self.is_random = is_random

    @property
    def has_random_scores(self) -> bool:
        """Whether scores hold random draws."""
        return self.is_random

    def probabilities(self, scores: Scores, groups: Sequence[GroupKey]) -> Floats | None:
        """Return the share of each arm in the total merit; None if scores hold random draws."""
        return None if self.is_random else self.merit.shares(scores.total)

    def pick(self, scores: Scores, group: GroupKey, rng: np.random.Generator) -> Pick:
        """Pick an arm in proportion to merit."""
        shares = self.merit.shares(scores.total[None])[0]
        return self._drawn(shares, rng)

    def pick_many(self, scores: Scores, groups: Sequence[GroupKey], rng: np.random.Generator) -> list[Pick]:
        """Pick for each of many users, as `pick` does for one user after the other."""
        return [self._drawn(shares, rng) for shares in self.merit.shares(scores.total)]

    def _drawn(self, shares: Floats, rng: np.random.Generator) -> Pick:
        index = min(int(shares.cumsum().searchsorted(rng.random(), side="right")), shares.size - 1)
        return index, None if self.is_random else float(shares[index])


class MeritPolicy(Policy):
    """Base class of the policies that pick in proportion to merit."""

    merit: str = parameter(
        default="exponential",
        check=one_of("exponential", "power"),
        doc='The merit of an arm with mean reward mu on [0, 1]: "exponential" is `exp(c mu)`, "power" `1 + mu^c`.',
    )
    steepness: float = parameter(
        default=10.0,
        check=number(at_least=0.0, at_most=_STEEPEST),
        doc="c of the merit function: the steeper, the more exposure goes to the best arms.",
    )

    @property
    def picker(self) -> Picker:
        """The rule that picks in proportion to merit."""
        return MeritPicker(self.merit_function())

    def merit_function(self) -> Merit:
        """Return the merit function that the parameters define."""
        return Merit(self.merit, float(self.steepness))

    def _check_together(self) -> None:
        super()._check_together()
        self.merit_function()
