"""Arms that treat a user and the user's twin alike: counterfactual LinUCB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from fairbandits.contexts.columns import check_columns, column_numbers
from fairbandits.models import Rows, as_rows
from fairbandits.parameters import number, parameter
from fairbandits.policies.linucb import LinUCB
from fairbandits.policies.policy import Predictions, Term


class CounterfactualLinUCB(LinUCB):
    """LinUCB on the arms that are predicted to give a user and the user's twin the same reward.

    The twin is the same user with another value of the sensitive attribute: the columns of `swap` are exchanged,
    those of `flip` negated. An arm is kept if the two predicted rewards differ by at most `tolerance`; the others
    rank behind all that are kept, those with smaller differences first. Where none is kept, the arm with the
    smallest difference is chosen. Users of unknown group are served as by LinUCB.

    This is a filter on individual, not group fairness: Kusner, Loftus, Russell, Silva: Counterfactual Fairness,
    NIPS 2017; Huang, Zhang, Wu: Achieving Counterfactual Fairness for Causal Bandit, AAAI 2022 (F-UCB). Theirs
    know the causal graph; here, as for all twins of this library, what the sensitive attribute causes elsewhere
    stays.

    Examples
    --------
    >>> from fairbandits import CounterfactualLinUCB
    >>> policy = CounterfactualLinUCB(flip=["is male"], columns=["is male", "one"], alpha=0.0, random_state=0)
    >>> for arm, contexts, reward in (("football", [[1.0, 1.0]], 0.9), ("music", [[0.0, 1.0]], 0.4)):
    ...     policy.learn(policy.choose(contexts, "male", arms=[arm]), reward)
    >>> policy.choose([[1.0, 1.0], [1.0, 1.0]], "male", arms=["football", "music"]).arm
    'music'
    """

    #: Of each of these sets of parameters at least one must be given, by the caller or by the world.
    needed_params: ClassVar[tuple[tuple[str, ...], ...]] = (("swap", "flip"),)

    swap: Sequence[tuple[int | str, int | str]] = parameter(
        default=(),
        doc='Pairs of columns to exchange, such as `[("sex=Female", "sex=Male")]`: by number, or by name if '
        "`columns` names "
        "them.",
    )
    flip: Sequence[int | str] = parameter(
        default=(), doc="Columns of 0 and 1 to negate, such as whether an arm matches the user."
    )
    columns: Sequence[str] | None = parameter(default=None, doc="The names of the columns of the contexts.")
    tolerance: float | None = parameter(
        default=None,
        check=number(at_least=0.0, or_none=True),
        doc="The largest difference between the predicted rewards of a user and the twin, in units of reward. "
        "None is 1% of the reward range.",
    )

    def terms(self, predictions: Predictions) -> tuple[Term, Term]:
        """Return alpha times the width, and what ranks arms behind that treat twins differently."""
        exploration = self.alpha_now() * predictions.width
        twins = self._twins(predictions.contexts)
        if twins is None:
            return exploration, 0.0
        twin_mean, _ = self._predict(predictions.model, self.transform(twins), predictions.arms)
        difference = np.abs(predictions.mean - twin_mean)
        score = predictions.mean + exploration
        behind = score.min(axis=1, keepdims=True) - self._scale.span - difference
        is_known = np.array([[bool(group)] for group in predictions.groups])
        return exploration, np.where(
            is_known & (difference > self._scale.tolerance(self.tolerance)), behind - score, 0.0
        )

    def _twins(self, rows: Rows) -> Rows | None:
        """Return the contexts of the users' twins; None where nothing is exchanged."""
        swapped, flipped = self._numbers()
        check_columns("swap", swapped, self.columns, rows.width)
        check_columns("flip", flipped, self.columns, rows.width)
        if not (swapped or flipped):
            return None
        twins = np.array(rows.toarray())
        twins[:, swapped[::2] + swapped[1::2]] = twins[:, swapped[1::2] + swapped[::2]]
        twins[:, flipped] = 1.0 - twins[:, flipped]
        return as_rows(twins, rows.width, rows.n_users)

    def _numbers(self) -> tuple[list[int], list[int]]:
        """Return the columns to exchange, pair after pair, and those to negate."""
        swapped = column_numbers("swap", [column for pair in self.swap for column in pair], self.columns)
        return swapped, column_numbers("flip", self.flip, self.columns)

    def _check_together(self) -> None:
        super()._check_together()
        for name in ("flip", "columns"):
            if isinstance(getattr(self, name), str):
                raise ValueError(f"{name} must be a list of columns, got {getattr(self, name)!r}")
        for pair in self.swap:
            if isinstance(pair, str) or not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:
                raise ValueError(
                    f"swap must have pairs of columns, such as [(0, 1)], got {pair!r} in {self.swap!r}"
                )
        swapped, flipped = self._numbers()
        changed = swapped + flipped
        for column in changed:
            if changed.count(column) > 1:
                raise ValueError(f"swap and flip must have each column once, got column {column} twice")
