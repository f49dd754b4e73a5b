"""The two passes over a log: the first trains policies and the reward model, the second evaluates the policies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from fairbandits.logs.chunk import Chunk
from fairbandits.logs.errors import LogError
from fairbandits.logs.log import Log
from fairbandits.models import NormalEquations
from fairbandits.ope.candidates.own_policies import PolicyCandidate, own_candidates
from fairbandits.ope.checks.propensity_check import PropensityCheck
from fairbandits.ope.cross_fitting import CrossFittedRidge, assign_folds
from fairbandits.ope.estimator_sums import EstimatorSums, EstimatorTerms
from fairbandits.ope.evaluation_setup import EvaluationSetup
from fairbandits.ope.log_passes import LogPasses, merged
from fairbandits.ope.log_rows import LogRows, reward_features
from fairbandits.ope.log_summary import LogSummary
from fairbandits.ope.log_units import LogUnits
from fairbandits.ope.policy_sums import PolicySums
from fairbandits.ope.propensities import PropensityColumns
from fairbandits.ope.training import PolicyTrainer

_FOLDS = 5
# A reward model that would take more memory than this is left out.
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
        The test of whether the propensities fit the arms that were chosen, over all rows.
    trainers : list of PolicyTrainer
        The training of untrained policies.
    """

    summary: LogSummary
    logged: EstimatorSums
    model: CrossFittedRidge | None
    check: PropensityCheck
    trainers: list[PolicyTrainer]

    def merge(self, later: FirstPass) -> None:
        """Add the sums of a later part of the log."""
        self.summary.merge(later.summary)
        self.logged.merge(later.logged)
        self.check.merge(later.check)
        if self.model is not None and later.model is not None:
            self.model.merge(later.model)
        for trainer, other in zip(self.trainers, later.trainers, strict=True):
            trainer.merge(other)


@dataclass(eq=False)
class SecondPass:
    """The sums of the second pass over a part of the log.

    Attributes
    ----------
    units : LogUnits
        The units of the part.
    policies : list of PolicySums
        The sums of each policy.
    residuals : NormalEquations or None
        The residual sums of the reward model.
    fairness_terms : list of bool or None
        Whether each policy has a fairness term; None if it is not known.
    """

    units: LogUnits
    policies: list[PolicySums]
    residuals: NormalEquations | None
    fairness_terms: list[bool | None]

    def merge(self, later: SecondPass) -> None:
        """Add the sums of a later part of the log."""
        numbers = self.units.merge(later.units)
        for sums, others in zip(self.policies, later.policies, strict=True):
            sums.merge(others, numbers, len(self.units))
        if self.residuals is not None and later.residuals is not None:
            arms = np.arange(len(later.residuals.count))
            self.residuals.merge(later.residuals, arms, arms)
        pairs = zip(self.fairness_terms, later.fairness_terms, strict=True)
        self.fairness_terms = [other if term is None else term for term, other in pairs]


def first_pass(setup: EvaluationSetup, with_model: bool, passes: LogPasses) -> FirstPass:
    """Train untrained policies and the reward model, and count rows."""
    untrained = _untrained(setup)
    for candidate in untrained:
        if not candidate.policy.is_additive:
            if passes.cluster is not None:
                raise ValueError(
                    f"{candidate.title} depends on the order of rewards; evaluate it without a cluster"
                )
            passes = passes.in_order()
    result = passes.run("first pass", partial(_first_sums, setup=setup, with_model=with_model), merged)
    _check_enough_rows(setup, result.summary)
    for candidate, trainer in zip(untrained, result.trainers, strict=True):
        trainer.finish(candidate.policy)
    if result.model is not None:
        result.model.solve()
    return result


def _untrained(setup: EvaluationSetup) -> list[PolicyCandidate]:
    return [candidate for candidate in own_candidates(setup.candidates) if not candidate.is_trained]


def _first_sums(part: Log, setup: EvaluationSetup, with_model: bool) -> FirstPass:
    """Return the sums of a part of the log, before anything is solved."""
    setup = setup.on(part)
    survey = setup.survey
    model = CrossFittedRidge(len(survey.arms), _width(setup), _FOLDS) if with_model else None
    trainers = [PolicyTrainer(candidate, setup) for candidate in _untrained(setup)]
    logged = EstimatorSums(len(survey.groups), setup.mean_reward)
    result = FirstPass(LogSummary(survey), logged, model, PropensityCheck(len(survey.arms)), trainers)
    for chunk, rows in setup.read():
        is_evaluation = survey.split.is_evaluation(chunk)
        result.summary.add_chunk(chunk, is_evaluation)
        _add_to_check(setup, result.check, chunk, rows)
        is_training = ~is_evaluation & ~np.isnan(chunk.reward)
        for trainer in trainers if is_training.any() else ():
            trainer.add(chunk, is_training)
        _add_evaluation_rows(setup, result, rows.evaluation_rows())
    return result


def model_is_too_large(setup: EvaluationSetup) -> bool:
    """Return whether the reward model would take too much memory."""
    return CrossFittedRidge.bytes_needed(len(setup.survey.arms), _width(setup), _FOLDS) > _MAX_MODEL_BYTES


def _width(setup: EvaluationSetup) -> int:
    return len(setup.survey.groups) + setup.encoders[0].width


def second_pass(setup: EvaluationSetup, first: FirstPass, passes: LogPasses) -> list[PolicySums]:
    """Read the evaluation rows again, and return the sums of each policy."""
    first = replace(first, trainers=[])  # trainers are no longer needed
    if setup.settings.sequential:
        # The running predictions must not depend on how the log is split.
        passes = passes.in_order()
    result = passes.run("second pass", partial(_second_sums, setup=setup, first=first), merged)
    if first.model is not None and result.residuals is not None:
        first.model.merge_residuals(result.residuals)
    for sums in result.policies:
        sums.restore(first.summary, first.model, result.units)
    for candidate, term in zip(setup.candidates, result.fairness_terms, strict=True):
        if isinstance(candidate, PolicyCandidate):
            candidate.has_fairness_term = term
    return result.policies


def _second_sums(part: Log, setup: EvaluationSetup, first: FirstPass) -> SecondPass:
    """Return the sums of a part of the log."""
    setup = setup.on(part)
    # The threads of a worker share the arguments.
    model = None if first.model is None else first.model.with_new_residuals()
    groups = setup.survey.groups
    units = LogUnits(setup.survey.rows)
    all_sums = [PolicySums(setup, first.summary, model, units, each.knows_all_arms) for each in setup.candidates]
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
    terms = [each.has_fairness_term if isinstance(each, PolicyCandidate) else None for each in setup.candidates]
    return SecondPass(units, all_sums, None if model is None else model.residuals, terms)


def _add_to_check(setup: EvaluationSetup, check: PropensityCheck, chunk: Chunk, rows: LogRows) -> None:
    """Compare propensities and arms; with a propensity column, rows without a reward are included."""
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
            f"{'decrease train' if setup.survey.split.train_share else 'the log needs more'}"
        )
