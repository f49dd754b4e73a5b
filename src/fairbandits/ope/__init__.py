"""Off-policy evaluation: the value of other policies, overall and by group, estimated from a log."""

from fairbandits.ope.candidates.probability_columns import ProbabilityColumn, ProbabilityColumns
from fairbandits.ope.certification.certified_learning import CertifiedLearning, FamilyMember
from fairbandits.ope.certification.family_selection import SelectionEstimates
from fairbandits.ope.certification.joint_test import GroupChange, JointTest
from fairbandits.ope.certification.learning import learn
from fairbandits.ope.certification.mixture import Mixture
from fairbandits.ope.evaluation import evaluate
from fairbandits.ope.results import (
    BoundedValue,
    EstimatorResult,
    Evaluation,
    PolicyDifference,
    PolicyEvaluation,
    PolicyGap,
)
from fairbandits.ope.slates.columns import SlateProbabilities
from fairbandits.ope.slates.evaluation import evaluate_slates
from fairbandits.ope.slates.results import SlateEstimate, SlateEvaluation, SlatePolicyEvaluation
from fairbandits.ope.value_estimate import ValueEstimate

__all__ = [
    "BoundedValue",
    "CertifiedLearning",
    "EstimatorResult",
    "Evaluation",
    "FamilyMember",
    "GroupChange",
    "JointTest",
    "Mixture",
    "PolicyDifference",
    "PolicyEvaluation",
    "PolicyGap",
    "ProbabilityColumn",
    "ProbabilityColumns",
    "SelectionEstimates",
    "SlateEstimate",
    "SlateEvaluation",
    "SlatePolicyEvaluation",
    "SlateProbabilities",
    "ValueEstimate",
    "evaluate",
    "evaluate_slates",
    "learn",
]
