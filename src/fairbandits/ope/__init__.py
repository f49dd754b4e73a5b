"""What would another policy have done? Off-policy evaluation, overall, per group and of the difference."""

from fairbandits.ope.evaluation import evaluate
from fairbandits.ope.results import EstimatorResult, Evaluation, PolicyEvaluation, PolicyGap
from fairbandits.ope.value_estimate import ValueEstimate

__all__ = ["EstimatorResult", "Evaluation", "PolicyEvaluation", "PolicyGap", "ValueEstimate", "evaluate"]
