"""Predictions of the group and of the reward from factors, as a doubly robust comparison needs them.

The predictions are cross-fitted: those for a user come from models that were trained on other users only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.unit_index import Keys, fold_numbers
from fairbandits.categorical import Categorical

Floats = NDArray[np.float64]

N_CROSS_FITS = 5
# A numeric factor with at most this many distinct values is treated as text, without assuming a smooth effect.
_MAX_LEVELS = 10
# If a text factor has more values than this, the rare ones are merged.
_MAX_CATEGORIES = 100
_N_KNOTS = 5
# The penalty is weak: a strong one would conceal a lack of overlap between the groups.
_C = 10.0


@dataclass(frozen=True, eq=False)
class Nuisances:
    """Cross-fitted predictions for the rows of two groups.

    Attributes
    ----------
    propensity : array
        The probability that a row with these factors belongs to the first group.
    means : tuple of two arrays
        The expected reward of the row if it belonged to the first group, and to the second group.
    """

    propensity: Floats
    means: tuple[Floats, Floats]


def design_matrix(factors: Sequence[Categorical | Floats]) -> Any:
    """Return factors as features: indicators for text, cubic splines for numbers."""
    from scipy.sparse import csr_matrix, hstack  # noqa: PLC0415 - slow to import

    return hstack([csr_matrix(_features(factor)) for factor in factors], format="csr")


def _features(factor: Categorical | Floats) -> Any:
    from sklearn.preprocessing import OneHotEncoder, SplineTransformer  # noqa: PLC0415 - slow to import

    values = factor.codes if isinstance(factor, Categorical) else factor
    if isinstance(factor, Categorical) or len(np.unique(values)) <= _MAX_LEVELS:
        encoder = OneHotEncoder(max_categories=_MAX_CATEGORIES, handle_unknown="infrequent_if_exist")
        return encoder.fit_transform(values.reshape(-1, 1))
    knots = np.unique(np.quantile(values, np.linspace(0.0, 1.0, _N_KNOTS))).reshape(-1, 1)
    return SplineTransformer(knots=knots, include_bias=False).fit_transform(values.reshape(-1, 1))


def cross_fit(features: Any, reward: Floats, is_first: NDArray[np.bool_], user: Keys) -> Nuisances:
    """Predict the group and the rewards of the rows of two groups.

    Logistic regression predicts the group and rewards that are 0 or 1; ridge regression predicts other rewards.

    Parameters
    ----------
    features : matrix
        The factors, from `design_matrix`.
    reward : array
        The rewards, from 0 to 1.
    is_first : array of bool
        Whether the row belongs to the first group.
    user : array of uint64
        The user of each row.
    """
    fold = fold_numbers(user) % N_CROSS_FITS
    is_binary = bool(np.isin(reward, (0.0, 1.0)).all())
    propensity, first, second = (np.empty(reward.size) for _ in range(3))
    for number in range(N_CROSS_FITS):
        inside, others = fold == number, fold != number
        if not inside.any():
            continue
        target = features[inside]
        propensity[inside] = _predict(features[others], is_first[others].astype(float), target, is_binary=True)
        for predicted, rows in ((first, others & is_first), (second, others & ~is_first)):
            predicted[inside] = _predict(features[rows], reward[rows], target, is_binary)
    return Nuisances(propensity, (first, second))


def _predict(features: Any, values: Floats, target: Any, is_binary: bool) -> Floats:
    """Train a model on values from 0 to 1, and predict them for other rows."""
    from sklearn.linear_model import LogisticRegression, Ridge  # noqa: PLC0415 - slow to import

    if not values.size or values.min() == values.max():
        return np.full(target.shape[0], values[0] if values.size else 0.5)
    if is_binary:
        model = LogisticRegression(C=_C, max_iter=1_000).fit(features, values)
        return np.asarray(model.predict_proba(target)[:, 1])
    return np.asarray(np.clip(Ridge().fit(features, values).predict(target), 0.0, 1.0))
