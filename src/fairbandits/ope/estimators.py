"""Off-policy estimators on plain arrays.

A row of the log is one decision: the arm that was chosen, its reward r, and its propensity p, the probability with
which the logging policy chose it. The evaluated policy would have chosen the same arm with probability pi; the
importance weight of the row is `w = pi / p`. Every estimator is a ratio of two sums over rows. Its function
returns the `EstimatorTerms` of these sums, which provide the `value()`, the `estimate()` with a confidence
interval, and both for a selection of rows.

References: Horvitz and Thompson, *A generalization of sampling without replacement from a finite universe*,
JASA 1952 (inverse propensity scoring); Li, Chu, Langford and Wang, *Unbiased offline evaluation of
contextual-bandit-based news article recommendation algorithms*, WSDM 2011 (replay); Dudík, Langford and Li,
*Doubly robust policy evaluation and learning*, ICML 2011 (direct method, doubly robust); Swaminathan and
Joachims, *The self-normalized estimator for counterfactual learning*, NIPS 2015 (self-normalised inverse
propensity scoring).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fairbandits.ope.array_validation import (
    Floats,
    as_columns,
    as_matrix,
    as_probabilities,
    as_vector,
    check_lengths,
    first_where,
)
from fairbandits.ope.estimator_sums import EstimatorTerms


def importance_weights(probability: ArrayLike, propensity: ArrayLike, clip: float | None = None) -> Floats:
    """Return the importance weights `w = pi / p`, at most `clip`.

    Examples
    --------
    >>> importance_weights([1.0, 0.1], [0.5, 0.2]), importance_weights([1.0, 0.1], [0.01, 0.2], clip=10.0)
    (array([2. , 0.5]), array([10. ,  0.5]))
    """
    pi, p = as_probabilities("probability", probability), as_vector("propensity", propensity)
    if not ((p > 0.0) & (p <= 1.0)).all():
        wrong = first_where(p, (p <= 0.0) | (p > 1.0))
        raise ValueError(f"propensity must be above 0 and at most 1, got {wrong}")
    check_lengths(probability=pi, propensity=p)
    w = pi / p
    if clip is None:
        return w
    if not clip > 0.0:
        raise ValueError(f"clip must be above 0, got {clip!r}")
    return np.minimum(w, clip)


def replay(probability: ArrayLike, reward: ArrayLike) -> EstimatorTerms:
    """Return the terms of replay: `sum(pi r) / sum(pi)`, the mean reward of the rows on which both policies agree.

    The estimator is consistent if the logging policy is uniform.

    Examples
    --------
    >>> replay([1.0, 0.0, 1.0, 0.0], [0.9, 0.1, 0.7, 0.2]).value()
    0.8
    """
    pi, r = as_probabilities("probability", probability), as_vector("reward", reward)
    check_lengths(probability=pi, reward=r)
    return EstimatorTerms(pi * r, pi, pi)


def ips(
    probability: ArrayLike, reward: ArrayLike, propensity: ArrayLike, clip: float | None = None
) -> EstimatorTerms:
    """Return the terms of inverse propensity scoring: `mean(w r)`.

    Examples
    --------
    >>> ips([1.0, 0.0, 1.0, 0.0], [0.9, 0.1, 0.7, 0.2], [0.5, 0.5, 0.25, 0.75]).value()
    1.15
    """
    return ips_terms(*_weights_and_rewards(probability, reward, propensity, clip))


def snips(
    probability: ArrayLike, reward: ArrayLike, propensity: ArrayLike, clip: float | None = None
) -> EstimatorTerms:
    """Return the terms of self-normalised inverse propensity scoring: `sum(w r) / sum(w)`.

    Examples
    --------
    >>> round(snips([1.0, 0.0, 1.0, 0.0], [0.9, 0.1, 0.7, 0.2], [0.5, 0.5, 0.25, 0.75]).value(), 6)
    0.766667
    """
    return snips_terms(*_weights_and_rewards(probability, reward, propensity, clip))


def direct_method(probabilities: ArrayLike, predictions: ArrayLike) -> EstimatorTerms:
    """Return the terms of the direct method: `mean(sum over arms of pi q)`.

    Parameters
    ----------
    probabilities : array of shape (n_rows, n_arms)
        The probability with which the policy would have chosen each arm.
    predictions : array of shape (n_rows, n_arms)
        The reward q of each arm predicted by a model trained on other rows.

    Examples
    --------
    >>> direct_method([[1.0, 0.0], [0.5, 0.5]], [[0.6, 0.2], [0.8, 0.4]]).numerator.round(9)
    array([0.6, 0.6])
    """
    pi, q = as_probabilities("probabilities", probabilities, ndim=2), as_matrix("predictions", predictions)
    if pi.shape != q.shape:
        raise ValueError(f"predictions must have the shape of probabilities, {pi.shape}, got {q.shape}")
    one = np.ones(len(pi))
    return EstimatorTerms(np.einsum("ij,ij->i", pi, q), one, one)


def doubly_robust(
    probabilities: ArrayLike,
    predictions: ArrayLike,
    arm: ArrayLike,
    reward: ArrayLike,
    propensity: ArrayLike,
    clip: float | None = None,
) -> EstimatorTerms:
    """Return the doubly robust terms: `mean(sum over arms of pi q + w (r - q of the chosen arm))`.

    Parameters
    ----------
    probabilities, predictions : arrays of shape (n_rows, n_arms)
        As for `direct_method`.
    arm : array of int, shape (n_rows,)
        The column of the arm that was chosen.
    reward, propensity : arrays of shape (n_rows,)
        The reward, and the probability with which the arm was chosen.
    clip : float, optional
        The maximum importance weight.

    Examples
    --------
    >>> probabilities, predictions = [[1.0, 0.0], [0.5, 0.5]], [[0.6, 0.2], [0.8, 0.4]]
    >>> round(doubly_robust(probabilities, predictions, [0, 1], [1.0, 0.0], [0.5, 0.5]).value(), 6)
    0.8
    """
    direct = direct_method(probabilities, predictions)
    r, column = as_vector("reward", reward), as_columns(arm, np.shape(predictions)[1])
    check_lengths(probabilities=direct.numerator, arm=column, reward=r)
    row = np.arange(len(column))
    w = importance_weights(np.asarray(probabilities, np.float64)[row, column], propensity, clip)
    return doubly_robust_terms(direct, w, r - np.asarray(predictions, np.float64)[row, column])


# The same estimators from weights that are already computed, without validation.


def ips_terms(w: Floats, reward: Floats) -> EstimatorTerms:
    """Return the terms of `ips`."""
    return EstimatorTerms(w * reward, np.ones_like(w), w)


def snips_terms(w: Floats, reward: Floats) -> EstimatorTerms:
    """Return the terms of `snips`."""
    return EstimatorTerms(w * reward, w, w)


def doubly_robust_terms(direct: EstimatorTerms, w: Floats, residual: Floats) -> EstimatorTerms:
    """Return the terms of `doubly_robust` from those of `direct_method` and the residuals `r - q`."""
    return EstimatorTerms(direct.numerator + w * residual, direct.denominator, w)


def _weights_and_rewards(
    probability: ArrayLike, reward: ArrayLike, propensity: ArrayLike, clip: float | None
) -> tuple[Floats, Floats]:
    w, r = importance_weights(probability, propensity, clip), as_vector("reward", reward)
    check_lengths(probability=w, reward=r)
    return w, r
