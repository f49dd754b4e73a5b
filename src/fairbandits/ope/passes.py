"""The two passes over a log: in the first policies and the model of the reward learn, the second judges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairbandits.logs.errors import LogError
from fairbandits.ope.cross_fitting import CrossFittedModel, deal
from fairbandits.ope.estimator_sums import EstimatorSums, Terms
from fairbandits.ope.evaluation_setup import EvaluationSetup
from fairbandits.ope.learners import LogLearner
from fairbandits.ope.log_rows import LogRows, features_of
from fairbandits.ope.log_summary import LogSummary
from fairbandits.ope.trial import PolicyTrial

_FOLDS = 5
# So many rows show whether fairness adds to the scores of a policy.
_FEW = 32
# A model of the reward that takes more memory than this is left out.
_LARGEST_MODEL = 1 << 30


@dataclass(eq=False)
class PreparedEvaluation:
    """What the first pass leaves behind.

    Attributes
    ----------
    account : LogSummary
        What the rows that evaluate are like.
    logged : EstimatorSums
        What the log itself got.
    model : CrossFittedModel or None
        What predicts rewards; None where it would be too large.
    """

    account: LogSummary
    logged: EstimatorSums
    model: CrossFittedModel | None


def prepare(case: EvaluationSetup, with_model: bool) -> PreparedEvaluation:
    """Let policies learn that have learned nothing, and the model of the reward, and count."""
    seen = case.survey
    width = len(seen.cells) + case.encoders[0].width
    is_small = CrossFittedModel.bytes_needed(len(seen.arms), width, _FOLDS) <= _LARGEST_MODEL
    model = CrossFittedModel(len(seen.arms), width, _FOLDS) if with_model and is_small else None
    prepared = PreparedEvaluation(LogSummary(seen), EstimatorSums(len(seen.cells), seen.mean_reward), model)
    pupils = [LogLearner(candidate, case) for candidate in case.candidates if not candidate.is_trained]
    for chunk, piece in case.read():
        judges = seen.split.judges(chunk)
        prepared.account.add_chunk(chunk, judges)
        trains = ~judges & ~np.isnan(chunk.reward)
        for pupil in pupils if trains.any() else ():
            pupil.hear(chunk, trains)
        _count(case, prepared, piece.judging())
    _check(case, prepared.account)
    for pupil in pupils:
        pupil.finish()
    if model is not None:
        model.solve()
    return prepared


def hear(case: EvaluationSetup, prepared: PreparedEvaluation) -> list[PolicyTrial]:
    """Let the rows that evaluate pass by once more, and sum up what they say of each policy."""
    model, cells = prepared.model, case.survey.cells
    trials = [PolicyTrial(prepared.account, model, case.setting.clip) for _ in case.candidates]
    columns = max(len(case.survey.arms), model.width if model else 1)
    for _, piece in case.read():
        for part in piece.judging().parts(columns):
            features = predicted = None
            if model is not None:
                features = features_of(part, cells)
                predicted = model.predict(features, deal(part.numbers, _FOLDS))
                model.note(features, part.arm, part.reward - predicted[np.arange(len(part)), part.arm])
            groups = cells.as_groups(part.cells)
            for candidate, trial in zip(case.candidates, trials, strict=True):
                offers, place = case.offers(candidate)
                if trial.looks_at_groups is None:  # asked once: it does not learn here
                    few = offers.offer_many(part.contexts[place][:_FEW], groups[:_FEW])
                    trial.looks_at_groups = bool(candidate.policy.score(few, groups[:_FEW]).fairness.any())
                offer = offers.offer_many(part.contexts[place], groups)
                trial.add(part, candidate.policy.probabilities(offer, groups), predicted, features)
    return trials


def _count(case: EvaluationSetup, prepared: PreparedEvaluation, piece: LogRows) -> None:
    prepared.account.add(piece)
    one = np.ones(len(piece))
    prepared.logged.add(Terms(piece.reward, one, one), piece.reward, piece.cells)
    if prepared.model is not None:
        for part in piece.parts(prepared.model.width):
            features = features_of(part, case.survey.cells)
            prepared.model.learn(features, part.arm, part.reward, deal(part.numbers, _FOLDS))


def _check(case: EvaluationSetup, account: LogSummary) -> None:
    if case.survey.split.share and not account.trained:
        raise LogError(
            f"{case.log.name}: no row is left to train on: there are too few, or all have the same time; train on "
            "more of it, or leave the time out"
        )
    if account.used < 2:
        raise LogError(
            f"{case.log.name}: {account.used} row(s) with a reward are left to evaluate with; need at least two; "
            "train on less of it"
        )
