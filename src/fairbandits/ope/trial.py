"""One policy on trial: what each estimator makes of its rows, as sums, and the verdict at the end."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fairbandits.logs.encoder import Features
from fairbandits.ope import estimators
from fairbandits.ope.cross_fitting import CrossFittedModel, by_slot
from fairbandits.ope.estimator_sums import EstimatorSums, Terms
from fairbandits.ope.group_index import ALL, GroupIndex
from fairbandits.ope.log_rows import LogRows
from fairbandits.ope.log_summary import LogSummary
from fairbandits.ope.results import EstimatorResult, PerGroup, PolicyEvaluation, PolicyGap
from fairbandits.ope.value_estimate import ValueEstimate

Floats = NDArray[np.float64]
Doubt = Callable[[int, int | None], float]

#: With fewer effective rows than this nothing is said.
LEAST = 30


class PolicyTrial:
    """The sums of one policy.

    Parameters
    ----------
    account : LogSummary
        What the rows that evaluate are like.
    model : CrossFittedModel or None
        What predicts rewards.
    clip : float, optional
        The largest weight that a row may have.
    """

    def __init__(self, account: LogSummary, model: CrossFittedModel | None, clip: float | None) -> None:
        self._account, self._cells, self._model = account, account.survey.cells, model
        self._clip = np.inf if clip is None else clip
        n_cells, n_arms = account.shown.shape
        self._sums: dict[str, EstimatorSums] = {}
        self.wanted: Floats = np.zeros((n_cells, n_arms))
        # For the error of the model: the features of those to whom each arm would be shown.
        self._levers: Floats = np.zeros((n_cells, n_arms, model.width if model else 0))
        self.clipped = 0
        self.cut_off = 0.0
        # Whether fairness adds to its scores; None before anybody has looked.
        self.looks_at_groups: bool | None = None

    def add(self, piece: LogRows, chances: Floats, predicted: Floats | None, features: Features | None) -> None:
        """Add rows that evaluate.

        Parameters
        ----------
        piece : LogRows
            The rows.
        chances : array of shape (n_rows, n_arms)
            The probability with which the policy would show each arm.
        predicted : array of shape (n_rows, n_arms) or None
            The reward that the model predicts.
        features : array or scipy sparse of shape (n_rows, width), or None
            What the model knows of the users.
        """
        for name, terms in self._terms(piece, chances, predicted).items():
            sums = self._sums.setdefault(name, EstimatorSums(len(self._cells), self._account.survey.mean_reward))
            sums.add(terms, piece.reward, piece.cells)
        for column in piece.cells.T:
            for cell, rows in by_slot(column):
                if cell >= 0:
                    self.wanted[cell] += chances[rows].sum(axis=0)
                    if features is not None:
                        self._levers[cell] += chances[rows].T @ features[rows]

    def _terms(self, piece: LogRows, chances: Floats, predicted: Floats | None) -> dict[str, Terms]:
        shown = np.arange(len(piece)), piece.arm
        w = None if piece.propensity is None else self._weights(chances[shown], piece.propensity)
        terms = {"replay": estimators.replay(chances[shown], piece.reward)}
        if w is not None:
            terms |= {"ips": estimators.weighed(w, piece.reward), "snips": estimators.normalised(w, piece.reward)}
        if predicted is not None:
            model = terms["direct"] = estimators.direct(chances, predicted)
            if w is not None:
                terms["doubly_robust"] = estimators.corrected(model, w, piece.reward - predicted[shown])
        return terms

    def _weights(self, chance: Floats, propensity: Floats) -> Floats:
        """Give the weights of rows, and count what is cut off of them."""
        whole = estimators.weights(chance, propensity)
        w = np.minimum(whole, self._clip)
        self.clipped += int((whole > w).sum())
        self.cut_off += float((whole - w).sum())
        return w

    def judged(self, title: str, how: str, confidence: float) -> PolicyEvaluation:
        """Give what was found."""
        weighed = self._sums.get("ips", self._sums["replay"])
        return PolicyEvaluation(
            title,
            how,
            {name: self._verdict(name, confidence) for name in self._sums},
            PerGroup.of(self._cells, weighed.effective),
            PerGroup.of(self._cells, weighed.mean_weight) if "ips" in self._sums else None,
            PerGroup.of(self._cells, self.unsupported),
        )

    @property
    def shown(self) -> NDArray[np.int64]:
        """How often each arm was shown to each group."""
        return self._account.shown

    def weight(self, cell: int) -> tuple[float, float]:
        """Give the mean weight of a cell, and the standard error of that."""
        return self._sums["ips"].mean_weight(cell), self._sums["ips"].weight_error(cell)

    def unsupported(self, cell: int = ALL) -> float:
        """Give the share of rows in which it would show an arm that the log never shows to that group."""
        rows = self._account.shown[cell].sum()
        return float(self.wanted[cell][self._account.shown[cell] == 0].sum() / rows) if rows else 0.0

    def _verdict(self, name: str, confidence: float) -> EstimatorResult:
        doubt = self._doubt(self._model) if name == "direct" and self._model is not None else None
        return verdict_of(self._sums[name], self._cells, confidence, doubt)

    def _doubt(self, model: CrossFittedModel) -> Doubt:
        """Give the variance of the model's own error: in the value of a cell, or in the difference of two."""
        levers = self._levers / np.maximum(self._account.shown.sum(axis=1), 1)[:, None, None]

        def doubt(first: int, second: int | None) -> float:
            return model.variance(levers[first] if second is None else levers[first] - levers[second])

        return doubt


def verdict_of(
    sums: EstimatorSums, cells: GroupIndex, confidence: float, doubt: Doubt | None = None
) -> EstimatorResult:
    """Give all that sums say: of everybody, of each group, and of each pair of groups that have rows enough.

    Parameters
    ----------
    sums : EstimatorSums
        The sums of one estimator.
    cells : GroupIndex
        The groups.
    confidence : float
        The confidence of the intervals.
    doubt : callable, optional
        What adds to the variance: in the value of a cell, or in the difference of two.
    """

    def plain(cell: int, level: float = confidence) -> ValueEstimate | None:
        return sums.estimate(cell, level) if sums.effective(cell) >= LEAST else None

    def widened(estimate: ValueEstimate, first: int, second: int | None = None) -> ValueEstimate:
        return estimate if doubt is None else estimate.widened(doubt(first, second))

    def value(cell: int) -> ValueEstimate | None:
        return None if (estimate := plain(cell)) is None else widened(estimate, cell)

    def gain(cell: int) -> ValueEstimate | None:
        # How the model's error goes along with the rewards of the log is not known.
        return None if doubt is not None or plain(cell) is None else sums.gain(cell, confidence)

    differences: list[PolicyGap] = []
    for attribute in cells.attributes:
        place = {label: cell for label, cell in cells.groups(attribute).items() if plain(cell) is not None}
        pairs = list(combinations(place, 2))
        # All pairs together (Bonferroni): nobody looks at one of them alone.
        level = 1.0 - (1.0 - confidence) / max(len(pairs), 1)
        for first, second in pairs:
            one, two = plain(place[first], level), plain(place[second], level)
            if one is not None and two is not None:
                estimate = widened(one.minus(two), place[first], place[second])
                differences.append(PolicyGap(attribute, first, second, estimate))
    return EstimatorResult(PerGroup.of(cells, value), PerGroup.of(cells, gain), tuple(differences))
