"""The concentration of exposure: Gini coefficient and number of arms, at an equal number of decisions.

Both depend on the number of decisions: by chance alone, a larger group is shown more arms, and its exposure looks
less concentrated. Groups are therefore compared at the same number of decisions (rarefaction). Whole folds of
users are drawn instead of decisions, because the decisions of a user may repeat the same arms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairbandits.statistics.clusters import Floats

# The number of random subsets of folds over which the Gini coefficient is averaged.
_N_SUBSETS = 64
# With fewer folds than this, the number of decisions in a subset of whole folds can be far from the right number.
_MIN_FOLDS = 3.0


class JackknifeEstimate(NamedTuple):
    """An estimate with its variance, from folds of users."""

    value: float
    variance: float
    degrees_of_freedom: float


def gini(counts: Floats) -> float:
    """Return the Gini coefficient of counts, which is 0 if all are equal, and `1 - 1/n` if all but one are zero.

    Examples
    --------
    >>> gini(np.array([5.0, 5.0])), gini(np.array([0.0, 0.0, 0.0, 8.0]))
    (0.0, 0.75)
    """
    n = counts.size
    return float((2.0 * np.arange(1, n + 1) - n - 1) @ np.sort(counts) / (n * counts.sum()))


def rarefied_arms(counts: Floats, decisions: float) -> JackknifeEstimate:
    """Return the expected number of different arms in a sample of a group's decisions.

    The method is sample-based rarefaction (Colwell, Mao and Chang 2004): an arm that occurs in `k` of `F` folds is
    missing from `m` random folds with probability `C(F - k, m) / C(F, m)`. The variance is that of the jackknife
    over folds.

    Parameters
    ----------
    counts : array of shape (arms, folds)
        The number of decisions of the group.
    decisions : float
        The number of decisions to draw, which must be smaller than the group's number of decisions.

    Examples
    --------
    One arm is in all four folds. The other is in a single fold, which is contained in half of the draws of two
    folds:

    >>> rarefied_arms(np.array([[5.0, 5.0, 5.0, 4.0], [0.0, 0.0, 0.0, 1.0]]), 10).value
    1.5
    """
    counts = counts[:, counts.sum(axis=0) > 0]
    sizes, n_folds = counts.sum(axis=0), counts.shape[1]
    if n_folds < 2:
        return JackknifeEstimate(np.nan, np.inf, 1.0)
    if n_folds * decisions >= sizes.sum():
        value, left_out = _draw_folds(counts > 0, sizes, decisions)
    else:  # less than one fold is needed: draw decisions from each fold in turn
        draws = np.array([_arms_in_draw(column, column.sum(), decisions) for column in counts.T])
        value, left_out = float(draws.mean()), (draws.sum() - draws) / (n_folds - 1)
    variance = (n_folds - 1) / n_folds * float(((left_out - left_out.mean()) ** 2).sum())
    return JackknifeEstimate(value, variance, n_folds - 1.0)


def _draw_folds(is_shown: NDArray[np.bool_], sizes: Floats, decisions: float) -> tuple[float, Floats]:
    """Return the expected number of arms in a draw of folds, both from all folds and with each fold left out."""
    occurrences, n_folds, total = is_shown.sum(axis=1).astype(float), is_shown.shape[1], sizes.sum()
    left_out = [
        _arms_in_draw(occurrences - is_shown[:, fold], n_folds - 1, (n_folds - 1) * decisions / (total - size))
        for fold, size in enumerate(sizes)
    ]
    return _arms_in_draw(occurrences, n_folds, n_folds * decisions / total), np.array(left_out)


def _arms_in_draw(occurrences: Floats, n: float, m: float) -> float:
    """Return the expected number of arms in m of n units, given the number of units with each arm."""
    from scipy.special import gammaln  # noqa: PLC0415 - slow to import

    m = min(m, n)
    k = occurrences[occurrences > 0]
    others = np.maximum(n - k - m, -1.0)
    # The logarithm of C(n - k, m) / C(n, m), interpolated with gamma functions. If nothing can be missing, it
    # involves gammaln(0), which is infinite.
    log_missing = gammaln(n - k + 1.0) + gammaln(n - m + 1.0) - gammaln(others + 1.0) - gammaln(n + 1.0)
    return float((1.0 - np.exp(log_missing)).sum())


def rarefied_gini(counts: Floats, decisions: float, rng: np.random.Generator) -> JackknifeEstimate:
    """Return the expected Gini coefficient of a sample of a group's decisions.

    The coefficient is averaged over random subsets of folds. The variance is that of the delete-d jackknife (Shao
    and Wu 1989), which is valid even for non-smooth statistics such as this one: the variance between subsets of
    `m` of `F` folds, times `m / (F - m)`.

    Parameters
    ----------
    counts : array of shape (arms, folds)
        The number of decisions of the group.
    decisions : float
        The number of decisions to draw, which must be at most half of the group's number of decisions.
    rng : Generator
        The random generator from which the subsets are drawn.
    """
    counts = counts[:, counts.sum(axis=0) > 0]
    n_folds = counts.shape[1]
    if n_folds < 2:
        return JackknifeEstimate(np.nan, np.inf, 1.0)
    m = n_folds * decisions / counts.sum()
    values = np.array([gini(_draw(counts, m, decisions, rng)) for _ in range(_N_SUBSETS)])
    m = max(m, 1.0)
    between = float(values.var(ddof=1))
    variance = between * m / (n_folds - m) + between / _N_SUBSETS
    return JackknifeEstimate(float(values.mean()), variance, min(n_folds, _N_SUBSETS) - 1.0)


def _draw(counts: Floats, m: float, decisions: float, rng: np.random.Generator) -> Floats:
    """Draw about m folds at random; return the number of decisions for each arm."""
    # The number of folds is rounded at random, so that it is right on average.
    size = int(m + rng.random()) if m >= _MIN_FOLDS else int(np.ceil(m))
    drawn = counts[:, rng.permutation(counts.shape[1])[: max(size, 1)]].sum(axis=1)
    if m >= _MIN_FOLDS or drawn.sum() <= decisions:
        return np.asarray(drawn)
    return rng.multivariate_hypergeometric(drawn.astype(np.int64), round(decisions), method="marginals").astype(
        float
    )
