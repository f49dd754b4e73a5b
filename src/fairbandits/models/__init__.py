"""Reward models: the expected reward of arms and its uncertainty. They depend on arrays, not on groups."""

from fairbandits.models.confidence import (
    alpha_from_delta,
    alpha_schedule,
    fair_linucb_regret_bound,
    linucb_regret_bound,
)
from fairbandits.models.disjoint import DisjointModel
from fairbandits.models.fading import FadingSharedModel
from fairbandits.models.feature_maps import FeatureMapError
from fairbandits.models.hybrid import HybridModel
from fairbandits.models.logistic import LogisticModel
from fairbandits.models.mixture import MixtureModel
from fairbandits.models.model import Model, ModelBuilder, as_model
from fairbandits.models.normal_equations import NormalEquations
from fairbandits.models.reward_model import RewardModel
from fairbandits.models.ridge import RidgeRegressions
from fairbandits.models.rows import (
    DenseRows,
    Row,
    Rows,
    SparseRows,
    as_rows,
)
from fairbandits.models.shared import SharedModel

__all__ = [
    "DenseRows",
    "DisjointModel",
    "FadingSharedModel",
    "FeatureMapError",
    "HybridModel",
    "LogisticModel",
    "MixtureModel",
    "Model",
    "ModelBuilder",
    "NormalEquations",
    "RewardModel",
    "RidgeRegressions",
    "Row",
    "Rows",
    "SharedModel",
    "SparseRows",
    "alpha_from_delta",
    "alpha_schedule",
    "as_model",
    "as_rows",
    "fair_linucb_regret_bound",
    "linucb_regret_bound",
]
