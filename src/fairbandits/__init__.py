"""Contextual bandits that treat their users fairly."""

from importlib.metadata import version

from fairbandits.contexts import Catalogue, Offer
from fairbandits.fairness import Gap, GroupRewards, GroupSummary, IndividualGaps
from fairbandits.models import (
    Model,
    alpha_from_delta,
    alpha_schedule,
    fair_linucb_regret_bound,
    linucb_regret_bound,
)
from fairbandits.policies import (
    CounterfactualLinUCB,
    Decision,
    Decisions,
    EpsilonGreedy,
    EqualRegretLinUCB,
    EvenLinUCB,
    FairLinUCB,
    LinearPolicy,
    LinTS,
    LinUCB,
    MaxMinLinUCB,
    NaiveLinUCB,
    Policy,
    PolicyFileError,
    Predictions,
    PrimalDualLinUCB,
    Scores,
    Slate,
    Uniform,
    twin_rewards,
)

__version__ = version("fairbandits")

__all__ = [
    "Catalogue",
    "CounterfactualLinUCB",
    "Decision",
    "Decisions",
    "EpsilonGreedy",
    "EqualRegretLinUCB",
    "EvenLinUCB",
    "FairLinUCB",
    "Gap",
    "GroupRewards",
    "GroupSummary",
    "IndividualGaps",
    "LinTS",
    "LinUCB",
    "LinearPolicy",
    "MaxMinLinUCB",
    "Model",
    "NaiveLinUCB",
    "Offer",
    "Policy",
    "PolicyFileError",
    "Predictions",
    "PrimalDualLinUCB",
    "Scores",
    "Slate",
    "Uniform",
    "alpha_from_delta",
    "alpha_schedule",
    "fair_linucb_regret_bound",
    "linucb_regret_bound",
    "twin_rewards",
]
