"""What a policy would have earned, from the decisions of another: five formulae on plain arrays.

In all of them a row of the log is one decision: the arm that was shown, its reward r, and its propensity p, the
probability with which it was shown. The policy that is judged would have shown that arm with probability
`chance`; its weight is `w = chance / p`. Every formula is a ratio of two sums over the rows, and its function
gives the `Terms` of those sums, row by row: their `value()`, their `estimate()` with an interval, or that of
some rows alone, `where(...)`.

Sources: Horvitz and Thompson, *A generalization of sampling without replacement from a finite universe*, JASA
1952 (IPS); Li, Chu, Langford and Wang, *Unbiased offline evaluation of contextual-bandit-based news article
recommendation algorithms*, WSDM 2011 (replay); Dudík, Langford and Li, *Doubly robust policy evaluation and
learning*, ICML 2011 (the direct method, doubly robust); Swaminathan and Joachims, *The self-normalized
estimator for counterfactual learning*, NIPS 2015 (SNIPS).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairbandits.ope.estimator_sums import Terms

Floats = NDArray[np.float64]


def weights(chance: ArrayLike, propensity: ArrayLike, clip: float | None = None) -> Floats:
    """Give `w = chance / p`, and at most `clip`.

    Examples
    --------
    >>> weights([1.0, 0.1], [0.5, 0.2]), weights([1.0, 0.1], [0.01, 0.2], clip=10.0)
    (array([2. , 0.5]), array([10. ,  0.5]))
    """
    pi, p = _chances(chance), _vector("propensity", propensity)
    if not ((p > 0.0) & (p <= 1.0)).all():
        raise ValueError(f"propensity must lie above 0, and at most at 1; got {_first(p, (p <= 0.0) | (p > 1.0))}")
    _same_length(chance=pi, propensity=p)
    w = pi / p
    if clip is None:
        return w
    if not clip > 0.0:
        raise ValueError(f"clip is the largest weight that a row may have, above 0; got {clip!r}")
    return np.minimum(w, clip)


def replay(chance: ArrayLike, reward: ArrayLike) -> Terms:
    """Give the mean reward of the rows on which both policies agree: `sum(chance r) / sum(chance)`.

    A row counts with the probability that the policy would have shown the same arm. Right where the log showed all
    arms at random, each as often as the other.

    Examples
    --------
    >>> replay([1.0, 0.0, 1.0, 0.0], [0.9, 0.1, 0.7, 0.2]).value()
    0.8
    """
    pi, r = _chances(chance), _vector("reward", reward)
    _same_length(chance=pi, reward=r)
    return Terms(pi * r, pi, pi)


def ips(chance: ArrayLike, reward: ArrayLike, propensity: ArrayLike, clip: float | None = None) -> Terms:
    """Weigh each reward by how much more often it would have come: `mean(w r)`.

    Examples
    --------
    >>> ips([1.0, 0.0, 1.0, 0.0], [0.9, 0.1, 0.7, 0.2], [0.5, 0.5, 0.25, 0.75]).value()
    1.15
    """
    return weighed(*_weights_and_rewards(chance, reward, propensity, clip))


def snips(chance: ArrayLike, reward: ArrayLike, propensity: ArrayLike, clip: float | None = None) -> Terms:
    """Weigh each reward, and divide by the weights that came: `sum(w r) / sum(w)`.

    Examples
    --------
    >>> round(snips([1.0, 0.0, 1.0, 0.0], [0.9, 0.1, 0.7, 0.2], [0.5, 0.5, 0.25, 0.75]).value(), 6)
    0.766667
    """
    return normalised(*_weights_and_rewards(chance, reward, propensity, clip))


def direct(chances: ArrayLike, predicted: ArrayLike) -> Terms:
    """Trust a model of the reward: `mean(sum over arms of chance q)`.

    Parameters
    ----------
    chances : array of shape (n_rows, n_arms)
        The probability with which the policy would have shown each arm.
    predicted : array of shape (n_rows, n_arms)
        The reward q that a model predicts for each arm, learned from other rows.

    Examples
    --------
    >>> direct([[1.0, 0.0], [0.5, 0.5]], [[0.6, 0.2], [0.8, 0.4]]).above.round(9)
    array([0.6, 0.6])
    """
    pi, q = _chances(chances, ndim=2), _matrix("predicted", predicted)
    _same_shape(pi, q)
    one = np.ones(len(pi))
    return Terms(np.einsum("ij,ij->i", pi, q), one, one)


def doubly_robust(
    chances: ArrayLike,
    predicted: ArrayLike,
    arm: ArrayLike,
    reward: ArrayLike,
    propensity: ArrayLike,
    clip: float | None = None,
) -> Terms:
    """Trust a model, and correct it by what came: `mean(sum over arms of chance q + w (r - q of the arm shown))`.

    Parameters
    ----------
    chances, predicted : arrays of shape (n_rows, n_arms)
        As `direct` takes them.
    arm : array of int, shape (n_rows,)
        The column of the arm that was shown.
    reward, propensity : arrays of shape (n_rows,)
        What came, and with which probability that arm was shown.
    clip : float, optional
        The largest weight that a row may have.

    Examples
    --------
    >>> chances, predicted = [[1.0, 0.0], [0.5, 0.5]], [[0.6, 0.2], [0.8, 0.4]]
    >>> round(doubly_robust(chances, predicted, [0, 1], [1.0, 0.0], [0.5, 0.5]).value(), 6)
    0.8
    """
    model = direct(chances, predicted)
    r, shown = _vector("reward", reward), _places(arm, np.shape(predicted)[1])
    _same_length(chances=model.above, arm=shown, reward=r)
    row = np.arange(len(shown))
    w = weights(np.asarray(chances, np.float64)[row, shown], propensity, clip)
    return corrected(model, w, r - np.asarray(predicted, np.float64)[row, shown])


# For those who have the weights already: the same formulae, without checks.


def weighed(w: Floats, reward: Floats) -> Terms:
    """Give the terms of `ips`."""
    return Terms(w * reward, np.ones_like(w), w)


def normalised(w: Floats, reward: Floats) -> Terms:
    """Give the terms of `snips`."""
    return Terms(w * reward, w, w)


def corrected(model: Terms, w: Floats, surprise: Floats) -> Terms:
    """Give the terms of `doubly_robust`, from those of `direct` and `r - q of the arm shown`."""
    return Terms(model.above + w * surprise, model.below, w)


def _weights_and_rewards(
    chance: ArrayLike, reward: ArrayLike, propensity: ArrayLike, clip: float | None
) -> tuple[Floats, Floats]:
    w, r = weights(chance, propensity, clip), _vector("reward", reward)
    _same_length(chance=w, reward=r)
    return w, r


def _chances(values: ArrayLike, ndim: int = 1) -> Floats:
    chances = _matrix("chances", values) if ndim == 2 else _vector("chance", values)
    # Probabilities that were summed up may be off in their last digits.
    wrong = (chances < -1e-9) | (chances > 1.0 + 1e-9)
    if wrong.any():
        raise ValueError(f"chances are probabilities, from 0 to 1; got {_first(chances, wrong)}")
    return chances


def _vector(name: str, values: ArrayLike) -> Floats:
    return _array(name, values, 1, "one for each row")


def _matrix(name: str, values: ArrayLike) -> Floats:
    return _array(name, values, 2, "a line for each row, a column for each arm")


def _array(name: str, values: ArrayLike, ndim: int, shape: str) -> Floats:
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, {shape}") from None
    if array.ndim != ndim:
        raise ValueError(f"{name} must be numbers, {shape}; got {array.ndim} dimension(s)")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite; leave out the rows without a number")
    return array


def _places(arm: ArrayLike, n_arms: int) -> NDArray[np.int64]:
    places = np.asarray(arm)
    if places.ndim != 1 or places.dtype.kind not in "iu" or not ((places >= 0) & (places < n_arms)).all():
        raise ValueError(f"arm must be the column of the arm shown, a whole number from 0 to {n_arms - 1}")
    return places.astype(np.int64, copy=False)


def _same_length(**arrays: NDArray[Any]) -> None:
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{length} of {name}" for name, length in lengths.items())
        raise ValueError(f"every row has one of each; got {found}")


def _same_shape(chances: Floats, predicted: Floats) -> None:
    if chances.shape != predicted.shape:
        raise ValueError(f"chances have shape {chances.shape}, predicted {predicted.shape}; give one for each arm")


def _first(values: Floats, wrong: NDArray[np.bool_]) -> float:
    return float(values[wrong][0])
