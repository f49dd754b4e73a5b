"""The two passes over a log: the first trains policies and the reward model, the second evaluates the policies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairbandits.logs.chunk import Chunk
from fairbandits.logs.errors import LogError
from fairbandits.ope.cross_fitting import CrossFittedRidge, assign_folds
from fairbandits.ope.estimator_sums import EstimatorSums, EstimatorTerms
from fairbandits.ope.evaluation_setup import EvaluationSetup
from fairbandits.ope.log_rows import LogRows, reward_features
from fairbandits.ope.log_summary import LogSummary
from fairbandits.ope.log_units import LogUnits
from fairbandits.ope.own_policies import PolicyCandidate
from fairbandits.ope.policy_sums import PolicySums
from fairbandits.ope.propensities import PropensityColumns
from fairbandits.ope.propensity_check import PropensityCheck
from fairbandits.ope.training import PolicyTrainer

_FOLDS = 5
# A reward model that would take more memory is left out.
_MAX_MODEL_BYTES = 1 << 30


@dataclass(eq=False)
class FirstPass:
    """The results of the first pass.

    Attributes
    ----------
    summary : LogSummary
        Counts over the evaluation rows.
    logged : EstimatorSums
        The sums of the logged rewards.
    model : CrossFittedRidge or None
        The reward model; None if it would be too large.
    check : PropensityCheck
        Whether the propensities fit the arms that were chosen, in all rows.
    """

    summary: LogSummary
    logged: EstimatorSums
    model: CrossFittedRidge | None
    check: PropensityCheck


def first_pass(setup: EvaluationSetup, with_model: bool) -> FirstPass:
    """Train untrained policies and the reward model, and count rows."""
    survey = setup.survey
    model = CrossFittedRidge(len(survey.arms), _width(setup), _FOLDS) if with_model else None
    logged = EstimatorSums(len(survey.groups), setup.mean_reward)
    result = FirstPass(LogSummary(survey), logged, model, PropensityCheck(len(survey.arms)))
    trainers = [
        PolicyTrainer(candidate, setup)
        for candidate in setup.candidates
        if isinstance(candidate, PolicyCandidate) and not candidate.is_trained
    ]
    for chunk, rows in setup.read():
        is_evaluation = survey.split.is_evaluation(chunk)
        result.summary.add_chunk(chunk, is_evaluation)
        _add_to_check(setup, result.check, chunk, rows)
        is_training = ~is_evaluation & ~np.isnan(chunk.reward)
        for trainer in trainers if is_training.any() else ():
            trainer.add(chunk, is_training)
        _add_evaluation_rows(setup, result, rows.evaluation_rows())
    _check_enough_rows(setup, result.summary)
    for trainer in trainers:
        trainer.finish()
    if model is not None:
        model.solve()
    return result


def model_is_too_large(setup: EvaluationSetup) -> bool:
    """Return whether the reward model would take too much memory."""
    return CrossFittedRidge.bytes_needed(len(setup.survey.arms), _width(setup), _FOLDS) > _MAX_MODEL_BYTES


def _width(setup: EvaluationSetup) -> int:
    return len(setup.survey.groups) + setup.encoders[0].width


def second_pass(setup: EvaluationSetup, first: FirstPass) -> list[PolicySums]:
    """Read the evaluation rows again, and return the sums of each policy."""
    model, groups = first.model, setup.survey.groups
    units = LogUnits(setup.survey.rows)
    all_sums = [PolicySums(setup, first.summary, model, units) for _ in setup.candidates]
    has_matrix = setup.propensities.knows_all_arms or any(each.knows_all_arms for each in setup.candidates)
    n_columns = max(len(setup.survey.arms) if has_matrix else 1, model.width if model else 1)
    for _, rows in setup.read():
        for batch in rows.evaluation_rows().batches(n_columns):
            features = predictions = None
            if model is not None:
                features = reward_features(batch, groups)
                predictions = model.predict(features, assign_folds(batch.numbers, _FOLDS))
                residual = batch.reward - predictions[np.arange(len(batch)), batch.arm]
                model.add_residuals(features, batch.arm, residual)
            unit = units.numbers(batch.user, batch.numbers, batch.groups)
            shown = setup.propensities.all_arms(batch, setup)
            for candidate, sums in zip(setup.candidates, all_sums, strict=True):
                sums.add(batch, candidate.probabilities(batch, setup), shown, predictions, features, unit)
    return all_sums


def _add_to_check(setup: EvaluationSetup, check: PropensityCheck, chunk: Chunk, rows: LogRows) -> None:
    """Compare propensities and arms, also in rows without a reward if the log has a column of propensities."""
    if isinstance(setup.propensities, PropensityColumns):
        for batch in rows.batches(len(setup.survey.arms)):
            check.add_all_arms(batch.arm, setup.propensities.all_arms(batch, setup))
    elif chunk.propensity is not None:
        numbers = np.arange(chunk.first_row, chunk.first_row + len(chunk))
        check.add(chunk.arm.recoded(setup.survey.arm_numbers), chunk.propensity, numbers)
    elif setup.settings.uniform and rows.propensity is not None:
        check.add(rows.arm, rows.propensity, rows.numbers)


def _add_evaluation_rows(setup: EvaluationSetup, result: FirstPass, rows: LogRows) -> None:
    result.summary.add_rows(rows)
    one = np.ones(len(rows))
    result.logged.add(EstimatorTerms(rows.reward, one, one), rows.reward, rows.groups)
    if result.model is not None:
        for batch in rows.batches(result.model.width):
            features = reward_features(batch, setup.survey.groups)
            result.model.learn(features, batch.arm, batch.reward, assign_folds(batch.numbers, _FOLDS))


def _check_enough_rows(setup: EvaluationSetup, summary: LogSummary) -> None:
    if setup.survey.split.train_share and not summary.training_rows:
        raise LogError(
            f"{setup.log.name}: training needs at least one row, got none, because there are too few rows or all "
            "have the same time; increase train, or leave the time column out"
        )
    if summary.n_rewards < 2:
        raise LogError(
            f"{setup.log.name}: evaluation needs at least two rows with a reward, got {summary.n_rewards}; "
            "decrease train"
        )
