"""Off-policy evaluation: the value of other policies, overall and by group, estimated from a log."""

from fairbandits.ope.evaluation import evaluate
from fairbandits.ope.probability_columns import ProbabilityColumn, ProbabilityColumns
from fairbandits.ope.results import BoundedValue, EstimatorResult, Evaluation, PolicyEvaluation, PolicyGap
from fairbandits.ope.value_estimate import ValueEstimate

__all__ = [
    "BoundedValue",
    "EstimatorResult",
    "Evaluation",
    "PolicyEvaluation",
    "PolicyGap",
    "ProbabilityColumn",
    "ProbabilityColumns",
    "ValueEstimate",
    "evaluate",
]
