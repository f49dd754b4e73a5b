"""Arms that treat a user and the user's twin alike: counterfactual LinUCB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairbandits.contexts.columns import check_columns, column_numbers
from fairbandits.models import Model, Rows, as_rows
from fairbandits.policies.base import Predictions, Term
from fairbandits.policies.linucb import LinUCB
from fairbandits.policies.parameters import as_number


class CounterfactualLinUCB(LinUCB):
    """LinUCB on those arms that are predicted to give a user and the user's twin the same reward.

    The twin is the same user with another value of the sensitive attribute: the columns of `swap` change places,
    those of `flip` are turned over. An arm is kept if the two predicted rewards differ by at most `tolerance`;
    the others rank behind all that are kept, those with smaller differences first. Where none is kept, the arm
    with the smallest difference is picked. Users of unknown group are served as by LinUCB.

    A filter on individual, not group fairness: Kusner, Loftus, Russell, Silva: Counterfactual Fairness, NIPS
    2017; Huang, Zhang, Wu: Achieving Counterfactual Fairness for Causal Bandit, AAAI 2022 (F-UCB). Theirs know
    the causal graph; here, as for all twins of this library, what the sensitive attribute brings about elsewhere
    stays.

    Parameters
    ----------
    swap : sequence of pairs
        The columns to exchange, such as `[("sex=Female", "sex=Male")]`: by number, or by name where `columns`
        names them.
    flip : sequence of int or str
        The columns of 0 and 1 to turn over, such as whether an arm matches the user.
    columns : sequence of str, optional
        The names of the columns of the contexts.
    alpha : float or "theory"
        How much being unsure counts, as in `LinUCB`.
    tolerance : float
        How far apart the predicted rewards of a user and the twin may be, not below 0.
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

    Examples
    --------
    >>> from fairbandits import CounterfactualLinUCB
    >>> policy = CounterfactualLinUCB(flip=["is male"], columns=["is male", "one"], alpha=0.0, random_state=0)
    >>> for arm, contexts, reward in (("football", [[1.0, 1.0]], 0.9), ("music", [[0.0, 1.0]], 0.4)):
    ...     policy.learn(policy.choose(contexts, "male", arms=[arm]), reward)
    >>> policy.choose([[1.0, 1.0], [1.0, 1.0]], "male", arms=["football", "music"]).arm
    'music'
    """

    def __init__(
        self,
        swap: Sequence[tuple[int | str, int | str]] = (),
        flip: Sequence[int | str] = (),
        columns: Sequence[str] | None = None,
        alpha: float | str = 0.5,
        tolerance: float = 0.01,
        ridge: float = 1.0,
        model: str | Model = "disjoint",
        delta: float = 0.05,
        theta_norm: float = 1.0,
        reward_range: tuple[float, float] = (0.0, 1.0),
        random_state: Any = None,
    ) -> None:
        self.swap = swap
        self.flip = flip
        self.columns = columns
        self.tolerance = tolerance
        # Of the contexts that are being scored: a feature map leaves no columns to change.
        self._twins: Rows | None = None
        super().__init__(alpha, ridge, model, delta, theta_norm, reward_range, random_state)

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Add alpha times the width, and what puts arms behind that treat twins differently."""
        exploration = self.alpha_now() * predictions.width
        if self._twins is None:
            return exploration, 0.0
        twin, _ = self._predict(self._twins, predictions.rows)
        self._twins = None
        apart = np.abs(predictions.mean - twin)
        score = predictions.mean + exploration
        behind = score.min(axis=1, keepdims=True) - 1.0 - apart
        is_known = np.array([[bool(group)] for group in predictions.groups])
        return exploration, np.where(is_known & (apart > self.tolerance), behind - score, 0.0)

    def _prepare(self, rows: Rows) -> Rows:
        swapped, flipped = self._numbers()
        check_columns("swap", swapped, self.columns, rows.width)
        check_columns("flip", flipped, self.columns, rows.width)
        self._twins = None
        if swapped or flipped:
            twins = np.array(rows.toarray())
            twins[:, swapped[::2] + swapped[1::2]] = twins[:, swapped[1::2] + swapped[::2]]
            twins[:, flipped] = 1.0 - twins[:, flipped]
            self._twins = super()._prepare(as_rows(twins, rows.width, rows.n_users))
        return super()._prepare(rows)

    def _numbers(self) -> tuple[list[int], list[int]]:
        """Find the columns to exchange, pair after pair, and those to turn over."""
        swapped = column_numbers("swap", [column for pair in self.swap for column in pair], self.columns)
        return swapped, column_numbers("flip", self.flip, self.columns)

    def _check_params(self) -> None:
        super()._check_params()
        as_number("tolerance", self.tolerance, least=0.0)
        if isinstance(self.flip, str) or isinstance(self.columns, str):
            raise ValueError("flip and columns take lists of columns; put a single name into a list")
        for pair in self.swap:
            if isinstance(pair, str) or not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:
                raise ValueError(f"swap takes pairs of columns, such as [(0, 1)]; got {pair!r} in {self.swap!r}")
        swapped, flipped = self._numbers()
        changed = swapped + flipped
        for number in changed:
            if changed.count(number) > 1:
                raise ValueError(f"column {number} stands twice in swap and flip; change every column once")
