"""Off-policy evaluation: the value of other policies, overall and by group, estimated from a log."""

from fairbandits.ope.evaluation import evaluate
from fairbandits.ope.probability_columns import ProbabilityColumn, ProbabilityColumns
from fairbandits.ope.results import (
    BoundedValue,
    EstimatorResult,
    Evaluation,
    PolicyDifference,
    PolicyEvaluation,
    PolicyGap,
)
from fairbandits.ope.slate_columns import SlateProbabilities
from fairbandits.ope.slate_evaluation import evaluate_slates
from fairbandits.ope.slate_results import SlateEstimate, SlateEvaluation, SlatePolicyEvaluation
from fairbandits.ope.value_estimate import ValueEstimate

__all__ = [
    "BoundedValue",
    "EstimatorResult",
    "Evaluation",
    "PolicyDifference",
    "PolicyEvaluation",
    "PolicyGap",
    "ProbabilityColumn",
    "ProbabilityColumns",
    "SlateEstimate",
    "SlateEvaluation",
    "SlatePolicyEvaluation",
    "SlateProbabilities",
    "ValueEstimate",
    "evaluate",
    "evaluate_slates",
]
