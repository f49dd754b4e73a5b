"""A causal bandit that learns the mean rewards of a d-separating set: D-UCB."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from fairbandits.contexts.columns import check_columns, column_numbers
from fairbandits.models import Rows
from fairbandits.models.cell_means import CellMeans
from fairbandits.parameters import number, parameter
from fairbandits.policies.policy import Policy
from fairbandits.policies.predictions import Predictions, Term


class DUCB(Policy):
    """Choose the arm with the highest upper confidence bound on the mean reward of its cell.

    A cell is a value w of the columns that separate the reward from everything else in the causal graph (a
    d-separating set W): arms whose users and items agree in these columns have the same expected reward, and are
    learned together. The score is `mean_w + sqrt(2 ln(1 / delta) / max(1, n_w))` with the n_w rewards of the cell
    so far. The columns must have few values: bin continuous columns first.

    This is D-UCB (Algorithm 1) of Huang, Zhang, Wu: Achieving Counterfactual Fairness for Causal Bandit, AAAI
    2022, for the case that all of W is known when an arm is chosen. The paper also averages over features in W
    that are observed only afterwards, by their distribution given user and arm. This is left out, because here a
    context is known as a whole.

    Guarantee: with rewards that depend only on w, noise that is 1-sub-Gaussian and delta of at most 0.6 (a cell
    without rewards then has an interval that covers every reward), with probability at least `1 - 2 delta T |W|`
    the regret after T rounds is at most `sqrt(32 |W| T ln(1 / delta)) + |W| sqrt(8 ln(1 / delta))`, the sum of the
    widths of all intervals. This bound does not depend on the number of arms.

    Examples
    --------
    >>> from fairbandits import DUCB
    >>> policy = DUCB(separators=["match"], columns=["age", "match"], random_state=0)
    >>> for reward in (0.9, 0.7):
    ...     policy.learn(policy.choose([[0.3, 1.0]], arms=["biology"]), reward)
    >>> policy.score([[[0.6, 1.0], [0.6, 0.0]]], arms=["algebra", "biology"]).mean.round(2).tolist()
    [[0.8, 0.0]]
    """

    #: At least one parameter of each of these sets must be given, by the caller or by the world.
    needed_params: ClassVar[tuple[tuple[str, ...], ...]] = (("separators",),)

    # The mean of a cell has no ridge penalty.
    model: Any = CellMeans
    ridge: Any = 1.0

    separators: Sequence[int | str] | None = parameter(
        default=None,
        doc="The columns that d-separate the reward from all others, by number, or by name if `columns` names "
        "them; None for all.",
        fixed=True,
    )
    columns: Sequence[str] | None = parameter(
        default=None, doc="The names of the columns of the contexts.", fixed=True
    )
    delta: float = parameter(
        default=0.05,
        check=number(above=0.0, at_most=1.0),
        doc="The probability that one bound on the mean of a cell fails. With 1, nothing is explored.",
    )

    array_terms: ClassVar[bool] = True

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Return the half-width of the confidence interval of the cell, and nothing for fairness."""
        return self.alpha_now() * predictions.width, 0.0

    def alpha_now(self) -> float:
        """Return the weight of the width, `sqrt(2 ln(1 / delta))`."""
        return math.sqrt(-2.0 * math.log(self.delta))

    def transform(self, rows: Rows) -> Rows:
        """Set all columns outside the separating set to zero."""
        if self.separators is None:
            return rows
        check_columns("separators", self._separating, self.columns, rows.width)
        dropped = np.ones(rows.width, bool)
        dropped[self._separating] = False
        return rows.without(dropped)

    def _check_together(self) -> None:
        super()._check_together()
        for name in ("separators", "columns"):
            if isinstance(getattr(self, name), str):
                raise ValueError(f"{name} must be a list of columns, got {getattr(self, name)!r}")
        self._separating = column_numbers("separators", self.separators or (), self.columns)
