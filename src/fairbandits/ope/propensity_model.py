"""Propensities estimated from the log, for logs that do not record them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from fairbandits.contexts.table_encoder import Features
from fairbandits.logs.log import Log
from fairbandits.ope.cross_fitting import assign_folds, rows_by_value
from fairbandits.ope.log_passes import LogPasses
from fairbandits.ope.log_rows import LogRows, reward_features
from fairbandits.ope.propensities import Propensities

if TYPE_CHECKING:
    from fairbandits.ope.evaluation_setup import EvaluationSetup

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FOLDS = 2
_SAMPLE_ROWS = 50_000
_MAX_ARMS = 1_000
# The share of a uniform policy that is mixed into the estimates, so that arms that are rare in the sample have a
# propensity.
_UNIFORM_SHARE = 0.01


class PropensityModel(Propensities):
    """Multinomial logistic regressions of the arm on the user's features and groups, cross-fitted.

    The propensities of a row come from the model of the other half of a sample of the log.

    Parameters
    ----------
    models : sequence
        The fitted model of each fold.
    classes : sequence of arrays
        The numbers of the arms known to each model.
    """

    knows_all_arms = True

    def __init__(self, models: list[Any], classes: list[Ints]) -> None:
        self._models, self._classes = models, classes

    @classmethod
    def fit(cls, setup: EvaluationSetup, passes: LogPasses) -> PropensityModel:
        """Fit the models to the log."""
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - slow to import

        n_arms = len(setup.survey.arms)
        if n_arms > _MAX_ARMS:
            raise ValueError(
                f"{setup.log.name}: propensities can be estimated for at most {_MAX_ARMS:,} arms, got {n_arms:,}; "
                "record them in the log"
            )
        sample = passes.run("propensities", partial(_sample, setup=setup), _concatenated)
        fold = _fold(sample)
        models: list[Any] = []
        for number in range(_FOLDS):
            others = sample.select(fold != number)
            if len(np.unique(others.arm)) < 2:
                raise ValueError(
                    f"{setup.log.name}: propensities can be estimated only if there are rows of several arms, "
                    f"got {len(others):,} rows of {len(np.unique(others.arm))}"
                )
            features = reward_features(others, setup.survey.groups)
            models.append(LogisticRegression(max_iter=1_000).fit(_matrix(features), others.arm))
        return cls(models, [model.classes_ for model in models])

    def fill(self, rows: LogRows, setup: EvaluationSetup) -> LogRows:
        """Return rows with the estimated propensities of the logged arms."""
        return replace(rows, propensity=self.logged(rows, setup))

    def all_arms(self, rows: LogRows, setup: EvaluationSetup) -> Floats:
        """Return the estimated propensities of all arms."""
        n_arms = len(setup.survey.arms)
        matrix = np.full((len(rows), n_arms), _UNIFORM_SHARE / n_arms)
        for number, members in rows_by_value(_fold(rows)):
            features = reward_features(rows.select(members), setup.survey.groups)
            found = self._models[number].predict_proba(_matrix(features))
            matrix[np.ix_(members, self._classes[number])] += (1.0 - _UNIFORM_SHARE) * found
        return matrix


def _sample(part: Log, setup: EvaluationSetup) -> LogRows:
    n_folds = -(-setup.survey.rows // _SAMPLE_ROWS)
    parts = []
    for _, rows in setup.on(part).read_without_propensities():
        parts.append(rows.select(assign_folds(rows.numbers, n_folds) == 0))
    return LogRows.concatenate(parts)


def _concatenated(rows: LogRows, later: LogRows) -> LogRows:
    return LogRows.concatenate([rows, later])


def _fold(rows: LogRows) -> Ints:
    # The hash must differ from that of the sample, because the whole sample would otherwise be in one fold.
    return assign_folds(-rows.numbers, _FOLDS)


def _matrix(features: Features) -> Any:
    # scikit-learn does not accept the 64-bit indices that stacking produces.
    return features if isinstance(features, np.ndarray) else csr_matrix(features)
