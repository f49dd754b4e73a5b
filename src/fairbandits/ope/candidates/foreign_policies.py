"""Candidates that are not bandit policies: functions and scikit-learn models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId
from fairbandits.contexts.table_encoder import Features
from fairbandits.ope.candidates.candidate import ArmProbabilities, Candidate, in_columns
from fairbandits.ope.candidates.probability_columns import check_columns, check_totals
from fairbandits.ope.log_rows import LogRows

if TYPE_CHECKING:
    from fairbandits.ope.evaluation_setup import EvaluationSetup

Floats = NDArray[np.float64]


class FunctionCandidate(Candidate):
    """A function of a data frame with the features and groups of users.

    The function returns the arm that it chooses for each row, or a data frame with the probability of each arm.

    Parameters
    ----------
    title : str
        The name in reports.
    function : callable
        The function.
    """

    def __init__(self, title: str, function: Callable[[Any], Any]) -> None:
        super().__init__(title)
        self._function = function

    def prepare(self, setup: EvaluationSetup) -> None:
        """Request all features and groups."""
        self.columns = tuple(dict.fromkeys((*setup.log.roles.contexts, *setup.log.roles.groups)))

    def probabilities(self, rows: LogRows, setup: EvaluationSetup) -> ArmProbabilities:
        """Call the function."""
        found = self._function(_frame(rows, self.columns))
        if hasattr(found, "columns"):
            try:
                matrix = np.asarray(found, np.float64)
            except (TypeError, ValueError) as error:
                raise ValueError(f"{self.title} must return numbers as probabilities ({error})") from None
            arms: Sequence[Any] = list(found.columns)
        elif np.ndim(found) == 1:
            return ArmProbabilities.from_matrix(chosen_arms(found, rows, setup, self.title), rows)
        else:
            raise ValueError(
                f"{self.title} must return the chosen arm of each row, or a data frame with one column of "
                f"probabilities per arm, got {type(found).__name__} of shape {np.shape(found)}"
            )
        return ArmProbabilities.from_matrix(probabilities_by_arm(matrix, arms, rows, setup, self.title), rows)


class ClassifierCandidate(Candidate):
    """A fitted scikit-learn classifier whose classes are arms; it chooses the class that it predicts.

    Parameters
    ----------
    title : str
        The name in reports.
    model : classifier
        The classifier.
    """

    def __init__(self, title: str, model: Any) -> None:
        super().__init__(title)
        self._model = _require_fitted(title, model)
        self.columns = _feature_names(model)
        # A model that was fitted to a matrix is given the encoded features.
        self.needs_contexts = not self.columns

    def prepare(self, setup: EvaluationSetup) -> None:
        """Raise if the model's classes are not arms, or its features are not in the log."""
        _check_inputs(self, self._model, setup)
        classes = self._model.classes_.tolist()
        if not set(classes) & set(setup.survey.arms):
            raise ValueError(
                f"{self.title}: the classes must be arms such as {setup.survey.arms[0]!r}, got {classes[:3]}"
            )

    def probabilities(self, rows: LogRows, setup: EvaluationSetup) -> ArmProbabilities:
        """Predict the class of each row."""
        inputs = _frame(rows, self.columns) if self.columns else unscaled_features(self, rows, setup)
        predicted = self._model.predict(inputs)
        return ArmProbabilities.from_matrix(chosen_arms(predicted, rows, setup, self.title), rows)


class RegressorCandidate(Candidate):
    """A fitted scikit-learn regressor of the reward; the arm with the highest prediction is chosen.

    One of the model's features must be the arm, under the name of the arm column in the log.

    Parameters
    ----------
    title : str
        The name in reports.
    model : regressor
        The regressor.
    """

    def __init__(self, title: str, model: Any) -> None:
        super().__init__(title)
        self._model = _require_fitted(title, model)
        self._features = _feature_names(model)

    def prepare(self, setup: EvaluationSetup) -> None:
        """Raise if the arm is not among the model's features, or if other features are not in the log."""
        arm = setup.log.roles.arm
        if arm not in self._features:
            raise ValueError(
                f"{self.title}: a regressor must predict the reward from the arm as well; fit it to a data frame "
                f"in which {arm!r} is a column, got the features {list(self._features)}"
            )
        self.columns = tuple(column for column in self._features if column != arm)
        check_columns(self, setup)

    def probabilities(self, rows: LogRows, setup: EvaluationSetup) -> ArmProbabilities:
        """Predict the reward of every arm."""
        frame = _frame(rows, self.columns)
        predicted = np.empty((len(rows), len(setup.survey.arms)))
        for number, arm in enumerate(setup.survey.arms):
            inputs = frame.assign(**{setup.log.roles.arm: arm})[list(self._features)]
            predicted[:, number] = self._model.predict(inputs)
        matrix = np.zeros_like(predicted)
        matrix[np.arange(len(rows)), predicted.argmax(axis=1)] = 1.0
        return ArmProbabilities.from_matrix(matrix, rows)


def chosen_arms(chosen: Any, rows: LogRows, setup: EvaluationSetup, title: str) -> Floats:
    """Return probabilities of 1 for the chosen arms; rows whose chosen arm is not in the log are zero."""
    arms = np.asarray(chosen).tolist()
    if len(arms) != len(rows):
        raise ValueError(f"{title} must choose one arm per row, got {len(arms):,} for {len(rows):,} rows")
    try:
        numbers = np.array([setup.survey.arm_numbers.get(arm, -1) for arm in arms], np.int64)
    except TypeError:
        raise ValueError(f"{title} must return the chosen arm of each row, got {arms[0]!r}") from None
    types = {type(arm) for arm in setup.survey.arms}
    # Arms that are not in the log are allowed, but if all arms have another type, that is a mistake.
    if len(rows) and (numbers < 0).all() and not types & {type(arm) for arm in arms}:
        raise ValueError(
            f"{title} must choose arms of the log such as {setup.survey.arms[0]!r}, got {arms[0]!r}; write "
            "arm ids alike in both"
        )
    matrix = np.zeros((len(rows), len(setup.survey.arms)))
    matrix[np.flatnonzero(numbers >= 0), numbers[numbers >= 0]] = 1.0
    return matrix


def probabilities_by_arm(
    matrix: Floats, arms: Sequence[ArmId], rows: LogRows, setup: EvaluationSetup, title: str
) -> Floats:
    """Return probabilities with columns in the order of the log's arms."""
    if matrix.shape != (len(rows), len(arms)):
        raise ValueError(
            f"{title} must return {len(rows):,} rows with the probabilities of {len(arms):,} arms, got shape "
            f"{matrix.shape}"
        )
    if not (matrix >= 0.0).all():
        raise ValueError(f"probabilities of {title} must be between 0 and 1, got {np.min(matrix):g}")
    check_totals(matrix.sum(axis=1), rows, f"the probabilities of {title}")
    numbers = setup.survey.numbers_of(arms)
    if (numbers < 0).all():
        raise ValueError(
            f"{title} must know arms of the log such as {setup.survey.arms[0]!r}, got {list(arms)[:3]}; write arm "
            "ids alike in both"
        )
    return in_columns(matrix, numbers, len(setup.survey.arms))


def _require_fitted(title: str, model: Any) -> Any:
    from sklearn.exceptions import NotFittedError  # noqa: PLC0415 - slow to import
    from sklearn.utils.validation import check_is_fitted  # noqa: PLC0415

    try:
        check_is_fitted(model)
    except NotFittedError:
        raise ValueError(f"{title} must be fitted before it is evaluated; call its fit") from None
    return model


def _feature_names(model: Any) -> tuple[str, ...]:
    """Return the names of the columns that a model needs; none if it was fitted to a matrix."""
    return tuple(map(str, getattr(model, "feature_names_in_", ())))


def _check_inputs(candidate: Candidate, model: Any, setup: EvaluationSetup) -> None:
    check_columns(candidate, setup)
    if not candidate.needs_contexts:
        return
    candidate.encoder = setup.plain_encoder
    width, expected = candidate.encoder.width, getattr(model, "n_features_in_", None)
    if expected is not None and expected != width:
        raise ValueError(
            f"{candidate.title}: it was fitted to {expected:,} features without names, but the log has {width:,}; "
            "fit it to a data frame, so that its features are found by name"
        )


def unscaled_features(candidate: Candidate, rows: LogRows, setup: EvaluationSetup) -> Features:
    """Return the features of users as models from other libraries expect them: with numbers unscaled."""
    return rows.contexts[setup.encoder_number(candidate)]


def _frame(rows: LogRows, columns: tuple[str, ...]) -> Any:
    try:
        import pandas as pd  # noqa: PLC0415 - optional
    except ImportError:
        raise ImportError("policies that take data frames need pandas: pip install pandas") from None
    return pd.DataFrame({column: rows.columns[column] for column in columns}, index=rows.numbers)
